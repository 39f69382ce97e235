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
import { basename, join } from 'node:path'
import type { Bundle } from '../config/compile/blueprint.ts'

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
const KEPT = 20
/** ms for which an unused bundle stays: another process may just be about to import it. */
const UNUSED = 60 * 60_000

export class History {
  readonly #folder: string
  readonly #cacheFolder: string

  /** `cacheFolder`: where the bundles lie. */
  constructor(folder: string, cacheFolder: string) {
    this.#folder = folder
    this.#cacheFolder = cacheFolder
  }
  get last(): Entry | undefined {
    return this.#newest(this.#versions())
  }
  find(version: number): Entry | undefined {
    try {
      return JSON.parse(readFileSync(this.#fileOf(version), 'utf8')) as Entry
    } catch {
      return undefined
    }
  }
  /** What served before this one, not counting what has been rolled back. */
  before(version: number): Entry | undefined {
    const origin = this.find(version)?.from ?? version
    return this.#newest(this.#versions().filter(each => each < origin))
  }
  save(entry: Entry): void {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 })
    // The texts may hold secrets that an operator wrote down plainly.
    const draft = `${this.#fileOf(entry.version)}.${process.pid}`
    writeFileSync(draft, JSON.stringify(entry), { mode: 0o600 })
    renameSync(draft, this.#fileOf(entry.version))
    const all = this.#versions()
    for (const version of all.slice(0, -KEPT)) rmSync(this.#fileOf(version), { force: true })
    const kept = all.slice(-KEPT).flatMap(version => this.find(version)?.plugins ?? [])
    prune(this.#cacheFolder, kept)
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
  #newest(versions: readonly number[]): Entry | undefined {
    for (const version of versions.toReversed()) {
      const entry = this.find(version)
      if (entry) return entry
    }
    return undefined
  }
}

const namesIn = (folder: string): string[] => {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

/** Removes bundles that no kept version names, and compiled schemas that no start has found for as long. */
const prune = (cacheFolder: string, named: readonly Bundle[]): void => {
  const used = new Set(named.map(({ bundle }) => basename(bundle)))
  for (const name of namesIn(cacheFolder)) {
    const path = join(cacheFolder, name)
    if (!/\.[cm]js$/.test(name) || used.has(name)) continue
    const { mtimeMs } = statSync(path, { throwIfNoEntry: false }) ?? { mtimeMs: Date.now() }
    if (Date.now() - mtimeMs > UNUSED) rmSync(path, { force: true })
  }
}
