/** Tiers that a request asks for and its model does not price: they are left out of the request
 *  before an upstream gets it. */
import { asBuffer, isFields } from '../../engine/kit.ts'
import type { Attempt, Bytes, Exchange, Json, Slot } from '../../engine/plugin.ts'
import type { Fields } from '../formats/fields.ts'
import {
  EXTRA_BODY,
  headerTiersOf,
  namesTier,
  OPEN,
  type PricedTiers,
  requestedTiersOf,
  STANDARD,
  usualName,
} from '../formats/tiers.ts'
import { EXPANDED_REQUEST } from '../slots.ts'
import { type CompiledEdits, editBody } from './body-edits.ts'
import { type Member, membersIn } from './body-members.ts'

/** The parts that are left out of a request. */
export interface UnpricedTiers {
  /** The members of the body, as the client names them. */
  readonly members: readonly string[]
  /** The members that `extra_body` holds. */
  readonly inner: readonly string[]
  /** The new value of the header `anthropic-beta`; null: it is left out. */
  readonly betas: string | null | undefined
  /** Headers that hold such a tier alone. */
  readonly headers: readonly string[]
  /** The names of all of these, for the client. */
  readonly names: readonly string[]
}
/** Set by `meter` before the request is forwarded; final then. */
export const UNPRICED_TIERS: Slot<UnpricedTiers> = { name: 'unpriced-tiers' }

const BETA_HEADER = 'anthropic-beta'
/** A beta -> the tier that it makes available. */
const BETA_TIERS = [{ beta: /^fast-mode-/, name: 'speed', value: 'fast' }] as const

/** Undefined: there is none. */
export const unpricedTiersOf = (
  { headers }: Pick<Exchange['request'], 'headers'>,
  body: Json,
  priced: PricedTiers,
): UnpricedTiers | undefined => {
  if (!mayNameTier(headers, body)) return undefined
  const isUnpriced = (name: string, value: string): boolean => {
    const tier = usualName(name, value)
    return tier !== STANDARD && tier !== OPEN && priced.get(name)?.has(tier) !== true
  }
  const requested = requestedTiersOf(body).filter(({ name, value }) => isUnpriced(name, value))
  const fields = isFields(body) ? body : {}
  const inner = [
    ...requested.flatMap(({ holder, member }) => (holder === undefined ? [] : [member])),
    ...modelsIn(fields[EXTRA_BODY], INNER_MODELS),
  ]
  const members = [
    ...requested.filter(({ holder }) => holder === undefined).map(({ member }) => member),
    ...modelsIn(body, OTHER_MODELS),
  ]
  const tierHeaders = headerTiersOf(headers)
    .filter(({ name, value }) => isUnpriced(name, value))
    .map(({ member }) => member)
  const betas = headers[BETA_HEADER]?.split(',').map(each => each.trim()) ?? []
  const unpricedBetas = betas.filter(beta =>
    BETA_TIERS.some(each => each.beta.test(beta) && isUnpriced(each.name, each.value)),
  )
  const names = [
    ...members,
    ...inner.map(member => `${EXTRA_BODY}.${member}`),
    ...tierHeaders,
    ...unpricedBetas,
  ]
  if (names.length === 0) return undefined
  const otherBetas = betas.filter(each => !unpricedBetas.includes(each)).join(',')
  return {
    members,
    inner,
    betas: unpricedBetas.length === 0 ? undefined : otherBetas || null,
    headers: tierHeaders,
    names,
  }
}
/** Most requests name none: they are read no further. */
const mayNameTier = (headers: Exchange['request']['headers'], body: Json): boolean => {
  if (headers[BETA_HEADER] !== undefined || headerTiersOf(headers).length > 0) return true
  if (!isFields(body)) return false
  return (
    namesTier(body) ||
    body[EXTRA_BODY] !== undefined ||
    body.models !== undefined ||
    body.fallbacks !== undefined
  )
}

/** Models of which the provider may serve each, though the price is for the requested one:
 *  OpenRouter's, and those of Anthropic's betas. They are names of the provider, to which the
 *  client's name of the model means nothing. */
