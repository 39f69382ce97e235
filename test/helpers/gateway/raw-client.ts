/** A client over a bare socket: sends exact bytes, reads at its own pace, and ends the connection
 *  on demand. */
import { connect, type Socket } from 'node:net'
import { scaled } from '../machine-speed.ts'

export interface RawClient {
  readonly socket: Socket
  /** Everything received so far, as latin1. */
  readonly text: () => string
  readonly bytes: () => Buffer
  send(bytes: string | Uint8Array): Promise<void>
  /** Resolves when the received text matches, or the connection is over. */
  until(enough: string | ((text: string) => boolean)): Promise<string>
  /** Resolves when the other side closed: `end` (FIN) or an error code. */
  readonly closed: Promise<string>
  readonly over: () => boolean
  halfClose(): void
  reset(): void
  close(): void
}

const PATIENCE = scaled(60_000)

/** `deaf`: reads nothing until `socket.resume()`. */
export const rawClient = async (
  at: { port: number; host?: string },
  options: { deaf?: boolean } = {},
): Promise<RawClient> => {
  const socket = connect({ port: at.port, host: at.host ?? '127.0.0.1', allowHalfOpen: true })
  const parts: Buffer[] = []
  let whole = Buffer.alloc(0)
  let over = false
  let how = 'end'
  let wake = (): void => {}
  const closed = new Promise<string>(resolve => {
    const done = (): void => {
      over = true
      wake()
      resolve(how)
    }
    socket.on('end', done)
    socket.on('close', done)
  })
  socket.on('error', (error: NodeJS.ErrnoException) => {
    how = error.code ?? 'error'
  })
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve)
    socket.once('error', reject)
  })
  socket.setNoDelay(true)
  const bytes = (): Buffer => {
    if (parts.length > 0) whole = Buffer.concat([whole, ...parts.splice(0)])
    return whole
  }
  const text = (): string => bytes().toString('latin1')
  if (!options.deaf) listen()
  else socket.once('resume', listen)

  function listen(): void {
    socket.on('data', (part: Buffer) => {
      parts.push(part)
      wake()
    })
  }

  return {
    socket,
    text,
    bytes,
    closed,
    over: () => over,
    send: data =>
      new Promise(resolve => {
        if (socket.destroyed) return resolve()
        const done = (): void => {
          socket.off('close', done)
          resolve()
        }
        socket.once('close', done)
        socket.write(typeof data === 'string' ? Buffer.from(data, 'latin1') : data, done)
      }),
    until: async enough => {
      const fits = typeof enough === 'string' ? (all: string) => all.includes(enough) : enough
      const deadline = Date.now() + PATIENCE
      while (!fits(text()) && !over) {
        const remaining = deadline - Date.now()
        if (remaining <= 0)
          throw new Error(`never received ${enough}; so far: ${text().slice(0, 500)}`)
        await new Promise<void>(resolve => {
          const late = setTimeout(resolve, remaining)
          wake = () => {
            clearTimeout(late)
            resolve()
          }
        })
      }
      return text()
    },
    halfClose: () => void socket.end(),
    reset: () => void socket.resetAndDestroy(),
    close: () => void socket.destroy(),
  }
}

export interface RawReply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** False if the framing promised more bytes than came. */
  readonly whole: boolean
}

/** Cuts received bytes into replies by their own framing. Bytes that are not a reply end the list
 *  with status 0. */
export const replies = (received: string): RawReply[] => {
  const list: RawReply[] = []
  let rest = received
  while (rest.length > 0) {
    const end = rest.indexOf('\r\n\r\n')
    const first = /^HTTP\/1\.1 (\d{3})/.exec(rest)
    if (end < 0 || !first) return [...list, { status: 0, headers: {}, body: rest, whole: false }]
    const headers = parseHeaders(rest.slice(0, end))
    const status = Number(first[1])
    const { body, whole, after } = cutBody(rest.slice(end + 4), status, headers)
    if (status >= 200) list.push({ status, headers, body, whole })
    rest = after
  }
  return list
}

const parseHeaders = (head: string): Record<string, string> =>
  Object.fromEntries(
    head
      .split('\r\n')
      .slice(1)
      .map(line => {
        const colon = line.indexOf(':')
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
      }),
  )

const cutBody = (rest: string, status: number, headers: Record<string, string>) => {
  if (status < 200 || status === 204 || status === 304)
    return { body: '', whole: true, after: rest }
  if (headers['transfer-encoding'] === 'chunked') return dechunk(rest)
  const length = headers['content-length']
  if (length === undefined) return { body: rest, whole: true, after: '' }
  const size = Number(length)
  return { body: rest.slice(0, size), whole: rest.length >= size, after: rest.slice(size) }
}

const dechunk = (text: string) => {
  let rest = text
  let body = ''
  for (;;) {
    const line = /^([0-9a-fA-F]+)\r\n/.exec(rest)
    if (!line?.[1]) return { body, whole: false, after: '' }
    const size = Number.parseInt(line[1], 16)
    const part = rest.slice(line[0].length, line[0].length + size)
    body += part
    rest = rest.slice(line[0].length + size + 2)
    if (size === 0) return { body, whole: true, after: rest }
    if (part.length < size) return { body, whole: false, after: '' }
  }
}
