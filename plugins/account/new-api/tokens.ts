/** `/api/token/` in the shape of new-api: the API keys of the calling account. A key is shown once,
 *  by the response that creates it: the store has only its digest. */
import type { Exchange, Host, Json } from '../../../engine/plugin.ts'
import { accountFor } from '../../credentials/members.ts'
import type { Schema } from '../../operator/http-arguments.ts'
import { originOf, runOperation } from '../../operator/operation.ts'
import { OPERATIONS } from '../../operator/table.ts'
import { validatorOf } from '../../schema/compile.ts'
import { refuseOtherTypes } from '../../schema/json-body.ts'
import { KEY_USE } from '../../slots.ts'
import type { OwnKey } from '../../views.ts'
import { fault } from '../faults.ts'
import { numberIn } from '../own-operations.ts'
import { answerSuccess, type ViewFactory } from '../response.ts'
import { pageIn } from './pages.ts'

/** Runs an operation on keys for the caller. */
const run = async (
  host: Host,
  exchange: Exchange,
  verb: 'list' | 'show' | 'create' | 'update' | 'revoke',
  args: object,
) => {
  const account = accountFor(exchange, verb === 'list' || verb === 'show' ? 'read' : 'use')
  const operation = OPERATIONS.find(({ name }) => name === `keys ${verb}`)
  if (!operation) throw new Error(`there is no operation "keys ${verb}"`)
  const { id, name, member } = account
  const who = member ? `${member.name} of ${name}` : name
  const actor = { via: 'own account', name: who, ...originOf(exchange, account) } as const
  const whole = { ...args, kind: 'key', ...(verb === 'create' && { account: id }) }
  const { name: where } = operation
  const schema = operation.arguments.schema as Schema
  const isChange = verb === 'create' || verb === 'update'
  const invalid = isChange ? validatorOf(schema, where, host).validate(whole) : undefined
  if (invalid) throw invalid
  return runOperation(operation, whole, {
    host,
    actor,
    own: id,
    member,
    keyUse: exchange.slots.get(KEY_USE),
  })
}
const PAGE = 1_000
/** The keys that are not revoked, latest first. */
export const ownKeys = async (host: Host, exchange: Exchange): Promise<readonly OwnKey[]> => {
  const keys: OwnKey[] = []
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await run(host, exchange, 'list', { limit: PAGE, ...(cursor && { cursor }) })
    keys.push(...(page.data as readonly OwnKey[]))
    cursor = page.next ?? null
  }
  return keys.filter(({ state }) => state !== 'revoked').reverse()
}

const STATES: Readonly<Record<string, number>> = { active: 1, revoked: 2, expired: 3 }
const secondsOf = (time: string | null): number =>
  time === null ? -1 : Math.floor(Date.parse(time) / 1_000)
const tokenOf = (key: OwnKey, account: number): { readonly [name: string]: Json } => ({
  id: key.id,
  user_id: account,
  key: key.key,
  status: STATES[key.state] ?? 1,
  name: key.name,
  created_time: secondsOf(key.created),
  accessed_time: 0,
  expired_time: secondsOf(key.expires),
  remain_quota: key.remaining_quota ?? 0,
  used_quota: key.used_quota,
  unlimited_quota: key.quota === null,
  model_limits_enabled: key.models !== null,
  model_limits: key.models?.join(',') ?? '',
  allow_ips: '',
  group: 'default',
})

/** Their clients send many members more, of settings that keys do not have. */
const BODY = {
  type: 'object',
  properties: {
    id: { type: 'integer', minimum: 1 },
    name: { type: 'string', maxLength: 64 },
    status: { type: 'integer' },
    expired_time: { type: 'integer', minimum: -1, maximum: 253_402_300_799 },
    remain_quota: { type: 'integer', minimum: 0, maximum: 500_000_000_000_000 },
    unlimited_quota: { type: 'boolean' },
    model_limits_enabled: { type: 'boolean' },
    model_limits: { type: 'string', maxLength: 16_384 },
    allow_ips: { type: ['string', 'null'] },
  },
} as const
interface Body {
  readonly id?: number
  readonly name?: string
  readonly status?: number
  readonly expired_time?: number
  readonly remain_quota?: number
  readonly unlimited_quota?: boolean
  readonly model_limits_enabled?: boolean
  readonly model_limits?: string
  readonly allow_ips?: string | null
}
const bodyOf = async (host: Host, { request }: Exchange): Promise<Body> => {
  refuseOtherTypes(request)
  const body = await request.json()
  const invalid = validatorOf(BODY, 'token', host).validate(body)
  if (invalid) throw invalid
  const { allow_ips: addresses, status = 1 } = body as Body
  // Ignoring it would let in whom the customer keeps out.
  if (addresses) throw fault('TOKEN_ADDRESSES')
  if (status !== 1) throw fault('TOKEN_STATUS')
  return body as Body
}
/** Arguments of the operation. `used`: quota units that count beside the remaining ones. */
const settingsOf = (body: Body, used: number): object => {
  const { name, expired_time: expires, remain_quota: remaining, unlimited_quota: unlimited } = body
  const { model_limits: models = '', model_limits_enabled: hasModels } = body
  const names = models.split(',').filter(each => each !== '')
  const isLimited = unlimited === undefined ? remaining !== undefined : !unlimited
  return {
    ...(name !== undefined && name !== '' && { name }),
    ...(expires !== undefined && {
      expires: expires <= 0 ? null : new Date(expires * 1_000).toISOString(),
    }),
    ...(unlimited === true && { quota: null }),
    ...(isLimited && remaining !== undefined && { quota: used + remaining, quota_period: null }),
    ...(hasModels === false && { models: null }),
    ...(hasModels === true && { models: names }),
  }
}
export const listTokens: ViewFactory<Host> = host => async exchange => {
  const { page, size } = pageIn(exchange.request.query)
  const { id } = accountFor(exchange, 'read')
  const keys = await ownKeys(host, exchange)
  const items = keys.slice((page - 1) * size, page * size).map(key => tokenOf(key, id))
  answerSuccess(exchange, { data: { page, page_size: size, total: keys.length, items } })
}
export const showToken: ViewFactory<Host> = host => async exchange => {
  const { data } = await run(host, exchange, 'show', { key: numberIn(exchange) })
  answerSuccess(exchange, { data: tokenOf(data as OwnKey, accountFor(exchange, 'read').id) })
}
export const createToken: ViewFactory<Host> = host => async exchange => {
  const body = await bodyOf(host, exchange)
  const { data } = await run(host, exchange, 'create', settingsOf(body, 0))
  answerSuccess(exchange, { data: tokenOf(data as OwnKey, accountFor(exchange, 'read').id) })
}
export const updateToken: ViewFactory<Host> = host => async exchange => {
  const body = await bodyOf(host, exchange)
  const { id: key = 0 } = body
  const before = await run(host, exchange, 'show', { key })
  const isStatusOnly = exchange.request.query.has('status_only')
  const settings = isStatusOnly ? {} : settingsOf(body, (before.data as OwnKey).used_quota)
  const { data } =
    Object.keys(settings).length === 0
      ? before
      : await run(host, exchange, 'update', { key, ...settings })
  answerSuccess(exchange, { data: tokenOf(data as OwnKey, accountFor(exchange, 'read').id) })
}
export const deleteToken: ViewFactory<Host> = host => async exchange => {
  await run(host, exchange, 'revoke', { key: numberIn(exchange) })
  answerSuccess(exchange, { data: null })
}
