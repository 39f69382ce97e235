/** The imports of each source file, and cycles among them. */
import { posix } from 'node:path'

export interface SourceFile {
  /** Relative to the project, with forward slashes. */
  readonly path: string
  readonly text: string
}
export interface Breach {
  readonly path: string
  readonly line: number
  readonly message: string
}
export interface Import {
  readonly from: string
  readonly line: number
  /** A path in the project for a relative import; else the package or `node:` module as written. */
  readonly to: string
  readonly relative: boolean
  /** `import type`: erased at run time. */
  readonly typeOnly: boolean
}

// Statements at the start of a line, over several lines too; `import()` anywhere.
const STATEMENT = /^(?:import|export)\s(?:[^'"`;]*?\sfrom\s*)?['"]([^'"]+)['"]/gm
const DYNAMIC = /\bimport\(\s*['"]([^'"]+)['"]/g

export const importsOf = (file: SourceFile): Import[] =>
  [STATEMENT, DYNAMIC].flatMap(pattern =>
    [...file.text.matchAll(pattern)].map(match => {
      const specifier = match[1] ?? ''
      const relative = specifier.startsWith('.')
      return {
        from: file.path,
        line: lineAt(file.text, match.index),
        to: relative ? posix.join(posix.dirname(file.path), specifier) : specifier,
        relative,
        typeOnly: /^(?:import|export) type\b/.test(match[0]),
      }
    }),
  )

export const lineAt = (text: string, offset: number): number =>
  text.slice(0, offset).split('\n').length

/** Returns each import cycle once, as the list of its files in import order. */
export const cyclesIn = (files: readonly SourceFile[]): string[][] => {
  const edges = new Map(
    files.map(file => [file.path, importsOf(file).flatMap(to => (to.relative ? [to.to] : []))]),
  )
  const visited = new Set<string>()
  const cycles: string[][] = []
  const walk = (path: string, trail: readonly string[]): void => {
    const at = trail.indexOf(path)
    if (at >= 0) cycles.push(trail.slice(at))
    if (at >= 0 || visited.has(path)) return
    for (const next of edges.get(path) ?? []) walk(next, [...trail, path])
    visited.add(path)
  }
  for (const path of edges.keys()) walk(path, [])
  return cycles
}
