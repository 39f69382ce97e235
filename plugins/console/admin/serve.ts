/** Serves the endpoints of operators under `/api/admin/` and on the admin listener. */
import type { Exchange, Host, HostBase, Json, Plugin } from '../../../engine/plugin.ts'
import type { Change } from '../../action-log/action.ts'
import { recordAction } from '../../action-log/record.ts'
import { originOf } from '../../operator/operation.ts'
import { validatorOf } from '../../schema/compile.ts'
import { refuseUnknownParameters } from '../../schema/known-parameters.ts'
import { ACCOUNT, KEY_USE } from '../../slots.ts'
import { fault } from '../faults.ts'
import { consoleSettings } from '../section.ts'
import type { AdminCall, AdminResult } from './endpoint.ts'
import { ADMIN_ENDPOINTS, EVENT_ENDPOINTS } from './endpoints.ts'
import { answerEvents } from './events.ts'
import { actorOf, EARLIER_NAMES, operationEndpoints } from './operations.ts'

const LISTENER = 'admin listener'

/** Validates the body, runs the endpoint and logs its change. */
const run = async (
  calledName: string,
  call: Omit<AdminCall, 'body'> & { readonly body: Json | undefined },
  host: HostBase,
): Promise<AdminResult> => {
  const name = Object.hasOwn(EARLIER_NAMES, calledName)
    ? (EARLIER_NAMES[calledName] ?? '')
    : calledName
  const endpoint = Object.hasOwn(ADMIN_ENDPOINTS, name) ? ADMIN_ENDPOINTS[name] : undefined
  if (!endpoint) throw fault('ADMIN_UNKNOWN', [name])
  refuseUnknownParameters(call.query, Object.keys(endpoint.query ?? {}))
  const { body = {} } = call
  const invalid = endpoint.body && validatorOf(endpoint.body, name, host).validate(body)
  if (invalid) throw invalid
  const checked = { ...call, body: body as AdminCall['body'] }
  const record = (object: string, change: Pick<Change, 'before' | 'after'>) =>
    recordAction(host, [], { operation: name, object, ...change, actor: actorOf(call) })
  const revealed = endpoint.reveals?.(call.query)
  if (revealed !== undefined) await record(revealed, { before: null, after: null })
  const result = await endpoint.run(checked, host)
  const { actor, origin } = call
  // An operation has its row already, in the transaction of its change.
  if (result.change && !Object.hasOwn(operationEndpoints, name))
    await record('the configuration', result.change)
  if (endpoint.body && !endpoint.isQuiet)
    host.log.info({ actor, ...origin, endpoint: name, ...result.change }, 'an admin change')
  return result
}

const eventEntries = Object.entries(EVENT_ENDPOINTS).map(
  ([name, endpoint]) => [name, { ...endpoint, body: null }] as const,
)
/** `GET /api/admin/endpoints` */
const listEndpoints = (): Json =>
  [...Object.entries(ADMIN_ENDPOINTS), ...eventEntries].map(([name, endpoint]) => {
    const { summary, query = {}, body = null } = endpoint
    const [method = '', path = ''] = name.split(' ')
    return { method, path: `/api/admin/${path}`, summary, query, body }
  })

/** `/api/admin/{resource}` and `/api/admin/{resource}/{action}` */
export const adminView =
  (host: Host) =>
  async (exchange: Exchange): Promise<void> => {
    if (!consoleSettings(host).admin) throw fault('ADMIN_OFF')
    const { request, params, slots } = exchange
    const path = Object.values(params).join('/')
    const isChange = request.method !== 'GET'
    const headers = { 'cache-control': 'no-store' }
    if (path === 'endpoints' && !isChange) {
      exchange.answer(200, { success: true, message: '', data: listEndpoints() }, headers)
      return
    }
    const name = `${request.method} ${path}`
    const events = Object.hasOwn(EVENT_ENDPOINTS, name) ? EVENT_ENDPOINTS[name] : undefined
    if (events) {
      refuseUnknownParameters(request.query, Object.keys(events.query ?? {}))
      answerEvents(exchange, events, host)
      return
    }
    const body = isChange ? await request.json() : undefined
    const account = slots.need(ACCOUNT)
    const { account: id, ...origin } = originOf(exchange, account)
    const caller = { actor: account.name, ...(id !== undefined && { account: id }), origin }
    const call = { query: request.query, body, ...caller, keyUse: slots.get(KEY_USE) }
    const { data, next } = await run(name, call, host)
    const page = next === undefined ? {} : { next }
    exchange.answer(200, { success: true, message: '', data, ...page }, headers)
  }

/** `GET accounts` is `GET /-/admin/accounts` on the admin listener. */
export const adminListenerEndpoints: NonNullable<Plugin['admin']> = Object.fromEntries(
  [...Object.keys(ADMIN_ENDPOINTS), ...Object.keys(EARLIER_NAMES)].map(name => [
    name.replace(' ', ' /-/admin/'),
    async ({ query, body, operator, address }, host) => {
      const who = operator ? { actor: operator.name, account: operator.id } : { actor: LISTENER }
      const caller = { ...who, ...(address !== undefined && { origin: { address } }) }
      const { data, next } = await run(name, { query, body, ...caller }, host)
      return next === undefined ? data : { data, next }
    },
  ]),
)
