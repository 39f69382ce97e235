/** Tiers that a request asks for and its model does not price: they are left out of the request
 *  before an upstream gets it. */
import { isFields } from '../../engine/kit.ts'
import type { Attempt, Exchange, Json, Slot } from '../../engine/plugin.ts'
import type { Fields } from '../formats/fields.ts'
import {
  HOLDER,
  headerTiersOf,
  OPEN,
  type PricedTiers,
  requestedTiersOf,
  STANDARD,
  usualName,
} from '../formats/tiers.ts'
import { EXPANDED_REQUEST } from '../slots.ts'
import { editBody } from './body-edits.ts'
import { membersIn } from './body-members.ts'

/** The parts that are left out of a request. */
export interface UnpricedTiers {
  /** The members of the body, as the client names them. */
  readonly members: readonly string[]
  /** The new values of other members, which hold such a tier inside. */
  readonly changes: Fields
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
  const isUnpriced = (name: string, value: string): boolean => {
    const tier = usualName(name, value)
    return tier !== STANDARD && tier !== OPEN && priced.get(name)?.has(tier) !== true
  }
  const requested = requestedTiersOf(body).filter(({ name, value }) => isUnpriced(name, value))
  const fields = isFields(body) ? body : {}
  const inner = [
    ...requested.flatMap(({ holder, member }) => (holder === undefined ? [] : [member])),
    ...otherModelsIn(fields[HOLDER], fields.model, isUnpriced),
  ]
  const members = [
    ...requested.filter(({ holder }) => holder === undefined).map(({ member }) => member),
    ...otherModelsIn(body, fields.model, isUnpriced),
  ]
  const tierHeaders = headerTiersOf(headers)
    .filter(({ name, value }) => isUnpriced(name, value))
    .map(({ member }) => member)
  const changes = withoutInner(fields, inner)
  const betas = headers[BETA_HEADER]?.split(',').map(each => each.trim()) ?? []
  const unpricedBetas = betas.filter(beta =>
    BETA_TIERS.some(each => each.beta.test(beta) && isUnpriced(each.name, each.value)),
  )
  const names = [
    ...members,
    ...inner.map(member => `${HOLDER}.${member}`),
    ...tierHeaders,
    ...unpricedBetas,
  ]
  if (names.length === 0) return undefined
  const otherBetas = betas.filter(each => !unpricedBetas.includes(each)).join(',')
  return {
    members,
    changes,
    betas: unpricedBetas.length === 0 ? undefined : otherBetas || null,
    headers: tierHeaders,
    names,
  }
}
/** Lists of models of which the provider may serve each, though the price is for the requested one:
 *  OpenRouter's, and the one of Anthropic's betas. */
const OTHER_MODELS = ['models', 'fallbacks']
const otherModelsIn = (
  body: Json | undefined,
  model: Json | undefined,
  isUnpriced: (name: string, value: string) => boolean,
): readonly string[] => {
  if (!isFields(body)) return []
  const isOther = (each: Json): boolean => {
    if (!isFields(each)) return each !== model
    return each.model !== model || isUnpriced('speed', String(each.speed ?? STANDARD))
  }
  return OTHER_MODELS.filter(member => {
    const models = body[member]
    return Array.isArray(models) && models.some(isOther)
  })
}

const without = (fields: Fields, names: readonly string[]): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)))

/** The new value of the member that holds these, if any. */
const withoutInner = (fields: Fields, inner: readonly string[]): Fields => {
  const holder = fields[HOLDER]
  if (inner.length === 0 || !isFields(holder)) return {}
  return { [HOLDER]: without(holder, inner) }
}

/** Leaves tiers out of the request that every stage reads. Returns its body. */
export const leaveOutTiers = ({ request, slots }: Exchange, tiers: UnpricedTiers): Json => {
  // Another model of the same request may have left some out before.
  const before = slots.get(UNPRICED_TIERS)
  slots.set(UNPRICED_TIERS, {
    ...tiers,
    members: [...(before?.members ?? []), ...tiers.members],
    changes: { ...before?.changes, ...tiers.changes },
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
/** The body without the members that hold unpriced tiers. */
export const withoutMembers = (body: Json, { members, changes }: UnpricedTiers): Json => {
  if (!isFields(body)) return body
  return { ...without(body, members), ...changes }
}

/** Leaves them out of the bytes and headers of an attempt; all other bytes stay unchanged. */
export const editAttempt = ({ request, exchange }: Attempt): void => {
  const tiers = exchange.slots.get(UNPRICED_TIERS)
  if (!tiers) return
  const { members, changes, betas, headers } = tiers
  for (const name of headers) delete request.headers[name]
  if (betas === null) delete request.headers[BETA_HEADER]
  else if (betas !== undefined && request.headers[BETA_HEADER] !== undefined)
    request.headers[BETA_HEADER] = betas
  if (!(request.body instanceof Uint8Array)) return
  const bodyMembers = membersIn(request.body)
  if (!bodyMembers) return
  const sets = Object.entries(changes).map(
    ([key, value]) => [key, `${JSON.stringify(key)}:${JSON.stringify(value)}`] as const,
  )
  const edits = { renames: new Map<string, string>(), drops: new Set(members), sets: new Map(sets) }
  request.body = editBody(request.body, bodyMembers, edits)
  delete request.headers['content-length']
}
