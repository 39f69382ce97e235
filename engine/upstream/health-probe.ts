/** Probes ejected addresses by a request of the gateway's own, so that no client's request finds
 *  out whether an address works again. */
import type { Headers } from '../plugin.ts'
import type { FilteredReply } from '../response/filters.ts'
import type { Health } from './health.ts'
import type { Origin } from './origin.ts'
import { send } from './transport.ts'
import { joinPath, type Upstream } from './upstreams.ts'

/** A request without a body is a GET, one with a body a POST of this JSON. */
export interface ProbeRequest {
  readonly path: string
  readonly body?: unknown
}
/** Bytes of an answer that are read; of a longer one the connection is closed. */
const MOST_BYTES = 1_048_576

/** Returns a function that probes an address after so many ms, again and again, until an answer
 *  below 500 readmits it. `upstream`: that of the address, once it is compiled. */
export const createProber = (request: ProbeRequest, upstream: () => Upstream | undefined) => {
  const scheduled = new WeakSet<Health>()
  const schedule = (health: Health, ms: number): void => {
    if (scheduled.has(health)) return
    scheduled.add(health)
    setTimeout(async () => {
      const [own, address] = find(health, upstream())
      if (own && address && !address.origin.isClosed && health.needsProbe)
        await sendRequest(request, own, address).catch(() => {})
      scheduled.delete(health)
      if (own && !address?.origin.isClosed && health.needsProbe) schedule(health, own.health.eject)
    }, ms).unref()
  }
  return schedule
}
type Address = Upstream['origins'][number]
const find = (health: Health, upstream: Upstream | undefined) =>
  [upstream, upstream?.origins.find(({ origin }) => origin.health === health)] as const

/** Sends a request of the gateway's own. Resolves to the status of its whole answer, which is
 *  recorded as that of any request; rejects if there is none. */
export const sendRequest = async (
  { path, body }: ProbeRequest,
  upstream: Upstream,
  { origin, base }: Address & { readonly origin: Origin },
): Promise<number> => {
  const headers: Headers = { accept: 'application/json', ...upstream.set }
  if (body !== undefined) headers['content-type'] = 'application/json'
  const { name, deadlines, health } = upstream
  const sending = {
    origin,
    upstream: name,
    method: body === undefined ? 'GET' : 'POST',
    path: upstream.sign(headers, joinPath(base, path)),
    headers,
    body: body === undefined ? undefined : Buffer.from(JSON.stringify(body)),
    deadlines,
    health,
    idempotent: true,
  }
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const resolveWhole = (reply: FilteredReply): void =>
    resolve(reply.bytes(MOST_BYTES).then(() => reply.status))
  send(sending, NO_CLIENT, resolveWhole, reject)
  return promise
}
const NO_CLIENT = { awaitAttempt() {} }
