/** One attempt at one target: builds its request from what may be sent, signs it and sends it. */
import { errors } from '../errors.ts'
import type { Attempt, Body, Fault, Headers, Json, Reply, Socket, Target } from '../plugin.ts'
import { type Call, toReply } from '../request/exchange.ts'
import { codingFault, decodeReply } from '../response/decoded-source.ts'
import type { FilteredReply } from '../response/filters.ts'
import type { Candidate } from './candidate.ts'
import { CredentialMask, hideCredentials, withoutScheme } from './credential-mask.ts'
import { limitTime } from './health.ts'
import { admitKey } from './key-admission.ts'
import type { UpstreamKey } from './keys.ts'
import { signRequest } from './sign-request.ts'
import { send } from './transport.ts'
import type { Deadlines, Signer, Upstream } from './upstreams.ts'
import { recordAnswer } from './warm-up.ts'

const fault = errors({
  NO_ATTEMPT_REPLY: [
    500,
    'route "%s": an attempt ended without a reply: does `forward` of %s miss `await next()`?',
    { expose: false },
  ],
})

/** Methods that may be sent twice (RFC 9110 §9.2.2). */
export const IDEMPOTENT: ReadonlySet<string> = new Set(
  'GET HEAD PUT DELETE OPTIONS TRACE'.split(' '),
)

const NO_SIGNERS: readonly Signer[] = []

/** The next step after an attempt. */
export interface Choice {
  deadlines(upstream: Upstream): Deadlines
  isLast(attempt: UpstreamAttempt): boolean
  /** Keys of its upstream that failed. */
  readonly failedKeys: readonly UpstreamKey[]
  /** Whether another target is available, and the request can be sent again. */
  hasAnotherTarget(attempt: Pick<UpstreamAttempt, 'exchange' | 'target'>): boolean
}
const NO_CHOICE: Choice = {
  deadlines: upstream => upstream.deadlines,
  isLast: () => true,
  hasAnotherTarget: () => false,
  failedKeys: [],
}

export class UpstreamAttempt implements Attempt {
  readonly exchange: Call
  readonly candidate: Candidate
  readonly number: number
  readonly request: { method: string; path: string; headers: Headers; body: Body }
  /** The key that it was sent with, and when. */
  key: UpstreamKey | undefined
  sentAt = 0
  /** It was refused, and another one would send another credential. */
  hasNewCredential = false
  /** Stages that change the request after everything else. */
  signers: readonly Signer[] = NO_SIGNERS
  readonly choice: Choice
  /** Failures of the address in a row before its reply. */
  failuresBefore = 0
  /** It got a reply without content, or none in the time for content. */
  hasFailed = false
  #reply: FilteredReply | undefined

  constructor(
    exchange: Call,
    candidate: Candidate,
    number: number,
    request: UpstreamAttempt['request'],
    choice: Choice,
  ) {
    this.choice = choice
    this.exchange = exchange
    this.candidate = candidate
    this.number = number
    this.request = request
  }
  get target(): Target {
    return this.candidate.target
  }
  get deadlines(): Deadlines {
    return this.choice.deadlines(this.candidate.upstream)
  }
  get isLast(): boolean {
    return this.choice.isLast(this)
  }
  get reply(): Reply {
    return this.requireReply()
  }
  requireReply(): FilteredReply {
    if (!this.#reply) {
      const { route, stages } = this.exchange
      throw fault('NO_ATTEMPT_REPLY', [route.name, stages.owner])
    }
    return this.#reply
  }
  setReply(reply: FilteredReply): void {
    this.#reply = reply
  }
  recordFailure(status?: number, headers?: Headers): void {
    const { origin, upstream } = this.candidate
    this.hasFailed = true
    if (status === undefined) return
    recordKey(this, status, headers)
    const now = performance.now()
    origin.health.recordResponse(status, headers, now, upstream.health, this.failuresBefore)
  }
  /** Ends the body of a reply that is not used. */
  discardReply(reason: Fault): void {
    this.#reply?.cut(reason)
  }
  answer(status: number, body?: Body | Json | Socket, headers: Headers = {}): Reply {
    this.#reply = toReply(status, body, headers)
    return this.#reply
  }
}

/** Sends allowed headers only, in a new list. `spanId`: 16 hexadecimal digits. */
export const createAttempt = (
  call: Call,
  candidate: Candidate,
  path: string,
  spanId: string,
  choice = NO_CHOICE,
): UpstreamAttempt => {
  const { request } = call
  const headers = candidate.upstream.pass(request.headers)
  headers['x-request-id'] = call.requestId
  headers.traceparent = `00-${call.trace}-${spanId}-01`
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
  return new UpstreamAttempt(call, candidate, call.progress.attempts, outgoing, choice)
}

