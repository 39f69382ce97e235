/** Sends one request without stages, retries or charges, to an upstream or public URL. */
import { randomBytes } from 'node:crypto'
import { errors } from '../errors.ts'
import type { Headers, Outgoing, Reply, Route } from '../plugin.ts'
import { type Call, callOf, NO_ROUTE } from '../request/exchange.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import { createAttempt, sendAttempt } from '../upstream/attempt.ts'
import { candidatesOf } from '../upstream/candidate.ts'
import type { Egress } from './egress.ts'
import { type DirectRequest, sendGuarded } from './guarded-client.ts'
import { abandonOnAbort, bufferedRequest, createResumedCall } from './resumed-call.ts'

const fault = errors({
  UPSTREAM_GONE: [404, 'There is no upstream "%s".'],
  SEND_TIMEOUT: [504, 'No whole answer of %s within %d ms.'],
})

/** The route of stages that see a call without one. */
export const DIRECT_ROUTE: Route = { ...NO_ROUTE, name: 'direct send' }
const NO_STORE = { write: () => Promise.resolve([]) }
/** The name that `send` gives to addresses that are not of an upstream. */
const PUBLIC = 'public'

/** `upstream`: a key of `upstreams:`, or `public`: then `outgoing.path` is a whole URL, and only
 *  addresses that the egress rules allow are connected to. A redirect is a reply. */
export const sendDirect = async (
  snapshot: Snapshot,
  upstream: string,
  outgoing: Outgoing,
): Promise<Reply> => {
  const url = upstream === PUBLIC ? snapshot.egress.checkUrl(outgoing.path) : undefined
  const path = url ? url.pathname + url.search : outgoing.path
  const body = outgoing.body instanceof Uint8Array ? outgoing.body : undefined
  const request = bufferedRequest({ ...outgoing, path }, body)
  const source = callOf(outgoing.signal)
  const call = createResumedCall(DIRECT_ROUTE, { ...idsOf(source), store: NO_STORE, request })
  const stopLimits = limitCall(call, outgoing, upstream)
  const endSend = source?.stages.beginSend()
  let directRequest: DirectRequest | undefined
  const release = (): void => {
    stopLimits()
    endSend?.()
    directRequest?.close()
  }
  try {
    directRequest = url
      ? sendPublic(call, url, outgoing, snapshot.egress)
      : sendUpstream(call, snapshot, upstream, outgoing)
    return onReplyEnd(call.setReply(await directRequest.reply), release)
  } catch (error) {
    release()
    throw error
  }
}

/** The ids of the call that the request is sent for, or new ones: those of a background job. */
const idsOf = (source: Call | undefined): Pick<Call, 'id' | 'requestId' | 'trace'> => {
  if (source) return { id: source.id, requestId: source.requestId, trace: source.trace }
  const trace = randomHex(16)
  return { id: `req_${trace}`, requestId: `req_${trace}`, trace }
}
const randomHex = (bytes: number): string => randomBytes(bytes).toString('hex')
/** Each request has a span of its own. */
const newSpan = (): string => randomHex(8)

const sendUpstream = (
  call: Call,
  snapshot: Snapshot,
  upstream: string,
  { path, body, pin }: Outgoing,
): DirectRequest => {
  const target = { upstream, ...(pin && { pin }) }
  const candidate = candidatesOf([target], snapshot.upstreams)[0]
  if (!candidate) throw fault('UPSTREAM_GONE', [upstream])
  const attempt = createAttempt(call, candidate, path, newSpan())
  Object.assign(attempt.request.headers, call.request.headers)
  if (body && !(body instanceof Uint8Array)) attempt.request.body = body
  const { deadlines } = candidate.upstream
  const reply = snapshot
    .directRing()
    .then(forwardWith => forwardWith(one => sendAttempt(one, deadlines))(attempt))
    .then(() => attempt.requireReply())
  return { reply, close() {} }
}

const sendPublic = (
  call: Call,
  url: URL,
  { method, body }: Outgoing,
  egress: Egress,
): DirectRequest => {
  const { requestId, trace, request } = call
  const traceHeaders = { 'x-request-id': requestId, traceparent: `00-${trace}-${newSpan()}-01` }
  const headers = { ...traceHeaders, ...(request.headers as Headers) }
  return sendGuarded(url, { method, headers, body }, call, egress)
}

/** Abandons the call at its signal or timeout. Returns how to stop both. */
const limitCall = (call: Call, { signal, timeout }: Outgoing, upstream: string): (() => void) => {
  const stopListening = abandonOnAbort(signal, call)
  const onTimeout = (): void => call.abandon(fault('SEND_TIMEOUT', [upstream, timeout]))
  const timer = timeout === undefined ? undefined : setTimeout(onTimeout, timeout)
  return () => {
    clearTimeout(timer)
    stopListening()
  }
}

const onReplyEnd = (reply: Reply, release: () => void): Reply => {
  reply.through({
    end(tail, out) {
      release()
      out.end(tail)
    },
    fail(reason, out) {
      release()
      out.fail(reason)
    },
  })
  return reply
}
