/** One request without stages, retries or a ledger: to an upstream by name, or to a public address that somebody gave. */

import { errors } from '../errors.ts'
import type { Headers, Lent, Outgoing, Reply, Route, UpstreamView } from '../plugin.ts'
import { type Call, callOf } from '../request/exchange.ts'
import { follow, openCall, received } from '../request/resumed-call.ts'
import { matchIn } from '../request/route-match.ts'
import type { Blueprint } from '../snapshot/blueprint.ts'
import { lend, type Resources } from '../snapshot/host.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import { openTry, sendTry } from './attempt.ts'
import { candidatesOf } from './candidate.ts'
import type { Egress } from './egress.ts'
import { type Sent, sendGuarded } from './guarded-client.ts'
import type { Upstream } from './upstreams.ts'

const fault = errors({
  UPSTREAM_GONE: [404, 'There is no upstream "%s".'],
  SEND_TIMEOUT: [504, 'No whole answer of %s within %d ms.'],
})

const NO_ROUTE: Route = {
  name: 'outside',
  method: 'ANY',
  pattern: '',
  has: () => false,
  option: () => undefined,
}
const NO_STORE = { write: () => Promise.resolve([]) }
/** Nobody's span: such a call is one by itself. */
const SPAN = '0000000000000001'
/** What `send` calls addresses that are no upstream's. */
const PUBLIC = 'public'

/** What plugins may know of upstreams. */
export const viewsOf = (
  upstreams: ReadonlyMap<string, Upstream>,
): Readonly<Record<string, UpstreamView>> =>
  Object.fromEntries([...upstreams].map(([name, { view }]) => [name, view]))

/** What a plugin is lent beside the routes: in a command, and once the gateway serves. `runs`: why it may run none. */
export const lendBeside = (
  resources: Resources,
  { blueprint, snapshot }: { readonly blueprint: Blueprint; readonly snapshot: Snapshot },
  held: (() => void)[],
  runs: string,
): Lent =>
  lend(resources, {
    ...blueprint,
    upstreams: viewsOf(snapshot.upstreams),
    match: (method, target) => matchIn(snapshot, method, target),
    run: () => Promise.reject(new Error(runs)),
    send: async (upstream, request) => sendOutside(snapshot, upstream, request),
    judge: snapshot.egress.admit,
    held,
  })

/** `upstream`: a key of `upstreams:`, or `public`: then `outgoing.path` is a whole URL, and only addresses that its egress
 *  lets through are connected to; redirects are answers like others. */
export const sendOutside = async (
  snapshot: Snapshot,
  upstream: string,
  outgoing: Outgoing,
): Promise<Reply> => {
  const url = upstream === PUBLIC ? snapshot.egress.judge(outgoing.path) : undefined
  const path = url ? url.pathname + url.search : outgoing.path
  const body = outgoing.body instanceof Uint8Array ? outgoing.body : undefined
  const request = received({ ...outgoing, path }, body)
  const call = openCall(NO_ROUTE, { id: 'outside', store: NO_STORE, request })
  const stop = watch(call, outgoing, upstream)
  const answered = callOf(outgoing.signal)?.awaitsSend()
  let sent: Sent | undefined
  const done = (): void => {
    stop()
    answered?.()
    sent?.close()
  }
  try {
    sent = url
      ? sendPublic(call, url, outgoing, snapshot.egress)
      : sendUpstream(call, snapshot, upstream, outgoing)
    return endsWith(call.take(await sent.answer), done)
  } catch (thrown) {
    done()
    throw thrown
  }
}

const sendUpstream = (
  call: Call,
  snapshot: Snapshot,
  upstream: string,
  { path, body }: Outgoing,
): Sent => {
  const candidate = candidatesOf([{ upstream }], snapshot.upstreams)[0]
  if (!candidate) throw fault('UPSTREAM_GONE', [upstream])
  const one = openTry(call, candidate, path, SPAN)
  Object.assign(one.request.headers, call.request.headers)
  if (body && !(body instanceof Uint8Array)) one.request.body = body
  const answer = sendTry(one, candidate.upstream.deadlines).then(() => one.need())
  return { answer, close() {} }
}
const sendPublic = (call: Call, url: URL, { method, body }: Outgoing, egress: Egress): Sent => {
  const { requestId, traceId, request } = call
  const traced = { 'x-request-id': requestId, traceparent: `00-${traceId}-${SPAN}-01` }
  const headers = { ...traced, ...(request.headers as Headers) }
  return sendGuarded(url, { method, headers, body }, call, egress)
}

/** Ends the call when its signal or its time says so. Returns how to stop watching. */
const watch = (call: Call, { signal, timeout }: Outgoing, upstream: string): (() => void) => {
  const unfollow = follow(signal, call)
  const late = (): void => call.leave(fault('SEND_TIMEOUT', [upstream, timeout]))
  const timer = timeout === undefined ? undefined : setTimeout(late, timeout)
  return () => {
    clearTimeout(timer)
    unfollow()
  }
}

const endsWith = (reply: Reply, done: () => void): Reply => {
  reply.through({
    end(tail, out) {
      done()
      out.end(tail)
    },
    fail(reason, out) {
      done()
      out.fail(reason)
    },
  })
  return reply
}
