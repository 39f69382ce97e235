/** Closes connections that must not continue, so that the client can read the refusal. */
import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { TollgateError } from '../errors.ts'
import { asBuffer } from '../kit.ts'
import type { Bytes, Fault, Refusal } from '../plugin.ts'
import { ONE_WRITE } from '../request/bytes.ts'
import { STATUS_CODES } from '../request/node-http.ts'
import { withoutFraming } from './headers.ts'

/** How long a client that is still sending has to read its response, ms. */
const LINGER_MS = 1_000

/** Ends a response whose request may still arrive: reads and drops it for a moment, since a close
 *  with unread bytes loses the response (RFC 9112 §9.6). */
export const endAndClose = (response: ServerResponse, body: Bytes | undefined): void => {
  const { req: incoming } = response
  if (incoming.complete || incoming.destroyed) return void response.end(body)
  if (body) response.write(body)
  const timer = setTimeout(() => {
    response.end()
    lingeringClose(incoming.socket)
  }, LINGER_MS)
  const end = (): void => {
    clearTimeout(timer)
    response.end()
  }
  incoming.once('end', end)
  incoming.once('close', end)
  incoming.resume()
}

/** Closes a socket whose client may never close its side, or may still be sending. */
export const lingeringClose = (socket: Duplex): void => {
  socket.end()
  socket.resume()
  setTimeout(() => socket.destroy(), LINGER_MS).unref()
}

/** Writes a refusal on a socket that has no ServerResponse; then closes it. */
export const refuseSocket = (
  socket: Duplex,
  { status, body, headers = JSON_TYPE }: Pick<Refusal, 'status' | 'body'> & Partial<Refusal>,
): void => {
  const list = withoutFraming(headers)
  const lines = list.flatMap((name, at) =>
    at % 2 === 0 ? [list[at + 1] ?? ''].flat().map(value => `${name}: ${value}`) : [],
  )
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Refused'}`,
    'connection: close',
    ...lines.filter(line => !/[^\t\x20-\x7e\x80-\xff]/.test(line)),
    `content-length: ${body.length}`,
  ]
  socket.on('error', () => {})
  socket.write(`${head.join('\r\n')}\r\n\r\n`)
  socket.write(body)
  lingeringClose(socket)
}

const JSON_TYPE = { 'content-type': 'application/json' }

/** Connections of a server on which no further bytes are a request. */
export class ClosingConnections {
  readonly #sockets = new WeakSet<Duplex>()
  /** Those whose parser has stopped: the requests that it had read are still answered. */
  readonly #malformedSockets = new WeakSet<Duplex>()

  has(socket: Duplex): boolean {
    return this.#sockets.has(socket)
  }
  add(socket: Duplex): void {
    this.#sockets.add(socket)
  }
  /** Handles bytes that the parser refused. Returns the reason for a refusal; undefined where it
   *  only closed the connection. */
  takeMalformed(error: NodeJS.ErrnoException, socket: Duplex): Fault | undefined {
    if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
    // It is being closed already.
    if (this.#sockets.has(socket) || this.#malformedSockets.has(socket)) return undefined
    this.#malformedSockets.add(socket)
    const reply = openResponse(socket)
    if (reply?.req.complete) return void closeAfterResponses(socket)
    if (reply?.headersSent) return void socket.destroy() // a 400 would be written into it
    return parserFault(error.code)
  }
}

/** The response being written on a socket: the member that Node itself reads for this. */
export const openResponse = (socket: Duplex): ServerResponse | undefined =>
  (socket as { _httpMessage?: ServerResponse | null })._httpMessage ?? undefined

/** Closes the connection behind the last response: the requests before it are good. */
const closeAfterResponses = (socket: Duplex): void => {
  const reply = openResponse(socket)
  if (reply) reply.once('finish', () => closeAfterResponses(socket))
  else lingeringClose(socket)
}

const parserFault = (code = 'BAD_REQUEST'): Fault => {
  const [status, message] = PARSER_ERRORS[code] ?? NOT_HTTP
  return new TollgateError(code, status, message)
}
const NOT_HTTP = [400, 'The received bytes are not an HTTP/1.1 request.'] as const
const PARSER_ERRORS: Readonly<Record<string, readonly [status: number, message: string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'The request head is too large.'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'The chunk extensions are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request head arrived too slowly.'],
}

type Last = { readonly size: number; readonly unread: boolean }
/** Ends a response of `size` bytes. `unread`: the rest of its request is not read. Node sends a
 *  one-byte string in one write with the head; bytes would cost a gathering write. */
export const writeLast = (reply: ServerResponse, tail: Bytes | undefined, last: Last): void => {
  if (last.unread) return endAndClose(reply, tail)
  if (tail === undefined) reply.end()
  else if (tail.length <= ONE_WRITE && last.size === tail.length)
    reply.end(asBuffer(tail).toString('latin1'), 'latin1')
  else reply.end(tail)
  const { req: incoming } = reply
  if (incoming.complete) return
  // Node reads and drops the rest of the request. If it does not come soon, the connection ends.
  setTimeout(() => incoming.complete || lingeringClose(incoming.socket), LINGER_MS).unref()
}

/** Sends a head now. Node keeps it as the two dozen strings that it was joined from; reading a
 *  character makes V8 replace them by one, which saves half a KiB for each open stream. */
export const flushHead = (reply: ServerResponse): void => {
  const { _header: head } = reply as ServerResponse & { readonly _header?: string }
  if (head?.charCodeAt(0) !== 0) reply.flushHeaders()
}
