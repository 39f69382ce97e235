/** Stored versions that went live: the texts of their files and the names of their bundles, never
 *  the value of a variable. */
import { existsSync, readdirSync, readFileSync, realpathSync, rmSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { type Bundle, pathsOf } from '../config/compile/blueprint.ts'
import { writeAtomically } from '../config/disk.ts'
import type { ReloadCaller } from '../plugin.ts'
import { makeFolder } from '../store/make-folder.ts'

export interface HistoryEntry {
  readonly version: number
  readonly hash: string
  /** ISO 8601. */
  readonly time: string
  /** Number of the version that this rollback restored. */
  readonly from?: number
  readonly by?: ReloadCaller
  /** Its changes, from `describeChange`; absent for the first version of a start. */
  readonly change?: string
  /** Texts by file name, relative to the folder of routes.yaml. */
  readonly files: Readonly<Record<string, string>>
  readonly plugins: readonly Bundle[]
}
type Summary = Pick<HistoryEntry, 'version' | 'hash' | 'plugins'>
const MAX_VERSIONS = 20
/** ms for which an unused bundle is kept: another process may be about to import it. */
const UNUSED_BUNDLE_AGE = 60 * 60_000

export class History {
  readonly #folder: string
  readonly #cacheFolder: string
  /** Entries that were read or saved, without their texts, which may be long. */
  readonly #known = new Map<number, Summary>()

  /** `cacheFolder`: folder of the bundles. */
  constructor(folder: string, cacheFolder: string) {
    this.#folder = folder
    this.#cacheFolder = cacheFolder
  }
  get last(): HistoryEntry | undefined {
    return this.#newest(this.#versions())
  }
  /** The last entry without its texts. */
  get lastSummary(): Summary | undefined {
    return newestOf(this.#versions(), version => this.#summaryOf(version))
  }
  /** Newest first. */
  list(): readonly HistoryEntry[] {
    return this.#versions()
      .toReversed()
      .flatMap(version => this.find(version) ?? [])
  }
  find(version: number): HistoryEntry | undefined {
    try {
      return JSON.parse(readFileSync(this.#fileOf(version), 'utf8')) as HistoryEntry
    } catch {
      return undefined
    }
  }
  /** The version live before `version`, without versions that a rollback has undone. */
  previousTo(version: number): HistoryEntry | undefined {
    const origin = this.find(version)?.from ?? version
    return this.#newest(this.#versions().filter(each => each < origin))
  }
  save(entry: HistoryEntry): void {
    makeFolder(this.#folder, 0o700)
    const archived = { ...entry, plugins: entry.plugins.map(each => this.#archive(each)) }
    // Mode 0600: the texts may hold secrets in plain text.
    writeAtomically(this.#fileOf(entry.version), JSON.stringify(archived), 0o600)
    const versions = this.#versions()
    for (const version of versions.slice(0, -MAX_VERSIONS))
      rmSync(this.#fileOf(version), { force: true })
    this.#known.set(entry.version, summarize(archived))
    const newest = versions.slice(-MAX_VERSIONS)
    for (const version of this.#known.keys())
      if (!newest.includes(version)) this.#known.delete(version)
    const bundles = newest.flatMap(version => this.#summaryOf(version)?.plugins ?? [])
    pruneBundles(this.#cacheFolder, bundles)
  }

  #summaryOf(version: number): Summary | undefined {
    const known = this.#known.get(version)
    if (known) return known
    const entry = this.find(version)
    if (!entry) return undefined
    const summary = summarize(entry)
    this.#known.set(version, summary)
    return summary
  }
  /** The bundle in the cache folder: prebuilt ones are gone after an upgrade of the program. */
  #archive(bundle: Bundle): Bundle {
    if (dirname(bundle.bundle) === realpathSync(this.#cacheFolder)) return bundle
    for (const path of pathsOf(bundle).flatMap(each => [each, `${each}.map`])) {
      const copy = join(this.#cacheFolder, basename(path))
      if (existsSync(path) && !existsSync(copy)) writeAtomically(copy, readFileSync(path, 'utf8'))
    }
    return { ...bundle, bundle: join(this.#cacheFolder, basename(bundle.bundle)) }
  }
  #fileOf(version: number): string {
    return join(this.#folder, `${version}.json`)
  }
  #versions(): number[] {
    return namesIn(this.#folder)
      .flatMap(name => /^(\d+)\.json$/.exec(name)?.[1] ?? [])
      .map(Number)
      .sort((a, b) => a - b)
  }
  #newest(versions: readonly number[]): HistoryEntry | undefined {
    return newestOf(versions, version => this.find(version))
  }
}
/** The result for the highest version that has one; the file of a version may be damaged. */
const newestOf = <T>(
  versions: readonly number[],
  find: (version: number) => T | undefined,
): T | undefined => {
  for (const version of versions.toReversed()) {
    const result = find(version)
    if (result !== undefined) return result
  }
  return undefined
}

const summarize = ({ version, hash, plugins }: HistoryEntry): Summary => ({
  version,
  hash,
  plugins,
})

const namesIn = (folder: string): string[] => {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

/** Removes bundles, compiled schemas and memos that no stored version uses and that are older than
 *  `UNUSED_BUNDLE_AGE`. Files beside a bundle are as old as the bundle, which is touched by use. */
export const pruneBundles = (cacheFolder: string, bundles: readonly Bundle[]): void => {
  const usedNames = new Set(bundles.flatMap(pathsOf).map(path => basename(path)))
  for (const name of namesIn(cacheFolder)) {
    const path = join(cacheFolder, name)
    const bundle = name.replace(/(?:\.map|\.\w+\.code)$/, '')
    const isUsed = usedNames.has(bundle)
    if (!/\.(?:[cm]js(?:\.map|\.\w+\.code)?|txt)$/.test(name) || isUsed) continue
    const { mtimeMs } = statOf(join(cacheFolder, bundle)) ?? statOf(path) ?? { mtimeMs: Date.now() }
    if (Date.now() - mtimeMs > UNUSED_BUNDLE_AGE) rmSync(path, { force: true })
  }
}
const statOf = (path: string) => statSync(path, { throwIfNoEntry: false })
