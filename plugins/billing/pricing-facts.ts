/** The facts of a call that its price depends on: exact at its end, ranges before it runs. Pure. */
import type { Meter } from '../slots.ts'
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
  /** Of the request: no answer adds one. */
  attribute(name: string): string | undefined
}

export const factsAtEnd = ({ quantities }: ExactUsage, facts: Facts): PricingFacts => ({
  at: facts.at,
  attribute: name => attributeOf(facts, name),
  quantity(name) {
    const members: readonly Meter[] = isSum(name) ? SUMS[name] : [name as Meter]
    const total = members.reduce((sum, meter) => sum + (quantities.get(meter) ?? 0n), 0n)
    return { least: total, most: total }
  },
})

// Customers choose these names: one such as `constructor` must not find Object.prototype.
export const attributeOf = ({ attributes = {} }: Facts, name: string): string | undefined =>
  Object.hasOwn(attributes, name) ? String(attributes[name]) : undefined

/** An attribute as a quantity: 5 and `5` are five. */
export const numberOf = (text: string): bigint | undefined =>
  /^[0-9]{1,12}(?:\.[0-9]{1,6})?$/.test(text) ? millionths(Number(text)) : undefined
