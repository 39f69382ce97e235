/** The results of earlier builds, in the cache folder: a start or reload with the same sources
 *  bundles nothing. */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, realpathSync, statSync, utimesSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { type Bundle, pathsOf } from '../compile/blueprint.ts'
import { writeAtomically } from '../disk.ts'
import type { Problem } from '../problem.ts'
import type { PluginEntry } from './plugin-files.ts'

const require = createRequire(import.meta.url)

/** An entry and what became of it: a bundle, problems, or neither if it is not a plugin. */
export interface Candidate {
  readonly entry: PluginEntry
  readonly bundle?: Bundle | undefined
  readonly problems: readonly Problem[]
}
/** A source file as it was bundled. */
export interface SourceState {
  /** Of its content; empty if it was not read. */
  readonly hash: string
  /** Size, identity and times; empty if they do not prove that the content is the same. */
  readonly stamp: string
}
export const UNREAD: SourceState = { hash: '', stamp: '' }
/** The bundles of all entries, and each source by path. */
export interface BuildOutput {
  readonly candidates: readonly Candidate[]
  readonly sources: Readonly<Record<string, SourceState>>
}

/** Files that changed so recently (ms) may change again without other times. */
const RECENT = 2_000
export const stampOf = (path: string): string => {
  const { size, ino, mtimeMs, ctimeMs } = statSync(path)
  const isRecent = Math.max(mtimeMs, ctimeMs) > Date.now() - RECENT
  return isRecent ? '' : [size, ino, mtimeMs, ctimeMs].join(' ')
}

/** `code`: what the bundler adds to each bundle. */
export const readCached = (
  entries: readonly PluginEntry[],
  cacheFolder: string,
  code: string,
): BuildOutput | undefined => {
  try {
    const text = readFileSync(cachePath(entries, cacheFolder, code), 'utf8')
    const output = withEntries(JSON.parse(text) as BuildOutput, entries)
    const sources = currentSources(output.sources)
    const bundles = output.candidates.flatMap(({ bundle }) => bundle ?? [])
    const files = new Set(bundles.flatMap(pathsOf))
    if (!sources || ![...files].every(path => existsSync(path))) return undefined
    for (const path of files) touch(path)
    const current = { ...output, sources }
    if (JSON.stringify(sources) !== JSON.stringify(output.sources))
      keep(entries, cacheFolder, code, current)
    return current
  } catch {
    // No cached result, or a source is missing: bundle again.
    return undefined
  }
}
/** The same result for entries that are displayed relative to another folder. */
const withEntries = (
  { candidates, sources }: BuildOutput,
  entries: readonly PluginEntry[],
): BuildOutput => ({
  candidates: candidates.map((candidate, index) => {
    const entry = entries[index] ?? candidate.entry
    const bundle = candidate.bundle && { ...candidate.bundle, file: entry.file }
    return { ...candidate, entry, bundle }
  }),
  sources,
})
/** The sources with their present stamps; undefined if one has other content. */
const currentSources = (sources: BuildOutput['sources']): BuildOutput['sources'] | undefined => {
  const current: Record<string, SourceState> = {}
  for (const [path, { hash, stamp }] of Object.entries(sources)) {
    const now = hash === '' ? '' : stampOf(path)
    const isSame =
      (now !== '' && now === stamp) || hash === '' || digest(readFileSync(path)) === hash
    if (!isSame) return undefined
    current[path] = { hash, stamp: now }
  }
  return current
}

/** Writes the stamps of a result that is used, if the folder can be written to. */
const keep = (...result: Parameters<typeof writeCached>): void => {
  try {
    writeCached(...result)
  } catch {
    // The prebuilt folder may belong to another user: the sources are hashed each time.
  }
}
export const writeCached = (
  entries: readonly PluginEntry[],
  cacheFolder: string,
  code: string,
  output: BuildOutput,
): void => writeAtomically(cachePath(entries, cacheFolder, code), JSON.stringify(output))

/** Changes with the members of the cached result. */
const FORM = 4
/** Path of the cached build result. It depends on the real paths of the sources, since a link may
 *  change, and on whose they are, since a link to the shipped plugins is the operator's folder. */
const cachePath = (entries: readonly PluginEntry[], cacheFolder: string, code: string): string => {
  const { version } = require('esbuild/package.json') as { version: string }
  const paths = entries.map(({ name, path, isShipped }) => [name, realpathSync(path), isShipped])
  return join(cacheFolder, `plugins-${digest(JSON.stringify([version, code, paths, FORM]))}.json`)
}

/** Updates the time of a file in use, so that it is not pruned. */
export const touch = (path: string): void => {
  try {
    utimesSync(path, new Date(), new Date())
  } catch {
    // The file belongs to another user.
  }
}
export const digest = (content: string | Uint8Array): string =>
  createHash('sha256').update(content).digest('hex').slice(0, 16)
