/** A connection to the writer that comes back by itself. Knows frames; knows nothing of lists. */
import { connect, type Socket } from 'node:net'
import { createFrames, frameOf, type Heard } from './frames.ts'

export interface Line {
  readonly up: boolean
  /** When it went down, by the monotonic clock. */
  readonly downSince: number | undefined
  /** JSON of a `Said`. */
  say(text: string): void
  /** Ends it for good, after what was said has left. */
  close(): Promise<void>
}
export interface Listener {
  /** Connected: what is to be said first. */
  greet(): string
  heard(message: Heard): void
}
const BACK_OFF = { first: 5, most: 100 }

export const openLine = (path: string, listener: Listener): Line => {
  let socket: Socket | undefined
  let downSince: number | undefined = performance.now()
  let delay = BACK_OFF.first
  let again: NodeJS.Timeout | undefined
  let closed = false

  const dial = (): void => {
    const dialled = connect(path)
    dialled.on('connect', () => {
      socket = dialled
      downSince = undefined
      delay = BACK_OFF.first
      dialled.write(frameOf(listener.greet()))
    })
    dialled.on(
      'data',
      createFrames<Heard>(message => listener.heard(message)),
    )
    // 'close' follows every error, and is all we need to know.
    dialled.on('error', () => {})
    dialled.on('close', () => {
      socket = undefined
      if (closed) return
      downSince ??= performance.now()
      again = setTimeout(dial, delay)
      delay = Math.min(delay * 2, BACK_OFF.most)
    })
  }
  dial()
  return {
    get up() {
      return socket !== undefined
    },
    get downSince() {
      return downSince
    },
    say(text) {
      socket?.write(frameOf(text))
    },
    close() {
      closed = true
      clearTimeout(again)
      const open = socket
      if (!open) return Promise.resolve()
      return new Promise(resolve => open.on('close', () => resolve()).end())
    },
  }
}
