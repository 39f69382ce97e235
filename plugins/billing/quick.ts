/** The short way to a price: where it goes by plain counts alone, the exact sum in numbers that stay below 2^53, and the
 *  receipt from pieces made when the rule was. Says nothing where it is not sure; `price` then has the word. Pure. */
import type { Meter, Meters } from '../slots.ts'
import type { RuleLine } from './line.ts'
import { type Home, METERS } from './meters.ts'
import { PRICE_PLACES, type Rate } from './rate.ts'
import { MOST_ASKED } from './usage.ts'

/** Plain values, as all of a rule. */
export interface Quick {
  readonly lines: readonly QuickLine[]
  /** What a nano is, in the parts that every count costs a whole number of. */
  readonly nano: number
  /** By meter: its line; -1: paid for by the others. */
  readonly places: ReadonlyMap<string, number>
}
interface QuickLine {
  /** Parts that one costs. */
  readonly each: number
  /** Of its line on a receipt, before its quantity and before its nanos. */
  readonly before: string
  readonly between: string
}
export interface Quickly {
  readonly nanos: bigint
  /** JSON. */
  readonly lines: string
}

/** Half of 2^53: to round, a sum is doubled. */
const MOST = 2 ** 52
const PER_NANO = 10n ** BigInt(PRICE_PLACES - 9)

/** Of a rule. */
interface Priced {
  readonly free: boolean
  readonly priced: ReadonlyMap<Meter, { readonly lines: readonly RuleLine[] }>
  readonly homes: ReadonlyMap<Meter, Home>
  readonly min: bigint
}
/** Undefined: the price goes by more than counts, or is finer than a number can be. */
export const quickOf = (rule: Priced): Quick | undefined => {
  const rates = [...rule.priced.values()].map(({ lines }) => {
    const [line, ...more] = lines
    if (!line || more.length > 0 || line.table instanceof Map) return undefined
    const plain = line.when.length === 0 && line.min === 0n && line.step === 0n
    return plain ? { meter: line.meter, rate: line.table as Rate } : undefined
  })
  if (rule.free || rule.min > 0n || rates.includes(undefined)) return undefined
  const known = rates.filter(each => each !== undefined)
  const nano = known.reduce((least, { rate }) => multiple(least, partsOf(rate)), 1n)
  const lines = known.map(({ meter, rate: { price, per, shown } }) => ({
    each: Number((price * nano) / (per * PER_NANO)),
    before: `{"meter":${JSON.stringify(meter)},"quantity":"`,
    between: `",${JSON.stringify(shown).slice(1, -1)},"nanos":"`,
  }))
  const fits = nano < MOST && lines.every(({ each }) => each < MOST)
  return fits ? { lines, nano: Number(nano), places: placesOf(rule) } : undefined
}

/** Into so many parts a nano must be cut for one of these to cost a whole number of them. */
const partsOf = ({ price, per }: Rate): bigint => {
  const whole = per * PER_NANO
  return whole / divisor(price, whole)
}
const multiple = (one: bigint, other: bigint): bigint => (one / divisor(one, other)) * other
const divisor = (one: bigint, other: bigint): bigint =>
  other === 0n ? one : divisor(other, one % other)

const placesOf = ({ priced, homes }: Priced): ReadonlyMap<string, number> => {
  const own = [...priced.keys()]
  const places = METERS.flatMap(meter => {
    const at = own.indexOf(meter)
    if (at >= 0) return [[meter, at] as const]
    // Whatever stands in for it, or has no price, is told on the long way.
    return meter === 'calls' && !homes.has(meter) ? [[meter, -1] as const] : []
  })
  return new Map(places)
}

export const quickly = ({ lines, nano, places }: Quick, meters: Meters): Quickly | undefined => {
  const counts = lines.map(() => 0)
  const calls = places.get('calls') ?? -1
  if (calls >= 0) counts[calls] = 1
  for (const name in meters) {
    const count = meters[name as keyof Meters]
    const at = places.get(name)
    if (count === 0 && at !== calls) continue
    if (at === undefined || !isWhole(count)) return undefined
    if (at >= 0) counts[at] = count
  }
  let sum = 0
  let nanos = 0
  let text = ''
  for (const [at, { each, before, between }] of lines.entries()) {
    const count = counts[at] ?? 0
    if (count === 0) continue
    sum += count * each
    // Each of these is exact as long as the greatest of them is.
    if (!(sum * 2 + nano < MOST)) return undefined
    const rounded = roundedTo(nano, sum)
    text += `${text && ','}${before}${count}${between}${rounded - nanos}"}`
    nanos = rounded
  }
  return { nanos: BigInt(nanos), lines: `[${text}]` }
}
/** Larger ones go the long way. */
const isWhole = (count: number | undefined): count is number =>
  Number.isInteger(count) && Number(count) >= 0 && Number(count) <= MOST_ASKED

/** Half up. A quotient of whole numbers is exact where nothing is left over. */
const roundedTo = (nano: number, sum: number): number => {
  const doubled = sum * 2 + nano
  return (doubled - (doubled % (nano * 2))) / (nano * 2)
}
