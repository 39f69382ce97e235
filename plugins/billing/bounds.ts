/** How much a call can come to use, as far as the request and the rule say so. Pure. */
import type { Meter, Meters } from '../slots.ts'
import { attributeOf, type Known } from './known.ts'
import { isSum, SUM_OF, SUMS, type Sum } from './meters.ts'
import type { Rule } from './rule.ts'
import { type Facts, MOST_ASKED, millionths } from './usage.ts'

export interface Bounds {
  /** The most tokens it reads, of every kind together. */
  readonly prompt?: number
  /** The most tokens it writes, thinking included. */
  readonly completion?: number
  /** The most of one meter. One that is absent is bounded by its sum and by `max_calls`, or by nothing. */
  readonly meters?: Meters
}

/** In millionths; undefined: nobody knows. */
export interface Mosts {
  sum(name: Sum): bigint | undefined
  meter(meter: Meter): bigint | undefined
  /** Of everything that is priced by this meter's lines. */
  home(meter: Meter): bigint | undefined
}

export const mostsOf = (bounds: Bounds, rule: Rule): Mosts => {
  const said = (meter: Meter): bigint | undefined =>
    bound(bounds.meters?.[meter] ?? rule.maxCalls.get(meter) ?? (meter === 'calls' ? 1 : null))
  const whole = (name: Sum): bigint | undefined => bound(bounds[name] ?? null)
  const meter = (name: Meter): bigint | undefined => {
    const sum = SUM_OF[name]
    return least(said(name), sum && whole(sum))
  }
  // One of them without a bound of its own is bounded by the sum, and so are all together.
  const together = (meters: readonly Meter[]): bigint | undefined => {
    let total = 0n
    for (const each of meters) {
      const most = said(each)
      if (most === undefined) return undefined
      total += most
    }
    return total
  }
  return {
    meter,
    sum: name => least(whole(name), together(SUMS[name])),
    home(name) {
      const sum = SUM_OF[name]
      return least(together(rule.priced.get(name)?.guests ?? []), sum && whole(sum))
    },
  }
}
const bound = (count: number | null): bigint | undefined => millionths(count, MOST_ASKED)
/** The smaller one that is known. */
export const least = (one: bigint | undefined, other: bigint | undefined): bigint | undefined => {
  if (one === undefined || other === undefined) return one ?? other
  return one < other ? one : other
}
export const knownBefore = (mosts: Mosts, facts: Facts): Known => ({
  at: facts.at,
  open: true,
  attribute: name => attributeOf(facts, name),
  quantity: name => ({
    least: 0n,
    most: isSum(name) ? mosts.sum(name) : mosts.meter(name as Meter),
  }),
})
