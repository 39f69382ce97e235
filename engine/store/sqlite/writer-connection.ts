/** Connection to the writer that reconnects by itself. It handles frames, not lists. */
import { connect, type Socket } from 'node:net'
import { createFrameParser, encodeFrame, type WriterMessage } from './frames.ts'

export interface WriterConnection {
  readonly isConnected: boolean
  /** Time of the disconnect (performance.now); undefined while connected. */
  readonly downSince: number | undefined
  /** Sends the JSON of a `ClientMessage`; dropped while disconnected. */
  send(text: string): void
  /** Closes the connection after all sent frames have left. */
  close(): Promise<void>
}
export interface Listener {
  /** Returns the first message after a connect. */
  firstMessage(): string
  onMessage(message: WriterMessage): void
}
const BACK_OFF = { first: 5, most: 100 }

export const connectToWriter = (path: string, listener: Listener): WriterConnection => {
  let socket: Socket | undefined
  let downSince: number | undefined = performance.now()
  let delay = BACK_OFF.first
  let again: NodeJS.Timeout | undefined
  let closed = false

  const connectOnce = (): void => {
    const attempt = connect(path)
    attempt.on('connect', () => {
      socket = attempt
      downSince = undefined
      delay = BACK_OFF.first
      attempt.write(encodeFrame(listener.firstMessage()))
    })
    attempt.on(
      'data',
      createFrameParser<WriterMessage>(message => listener.onMessage(message)),
    )
    // 'close' follows every error.
    attempt.on('error', () => {})
    attempt.on('close', () => {
      socket = undefined
      if (closed) return
      downSince ??= performance.now()
      again = setTimeout(connectOnce, delay)
      delay = Math.min(delay * 2, BACK_OFF.most)
    })
  }
  connectOnce()
  return {
    get isConnected() {
      return socket !== undefined
    },
    get downSince() {
      return downSince
    },
    send(text) {
      socket?.write(encodeFrame(text))
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
