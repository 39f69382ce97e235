/** Converts the usage of a call into exact quantities, and lists invalid counts. Pure. */
import type { Meter, Usage } from '../slots.ts'
import { METERS } from './meters.ts'

/** Quantities are counted in millionths: a clip may last 3.85 seconds. */
export const QUANTITY_PLACES = 6
/** Larger counts are not exact and count as invalid. */
const MAX_COUNT = Number.MAX_SAFE_INTEGER
/** No request can use more: a larger number is not a bound. */
export const MAX_BOUND = 1e12
const MILLION = 1_000_000n

export interface ExactUsage {
  /** In millionths, in the order of a receipt, none of them zero. */
  readonly quantities: ReadonlyMap<Meter, bigint>
  /** Meters whose count is negative, too large or no number. They cost nothing and count as
   *  unpriced. */
  readonly invalid: readonly Meter[]
}
/** Facts of a call beside its quantities. JSON, since the hold stores them. */
export interface Facts {
  /** The start of the call, ms since 1970. Prices by the time of day depend on it. */
  readonly at: number
  /** Request attributes, with defaults: resolution, quality, size, off_peak, … */
  readonly attributes?: Readonly<Record<string, Attribute>>
}
export type Attribute = string | number | boolean

/** A usage without `calls` counts as one call. */
export const toExactUsage = ({ meters }: Pick<Usage, 'meters'>): ExactUsage => {
  const quantities = new Map<Meter, bigint>()
  const invalid: Meter[] = []
  for (const meter of METERS) {
    const quantity = millionths(meters[meter] ?? (meter === 'calls' ? 1 : 0))
    if (quantity === undefined) invalid.push(meter)
    else if (quantity > 0n) quantities.set(meter, quantity)
  }
  return { quantities, invalid }
}

export const millionths = (count: unknown, most = MAX_COUNT): bigint | undefined => {
  if (typeof count !== 'number' || !(count >= 0 && count <= most)) return undefined
  if (Number.isInteger(count)) return BigInt(count) * MILLION
  // `toFixed` is exact by its definition: no arithmetic on floats takes place.
  return BigInt(count.toFixed(QUANTITY_PLACES).replace('.', ''))
}

/** A count that a meter may have, also as a text; 0 is none, and so is less than its least part. */
export const countOf = (value: unknown): number | undefined => {
  const number = typeof value === 'string' && value !== '' ? Number(value) : value
  return millionths(number) ? Number(number) : undefined
}
