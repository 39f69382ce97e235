/** The facts of a call that its price depends on: exact at its end, ranges before it runs. Pure. */
import { isTier, OPEN, STANDARD, usualName } from '../formats/tiers.ts'
import type { Attributes, Meter } from '../slots.ts'
import { isSum, SUMS } from './meters.ts'
import type { ExactUsage, Facts } from './usage.ts'
import { millionths } from './usage.ts'

/** A range in millionths; no `most`: unbounded. */
export interface Range {
  readonly least: bigint
  readonly most: bigint | undefined
}
export interface PricingFacts {
  readonly at: number
  /** The quantity of a meter or a sum. */
  quantity(name: string): Range
  /** All values that an attribute may have: of a served call, the one that applies. */
  attribute(name: string): AttributeValues
}
/** `any`: the provider chooses. The first value is the requested one. */
export type AttributeValues = 'any' | readonly (string | undefined)[]

export const factsAtEnd = ({ quantities }: ExactUsage, facts: Facts): PricingFacts => ({
  at: facts.at,
  attribute: name => [attributeOf(facts, name)],
  quantity(name) {
    const members: readonly Meter[] = isSum(name) ? SUMS[name] : [name as Meter]
    const total = members.reduce((sum, meter) => sum + (quantities.get(meter) ?? 0n), 0n)
    return { least: total, most: total }
  },
})

/** Facts of a served call: what its answer reported replaces what was requested. */
export const withServed = (facts: Facts, served: Attributes | undefined): Facts =>
  served === undefined ? facts : { ...facts, attributes: { ...facts.attributes, ...served } }

/** The values that the provider may choose, given the request. A tier may fall back to the
 *  standard. */
export const permittedValues = (facts: Facts, name: string): AttributeValues => {
  const value = attributeOf(facts, name)
  if (value === OPEN) return 'any'
  if (value === undefined || !MAY_FALL_BACK.has(name) || !isTier(name, value)) return [value]
  return usualName(name, value) === STANDARD ? [value] : [value, STANDARD]
}
const MAY_FALL_BACK: ReadonlySet<string> = new Set(['service_tier', 'speed', 'inference_geo'])

// Customers choose these names: one such as `constructor` must not find Object.prototype.
const attributeOf = ({ attributes = {} }: Facts, name: string): string | undefined =>
  Object.hasOwn(attributes, name) ? String(attributes[name]) : undefined

/** An attribute as a quantity: 5 and `5` are five. */
export const numberOf = (text: string): bigint | undefined =>
  /^[0-9]{1,12}(?:\.[0-9]{1,6})?$/.test(text) ? millionths(Number(text)) : undefined
