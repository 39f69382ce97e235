/** A WebSocket client for tests, with its messages, its refusal or its close. */
import { once } from 'node:events'
import { type ClientOptions, WebSocket } from 'ws'

export interface RefusedUpgrade {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
}
interface Closed {
  readonly code: number
  readonly reason: string
}
export interface Client {
  readonly socket: WebSocket
  /** Headers of the 101 response. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly received: string[]
  readonly closed: Promise<Closed>
  /** Resolves when so many messages came, or at the close. */
  until(count: number): Promise<readonly string[]>
}

const toSocket = (url: string): string => url.replace(/^http/, 'ws')

/** Rejects with `Refused` if the response is not 101. */
export const openSocket = async (
  url: string,
  protocols: readonly string[] = [],
  options: ClientOptions = {},
): Promise<Client> => {
  const socket = new WebSocket(toSocket(url), [...protocols], options)
  const received: string[] = []
  let wake = (): void => {}
  socket.on('error', () => {})
  socket.on('message', payload => {
    received.push(payload.toString())
    wake()
  })
  const closed = new Promise<Closed>(resolve =>
    socket.on('close', (code, reason) => {
      resolve({ code, reason: reason.toString() })
      wake()
    }),
  )
  const headers = await waitForOpen(socket)
  return {
    socket,
    headers,
    received,
    closed,
    async until(count) {
      while (received.length < count && socket.readyState !== WebSocket.CLOSED)
        await new Promise<void>(resolve => {
          wake = resolve
        })
      return received
    },
  }
}

const waitForOpen = (socket: WebSocket): Promise<Client['headers']> =>
  new Promise((resolve, reject) => {
    let headers: Client['headers'] = {}
    socket.once('upgrade', response => {
      headers = response.headers
    })
    socket.once('open', () => resolve(headers))
    socket.once('close', () => reject(new Error('closed before it opened')))
    socket.once('unexpected-response', async (_, response) => {
      const parts: Buffer[] = []
      response.on('data', part => parts.push(part))
      await once(response, 'end')
      const body = Buffer.concat(parts).toString()
      reject({ status: response.statusCode ?? 0, headers: response.headers, body })
    })
  })
