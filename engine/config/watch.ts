/** Tells when the files of a configuration have other content. Knows their places, not what is in the files. */
import { createHash } from 'node:crypto'
import { lstatSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import { basename, dirname, join, matchesGlob, relative, resolve, sep } from 'node:path'
import { type FSWatcher, watch as watchFolders } from 'chokidar'

export interface WatchOptions {
  /** Absolute; see `watchedPlaces`. What else stands in their folders may change as it likes. */
  readonly places: readonly string[]
  /** Some content may be new. Called once for a burst of saves. */
  changed(): void
  /** ms without an event that end a burst. */
  readonly quiet?: number
  /** ms after which a burst is told even if it goes on. */
  readonly atMost?: number
}
export interface Watch {
  /** Watches these places from now on. */
  update(places: readonly string[]): void
  close(): Promise<void>
}

/** What editors, databases and loggers leave beside a configuration. */
const NOISE =
  /^(\.#.*|#.*#|\..*\.sw[a-z]|4913|\.DS_Store|\.goutputstream-.*|.*___jb_(tmp|old)___|.*(~|\.tmp|\.bak|\.log|\.pid|\.db(-wal|-shm|-journal)?))$/

export const watchFiles = (options: WatchOptions): Watch => {
  const { changed, quiet = 40, atMost = 200 } = options
  // No file has a print at first: whatever happened before the watch stood is told by its first look.
  const prints = new Map<string, string>()
  /** What stood at the path of each watched folder when it was last looked at. */
  const folders = new Map<string, string>()
  let names = namesIn([])
  /** The newest last; those before it watch until it does. */
  const watchers = new Set<FSWatcher>()
  let timer: NodeJS.Timeout | undefined
  let since: number | undefined
  let closed = false

  const look = () => {
    since = undefined
    // Taken before anyone reads the files: a save after this line differs from it and is told again.
    const found = new Map([...names].flatMap(([folder, wanted]) => printsOf(folder, wanted)))
    const same = [...found].every(([path, print]) => prints.get(path) === print)
    const gone = [...prints.keys()].some(path => !found.has(path))
    prints.clear()
    for (const [path, print] of found) prints.set(path, print)
    const replaced = [...names.keys()].filter(path => folders.get(path) !== identityOf(path))
    // A path that is a folder no more, or again, is found elsewhere by whoever reads it, also where
    // the folder was empty.
    const turned = replaced.some(path => folders.get(path) === NO_FOLDER || !isFolder(path))
    for (const path of replaced) folders.set(path, identityOf(path))
    if (!same || gone || turned) changed()
    // A watch stays with the folder that it was opened on, not with its path.
    if (replaced.length > 0) open()
  }
  const stir = (path: string) => {
    if (closed || names.get(dirname(path))?.(basename(path)) === false) return
    const now = performance.now()
    since ??= now
    clearTimeout(timer)
    timer = setTimeout(look, Math.max(0, Math.min(quiet, since + atMost - now)))
  }
  const open = () => {
    for (const path of names.keys()) if (!folders.has(path)) folders.set(path, identityOf(path))
    const next = watchFolders([...names.keys()], { depth: 0, ignoreInitial: true })
    watchers.add(next)
    next.on('all', (_event, path) => stir(path))
    // A file that is a folder by the next look is no event of its own.
    next.on('raw', (_event, name) => {
      const counts = [...names].some(
        ([folder, wanted]) => name === null || name === basename(folder) || wanted(name),
      )
      if (counts) stir('')
    })
    // A folder that vanishes is an event like any other; the old version goes on serving.
    next.on('error', () => stir(''))
    next.on('ready', () => {
      for (const before of watchers) {
        if (before === next) break
        watchers.delete(before)
        void before.close()
      }
      stir('')
    })
  }
  let known: readonly string[] = []
  const update: Watch['update'] = places => {
    const there = [...new Set(places)].filter(each => isFolder(dirname(each))).sort()
    if (closed || there.join('\n') === known.join('\n')) return
    known = there
    const before = [...names.keys()].join('\n')
    names = namesIn(there)
    for (const path of prints.keys())
      if (!names.get(dirname(path))?.(basename(path))) prints.delete(path)
    for (const path of folders.keys()) if (!names.has(path)) folders.delete(path)
    if ([...names.keys()].join('\n') !== before) open()
    else stir('')
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

/** Nothing is there, may not be seen, or is a link to itself: to a watch that is all the same. */
const statOf = (path: string, how: typeof statSync | typeof lstatSync = statSync) => {
  try {
    return how(path)
  } catch {
    return undefined
  }
}
const isFolder = (path: string) => statOf(path)?.isDirectory() === true
const NO_FOLDER = ''
/** Differs between two folders that stand at one path one after the other. */
const identityOf = (path: string): string => {
  const stat = statOf(path)
  return stat?.isDirectory() ? `${stat.dev} ${stat.ino}` : NO_FOLDER
}

/** Whether what has this name in a folder counts. */
type Wanted = (name: string) => boolean
const namesIn = (places: readonly string[]): Map<string, Wanted> =>
  new Map(
    [...Map.groupBy(places, dirname)].map(([folder, inside]) => {
      const exact = new Set(inside.map(each => basename(each)))
      const globs = [...exact].filter(name => WILD.test(name))
      const fits: Wanted = name =>
        exact.has(name) ||
        (!NOISE.test(name) && globs.some(glob => glob === '*' || matchesGlob(name, glob)))
      return [folder, fits]
    }),
  )
const WILD = /[*?[{]/

/** Paths and contents of what counts of a folder. */
const printsOf = (folder: string, wanted: Wanted): (readonly [path: string, print: string])[] => {
  try {
    return readdirSync(folder)
      .filter(wanted)
      .map(name => {
        const path = join(folder, name)
        return [path, createHash('sha256').update(contentOf(path)).digest('base64')] as const
      })
  } catch {
    // Gone while it was read: the event of its going brings another look.
    return []
  }
}
/** More than a configuration ever holds: of a larger file only size and time count. */
const LARGEST = 16 * 2 ** 20
const contentOf = (path: string): string | Uint8Array => {
  const stat = statOf(path)
  if (!stat?.isFile()) return stat ? 'folder' : 'nothing'
  return stat.size > LARGEST ? `${stat.size} ${stat.mtimeMs}` : readFileSync(path)
}

/** Every place at which a change of one of `paths` can show, through whatever links: a file by its name, a folder as
 *  `folder/*`, and what is not there yet by where it would begin. The last step of a path may be a pattern. */
export const watchedPlaces = (paths: readonly string[]): string[] => {
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
