/** Reads which file imports which. Knows import statements; knows no law. */
import { posix } from 'node:path'

export interface SourceFile {
  /** Relative to the project, with forward slashes. */
  readonly path: string
  readonly text: string
}
export interface Import {
  readonly from: string
  readonly line: number
  /** A path in the project for a relative import; else the package or `node:` module as written. */
  readonly to: string
  readonly relative: boolean
  /** `import type`: nothing of it is there at run time. */
  readonly typeOnly: boolean
}

// Statements at the start of a line, over several lines too; `import()` anywhere.
const STATEMENT = /^(?:import|export)\s(?:[^'"`;]*?\sfrom\s*)?['"]([^'"]+)['"]/gm
const DYNAMIC = /\bimport\(\s*['"]([^'"]+)['"]/g

export const importsOf = (file: SourceFile): Import[] =>
  [STATEMENT, DYNAMIC].flatMap(pattern =>
    [...file.text.matchAll(pattern)].map(match => {
      const written = match[1] ?? ''
      const relative = written.startsWith('.')
      return {
        from: file.path,
        line: lineAt(file.text, match.index),
        to: relative ? posix.join(posix.dirname(file.path), written) : written,
        relative,
        typeOnly: /^(?:import|export) type\b/.test(match[0]),
      }
    }),
  )

export const lineAt = (text: string, offset: number): number =>
  text.slice(0, offset).split('\n').length

/** Every circle once, as the files on it in order. */
export const circlesIn = (files: readonly SourceFile[]): string[][] => {
  const edges = new Map(
    files.map(file => [file.path, importsOf(file).flatMap(to => (to.relative ? [to.to] : []))]),
  )
  const done = new Set<string>()
  const circles: string[][] = []
  const walk = (path: string, trail: readonly string[]): void => {
    const at = trail.indexOf(path)
    if (at >= 0) circles.push(trail.slice(at))
    if (at >= 0 || done.has(path)) return
    for (const next of edges.get(path) ?? []) walk(next, [...trail, path])
    done.add(path)
  }
  for (const path of edges.keys()) walk(path, [])
  return circles
}
