/** Watches the files of a configuration and reports when their content changes. */
import { createHash } from 'node:crypto'
import { lstatSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import { basename, dirname, join, matchesGlob, relative, resolve, sep } from 'node:path'
import { type FSWatcher, watch as watchFolders } from 'chokidar'

export interface WatchOptions {
  /** Absolute paths and patterns, see `watchedPlaces`. Other files of their folders are ignored. */
  readonly places: readonly string[]
  /** Called once per burst of saves, when content may have changed. */
  onChange(): void
  /** ms without an event that end a burst. */
  readonly debounce?: number
  /** ms after which a burst is reported even if it continues. */
  readonly maxDelay?: number
}
export interface Watch {
  /** Replaces the watched paths. */
  update(places: readonly string[]): void
  close(): Promise<void>
}

/** Temporary files of editors, databases and loggers. */
const NOISE =
  /^(\.#.*|#.*#|\..*\.sw[a-z]|4913|\.DS_Store|\.goutputstream-.*|.*___jb_(tmp|old)___|.*(~|\.tmp|\.bak|\.log|\.pid|\.db(-wal|-shm|-journal)?))$/

export const watchFiles = (options: WatchOptions): Watch => {
  const { onChange: changed, debounce: quiet = 40, maxDelay: atMost = 200 } = options
  // The first check reports all files, so changes before the watch was ready are not missed.
  const hashes = new Map<string, string>()
  /** Identity of each watched folder at the last check. */
  const folders = new Map<string, string>()
  let names = filtersByFolder([])
  /** The newest is last; earlier ones stay open until it is ready. */
  const watchers = new Set<FSWatcher>()
  let timer: NodeJS.Timeout | undefined
  let since: number | undefined
  let closed = false

  const check = () => {
    since = undefined
    // Taken before the files are read: a later save differs and is reported again.
    const found = new Map([...names].flatMap(([folder, wanted]) => hashesOf(folder, wanted)))
    const same = [...found].every(([path, print]) => hashes.get(path) === print)
    const isAnyMissing = [...hashes.keys()].some(path => !found.has(path))
    hashes.clear()
    for (const [path, print] of found) hashes.set(path, print)
    const replaced = [...names.keys()].filter(path => folders.get(path) !== identityOf(path))
    // A path that becomes a folder, or stops being one, resolves to other files, even if the folder
    // is empty.
    const turned = replaced.some(path => folders.get(path) === NO_FOLDER || !isFolder(path))
    for (const path of replaced) folders.set(path, identityOf(path))
    if (!same || isAnyMissing || turned) changed()
    // A watcher follows the opened folder, not its path.
    if (replaced.length > 0) open()
  }
  const schedule = (path: string) => {
    if (closed || names.get(dirname(path))?.(basename(path)) === false) return
    const now = performance.now()
    since ??= now
    clearTimeout(timer)
    timer = setTimeout(check, Math.max(0, Math.min(quiet, since + atMost - now)))
  }
  const open = () => {
    for (const path of names.keys()) if (!folders.has(path)) folders.set(path, identityOf(path))
    const next = watchFolders([...names.keys()], { depth: 0, ignoreInitial: true })
    watchers.add(next)
    next.on('all', (_event, path) => schedule(path))
    // A file that is replaced by a folder causes no other event.
    next.on('raw', (_event, name) => {
      const counts = [...names].some(
        ([folder, wanted]) => name === null || name === basename(folder) || wanted(name),
      )
      if (counts) schedule('')
    })
    // A removed folder counts as a change; the live version stays.
    next.on('error', () => schedule(''))
    next.on('ready', () => {
      for (const before of watchers) {
        if (before === next) break
        watchers.delete(before)
        void before.close()
      }
      schedule('')
    })
  }
  let known: readonly string[] = []
  const update: Watch['update'] = places => {
    const there = [...new Set(places)].filter(each => isFolder(dirname(each))).sort()
    if (closed || there.join('\n') === known.join('\n')) return
    known = there
    const before = [...names.keys()].join('\n')
    names = filtersByFolder(there)
    for (const path of hashes.keys())
      if (!names.get(dirname(path))?.(basename(path))) hashes.delete(path)
    for (const path of folders.keys()) if (!names.has(path)) folders.delete(path)
    if ([...names.keys()].join('\n') !== before) open()
    else schedule('')
  }
  update(options.places)
  return {
    update,
    close: async () => {
      closed = true
      clearTimeout(timer)
      await Promise.all(Array.from(watchers, each => each.close()))
    },
  }
}

/** Undefined if the path does not exist, is not accessible or is a link to itself. */
const statOf = (path: string, how: typeof statSync | typeof lstatSync = statSync) => {
  try {
    return how(path)
  } catch {
    return undefined
  }
}
const isFolder = (path: string) => statOf(path)?.isDirectory() === true
const NO_FOLDER = ''
/** Identity of a folder: it differs after a folder was replaced at the same path. */
const identityOf = (path: string): string => {
  const stat = statOf(path)
  return stat?.isDirectory() ? `${stat.dev} ${stat.ino}` : NO_FOLDER
}

/** Whether a file name in a folder is watched. */
type NameFilter = (name: string) => boolean
const filtersByFolder = (places: readonly string[]): Map<string, NameFilter> =>
  new Map(
    [...Map.groupBy(places, dirname)].map(([folder, inside]) => {
      const exact = new Set(inside.map(each => basename(each)))
      const globs = [...exact].filter(name => WILD.test(name))
      const fits: NameFilter = name =>
        exact.has(name) ||
        (!NOISE.test(name) && globs.some(glob => glob === '*' || matchesGlob(name, glob)))
      return [folder, fits]
    }),
  )
const WILD = /[*?[{]/

/** Paths and content hashes of the watched files of a folder. */
const hashesOf = (
  folder: string,
  wanted: NameFilter,
): (readonly [path: string, print: string])[] => {
  try {
    return readdirSync(folder)
      .filter(wanted)
      .map(name => {
        const path = join(folder, name)
        return [path, createHash('sha256').update(contentOf(path)).digest('base64')] as const
      })
  } catch {
    // Removed during the read: its event causes another check.
    return []
  }
}
/** Of larger files only size and modification time are compared, bytes. */
const LARGEST = 16 * 2 ** 20
const contentOf = (path: string): string | Uint8Array => {
  const stat = statOf(path)
  if (!stat?.isFile()) return stat ? 'folder' : 'nothing'
  return stat.size > LARGEST ? `${stat.size} ${stat.mtimeMs}` : readFileSync(path)
}

/** All paths at which a change of `paths` can appear, through links: a file by its name, a folder
 *  as  `folder/*`, a missing path by its first missing part. The last part of a path may be a
 *  pattern. */
export const watchedPaths = (paths: readonly string[]): string[] => {
  const seen = new Set<string>()
  const places = new Set<string>()
  const follow = (path: string): void => {
    if (seen.has(path)) return
    seen.add(path)
    const folder = nearestFolder(path)
    const [next = ''] = relative(folder, path).split(sep)
    places.add(join(folder, next === '' ? '*' : next))
    for (let at = path; at !== dirname(at); at = dirname(at)) {
      if (!statOf(at, lstatSync)?.isSymbolicLink()) continue
      places.add(at)
      follow(join(resolve(dirname(at), readlinkSync(at)), relative(at, path)))
    }
  }
  for (const path of paths) follow(path)
  return [...places].sort()
}
const nearestFolder = (path: string): string => {
  let at = path
  while (at !== dirname(at) && !isFolder(at)) at = dirname(at)
  return at
}
