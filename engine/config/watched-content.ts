/** The content of the watched files, and whether it differs from the last check. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, matchesGlob } from 'node:path'
import { isFolder, statOf } from './watched-paths.ts'

export class WatchedContent {
  #filters: ReadonlyMap<string, NameFilter> = new Map()
  /** Content hashes of the last check, by path. Empty before the first check, which therefore
   *  reports files that changed before the watchers were ready. */
  readonly #hashes = new Map<string, string>()
  /** Identity of each watched folder at the last check. */
  readonly #identities = new Map<string, string>()

  get folders(): Iterable<string> {
    return this.#filters.keys()
  }
  /** Replaces the watched paths and patterns. Returns whether they are in other folders. */
  setPaths(paths: readonly string[]): boolean {
    const before = [...this.folders].join('\n')
    this.#filters = filtersByFolder(paths)
    for (const path of this.#hashes.keys())
      if (!this.#filters.get(dirname(path))?.(basename(path))) this.#hashes.delete(path)
    for (const path of this.#identities.keys())
      if (!this.#filters.has(path)) this.#identities.delete(path)
    return [...this.folders].join('\n') !== before
  }
  /** Records the identity of folders that are new since the last call. */
  recordFolders(): void {
    for (const path of this.folders)
      if (!this.#identities.has(path)) this.#identities.set(path, identityOf(path))
  }
  /** Whether an event at a path may be a change: false for the other files of a watched folder. */
  concerns(path: string): boolean {
    return this.#filters.get(dirname(path))?.(basename(path)) !== false
  }
  /** The same for an event with a file name only, or with no name (null). */
  concernsName(name: string | null): boolean {
    return [...this.#filters].some(
      ([folder, isWatched]) => name === null || name === basename(folder) || isWatched(name),
    )
  }
  /** Compares all files and folders with the last check. */
  check(): { readonly isChanged: boolean; readonly isFolderReplaced: boolean } {
    // Identities are read after the content: a folder that is replaced in between is checked again.
    const isContentChanged = this.#checkContent()
    const replacedFolders = [...this.folders].filter(
      path => this.#identities.get(path) !== identityOf(path),
    )
    // A path that becomes a folder, or stops being one, resolves to other files, even if the folder
    // is empty.
    const isKindChanged = replacedFolders.some(
      path => this.#identities.get(path) === NO_FOLDER || !isFolder(path),
    )
    for (const path of replacedFolders) this.#identities.set(path, identityOf(path))
    return {
      isChanged: isContentChanged || isKindChanged,
      isFolderReplaced: replacedFolders.length > 0,
    }
  }
  #checkContent(): boolean {
    const hashes = new Map(
      [...this.#filters].flatMap(([folder, isWatched]) => hashesOf(folder, isWatched)),
    )
    const isSame = [...hashes].every(([path, hash]) => this.#hashes.get(path) === hash)
    const isAnyMissing = [...this.#hashes.keys()].some(path => !hashes.has(path))
    this.#hashes.clear()
    for (const [path, hash] of hashes) this.#hashes.set(path, hash)
    return !isSame || isAnyMissing
  }
}

const NO_FOLDER = ''
/** Identity of a folder: it differs after a folder was replaced at the same path. */
const identityOf = (path: string): string => {
  const stat = statOf(path)
  return stat?.isDirectory() ? `${stat.dev} ${stat.ino}` : NO_FOLDER
}

/** Whether a file name in a folder is watched. */
type NameFilter = (name: string) => boolean
const filtersByFolder = (paths: readonly string[]): ReadonlyMap<string, NameFilter> =>
  new Map(
    [...Map.groupBy(paths, dirname)].map(([folder, inside]) => {
      const names = new Set(inside.map(each => basename(each)))
      const globs = [...names].filter(name => GLOB.test(name))
      const isWatched: NameFilter = name =>
        names.has(name) ||
        (!NOISE.test(name) && globs.some(glob => glob === '*' || matchesGlob(name, glob)))
      return [folder, isWatched]
    }),
  )
const GLOB = /[*?[{]/
/** Temporary files of editors, databases and loggers. */
const NOISE =
  /^(\.#.*|#.*#|\..*\.sw[a-z]|4913|\.DS_Store|\.goutputstream-.*|.*___jb_(tmp|old)___|.*(~|\.tmp|\.bak|\.log|\.pid|\.db(-wal|-shm|-journal)?))$/

/** Paths and content hashes of the watched files of a folder. */
const hashesOf = (
  folder: string,
  isWatched: NameFilter,
): (readonly [path: string, hash: string])[] => {
  try {
    return readdirSync(folder)
      .filter(isWatched)
      .map(name => {
        const path = join(folder, name)
        return [path, createHash('sha256').update(contentOf(path)).digest('base64')] as const
      })
  } catch {
    // The folder was removed during the read: the event of its removal causes another check.
    return []
  }
}
/** Of files with more bytes only size and modification time are compared. */
const MAX_HASHED_BYTES = 16 * 2 ** 20
const contentOf = (path: string): string | Uint8Array => {
  const stat = statOf(path)
  if (!stat?.isFile()) return stat ? 'folder' : 'nothing'
  return stat.size > MAX_HASHED_BYTES ? `${stat.size} ${stat.mtimeMs}` : readFileSync(path)
}
