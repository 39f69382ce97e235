/** Tiers that a request asks for and its model does not price: they are left out of the request
 *  before an upstream gets it. */
import { isFields } from '../../engine/kit.ts'
import type { Attempt, Exchange, Json, Slot } from '../../engine/plugin.ts'
import type { Fields } from '../formats/fields.ts'
import {
  headerTiersOf,
  OPEN,
  type PricedTiers,
  type RequestedTier,
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
  const innerTiers = requested.filter(({ holder }) => holder !== undefined)
  const members = [
    ...requested.filter(({ holder }) => holder === undefined).map(({ member }) => member),
    ...(namesOtherModels(body) ? ['models'] : []),
  ]
  const tierHeaders = headerTiersOf(headers)
    .filter(({ name, value }) => isUnpriced(name, value))
    .map(({ member }) => member)
  const fallbacks = fallbacksOf(body, isUnpriced)
  const changes = { ...fallbacks, ...withoutInner(body, innerTiers) }
  const betas = headers[BETA_HEADER]?.split(',').map(each => each.trim()) ?? []
  const unpricedBetas = betas.filter(beta =>
    BETA_TIERS.some(each => each.beta.test(beta) && isUnpriced(each.name, each.value)),
  )
  const names = [
    ...members,
    ...Object.keys(fallbacks).map(key => `${key}.speed`),
    ...innerTiers.map(({ holder, member }) => `${holder}.${member}`),
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
/** Whether the provider may serve a model that the price of this one is not for, as OpenRouter
 *  does. */
const namesOtherModels = (body: Json): boolean =>
  isFields(body) && Array.isArray(body.models) && body.models.some(each => each !== body.model)

/** The new values of members that hold unpriced tiers. */
const withoutInner = (body: Json, innerTiers: readonly RequestedTier[]): Fields => {
  if (!isFields(body)) return {}
  const changes: Record<string, Json> = {}
  for (const { holder = '', member } of innerTiers) {
    const { [member]: _, ...rest } = (changes[holder] ?? body[holder]) as Fields
    changes[holder] = rest
  }
  return changes
}

/** Fallbacks at the provider may name a speed of their own. */
const fallbacksOf = (body: Json, isUnpriced: (name: string, value: string) => boolean): Fields => {
  if (!isFields(body) || !Array.isArray(body.fallbacks)) return {}
  const { fallbacks } = body as { readonly fallbacks: readonly Json[] }
  const hasSpeed = (each: Json): each is Fields =>
    isFields(each) && typeof each.speed === 'string' && isUnpriced('speed', each.speed)
  if (!fallbacks.some(hasSpeed)) return {}
  return {
    fallbacks: fallbacks.map(each => {
      if (!hasSpeed(each)) return each
      const { speed: _, ...rest } = each
      return rest
    }),
  }
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
  const entries = Object.entries(body as Fields).filter(([key]) => !members.includes(key))
  return { ...Object.fromEntries(entries), ...changes }
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
