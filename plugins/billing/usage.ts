/** From what an upstream says it used to what a rule prices: exact quantities, and what cannot be one by name. Pure. */
import type { Meter, Usage } from '../slots.ts'
import { METERS } from './meters.ts'

/** Quantities are counted in millionths: a clip may last 3.85 seconds. */
export const QUANTITY_PLACES = 6
/** Counts beyond 2^53 are not exact: they are not believed. */
const MOST_USED = Number.MAX_SAFE_INTEGER
/** What no call can be asked for: a larger number bounds nothing. */
export const MOST_ASKED = 1e12
const MILLION = 1_000_000n

export interface Counted {
  /** In millionths, in the order of a receipt, none of them zero. */
  readonly quantities: ReadonlyMap<Meter, bigint>
  /** Meters whose count was negative, absurd or no number: not priced, and worth an alarm. */
  readonly nonsense: readonly Meter[]
}
/** What is known of a call beside its quantities. JSON, since it travels with the hold. */
export interface Facts {
  /** When it began, in ms: decides prices by the time of day, however long it lasts. */
  readonly at: number
  /** What the request says, and what it means where it says nothing: resolution, quality, size, off_peak, … */
  readonly attributes?: Readonly<Record<string, Attribute>>
}
export type Attribute = string | number | boolean

/** A usage without `calls` is one call. */
export const counted = ({ meters }: Pick<Usage, 'meters'>): Counted => {
  const quantities = new Map<Meter, bigint>()
  const nonsense: Meter[] = []
  for (const meter of METERS) {
    const quantity = millionths(meters[meter] ?? (meter === 'calls' ? 1 : 0))
    if (quantity === undefined) nonsense.push(meter)
    else if (quantity > 0n) quantities.set(meter, quantity)
  }
  return { quantities, nonsense }
}

export const millionths = (count: unknown, most = MOST_USED): bigint | undefined => {
  if (typeof count !== 'number' || !(count >= 0 && count <= most)) return undefined
  if (Number.isInteger(count)) return BigInt(count) * MILLION
  // `toFixed` is exact by its definition: no arithmetic on floats takes place.
  return BigInt(count.toFixed(QUANTITY_PLACES).replace('.', ''))
}
