/** Sums that lose nothing: the parts of a rule, the lines of a receipt, and one rounding at the end. Pure. */
import type { Meter } from '../slots.ts'
import { printDecimal } from './decimal.ts'
import type { RuleLine } from './line.ts'
import { PRICE_PLACES, printPrice, type Rate } from './rate.ts'
import type { Rule } from './rule.ts'
import type { Found } from './table.ts'
import { QUANTITY_PLACES } from './usage.ts'

/** As a receipt keeps it: JSON, with every number as the text of an exact decimal. */
export interface Line {
  readonly meter: Meter | 'minimum'
  readonly quantity: string
  /** In the configured currency, per as many as `per` says: `1M`, `1k`, `1`. */
  readonly price: string
  readonly per: string
  /** What it comes to. The lines of a charge add up to it exactly; each is less than a nano from its own product. */
  readonly nanos: string
  /** Meters without lines of their own that the quantity includes. */
  readonly with?: Readonly<Partial<Record<Meter, string>>>
  /** Which entry of a table it was. */
  readonly by?: Readonly<Record<string, string>>
  /** The least the line, or the whole, comes to, where that decided. */
  readonly min?: string
  /** What it was rounded up to multiples of. */
  readonly step?: string
}

// ---------------------------------------------------------------- exact amounts

/** The parts of a rule are so small that everything it comes to is a whole number of them. */
export const productOf = (quantity: bigint, { price, per }: Rate, { parts }: Rule): bigint =>
  quantity * price * (parts / per)
export const partsOf = (amount: bigint, { parts }: Rule): bigint => amount * parts * MILLIONTHS
export const amountOf = (product: bigint, { min, step }: RuleLine, rule: Rule): bigint => {
  const each = partsOf(step, rule)
  const stepped = each === 0n ? product : ((product + each - 1n) / each) * each
  const least = partsOf(min, rule)
  return stepped < least ? least : stepped
}
const MILLIONTHS = 10n ** BigInt(QUANTITY_PLACES)
const NANO = MILLIONTHS * 10n ** BigInt(PRICE_PLACES - 9)
const roundedToNanos = (amount: bigint, { parts }: Rule): bigint => {
  const nano = parts * NANO
  return (amount * 2n + nano) / (nano * 2n)
}

export interface Summer {
  readonly lines: Line[]
  /** `describe` is asked only where lines are wanted. */
  add(amount: bigint, describe: () => Omit<Line, 'nanos'>): void
  /** Lifts the whole to its minimum. */
  close(): void
  nanos(): bigint
}
/** Each line is given what the rounded sum grew by: so they add up to it. */
export const summer = (rule: Rule, wanted: boolean): Summer => {
  const lines: Line[] = []
  let [sum, nanos, any] = [0n, 0n, false]
  const add: Summer['add'] = (amount, describe) => {
    any = true
    sum += amount
    if (!wanted) return
    const rounded = roundedToNanos(sum, rule)
    lines.push({ ...describe(), nanos: String(rounded - nanos) })
    nanos = rounded
  }
  return {
    ...{ lines, add, nanos: () => roundedToNanos(sum, rule) },
    close() {
      const missing = partsOf(rule.min, rule) - sum
      if (!any || missing <= 0n) return
      const min = printPrice(rule.min, 2)
      add(missing, () => ({ meter: 'minimum', quantity: '1', price: min, per: '1', min }))
    },
  }
}

/** What a line of a receipt says of the price it was made at. `lifted`: its minimum decided. */
export const termsOf = (
  { by, min, step }: RuleLine,
  { rate, keys }: Found,
  lifted: boolean,
): Omit<Line, 'meter' | 'quantity' | 'nanos'> => ({
  ...rate.shown,
  ...(keys.length > 0 && {
    by: Object.fromEntries(keys.map((key, index) => [by[index] ?? '', key])),
  }),
  ...(lifted && { min: printPrice(min, 2) }),
  ...(step > 0n && { step: printPrice(step, 2) }),
})
export const printQuantity = (quantity: bigint): string => printDecimal(quantity, QUANTITY_PLACES)
