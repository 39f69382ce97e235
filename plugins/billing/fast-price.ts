/** Fast path of `price` for rules by plain counts: sums in numbers below 2^53 and joins receipts
 *  from prepared texts. Returns undefined where it might be inexact; then `price` computes the
 *  charge. Pure. */
import { isTierName, STANDARD, usualName } from '../formats/tiers.ts'
import type { Meter, Meters } from '../slots.ts'
import type { Condition } from './condition.ts'
import type { Discount } from './discount.ts'
import type { RuleLine } from './line.ts'
import { METERS, type PricingMeter } from './meters.ts'
import { PRICE_PLACES, type Rate } from './rate.ts'
import { MAX_BOUND } from './usage.ts'

/** Plain values, like the whole rule. */
export interface FastPrice {
  readonly lines: readonly FastLine[]
  /** Parts of a nano: every count costs a whole number of parts. */
  readonly nano: number
  /** The index of the line by meter; -1: the other lines cover the meter. */
  readonly lineOf: ReadonlyMap<string, number>
}
interface FastLine {
  /** Parts that one unit costs. */
  readonly partsEach: number
  /** The text of the receipt line before its quantity. `infix`: the text before its nanos. */
  readonly prefix: string
  readonly infix: string
}
export interface FastCharge {
  readonly nanos: bigint
  /** JSON. */
  readonly lines: string
}

/** Half of 2^53: to round, a sum is doubled. */
const MAX_SUM = 2 ** 52
const PER_NANO = 10n ** BigInt(PRICE_PLACES - 9)

/** The members of a rule that decide whether the fast path applies. */
interface PricedRule {
  readonly free: boolean
  readonly pricedMeters: ReadonlyMap<Meter, { readonly lines: readonly RuleLine[] }>
  readonly pricingMeters: ReadonlyMap<Meter, PricingMeter>
  readonly min: bigint
  readonly discount: Discount | undefined
}
/** For calls at the standard of every tier. Undefined: the price depends on more than counts and
 *  tiers, or is too fine for a number. */
export const fastPriceOf = (rule: PricedRule): FastPrice | undefined => {
  const rates = [...rule.pricedMeters.values()].map(({ lines }) => {
    const line = lines.find(each => holdsForStandard(each.when) !== false)
    if (!line || holdsForStandard(line.when) === undefined) return undefined
    const rate = standardRateIn(line)
    const plain = line.min === 0n && line.step === 0n
    return plain && rate ? { meter: line.meter, rate } : undefined
  })
  const isPlain = !rule.free && rule.min === 0n && !rule.discount
  if (!isPlain || rates.includes(undefined)) return undefined
  const plainRates = rates.filter(each => each !== undefined)
  const nano = plainRates.reduce((least, { rate }) => leastCommonMultiple(least, partsOf(rate)), 1n)
  const lines = plainRates.map(({ meter, rate: { price, per, texts } }) => ({
    partsEach: Number((price * nano) / (per * PER_NANO)),
    prefix: `{"meter":${JSON.stringify(meter)},"quantity":"`,
    infix: `",${JSON.stringify(texts).slice(1, -1)},"nanos":"`,
  }))
  const fits = nano < MAX_SUM && lines.every(({ partsEach }) => partsEach < MAX_SUM)
  return fits ? { lines, nano: Number(nano), lineOf: lineIndexes(rule) } : undefined
}

/** Whether conditions hold for a call at the standard of every tier; undefined: they depend on more
 *  than tiers. */
const holdsForStandard = (when: readonly Condition[]): boolean | undefined => {
  let all: boolean | undefined = true
  for (const each of when) {
    if (each.kind !== 'one' || !isTierName(each.name)) all = undefined
    else if (!each.values.some(value => usualName(each.name, value) === STANDARD)) return false
  }
  return all
}
/** The rate of a line at the standard of every tier. Undefined: it depends on more than tiers. */
export const standardRateIn = ({ table, by }: Pick<RuleLine, 'table' | 'by'>): Rate | undefined => {
  if (!(table instanceof Map)) return table as Rate
  const [name = '', ...others] = by
  if (!isTierName(name)) return undefined
  const key = [...table.keys()].find(each => usualName(name, each) === STANDARD)
  const inner = key === undefined ? undefined : table.get(key)
  return inner && standardRateIn({ table: inner, by: others })
}

/** The parts of a nano for which one unit costs a whole number of parts. */
const partsOf = ({ price, per }: Rate): bigint => {
  const whole = per * PER_NANO
  return whole / greatestCommonDivisor(price, whole)
}
const leastCommonMultiple = (one: bigint, other: bigint): bigint =>
  (one / greatestCommonDivisor(one, other)) * other
const greatestCommonDivisor = (one: bigint, other: bigint): bigint =>
  other === 0n ? one : greatestCommonDivisor(other, one % other)

const lineIndexes = ({ pricedMeters, pricingMeters }: PricedRule): ReadonlyMap<string, number> => {
  const own = [...pricedMeters.keys()]
  const entries = METERS.flatMap(meter => {
    const at = own.indexOf(meter)
    if (at >= 0) return [[meter, at] as const]
    // Meters with a stand-in or without a price take the slow path.
    return meter === 'calls' && !pricingMeters.has(meter) ? [[meter, -1] as const] : []
  })
  return new Map(entries)
}

export const priceFast = (
  { lines, nano, lineOf }: FastPrice,
  meters: Meters,
): FastCharge | undefined => {
  const counts = lines.map(() => 0)
  const calls = lineOf.get('calls') ?? -1
  if (calls >= 0) counts[calls] = 1
  for (const name in meters) {
    const count = meters[name as keyof Meters]
    const at = lineOf.get(name)
    if (count === 0 && at !== calls) continue
    if (at === undefined || !isWhole(count)) return undefined
    if (at >= 0) counts[at] = count
  }
  let sum = 0
  let nanos = 0
  let text = ''
  for (const [at, { partsEach, prefix, infix }] of lines.entries()) {
    const count = counts[at] ?? 0
    if (count === 0) continue
    sum += count * partsEach
    // All sums are exact as long as the largest one is.
    if (!(sum * 2 + nano < MAX_SUM)) return undefined
    const roundedNanos = roundTo(nano, sum)
    text += `${text && ','}${prefix}${count}${infix}${roundedNanos - nanos}"}`
    nanos = roundedNanos
  }
  return { nanos: BigInt(nanos), lines: `[${text}]` }
}
/** Larger counts take the slow path. */
const isWhole = (count: number | undefined): count is number =>
  Number.isInteger(count) && Number(count) >= 0 && Number(count) <= MAX_BOUND

/** Rounds half up. The quotient is exact, since the remainder is subtracted first. */
const roundTo = (nano: number, sum: number): number => {
  const doubledSum = sum * 2 + nano
  return (doubledSum - (doubledSum % (nano * 2))) / (nano * 2)
}
