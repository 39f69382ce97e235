/** Sums that lose nothing: the parts of a rule, the lines of a receipt, and one rounding at the end. Pure. */
import type { Meter } from '../slots.ts'
import { printDecimal } from './decimal.ts'
import type { RuleLine } from './line.ts'
import { PRICE_PLACES, printPer, printPrice, type Rate } from './rate.ts'
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
export const partsOf = (amount: bigint, { parts }: Rule): bigint =>
  amount * parts * 10n ** BigInt(QUANTITY_PLACES)
export const amountOf = (product: bigint, { min, step }: RuleLine, rule: Rule): bigint => {
  const each = partsOf(step, rule)
  const stepped = each === 0n ? product : ((product + each - 1n) / each) * each
  const least = partsOf(min, rule)
  return stepped < least ? least : stepped
}
const NANO_PLACES = 9
const roundedToNanos = (amount: bigint, { parts }: Rule): bigint => {
  const nano = parts * 10n ** BigInt(QUANTITY_PLACES + PRICE_PLACES - NANO_PLACES)
  return (amount * 2n + nano) / (nano * 2n)
}

export interface Summer {
  readonly lines: Line[]
  add(amount: bigint, line: Omit<Line, 'nanos'>): void
  /** Lifts the whole to its minimum. */
  close(): void
  nanos(): bigint
}
/** Each line is given what the rounded sum grew by: so they add up to it. */
export const summer = (rule: Rule): Summer => {
  const lines: Line[] = []
  let [sum, nanos] = [0n, 0n]
  const add: Summer['add'] = (amount, line) => {
    sum += amount
    const rounded = roundedToNanos(sum, rule)
    lines.push({ ...line, nanos: String(rounded - nanos) })
    nanos = rounded
  }
  return {
    ...{ lines, add, nanos: () => nanos },
    close() {
      const missing = partsOf(rule.min, rule) - sum
      if (lines.length === 0 || missing <= 0n) return
      const min = printPrice(rule.min, 2)
      add(missing, { meter: 'minimum', quantity: '1', price: min, per: '1', min })
    },
  }
}

/** What a line of a receipt says of the price it was made at. */
export const rateShown = (
  { by }: RuleLine,
  { rate, keys }: Found,
): Pick<Line, 'price' | 'per' | 'by'> => ({
  ...{ price: printPrice(rate.price, 2), per: printPer(rate.per) },
  ...(keys.length > 0 && {
    by: Object.fromEntries(keys.map((key, index) => [by[index] ?? '', key])),
  }),
})
export const printQuantity = (quantity: bigint): string => printDecimal(quantity, QUANTITY_PLACES)
