/** The live log of requests, and what is looked at again and again. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { addressOf, call } from './api.ts'

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

interface LogState {
  readonly isOpen: boolean
  /** ms since 1970; undefined: none yet. */
  readonly lastAt: number | undefined
}
/** Events of a path as they happen, paused while the tab is hidden. `onOpen` runs at each
 *  connection: what happened meanwhile is to be loaded. */
export const useLog = (
  path: string,
  onEvent: (data: unknown) => void,
  onOpen: () => void,
): LogState => {
  const [lastAt, setLastAt] = useState<number>()
  const [isOpen, setOpen] = useState(false)
  const listeners = useRef({ onEvent, onOpen })
  listeners.current = { onEvent, onOpen }
  useEffect(() => {
    let source: EventSource | undefined
    const connect = () => {
      source?.close()
      source = undefined
      setOpen(false)
      if (document.hidden) return
      source = new EventSource(addressOf(path))
      source.onopen = () => {
        setOpen(true)
        listeners.current.onOpen()
      }
      source.onerror = () => setOpen(false)
      source.onmessage = ({ data }) => {
        setLastAt(Date.now())
        listeners.current.onEvent(JSON.parse(data))
      }
      // Any call shows that the session has ended.
      source.addEventListener('signed-out', () => {
        source?.close()
        void call('GET', '/api/session').catch(() => {})
      })
    }
    connect()
    document.addEventListener('visibilitychange', connect)
    return () => {
      document.removeEventListener('visibilitychange', connect)
      source?.close()
    }
  }, [path])
  return { isOpen, lastAt }
}
