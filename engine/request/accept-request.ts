/** Accepts a request's head: checks it, finds its route, makes its Call. Reads no body. */
import type { IncomingMessage } from 'node:http'
import { errors } from '../errors.ts'
import { hideKeysInPath } from '../observe/secret-text.ts'
import type { Fault } from '../plugin.ts'
import { checkHead, type RequestHeaders, readHead } from '../response/headers.ts'
import type { CompiledRoute, Snapshot } from '../snapshot/snapshot.ts'
import type { BodyPace } from './body-pace.ts'
import { Call, type CallOptions, NO_ROUTE } from './exchange.ts'
import { IncomingRequest } from './incoming-request.ts'
import { readTarget } from './path.ts'
import type { Match } from './router.ts'
import type { Store } from './writes.ts'

const fault = errors({
  ROUTE_NOT_FOUND: [404, 'Invalid URL (%s %s)'],
  METHOD_NOT_ALLOWED: [405, '%s is not allowed here; allowed: %s.'],
})

export interface AcceptedRequest {
  readonly call: Call
  /** The route; if none matches, the nearest one, whose dialect renders the refusal. */
  readonly compiledRoute: CompiledRoute
  readonly request: IncomingRequest
  readonly refusal: Fault | undefined
  /** Of a preflight request that the route answers: the methods of the path. */
  readonly preflight?: readonly string[] | undefined
}
export interface AcceptContext {
  readonly store: Store
  readonly pace: BodyPace
  /** 32 hexadecimal digits, unique. */
  readonly makeId: () => string
}

/** Throws for a head that no route should see. */
export const acceptRequest = (
  incoming: IncomingMessage,
  snapshot: Snapshot,
  kind: 'http' | 'websocket',
  context: AcceptContext,
): AcceptedRequest => {
  const startedAt = performance.now()
  const { limits } = snapshot.settings
  const method = incoming.method ?? 'GET'
  const target = incoming.url ?? '/'
  const headers = readHead(incoming.rawHeaders, limits.header_count, limits.header_bytes)
  checkHead({ method, target, version: incoming.httpVersion, headers, urlLimit: limits.url })
  const exact = kind === 'http' ? snapshot.findExact(method, target) : undefined
  const { path, search } = exact ? { path: target, search: '' } : readTarget(target, headers.host)
  const direct =
    exact ?? (kind === 'http' ? snapshot.find(method, path) : snapshot.findWebSocket(path))
  const preflight = direct ? undefined : findPreflight(snapshot, { method, path, headers })
  const match = direct ?? preflight?.match
  const compiledRoute = match?.value ?? snapshot.findNearest(path)
  const refusal = match ? undefined : noRouteFault(snapshot, method, path)
  if (!compiledRoute) throw refusal ?? fault('ROUTE_NOT_FOUND', [method, hideKeysInPath(path)])
  const { proxies } = snapshot
  const head = { path, search, headers, encrypted: 'encrypted' in incoming.socket, proxies }
  const inbound = new IncomingRequest(incoming, head, compiledRoute.body, context.pace)
  return {
    call: newCall({ kind, startedAt }, match, compiledRoute, inbound, context),
    compiledRoute,
    request: inbound,
    refusal,
    preflight: preflight?.methods,
  }
}

/** The route that a browser asks about (Fetch standard: CORS-preflight request), if that route
 *  answers. A method that the path has not is answered by any route of the path. */
const findPreflight = (
  snapshot: Snapshot,
  { method, path, headers }: { method: string; path: string; headers: RequestHeaders },
): { readonly match: Match<CompiledRoute>; readonly methods: readonly string[] } | undefined => {
  const wish = headers['access-control-request-method']
  if (method !== 'OPTIONS' || wish === undefined || headers.origin === undefined) return undefined
  const methods = snapshot.methodsOf(path)
  const match = [wish, ...methods].flatMap(each => snapshot.find(each, path) ?? [])[0]
  return match?.value.preflight && { match, methods }
}

const newCall = (
  arrival: Pick<CallOptions, 'kind' | 'startedAt'>,
  match: Match<CompiledRoute> | undefined,
  compiledRoute: CompiledRoute,
  inbound: IncomingRequest,
  { makeId, store }: AcceptContext,
): Call => {
  const random = makeId()
  const id = `req_${random}`
  return new Call({
    ...arrival,
    id,
    requestId: readRequestId(inbound.headers['x-request-id']) ?? id,
    trace: readTraceId(inbound.headers.traceparent) ?? random,
    route: match ? compiledRoute.route : NO_ROUTE,
    params: match?.params ?? {},
    request: inbound,
    store,
    targets: compiledRoute.targets,
    hangup: compiledRoute.hangup,
  })
}

const noRouteFault = (snapshot: Snapshot, method: string, path: string): Fault => {
  // Text behind a colon is a verb, which a route with a parameter there does not have.
  const hasVerb = (each: string): boolean =>
    !VERB_END.test(path) || VERB_END.test(snapshot.find(each, path)?.value.route.pattern ?? '')
  const allowedMethods = snapshot.methodsOf(path).filter(hasVerb)
  if (allowedMethods.length === 0) return fault('ROUTE_NOT_FOUND', [method, hideKeysInPath(path)])
  const allow = allowedMethods.join(', ')
  return fault('METHOD_NOT_ALLOWED', [method, allow], { headers: { allow } })
}

const VERB_END = /:[^/]*$/

/** A client's own id, if it looks like one; the gateway never identifies the call by it. */
const readRequestId = (header: string | undefined): string | undefined =>
  header !== undefined && /^[\w.:-]{1,128}$/.test(header) ? header : undefined
/** W3C Trace Context §3.2: version, trace, parent, flags. */
const TRACEPARENT = /^[0-9a-f]{2}-((?!0{32})[0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}/
const readTraceId = (header: string | undefined): string | undefined =>
  header === undefined ? undefined : TRACEPARENT.exec(header)?.[1]
