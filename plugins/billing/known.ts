/** What is known of a call when it is priced: everything at its end, bounds and the request before it. Pure. */
import type { Meter } from '../slots.ts'
import { isSum, SUMS } from './meters.ts'
import type { Counted, Facts } from './usage.ts'
import { millionths } from './usage.ts'

/** From 0 or an exact quantity to the most, in millionths; no `most`: nobody knows. */
export interface Range {
  readonly least: bigint
  readonly most: bigint | undefined
}
export interface Known {
  readonly at: number
  /** What the call may still say of itself: an absent attribute is not known to be absent. */
  readonly open: boolean
  /** Of a meter or a sum. */
  quantity(name: string): Range
  attribute(name: string): string | undefined
}

export const knownAtEnd = ({ quantities }: Counted, facts: Facts): Known => ({
  at: facts.at,
  open: false,
  attribute: name => attributeOf(facts, name),
  quantity(name) {
    const members: readonly Meter[] = isSum(name) ? SUMS[name] : [name as Meter]
    const exact = members.reduce((sum, meter) => sum + (quantities.get(meter) ?? 0n), 0n)
    return { least: exact, most: exact }
  },
})

// Customers choose these names and values: nothing of Object.prototype may answer.
export const attributeOf = ({ attributes = {} }: Facts, name: string): string | undefined =>
  Object.hasOwn(attributes, name) ? String(attributes[name]) : undefined

/** An attribute as a quantity: 5 and `5` are five. */
export const numberOf = (text: string): bigint | undefined =>
  /^[0-9]{1,12}(?:\.[0-9]{1,6})?$/.test(text) ? millionths(Number(text)) : undefined
