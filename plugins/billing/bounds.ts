/** The maximum usage of a call, from the request and the price rule. Pure. */
import type { Meter, Meters } from '../slots.ts'
import { isSum, SUM_OF, SUMS, type Sum } from './meters.ts'
import { type PricingFacts, permittedValues } from './pricing-facts.ts'
import type { Rule } from './rule.ts'
import { type Facts, MAX_BOUND, millionths } from './usage.ts'

export interface Bounds {
  /** The maximum of input tokens, all kinds together. */
  readonly prompt?: number
  /** The maximum of output tokens, thinking included. */
  readonly completion?: number
  /** The maximum of single meters. An absent one is bounded by its sum and by `max_calls`, or not
   *  at all. */
  readonly meters?: Meters
}

/** In millionths; undefined: unbounded. */
export interface Maximums {
  sum(name: Sum): bigint | undefined
  meter(meter: Meter): bigint | undefined
  /** The maximum of all meters that the lines of this meter price, together. */
  pricedTotal(meter: Meter): bigint | undefined
}

/** Every call is one, and at most one answer from the cache. */
const ONCE: ReadonlySet<Meter> = new Set(['calls', 'cached_call'])

export const maximumsOf = (bounds: Bounds, rule: Rule): Maximums => {
  const ownMaximum = (meter: Meter): bigint | undefined =>
    boundOf(bounds.meters?.[meter] ?? rule.maxCalls.get(meter) ?? (ONCE.has(meter) ? 1 : null))
  const sumMaximum = (name: Sum): bigint | undefined => boundOf(bounds[name] ?? null)
  const meter = (name: Meter): bigint | undefined => {
    const sum = SUM_OF[name]
    return smaller(ownMaximum(name), sum && sumMaximum(sum))
  }
  // Where one member has no bound of its own, only the bound of the sum applies.
  const sumOf = (meters: readonly Meter[]): bigint | undefined => {
    let total = 0n
    for (const each of meters) {
      const most = ownMaximum(each)
      if (most === undefined) return undefined
      total += most
    }
    return total
  }
  return {
    meter,
    sum: name => smaller(sumMaximum(name), sumOf(SUMS[name])),
    pricedTotal(name) {
      const sum = SUM_OF[name]
      return smaller(
        sumOf(rule.pricedMeters.get(name)?.coveredMeters ?? []),
        sum && sumMaximum(sum),
      )
    },
  }
}
const boundOf = (count: number | null): bigint | undefined => millionths(count, MAX_BOUND)
/** The smaller of two bounds; undefined: no bound. */
export const smaller = (one: bigint | undefined, other: bigint | undefined): bigint | undefined => {
  if (one === undefined || other === undefined) return one ?? other
  return one < other ? one : other
}
export const factsBeforeCall = (maximums: Maximums, facts: Facts): PricingFacts => ({
  at: facts.at,
  attribute: name => permittedValues(facts, name),
  quantity: name => ({
    least: 0n,
    most: isSum(name) ? maximums.sum(name) : maximums.meter(name as Meter),
  }),
})
