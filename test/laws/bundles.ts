/** Which lines and branches of source files bundled plugins ran. A source map leads from a place in
 *  a bundle to its line in the source: a line of a bundle has many of them. Branches of a line are
 *  matched in their order, if the bundle has as many. */
import { existsSync, readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { dirname, resolve } from 'node:path'
import { decode } from '@jridgewell/sourcemap-codec'
import { type Branch, branchesOf, branchesRun } from './branches.ts'
import { lineAt } from './imports.ts'
import { type Script, wasRun } from './lines.ts'

export interface FileRun {
  readonly text: string
  readonly branches: readonly Branch[]
  readonly linesRun: boolean[]
  readonly branchesRun: boolean[]
}
type Files = ReadonlyMap<string, FileRun>
/** A file, and the index of a line or branch in it. */
type Place = readonly [file: FileRun, index: number]
export interface Bundle {
  readonly text: string
  readonly branches: readonly Branch[]
  /** Each mapped offset with its line in the source. */
  readonly lines: readonly (readonly [offset: number, ...Place])[]
  /** The branch in the source of each branch. */
  readonly sources: readonly (Place | undefined)[]
}

/** A bundle that contains some of these source files, by absolute path. */
export const readBundle = (path: string, files: Files): Bundle | undefined => {
  if (!existsSync(`${path}.map`)) return undefined
  const payload = JSON.parse(readFileSync(`${path}.map`, 'utf8'))
  const fileOf = (source: string): FileRun | undefined => files.get(resolve(dirname(path), source))
  if (!payload.sources.some(fileOf)) return undefined
  const map = new SourceMap(payload)
  const lineOf = (line: number, column: number): Place | undefined => {
    const entry = map.findEntry(line, column)
    const file = 'originalSource' in entry ? fileOf(entry.originalSource) : undefined
    return file && 'originalLine' in entry ? [file, entry.originalLine] : undefined
  }
  const text = readFileSync(path, 'utf8')
  const branches = branchesOf(path, text)
  const places = branches.map(({ start, elseOf = start }) =>
    lineOf(lineAt(text, elseOf) - 1, elseOf - text.lastIndexOf('\n', elseOf - 1) - 1),
  )
  return {
    text,
    branches,
    lines: linesOf(text, payload.mappings, payload.sources.map(fileOf)),
    sources: matchBranches(places),
  }
}

const linesOf = (
  text: string,
  mappings: string,
  files: readonly (FileRun | undefined)[],
): Bundle['lines'] => {
  let lineStart = 0
  return decode(mappings).flatMap(segments => {
    const start = lineStart
    lineStart = text.indexOf('\n', lineStart) + 1 || text.length
    return segments.flatMap(([column, source, line]) => {
      const file = source === undefined ? undefined : files[source]
      return file && line !== undefined ? [[start + column, file, line] as const] : []
    })
  })
}

/** From the line of each branch of a bundle to the branch. */
const matchBranches = (places: readonly (Place | undefined)[]): (Place | undefined)[] => {
  const keyOf = ([{ text }, line]: Place): string => `${line} ${text}`
  const groups = Map.groupBy(places.keys(), index => {
    const place = places[index]
    return place ? keyOf(place) : ''
  })
  return places.map((place, index) => {
    if (!place) return undefined
    const [file, line] = place
    const group = groups.get(keyOf(place)) ?? []
    const own = [...file.branches.keys()].filter(at => file.branches[at]?.line === line + 1)
    const match = own.length === group.length ? own[group.indexOf(index)] : undefined
    return match === undefined ? undefined : [file, match]
  })
}

/** Adds what a process ran of a bundle to its files. */
export const addBundle = (bundle: Bundle, script: Script): void => {
  const run = wasRun(bundle.text, script)
  for (const [offset, file, line] of bundle.lines) if (run[offset]) file.linesRun[line] = true
  for (const [index, run] of branchesRun(bundle.branches, script).entries()) {
    const [file, branch] = bundle.sources[index] ?? []
    if (run && file && branch !== undefined) file.branchesRun[branch] = true
  }
}
