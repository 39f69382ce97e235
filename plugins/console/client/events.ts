/** Data that changes while a page shows it: streams of events, and reloads at intervals. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { addressOf, checkSession } from './api.ts'

/** Calls `run` every `ms` while the tab is visible. */
export const useEvery = (ms: number, run: () => void): void => {
  const last = useRef(run)
  last.current = run
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) last.current()
    }, ms)
    return () => clearInterval(timer)
  }, [ms])
}

export interface StreamState {
  readonly isOpen: boolean
  /** Time of the last event, ms since 1970; undefined: none yet. */
  readonly lastAt: number | undefined
}
/** ms until a refused stream is asked for again. */
const PAUSE = 5_000

/** Events of a path as they happen, closed while the tab is hidden. `onOpen` runs at each
 *  connection: what changed before it is to be loaded. A stream that is refused, or that reports
 *  the end of the session, shows the sign-in if the session has ended. */
export const useStream = <T>(
  path: string | undefined,
  onEvent: (event: T) => void,
  onOpen: () => void,
): StreamState => {
  const [lastAt, setLastAt] = useState<number>()
  const [isOpen, setOpen] = useState(false)
  const listeners = useRef({ onEvent, onOpen })
  listeners.current = { onEvent, onOpen }
  useEffect(() => {
    if (path === undefined) return
    let source: EventSource | undefined
    let timer: ReturnType<typeof setTimeout> | undefined
    const close = () => {
      clearTimeout(timer)
      source?.close()
      source = undefined
      setOpen(false)
    }
    const onRefused = () => {
      close()
      void checkSession()
      timer = setTimeout(connect, PAUSE)
    }
    const connect = () => {
      close()
      if (document.hidden) return
      const stream = new EventSource(addressOf(path))
      source = stream
      stream.onopen = () => {
        setOpen(true)
        listeners.current.onOpen()
      }
      // The browser connects again by itself, unless the stream was refused.
      stream.onerror = () => {
        setOpen(false)
        if (stream.readyState === EventSource.CLOSED) onRefused()
      }
      stream.onmessage = ({ data }) => {
        setLastAt(Date.now())
        listeners.current.onEvent(JSON.parse(data) as T)
      }
      stream.addEventListener('signed-out', onRefused)
    }
    connect()
    document.addEventListener('visibilitychange', connect)
    return () => {
      document.removeEventListener('visibilitychange', connect)
      close()
    }
  }, [path])
  return { isOpen, lastAt }
}

/** The reports of a stream of an account: the changed rows; none at its beginning. */
export interface Change {
  readonly at: number
  readonly rows: readonly { readonly id: string }[]
}
/** Changes of an account's rows as they happen, also those since an earlier connection. Returns
 *  the time of the last event, in ms. */
export const useChanges = (
  path: string | undefined,
  onChange: (change: Change) => void,
): number | undefined => {
  // The page has just loaded what the first event of the first connection stands for.
  const connectedTo = useRef<string | undefined>(undefined)
  const onEvent = (change: Change) => {
    if (connectedTo.current === path) onChange(change)
    connectedTo.current = path
  }
  return useStream(path, onEvent, () => {}).lastAt
}