/** The innermost step of the forward ring: adds credentials, joins the path, sends the request. */
export const sendAttempt = (attempt: UpstreamAttempt, deadlines: Deadlines): Promise<void> => {
  const { headers } = attempt.request
  const { set } = attempt.candidate.upstream
  for (const name in set) headers[name] = set[name] ?? ''
  pickKey(attempt)
  const admission = admitKey(attempt)
  return admission
    ? admission.then(() => signAndTransmit(attempt, deadlines))
    : signAndTransmit(attempt, deadlines)
}
const signAndTransmit = (attempt: UpstreamAttempt, deadlines: Deadlines): Promise<void> => {
  const path = signRequest(attempt, attempt.request.headers)
  return typeof path === 'string'
    ? transmit(attempt, path, deadlines)
    : path.then(finalPath => transmit(attempt, finalPath, deadlines))
}

const transmit = (attempt: UpstreamAttempt, path: string, deadlines: Deadlines): Promise<void> => {
  const { exchange, candidate, request } = attempt
  const { upstream, origin } = candidate
  const { sentAt } = attempt
  const { first_byte: limit, first_content: patience } = deadlines
  // Silence beyond the time for content is not an answer while another target or key is left.
  const retriesTimeout = patience < limit && !attempt.isLast
  const sending = {
    origin,
    upstream: upstream.name,
    method: request.method,
    path,
    headers: request.headers,
    body: request.body,
    deadlines: retriesTimeout ? { ...deadlines, first_byte: patience } : deadlines,
    retriesTimeout,
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
      (reply, failures, headers) => {
        addWait()
        attempt.failuresBefore = failures
        const { key, target } = attempt
        key?.limiter?.onHead(target, headers)
        recordKey(attempt, reply.status, reply.headers)
        if (upstream.warmUp && reply.status < 500) recordAnswer(candidate, performance.now())
        // An answer that nobody can read is none while another target or key is left.
        const isCoded = reply.headers['content-encoding'] !== undefined
        const undecodable = isCoded && !attempt.isLast && codingFault(reply, upstream.name)
        if (undecodable) {
          attempt.hasFailed = true
          reply.cut(undecodable)
          return reject(undecodable)
        }
        const decoded = decodeReply(reply, upstream.name)
        hideCredentials(decoded, maskFor(attempt), reply.status >= 400 || exchange.kind === 'turn')
        attempt.setReply(decoded)
        resolve()
      },
      reason => {
        addWait()
        attempt.key?.health.recordAbandoned()
        attempt.hasFailed = retriesTimeout && reason.code === 'TARGET_TIMEOUT'
        reject(reason)
      },
    )
  })
}

/** A signer may have added a credential of its own. */
const maskFor = ({ candidate, request }: UpstreamAttempt): CredentialMask | undefined => {
  const { mask, signer } = candidate.upstream
  if (mask || !signer) return mask
  const { authorization } = request.headers
  return new CredentialMask([withoutScheme(String(authorization ?? ''))], { isReused: false })
}
/** Picks the key of an attempt that begins now; returns the time. */
export const pickKey = (attempt: UpstreamAttempt): number => {
  const { target, candidate, exchange } = attempt
  const { keys } = candidate.upstream
  const now = performance.now()
  attempt.sentAt = now
  // A call whose body cannot be sent again must not find out whether a key works again.
  attempt.key = keys?.pick(target, now, canResend(exchange), attempt.choice.failedKeys)
  attempt.key?.health.recordAttempt(now)
  exchange.progress.key = attempt.key?.name
  return now
}
/** Records what the status of a response says about the key. */
export const recordKey = (attempt: UpstreamAttempt, status: number, headers?: Headers): void => {
  const { key, sentAt, target, candidate, request } = attempt
  if (status === 401)
    attempt.hasNewCredential = candidate.upstream.signer?.onRefused?.(request.headers) === true
  if (!key || (status < 400 && !key.health.needsProbe)) return
  const now = performance.now()
  key.health.recordStatus(status, sentAt, now)
  if (status === 429 && candidate.upstream.health.restsKeys)
    key.health.limit(target.name ?? '', limitTime(headers), now)
}
/** A streamed body cannot be sent by a second attempt. */
export const canResend = ({ request: { body } }: Call): boolean =>
  body.whole !== undefined || !body.exists || !body.isStreamed
