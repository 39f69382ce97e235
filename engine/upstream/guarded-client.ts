/** Sends one request through undici to an address that somebody outside gave. It never meets the pools
 *  of the operator's upstreams: one client a request, closed behind its response. */
import { Readable } from 'node:stream'
import { TollgateError } from '../errors.ts'
import type { Body, Bytes, Headers } from '../plugin.ts'
import type { Call } from '../request/exchange.ts'
import { Answer } from '../response/filters.ts'
import { passDown } from '../response/headers.ts'
import type { Connector, Egress } from './egress.ts'
import { targetFault } from './transport.ts'

/** What faults call it. */
const NAME = 'public'
/** ms: a host that we know nothing of is given less time than an operator's own. */
const [CONNECT, FIRST_BYTE, IDLE] = [5_000, 30_000, 30_000]
const HEAD_BYTES = 16 * 1024

export interface Sent {
  /** With the response's head; rejects with a fault. */
  readonly answer: Promise<Answer>
  /** Nobody needs its connection any more. */
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
): Sent => {
  const { method, headers, body } = request
  const opening = openClient(url.origin, egress)
  const aborter = new AbortController()
  call.onLeave(reason => aborter.abort(reason))
  const send = async (): Promise<Answer> => {
    const client = await opening
    try {
      aborter.signal.throwIfAborted()
      const reply = await client.request({
        ...{ method, headers, path: url.pathname + url.search, signal: aborter.signal },
        body: body && !(body instanceof Uint8Array) ? Readable.from(body) : (body ?? null),
      })
      return new Answer(reply.statusCode, passDown(reply.headers), received(reply.body))
    } catch (thrown) {
      throw faultOf(thrown, 'TARGET_BROKE')
    }
  }
  const close = (): void => void opening.then(client => client.destroy()).catch(() => {})
  return { answer: send(), close }
}

/** undici is loaded by the first request: 100 ms and 30 MiB, which a process that sends none saves. */
const openClient = async (origin: string, egress: Egress) => {
  const { buildConnector, Client } = await import('undici')
  // No TLS session of one customer's is taken up for another's.
  const options = { timeout: CONNECT, allowH2: false, maxCachedSessions: 0 }
  const guarded = egress.guard(buildConnector(options))
  const connect: Connector = (place, done) =>
    guarded(place, (...[error, socket]) =>
      error ? done(faultOf(error, 'TARGET_UNREACHABLE'), null) : done(null, socket),
    )
  const deadlines = { headersTimeout: FIRST_BYTE, bodyTimeout: IDLE }
  return new Client(origin, { ...deadlines, connect, maxHeaderSize: HEAD_BYTES })
}

const received = async function* (body: AsyncIterable<Bytes>): AsyncGenerator<Bytes> {
  try {
    yield* body
  } catch (thrown) {
    throw faultOf(thrown, 'TARGET_CUT')
  }
}

/** undici's codes of requests that no HTTP/1.1 message can carry. */
const UNSENDABLE: ReadonlySet<string> = new Set([
  'UND_ERR_INVALID_ARG',
  'UND_ERR_NOT_SUPPORTED',
  'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH',
])
type Broken = 'TARGET_UNREACHABLE' | 'TARGET_BROKE' | 'TARGET_CUT'
/** `otherwise`: what is broken by then. */
const faultOf = (thrown: unknown, otherwise: Broken): TollgateError => {
  // What judged the address refused it, who waited has left, or a stage refused the body.
  if (thrown instanceof TollgateError) return thrown
  const { code = '', message } = thrown as Error & { readonly code?: string }
  const cause = { cause: thrown }
  if (UNSENDABLE.has(code)) return targetFault('REQUEST_UNSENDABLE', [NAME, message], cause)
  if (code === 'UND_ERR_HEADERS_TIMEOUT')
    return targetFault('TARGET_TIMEOUT', [NAME, FIRST_BYTE], cause)
  if (code === 'UND_ERR_BODY_TIMEOUT') return targetFault('TARGET_STALLED', [NAME, IDLE], cause)
  return targetFault(otherwise, [NAME], cause)
}
