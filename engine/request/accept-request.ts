/** From a request's head to a Call: judged, routed, given its ids. Nothing is read or sent yet. */
import type { IncomingMessage } from 'node:http'
import { errors } from '../errors.ts'
import { hideKeysInPath } from '../observe/secret-text.ts'
import type { Fault, Route } from '../plugin.ts'
import { judgeHead, type RequestHeaders, readHead } from '../response/headers.ts'
import type { CompiledRoute, Snapshot } from '../snapshot/snapshot.ts'
import { Inbound } from './body.ts'
import type { Pace } from './body-pace.ts'
import { Call } from './exchange.ts'
import { readTarget } from './path.ts'
import type { Match } from './router.ts'
import type { Store } from './writes.ts'

const fault = errors({
  ROUTE_NOT_FOUND: [404, 'Invalid URL (%s %s)'],
  METHOD_NOT_ALLOWED: [405, '%s is not allowed here; %s is.'],
})

export interface Opened {
  readonly call: Call
  /** The route, or the nearest one, in whose dialect the refusal is rendered. */
  readonly compiled: CompiledRoute
  readonly inbound: Inbound
  readonly refusal: Fault | undefined
}
export interface OpeningKit {
  readonly store: Store
  readonly pace: Pace
  /** 32 hexadecimal digits, never the same again. */
  readonly makeId: () => string
}

/** Where a request that matches no route is at. */
const NOWHERE: Route = {
  name: 'none',
  method: 'ANY',
  pattern: '/',
  has: () => false,
  option: () => undefined,
}
const NO_BODY = { limit: 0, encodings: [], inflated: 0 }

/** Throws for what no route should see. */
export const openCall = (
  incoming: IncomingMessage,
  snapshot: Snapshot,
  kind: 'http' | 'websocket',
  kit: OpeningKit,
): Opened => {
  const { limits } = snapshot.settings
  const method = incoming.method ?? 'GET'
  const target = incoming.url ?? '/'
  const headers = readHead(incoming.rawHeaders, limits.header_count, limits.header_bytes)
  judgeHead({ method, target, version: incoming.httpVersion, headers, urlLimit: limits.url })
  const exact = kind === 'http' ? snapshot.exact(method, target) : undefined
  const { path, search } = exact ? { path: target, search: '' } : readTarget(target, headers.host)
  const match =
    exact ?? (kind === 'http' ? snapshot.find(method, path) : snapshot.findWebSocket(path))
  const compiled = match?.value ?? snapshot.nearest(path)
  const refusal = match ? undefined : unmatched(snapshot, method, path)
  if (!compiled) throw refusal ?? fault('ROUTE_NOT_FOUND', [method, hideKeysInPath(path)])
  const head = { path, search, headers, encrypted: 'encrypted' in incoming.socket }
  const inbound = new Inbound(incoming, head, compiled.body, kit.pace)
  return { call: newCall(kind, match, compiled, inbound, kit), compiled, inbound, refusal }
}

const newCall = (
  kind: 'http' | 'websocket',
  match: Match<CompiledRoute> | undefined,
  compiled: CompiledRoute,
  inbound: Inbound,
  { makeId, store }: OpeningKit,
): Call => {
  const random = makeId()
  const id = `req_${random}`
  return new Call({
    id,
    kind,
    requestId: saneId(inbound.headers['x-request-id']) ?? id,
    traceId: traceOf(inbound.headers.traceparent) ?? random,
    route: match ? compiled.route : NOWHERE,
    params: match?.params ?? {},
    request: inbound,
    store,
    ...{ targets: compiled.targets, hangup: compiled.hangup },
  })
}

/** The call of a head so bad that no route is asked: it only carries an id. */
export const nobody = (incoming: IncomingMessage, { makeId, store, pace }: OpeningKit): Call => {
  const random = makeId()
  const id = `req_${random}`
  const headers: RequestHeaders = Object.create(null)
  const head = { path: '/', search: '', headers, encrypted: false }
  const request = new Inbound(incoming, head, NO_BODY, pace)
  return new Call({
    ...{ id, kind: 'http', requestId: id, traceId: random, route: NOWHERE, params: {} },
    ...{ request, store, targets: [], hangup: 'cancel' },
  })
}

const unmatched = (snapshot: Snapshot, method: string, path: string): Fault => {
  // Behind a colon stands a verb: whoever takes the whole segment for a name has no such verb.
  const named = (each: string): boolean =>
    !VERB.test(path) || VERB.test(snapshot.find(each, path)?.value.route.pattern ?? '')
  const allowed = snapshot.methods(path).filter(named)
  if (allowed.length === 0) return fault('ROUTE_NOT_FOUND', [method, hideKeysInPath(path)])
  const allow = allowed.join(', ')
  return fault('METHOD_NOT_ALLOWED', [method, allow], { headers: { allow } })
}

const VERB = /:[^/]*$/

/** A client's own id goes on where it could be an id at all; it is never the gateway's identity of the call. */
const saneId = (given: string | undefined): string | undefined =>
  given !== undefined && /^[\w.:-]{1,128}$/.test(given) ? given : undefined
/** W3C Trace Context §3.2: version, trace, parent, flags. */
const TRACEPARENT = /^[0-9a-f]{2}-((?!0{32})[0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}/
const traceOf = (given: string | undefined): string | undefined =>
  given === undefined ? undefined : TRACEPARENT.exec(given)?.[1]
