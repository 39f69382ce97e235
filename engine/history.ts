/** The versions that went live: the texts of their files and the names of their bundles, never a resolved value. */
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import type { Bundle } from './config/blueprint.ts'

export interface Entry {
  readonly version: number
  readonly hash: string
  /** ISO 8601. */
  readonly time: string
  /** The version this one brought back. */
  readonly from?: number
  /** By name relative to the folder of routes.yaml. */
  readonly files: Readonly<Record<string, string>>
  readonly plugins: readonly Bundle[]
}
export interface History {
  readonly last: Entry | undefined
  find(version: number): Entry | undefined
  /** What served before this one, not counting what has been rolled back. */
  before(version: number): Entry | undefined
  save(entry: Entry): void
}

const KEPT = 20
/** ms for which an unused bundle stays: another process may just be about to import it. */
const UNUSED = 60 * 60_000

/** `cacheFolder`: where the bundles lie. */
export const openHistory = (folder: string, cacheFolder: string): History => {
  const fileOf = (version: number): string => join(folder, `${version}.json`)
  const versions = (): number[] =>
    namesIn(folder)
      .flatMap(name => /^(\d+)\.json$/.exec(name)?.[1] ?? [])
      .map(Number)
      .sort((a, b) => a - b)
  const find = (version: number): Entry | undefined => {
    try {
      return JSON.parse(readFileSync(fileOf(version), 'utf8')) as Entry
    } catch {
      return undefined
    }
  }
  const newest = (list: readonly number[]): Entry | undefined => {
    for (const version of list.toReversed()) {
      const entry = find(version)
      if (entry) return entry
    }
    return undefined
  }
  return {
    get last() {
      return newest(versions())
    },
    find,
    before(version) {
      const origin = find(version)?.from ?? version
      return newest(versions().filter(each => each < origin))
    },
    save(entry) {
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      // The texts may hold secrets that an operator wrote down plainly.
      const draft = `${fileOf(entry.version)}.${process.pid}`
      writeFileSync(draft, JSON.stringify(entry), { mode: 0o600 })
      renameSync(draft, fileOf(entry.version))
      const all = versions()
      for (const version of all.slice(0, -KEPT)) rmSync(fileOf(version), { force: true })
      prune(
        cacheFolder,
        all.slice(-KEPT).flatMap(each => find(each)?.plugins ?? []),
      )
    },
  }
}

const namesIn = (folder: string): string[] => {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

/** Removes bundles that no kept version names. */
const prune = (cacheFolder: string, named: readonly Bundle[]): void => {
  const used = new Set(named.map(({ bundle }) => bundle))
  for (const name of namesIn(cacheFolder)) {
    const path = join(cacheFolder, name)
    if (!name.endsWith('.mjs') || used.has(path)) continue
    const { mtimeMs } = statSync(path, { throwIfNoEntry: false }) ?? { mtimeMs: Date.now() }
    if (Date.now() - mtimeMs > UNUSED) rmSync(path, { force: true })
  }
}
