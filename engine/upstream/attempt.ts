/** One try at one target: built from what may leave, sent as the upstream wants it. */
import { errors } from '../errors.ts'
import type { Attempt, Body, Fault, Headers, Json, Reply, Target } from '../plugin.ts'
import { type Call, toAnswer } from '../request/exchange.ts'
import type { Answer } from '../response/filters.ts'
import type { Candidate } from './candidate.ts'
import { send } from './transport.ts'
import { type Deadlines, joinPath } from './upstreams.ts'

const fault = errors({
  NO_ATTEMPT_REPLY: [
    500,
    'route "%s": an attempt ended without a reply: does a `forward` miss `await next()`?',
    { expose: false },
  ],
})

/** A second sending does no harm (RFC 9110 §9.2.2). */
export const IDEMPOTENT: ReadonlySet<string> = new Set([
  'GET',
  'HEAD',
  'PUT',
  'DELETE',
  'OPTIONS',
  'TRACE',
])

export class Try implements Attempt {
  readonly exchange: Call
  readonly candidate: Candidate
  readonly number: number
  readonly request: { method: string; path: string; headers: Headers; body: Body }
  #reply: Answer | undefined

  constructor(exchange: Call, candidate: Candidate, number: number, request: Try['request']) {
    this.exchange = exchange
    this.candidate = candidate
    this.number = number
    this.request = request
  }
  get target(): Target {
    return this.candidate.target
  }
  get reply(): Reply {
    return this.need()
  }
  need(): Answer {
    if (!this.#reply) throw fault('NO_ATTEMPT_REPLY', [this.exchange.route.name])
    return this.#reply
  }
  take(reply: Answer): void {
    this.#reply = reply
  }
  /** Whatever was answered, nobody wants it. */
  drop(reason: Fault): void {
    this.#reply?.cut(reason)
  }
  answer(status: number, body?: Body | Json, headers: Headers = {}): Reply {
    this.#reply = toAnswer(status, body, headers)
    return this.#reply
  }
}

/** What leaves is a new list, never the client's own headers with some taken out. `spanId`: 16 hexadecimal digits. */
export const openTry = (call: Call, candidate: Candidate, path: string, spanId: string): Try => {
  const { request } = call
  const headers = candidate.upstream.pass(request.headers)
  headers['x-request-id'] = call.requestId
  headers.traceparent = `00-${call.traceId}-${spanId}-01`
  const protocols = request.headers['sec-websocket-protocol']
  if (call.kind === 'websocket' && protocols) headers['sec-websocket-protocol'] = protocols
  let body: Body = request.whole
  if (!body && request.hasBody) {
    body = request.stream()
    const length = request.headers['content-length']
    if (length !== undefined && !request.headers['content-encoding'])
      headers['content-length'] = length
  }
  return new Try(call, candidate, call.attempts, { method: request.method, path, headers, body })
}

/** The innermost step of the forward ring: credentials, address, wire. */
export const sendTry = (one: Try, deadlines: Deadlines): Promise<void> => {
  const { exchange, candidate, request } = one
  const { upstream, origin, base } = candidate
  const { headers } = request
  for (const name in upstream.set) headers[name] = upstream.set[name] ?? ''
  const path = upstream.sign(headers, joinPath(base, request.path))
  const sentAt = performance.now()
  const sending = {
    origin,
    upstream: upstream.name,
    method: request.method,
    path,
    headers,
    body: request.body,
    deadlines,
    health: upstream.health,
    idempotent: IDEMPOTENT.has(request.method),
  }
  return new Promise((resolve, reject) => {
    const waited = (): void => {
      exchange.waited += performance.now() - sentAt
    }
    send(
      sending,
      exchange,
      reply => {
        waited()
        one.take(reply)
        resolve()
      },
      reason => {
        waited()
        reject(reason)
      },
    )
  })
}
