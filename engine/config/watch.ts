/** Tells when the files of a configuration have other content. Knows folders, not what is in the files. */
import { createHash } from 'node:crypto'
import { lstatSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { type FSWatcher, watch as watchFolders } from 'chokidar'

export interface WatchOptions {
  /** Absolute; see `watchedFolders`. */
  readonly folders: readonly string[]
  /** Some content may be new. Called once for a burst of saves. */
  changed(): void
  /** ms without an event that end a burst. */
  readonly quiet?: number
  /** ms after which a burst is told even if it goes on. */
  readonly atMost?: number
}
export interface Watch {
  /** Watches these folders from now on. */
  update(folders: readonly string[]): void
  close(): Promise<void>
}

/** What editors, databases and loggers leave beside a configuration. */
const NOISE =
  /^(\.#.*|#.*#|\..*\.sw[a-z]|4913|\.DS_Store|\.goutputstream-.*|.*___jb_(tmp|old)___|.*(~|\.tmp|\.bak|\.log|\.pid|\.db(-wal|-shm|-journal)?))$/

export const watchFiles = (options: WatchOptions): Watch => {
  const { changed, quiet = 40, atMost = 200 } = options
  // No folder has a print at first: whatever happened before the watch stood is told by its first look.
  const prints = new Map<string, string>()
  let folders: readonly string[] = []
  /** The newest last; those before it watch until it does. */
  const watchers = new Set<FSWatcher>()
  let timer: NodeJS.Timeout | undefined
  let since: number | undefined
  let closed = false

  const look = () => {
    since = undefined
    // Taken before anyone reads the files: a save after this line differs from it and is told again.
    const differing = folders.filter(folder => {
      const print = printOf(folder)
      const same = prints.get(folder) === print
      prints.set(folder, print)
      return !same
    })
    if (differing.length > 0) changed()
  }
  const stir = (path: string) => {
    if (closed || NOISE.test(basename(path))) return
    const now = performance.now()
    since ??= now
    clearTimeout(timer)
    timer = setTimeout(look, Math.max(0, Math.min(quiet, since + atMost - now)))
  }
  const open = () => {
    const next = watchFolders([...folders], { depth: 0, ignoreInitial: true })
    watchers.add(next)
    next.on('all', (_event, path) => stir(path))
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
  const update: Watch['update'] = wanted => {
    const there = [...new Set(wanted)].filter(isFolder).sort()
    if (closed || there.join('\n') === folders.join('\n')) return
    folders = there
    for (const folder of prints.keys()) if (!there.includes(folder)) prints.delete(folder)
    open()
  }
  update(options.folders)
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

/** Names and contents of what stands directly in a folder. */
const printOf = (folder: string): string => {
  const hash = createHash('sha256')
  try {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (NOISE.test(entry.name)) continue
      hash.update(`\0${entry.name}\0`)
      hash.update(contentOf(join(folder, entry.name)))
    }
  } catch {
    // Gone while it was read: the event of its going brings another look.
    return ''
  }
  return hash.digest('hex')
}
/** More than a configuration ever holds: of a larger file only size and time count. */
const LARGEST = 16 * 2 ** 20
const contentOf = (path: string): string | Uint8Array => {
  const stat = statOf(path)
  if (!stat?.isFile()) return stat ? 'folder' : 'nothing'
  return stat.size > LARGEST ? `${stat.size} ${stat.mtimeMs}` : readFileSync(path)
}

/** Every folder in which a change of one of `paths` (files or folders) can show, through whatever links. */
export const watchedFolders = (paths: readonly string[]): string[] => {
  const seen = new Set<string>()
  const folders = new Set<string>()
  const follow = (path: string): void => {
    if (seen.has(path)) return
    seen.add(path)
    folders.add(nearestFolder(path))
    for (let at = path; at !== dirname(at); at = dirname(at)) {
      if (!statOf(at, lstatSync)?.isSymbolicLink()) continue
      folders.add(dirname(at))
      follow(join(resolve(dirname(at), readlinkSync(at)), relative(at, path)))
    }
  }
  for (const path of paths) follow(path)
  return [...folders].sort()
}
const nearestFolder = (path: string): string => {
  let at = path
  while (at !== dirname(at) && !isFolder(at)) at = dirname(at)
  return at
}
