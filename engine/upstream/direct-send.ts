/** One request without stages, retries or a ledger: to an upstream by name, or to a public address that somebody gave. */

import { errors } from '../errors.ts'
import type { Lent, Outgoing, Reply, Route, UpstreamView } from '../plugin.ts'
import { type Call, callOf } from '../request/exchange.ts'
import { follow, openCall, received } from '../request/resumed-call.ts'
import { matchIn } from '../request/route-match.ts'
import type { Blueprint } from '../snapshot/blueprint.ts'
import { lend, type Resources } from '../snapshot/host.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import { openTry, sendTry } from './attempt.ts'
import { type Candidate, candidatesOf } from './candidate.ts'
import type { Egress } from './egress.ts'
import { Origin } from './origin.ts'
import { compileUpstream, type Upstream } from './upstreams.ts'

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
/** A host we know nothing of is given less time than an operator's own. */
const PUBLIC = { auth: 'none', timeout: { connect: '5s', first_byte: '30s', idle: '30s' } } as const

interface Aim {
  readonly candidate: Candidate
  readonly path: string
  /** Nobody needs the connection any more. */
  done(): void
}

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
  const aim =
    upstream === 'public'
      ? aimAtUrl(snapshot.egress, outgoing.path)
      : aimAtUpstream(snapshot, upstream, outgoing.path)
  const body = outgoing.body instanceof Uint8Array ? outgoing.body : undefined
  const request = received({ ...outgoing, path: aim.path }, body)
  const call = openCall(NO_ROUTE, { id: 'outside', store: NO_STORE, request })
  const one = openTry(call, aim.candidate, aim.path, SPAN)
  Object.assign(one.request.headers, request.headers)
  if (outgoing.body && !body) one.request.body = outgoing.body
  const stop = watch(call, outgoing, upstream)
  const answered = callOf(outgoing.signal)?.awaitsSend()
  const done = (): void => {
    stop()
    answered?.()
    aim.done()
  }
  try {
    await sendTry(one, aim.candidate.upstream.deadlines)
  } catch (thrown) {
    done()
    throw thrown
  }
  return endsWith(call.take(one.need()), done)
}

const aimAtUpstream = (snapshot: Snapshot, upstream: string, path: string): Aim => {
  const candidate = candidatesOf([{ upstream }], snapshot.upstreams)[0]
  if (!candidate) throw fault('UPSTREAM_GONE', [upstream])
  return { candidate, path, done() {} }
}

const aimAtUrl = (egress: Egress, text: string): Aim => {
  const { origin: address, pathname, search } = egress.judge(text)
  const options = { connect: 5_000, connections: 1, connector: egress.connector }
  const origin = new Origin(address, options)
  const upstream = compileUpstream('public', { ...PUBLIC, url: address }, () => origin as never)
  const candidate = { target: { upstream: 'public' }, upstream, origin, base: '' }
  return { candidate, path: pathname + search, done: () => void origin.close() }
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
