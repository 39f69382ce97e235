/** One attempt at one target: builds its request from what may be sent, signs it and sends it. */
import type { WebSocket } from 'ws'
import { errors } from '../errors.ts'
import type { Attempt, Body, Fault, Headers, Json, Reply, Socket, Target } from '../plugin.ts'
import { type Call, toReply } from '../request/exchange.ts'
import { FilteredReply } from '../response/filters.ts'
import { UpstreamSocket } from '../websocket/upstream-socket.ts'
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

/** Methods that may be sent twice (RFC 9110 §9.2.2). */
export const IDEMPOTENT: ReadonlySet<string> = new Set(
  'GET HEAD PUT DELETE OPTIONS TRACE'.split(' '),
)

export class UpstreamAttempt implements Attempt {
  readonly exchange: Call
  readonly candidate: Candidate
  readonly number: number
  readonly request: { method: string; path: string; headers: Headers; body: Body }
  #reply: FilteredReply | undefined

  constructor(
    exchange: Call,
    candidate: Candidate,
    number: number,
    request: UpstreamAttempt['request'],
  ) {
    this.exchange = exchange
    this.candidate = candidate
    this.number = number
    this.request = request
  }
  get target(): Target {
    return this.candidate.target
  }
  get reply(): Reply {
    return this.requireReply()
  }
  requireReply(): FilteredReply {
    if (!this.#reply) throw fault('NO_ATTEMPT_REPLY', [this.exchange.route.name])
    return this.#reply
  }
  setReply(reply: FilteredReply): void {
    this.#reply = reply
  }
  /** Ends the body of a reply that is not used. */
  discardReply(reason: Fault): void {
    this.#reply?.cut(reason)
  }
  answer(status: number, body?: Body | Json | Socket, headers: Headers = {}): Reply {
    this.#reply =
      status === 101
        ? new FilteredReply(101, headers, undefined, new UpstreamSocket(body as WebSocket))
        : toReply(status, body as Body | Json, headers)
    return this.#reply
  }
}

/** Sends allowed headers only, in a new list. `spanId`: 16 hexadecimal digits. */
export const createAttempt = (
  call: Call,
  candidate: Candidate,
  path: string,
  spanId: string,
): UpstreamAttempt => {
  const { request } = call
  const headers = candidate.upstream.pass(request.headers)
  headers['x-request-id'] = call.requestId
  headers.traceparent = `00-${call.traceId}-${spanId}-01`
  const protocols = request.headers['sec-websocket-protocol']
  if (call.kind === 'websocket' && protocols) headers['sec-websocket-protocol'] = protocols
  let body: Body = request.body.whole
  if (!body && request.body.exists) {
    body = request.stream()
    const length = request.headers['content-length']
    if (length !== undefined && !request.headers['content-encoding'])
      headers['content-length'] = length
  }
  const outgoing = { method: request.method, path, headers, body }
  return new UpstreamAttempt(call, candidate, call.progress.attempts, outgoing)
}

/** The innermost step of the forward ring: adds credentials, joins the path, sends the request. */
export const sendAttempt = (attempt: UpstreamAttempt, deadlines: Deadlines): Promise<void> => {
  const { exchange, candidate, request } = attempt
  const { upstream, origin, base } = candidate
  const { headers } = request
  for (const name in upstream.set) headers[name] = upstream.set[name] ?? ''
  const path = upstream.sign(headers, joinPath(base, request.path), attempt.target.pin?.key)
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
    const addWait = (): void => {
      exchange.progress.waitedMs += performance.now() - sentAt
    }
    send(
      sending,
      exchange,
      reply => {
        addWait()
        attempt.setReply(reply)
        resolve()
      },
      reason => {
        addWait()
        reject(reason)
      },
    )
  })
}
