/** Sends one request through undici to an address of a customer: one client per request, closed
 *  behind its response, apart from the pools of the operator's upstreams. */
import { Readable } from 'node:stream'
import { TollgateError } from '../errors.ts'
import type { Body, Bytes, Headers } from '../plugin.ts'
import type { Call } from '../request/exchange.ts'
import { decodeReply } from '../response/decoded-source.ts'
import { FilteredReply } from '../response/filters.ts'
import { responseHeaders } from '../response/headers.ts'
import { targetFault } from '../upstream/transport.ts'
import type { Connector, Egress } from './egress.ts'

/** The name of the target in faults. */
const NAME = 'public'
/** ms; shorter than for the operator's own upstreams, since the host is unknown. */
const [CONNECT, FIRST_BYTE, IDLE] = [5_000, 30_000, 30_000]
const HEAD_BYTES = 16 * 1024

export interface DirectRequest {
  /** Resolves with the response's head; rejects with a fault. */
  readonly reply: Promise<FilteredReply>
  /** Closes the connection. */
  close(): void
}
interface GuardedRequest {
  readonly method: string
  readonly headers: Headers
  readonly body: Body
}

export const sendGuarded = (
  url: URL,
  request: GuardedRequest,
  call: Call,
  egress: Egress,
): DirectRequest => {
  const { method, headers, body } = request
  const opening = openClient(url.origin, egress)
  const aborter = new AbortController()
  call.awaitAttempt({ waiting: false, abort: reason => aborter.abort(reason) })
  const send = async (): Promise<FilteredReply> => {
    const client = await opening
    try {
      aborter.signal.throwIfAborted()
      // The signal alone does not end a request whose name is still being resolved.
      aborter.signal.addEventListener('abort', () => void client.destroy(aborter.signal.reason))
      const response = await client.request({
        method,
        headers,
        path: url.pathname + url.search,
        signal: aborter.signal,
        body: body && !(body instanceof Uint8Array) ? Readable.from(body) : (body ?? null),
      })
      const replyBody = withFaults(response.body)
      const { statusCode } = response
      const replyHeaders = responseHeaders(response.headers)
      return decodeReply(new FilteredReply(statusCode, replyHeaders, replyBody), NAME)
    } catch (error) {
      throw faultOf(error, 'TARGET_BROKE')
    }
  }
  const close = (): void => void opening.then(client => client.destroy()).catch(() => {})
  return { reply: send(), close }
}

/** Loads undici at the first request: it costs 100 ms and 30 MiB. */
const openClient = async (origin: string, egress: Egress) => {
  const { buildConnector, Client } = await import('undici')
  // A TLS session of one customer is not resumed for another.
  const options = { timeout: CONNECT, allowH2: false, maxCachedSessions: 0 }
  const guardedConnect = egress.guard(buildConnector(options))
  const connect: Connector = (address, callback) =>
    guardedConnect(address, (...[error, socket]) =>
      error ? callback(faultOf(error, 'TARGET_UNREACHABLE'), null) : callback(null, socket),
    )
  const deadlines = { headersTimeout: FIRST_BYTE, bodyTimeout: IDLE }
  return new Client(origin, { ...deadlines, connect, maxHeaderSize: HEAD_BYTES })
}

const withFaults = async function* (body: AsyncIterable<Bytes>): AsyncGenerator<Bytes> {
  try {
    yield* body
  } catch (error) {
    throw faultOf(error, 'TARGET_CUT')
  }
}

/** Codes of undici for requests that no HTTP/1.1 message can carry. */
const UNSENDABLE: ReadonlySet<string> = new Set([
  'UND_ERR_INVALID_ARG',
  'UND_ERR_NOT_SUPPORTED',
  'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH',
])
type BrokenCode = 'TARGET_UNREACHABLE' | 'TARGET_BROKE' | 'TARGET_CUT'
/** `otherwise`: the fault of any other error at this stage. */
const faultOf = (error: unknown, otherwise: BrokenCode): TollgateError => {
  // The egress rules refused the address, the caller aborted, or a stage refused the body.
  if (error instanceof TollgateError) return error
  const { code = '', message } = error as Error & { readonly code?: string }
  const cause = { cause: error }
  if (UNSENDABLE.has(code)) return targetFault('REQUEST_UNSENDABLE', [NAME, message], cause)
  if (code === 'UND_ERR_HEADERS_TIMEOUT')
    return targetFault('TARGET_TIMEOUT', [NAME, FIRST_BYTE], cause)
  if (code === 'UND_ERR_BODY_TIMEOUT') return targetFault('TARGET_STALLED', [NAME, IDLE], cause)
  return targetFault(otherwise, [NAME], cause)
}
