/** How connections end that must not go on: nothing behind a refusal is served, and the refusal is read. */
import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { asBuffer } from '../kit.ts'
import type { Bytes, Refusal } from '../plugin.ts'
import { ONE_WRITE } from '../request/bytes.ts'
import { STATUS_CODES } from '../request/node-http.ts'

/** How long a client that is still sending has to read its answer, ms. */
const LAST_WORDS = 1_000

/** Ends an answer. Closed on bytes nobody has read yet, a connection takes its answer with it (RFC 9112 §9.6): so what
 *  is still coming is read and dropped for a moment. */
export const lastWords = (response: ServerResponse, body: Bytes | undefined): void => {
  const { req: incoming } = response
  if (incoming.complete || incoming.destroyed) return void response.end(body)
  if (body) response.write(body)
  const late = setTimeout(() => {
    response.end()
    leaveSocket(incoming.socket)
  }, LAST_WORDS)
  const end = (): void => {
    clearTimeout(late)
    response.end()
  }
  incoming.once('end', end)
  incoming.once('close', end)
  incoming.resume()
}

/** An answer ended before its request did. The rest is read and dropped so that the connection can go on: if it does
 *  not come, the connection is of no use to anybody. */
export const awaitRest = ({ req: incoming }: ServerResponse): void => {
  if (incoming.complete) return
  setTimeout(() => incoming.complete || leaveSocket(incoming.socket), LAST_WORDS).unref()
}

/** Ends a socket whose client may never end its side, or still be sending. */
export const leaveSocket = (socket: Duplex): void => {
  socket.end()
  socket.resume()
  setTimeout(() => socket.destroy(), LAST_WORDS).unref()
}

/** A plain answer on a socket that has no reply of Node's; then it is left. */
export const refuseSocket = (
  socket: Duplex,
  { status, body }: Pick<Refusal, 'status' | 'body'>,
): void => {
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Refused'}`,
    'connection: close',
    'content-type: application/json',
    `content-length: ${body.length}`,
  ]
  socket.on('error', () => {})
  socket.write(`${head.join('\r\n')}\r\n\r\n`)
  socket.write(body)
  leaveSocket(socket)
}

/** The connections of a server on which nothing more is a request. */
export class Parting {
  readonly #parted = new WeakSet<Duplex>()
  /** Those whose parser has stopped: the requests that it had read are still answered. */
  readonly #broken = new WeakSet<Duplex>()

  has(socket: Duplex): boolean {
    return this.#parted.has(socket)
  }
  add(socket: Duplex): void {
    this.#parted.add(socket)
  }
  /** Bytes that the parser refused. There is no request to take a dialect from. */
  malformed(error: NodeJS.ErrnoException, socket: Duplex): void {
    if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
    // What ends it is on its way.
    if (this.#parted.has(socket) || this.#broken.has(socket)) return
    this.#broken.add(socket)
    const reply = responseUnderWay(socket)
    if (reply?.req.complete) return finish(socket)
    if (reply?.headersSent) return void socket.destroy() // a 400 would land in the middle of it
    refuseSocket(socket, refusalOf(error.code))
  }
}

/** The reply that is being written there. Node's own handler of such errors looks at the same place. */
export const responseUnderWay = (socket: Duplex): ServerResponse | undefined =>
  (socket as { _httpMessage?: ServerResponse | null })._httpMessage ?? undefined

/** The requests before the malformed bytes are good: the last of their replies ends the connection. */
const finish = (socket: Duplex): void => {
  const reply = responseUnderWay(socket)
  if (reply) reply.once('finish', () => finish(socket))
  else leaveSocket(socket)
}

const refusalOf = (code = 'BAD_REQUEST'): Pick<Refusal, 'status' | 'body'> => {
  const [status, message] = PARSER_ERRORS[code] ?? [
    400,
    'The bytes received are no HTTP/1.1 request.',
  ]
  return { status, body: Buffer.from(JSON.stringify({ error: { code, message } })) }
}
const PARSER_ERRORS: Readonly<Record<string, readonly [status: number, message: string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'The request head is too large.'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'The chunk extensions are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request head arrived too slowly.'],
}

/** Ends a response of `size` bytes in all. As a one-byte string a short answer leaves in one write with its head; as bytes it
 *  costs a gathering write. */
export const writeLast = (
  response: ServerResponse,
  tail: Bytes | undefined,
  size: number,
): void => {
  if (tail === undefined) response.end()
  else if (tail.length <= ONE_WRITE && size === tail.length)
    response.end(asBuffer(tail).toString('latin1'), 'latin1')
  else response.end(tail)
}
