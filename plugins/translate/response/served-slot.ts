/** Keeps what the answer of the running attempt says about how it was made, in the slot SERVED. */
import type { Attempt, Exchange } from '../../../engine/plugin.ts'
import { mergeServed, servedByHeaders } from '../../formats/served.ts'
import { STANDARD, usualName } from '../../formats/tiers.ts'
import { type Attributes, SERVED, type Served } from '../../slots.ts'

type WithSlots = Pick<Exchange, 'slots'>

/** Begins with what the headers say: the body says it more exactly. An earlier target of the
 *  exchange may have left its own. */
export const beginServed = ({ exchange, reply }: Pick<Attempt, 'exchange' | 'reply'>): void => {
  exchange.slots.set(SERVED, servedByHeaders(reply.headers, exchange))
}
const NOTHING: Served = {}

export const addServed = ({ slots }: WithSlots, served: Served): void => {
  const earlier = slots.get(SERVED) ?? NOTHING
  if (!isIncluded(served, earlier)) slots.set(SERVED, mergeServed(earlier, served))
}
/** The tiers of an answer that names none. */
export const addStandards = ({ slots }: WithSlots, attributes: Attributes): void =>
  slots.set(SERVED, mergeServed({ attributes }, slots.get(SERVED) ?? NOTHING))

/** Most events repeat what the first one says. */
const isIncluded = ({ id, model, attributes = {} }: Served, earlier: Served): boolean => {
  if (id !== undefined && id !== earlier.id) return false
  if (model !== undefined && model !== earlier.model) return false
  for (const name in attributes) if (attributes[name] !== earlier.attributes?.[name]) return false
  return true
}

/** The service tier that the answer named so far, if it is one that every format names. */
export const servedTierOf = ({ slots }: WithSlots): string | undefined => {
  const tier = slots.get(SERVED)?.attributes?.service_tier
  const name = tier === undefined ? '' : usualName('service_tier', String(tier))
  return COMMON_TIERS.has(name) ? name : undefined
}
const COMMON_TIERS: ReadonlySet<string> = new Set([STANDARD, 'flex', 'priority'])