const OTHER_MODELS = ['models', 'fallbacks'] as const
/** A server that merges `extra_body` replaces the model by the one in it. */
const INNER_MODELS = [...OTHER_MODELS, 'model'] as const
const modelsIn = (body: Json | undefined, members: readonly string[]): readonly string[] =>
  isFields(body) ? members.filter(member => !isEmpty(body[member])) : []
const isEmpty = (value: Json | undefined): boolean =>
  value === undefined ||
  value === null ||
  value === false ||
  value === '' ||
  (Array.isArray(value) && value.length === 0)

const omitMembers = (fields: Fields, names: readonly string[]): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)))

/** Leaves tiers out of the request that every stage reads. Returns its body. */
export const leaveOutTiers = ({ request, slots }: Exchange, tiers: UnpricedTiers): Json => {
  // Another model of the same request may have left some out before.
  const before = slots.get(UNPRICED_TIERS)
  slots.set(UNPRICED_TIERS, {
    ...tiers,
    members: [...(before?.members ?? []), ...tiers.members],
    inner: [...(before?.inner ?? []), ...tiers.inner],
    names: [...(before?.names ?? []), ...tiers.names],
  })
  const expanded = slots.get(EXPANDED_REQUEST)
  const body = withoutMembers(expanded?.body ?? request.parsed ?? null, tiers)
  if (expanded) slots.set(EXPANDED_REQUEST, { ...expanded, body })
  request.setJson(withoutMembers(request.parsed ?? null, tiers))
  return body
}
/** The body that is sent, for a request that is not. */
export const withoutUnpricedTiers = (body: Json, priced: PricedTiers): Json => {
  const tiers = unpricedTiersOf({ headers: {} }, body, priced)
  return tiers ? withoutMembers(body, tiers) : body
}
/** The body without the members that ask for unpriced tiers. */
export const withoutMembers = (body: Json, { members, inner }: UnpricedTiers): Json => {
  if (!isFields(body)) return body
  const others = omitMembers(body, members)
  const extra = others[EXTRA_BODY]
  if (inner.length === 0 || !isFields(extra)) return others
  return { ...others, [EXTRA_BODY]: omitMembers(extra, inner) }
}

/** Leaves them out of the bytes and headers of an attempt; all other bytes stay unchanged. */
export const editAttempt = ({ request, exchange }: Attempt): void => {
  const tiers = exchange.slots.get(UNPRICED_TIERS)
  if (!tiers) return
  const { members, inner, betas, headers } = tiers
  for (const name of headers) delete request.headers[name]
  if (betas === null) delete request.headers[BETA_HEADER]
  else if (betas !== undefined && request.headers[BETA_HEADER] !== undefined)
    request.headers[BETA_HEADER] = betas
  if (!(request.body instanceof Uint8Array)) return
  const bodyMembers = membersIn(request.body)
  if (!bodyMembers) return
  const extra = inner.length === 0 ? undefined : editExtraBody(request.body, bodyMembers, inner)
  const sets = new Map(extra === undefined ? [] : [[EXTRA_BODY, extra] as const])
  request.body = editBody(request.body, bodyMembers, editsOf(members, sets))
  delete request.headers['content-length']
}
const editsOf = (
  drops: readonly string[],
  sets: ReadonlyMap<string, string> = new Map(),
): CompiledEdits => ({ renames: new Map(), drops: new Set(drops), sets })

/** The member `extra_body` of the bytes without these members. Undefined: it is not an object. */
const editExtraBody = (
  bytes: Bytes,
  members: readonly Member[],
  inner: readonly string[],
): string | undefined => {
  const member = members.findLast(({ key }) => key === EXTRA_BODY)
  const value = member && bytes.subarray(member.valueStart, member.end)
  const innerMembers = value && membersIn(value)
  if (!innerMembers) return undefined
  const rest = asBuffer(editBody(value, innerMembers, editsOf(inner)))
  return `${JSON.stringify(EXTRA_BODY)}:${rest.toString()}`
}
