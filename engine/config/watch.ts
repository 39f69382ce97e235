/** Watches the files of a configuration and reports when their content changes. */
import { dirname } from 'node:path'
import { type FSWatcher, watch as watchFolders } from 'chokidar'
import { WatchedContent } from './watched-content.ts'
import { isFolder } from './watched-paths.ts'

export interface WatchOptions {
  /** Absolute paths and patterns, see `findWatchedPaths`. Other files of their folders are
   *  ignored. */
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

export const watchFiles = ({ places, onChange, debounce, maxDelay }: WatchOptions): Watch => {
  const content = new WatchedContent()
  const check = (): void => {
    const { isChanged, isFolderReplaced } = content.check()
    if (isChanged) onChange()
    // A watcher follows the opened folder, not its path.
    if (isFolderReplaced) watchers.open()
  }
  const burst = createBurst(check, debounce, maxDelay)
  const watchers = createWatchers(content, burst.extend)
  let current = ''
  const update: Watch['update'] = places => {
    const paths = [...new Set(places)].filter(path => isFolder(dirname(path))).sort()
    if (burst.isClosed() || paths.join('\n') === current) return
    current = paths.join('\n')
    if (content.setPaths(paths)) watchers.open()
    else burst.extend()
  }
  update(places)
  return {
    update,
    close: () => {
      burst.close()
      return watchers.close()
    },
  }
}

/** Calls `onEnd` once for events that follow each other closely. Times in ms. */
const createBurst = (onEnd: () => void, debounce = 40, maxDelay = 200) => {
  let timer: NodeJS.Timeout | undefined
  let start: number | undefined
  let isClosed = false
  return {
    extend: (): void => {
      if (isClosed) return
      const now = performance.now()
      start ??= now
      clearTimeout(timer)
      const end = (): void => {
        start = undefined
        onEnd()
      }
      timer = setTimeout(end, Math.max(0, Math.min(debounce, start + maxDelay - now)))
    },
    isClosed: (): boolean => isClosed,
    close: (): void => {
      isClosed = true
      clearTimeout(timer)
    },
  }
}

/** The file system watchers of the folders of `content`. */
const createWatchers = (content: WatchedContent, onEvent: () => void) => {
  /** The newest is last; earlier ones stay open until it is ready. */
  const watchers = new Set<FSWatcher>()
  const open = (): void => {
    content.recordFolders()
    const watcher = watchFolders([...content.folders], { depth: 0, ignoreInitial: true })
    watchers.add(watcher)
    watcher.on('all', (_event, path) => {
      if (content.concerns(path)) onEvent()
    })
    // A file that is replaced by a folder causes no other event.
    watcher.on('raw', (_event, name) => {
      if (content.concernsName(name)) onEvent()
    })
    // A removed folder counts as a change; the live version stays.
    watcher.on('error', onEvent)
    watcher.on('ready', () => {
      for (const earlier of watchers) {
        if (earlier === watcher) break
        watchers.delete(earlier)
        void earlier.close()
      }
      onEvent()
    })
  }
  const close = async (): Promise<void> => {
    await Promise.all(Array.from(watchers, each => each.close()))
  }
  return { open, close }
}
