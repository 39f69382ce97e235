/** Exact sums of a charge: amounts in parts, receipt lines, and one rounding at the end. Pure. */
import { isTier, STANDARD, usualName } from '../formats/tiers.ts'
import type { Meter } from '../slots.ts'
import { printDecimal } from './decimal.ts'
import { type Discount, discountedSum, printFactor } from './discount.ts'
import type { RuleLine } from './line.ts'
import { PRICE_PLACES, printPrice, type Rate } from './rate.ts'
import type { Rule } from './rule.ts'
import type { TablePrice } from './table.ts'
import { QUANTITY_PLACES } from './usage.ts'

/** A receipt line: JSON, with every number as the text of an exact decimal. */
export interface Line {
  readonly meter: Meter | 'discount' | 'minimum'
  readonly quantity: string
  /** In the configured currency, for `per` units: `1M`, `1k`, `1`. */
  readonly price: string
  readonly per: string
  /** The cost of the line. The lines add up to the charge exactly; each differs from its product by
   *  less than a nano. */
  readonly nanos: string
  /** Meters without lines of their own that the quantity includes. */
  readonly with?: Readonly<Partial<Record<Meter, string>>>
  /** The keys of the table entry. */
  readonly by?: Readonly<Record<string, string>>
  /** The minimum of the line, or of the charge, where it applied. */
  readonly min?: string
  /** The line was rounded up to a multiple of this. */
  readonly step?: string
  /** Of a discount: the part of the sum that is charged. Its nanos are negative. */
  readonly factor?: string
}

// ---------------------------------------------------------------- exact amounts

/** In parts of the rule, which are so small that every product is a whole number of them. */
export const productOf = (quantity: bigint, { price, per }: Rate, { parts }: Rule): bigint =>
  quantity * price * (parts / per)
export const partsOf = (amount: bigint, { parts }: Rule): bigint => amount * parts * MILLIONTHS
export const amountOf = (product: bigint, { min, step }: RuleLine, rule: Rule): bigint => {
  const each = partsOf(step, rule)
  const roundedUp = each === 0n ? product : ((product + each - 1n) / each) * each
  const least = partsOf(min, rule)
  return roundedUp < least ? least : roundedUp
}
const MILLIONTHS = 10n ** BigInt(QUANTITY_PLACES)
const NANO = MILLIONTHS * 10n ** BigInt(PRICE_PLACES - 9)
const roundToNanos = (amount: bigint, { parts }: Rule): bigint => {
  const nano = parts * NANO
  return (amount * 2n + nano) / (nano * 2n)
}

export interface ChargeSum {
  readonly lines: Line[]
  /** Calls `describe` only if the sum has lines. */
  add(amount: bigint, describe: () => Omit<Line, 'nanos'>): void
  /** Applies the discount of the rule to what was added since the last call. `isDiscounted`:
   *  whether the condition of the discount holds; undefined: that is unknown, and the larger sum
   *  counts. */
  discount(isDiscounted: boolean | undefined): void
  /** Applies the minimum of the rule. */
  close(): void
  nanos(): bigint
}
/** Each line gets the growth of the rounded sum, so that the lines add up to it. `withLines`:
 *  collects receipt lines. */
export const createSum = (rule: Rule, withLines: boolean): ChargeSum => {
  const lines: Line[] = []
  let [sum, nanos, discountedUpTo] = [0n, 0n, 0n]
  let [hasLines, hasNewLines] = [false, false]
  const add: ChargeSum['add'] = (amount, describe) => {
    hasLines = hasNewLines = true
    sum += amount
    if (!withLines) return
    const roundedNanos = roundToNanos(sum, rule)
    lines.push({ ...describe(), nanos: String(roundedNanos - nanos) })
    nanos = roundedNanos
  }
  return {
    lines,
    add,
    nanos: () => roundToNanos(sum, rule),
    discount(isDiscounted) {
      const { discount } = rule
      const added = sum - discountedUpTo
      if (discount && isDiscounted !== false && hasNewLines) {
        const reduced = discountedSum(added, discount, partsOf(discount.step, rule))
        const change = reduced - added
        if (isDiscounted || change > 0n) add(change, () => discountTerms(discount))
      }
      discountedUpTo = sum
      hasNewLines = false
    },
    close() {
      const missing = partsOf(rule.min, rule) - sum
      if (!hasLines || missing <= 0n) return
      const min = printPrice(rule.min, 2)
      add(missing, () => ({ meter: 'minimum', quantity: '1', price: min, per: '1', min }))
    },
  }
}

const discountTerms = ({ factor, step }: Discount): Omit<Line, 'nanos'> => ({
  meter: 'discount',
  quantity: '1',
  price: '0.00',
  per: '1',
  factor: printFactor(factor),
  ...(step > 0n && { step: printPrice(step, 2) }),
})
/** The price terms of a receipt line. `isMinimum`: the minimum of the line applied. */
export const termsOf = (
  { by, min, step }: RuleLine,
  { rate, keys }: TablePrice,
  isMinimum: boolean,
): Omit<Line, 'meter' | 'quantity' | 'nanos'> => ({
  ...rate.texts,
  ...entriesOf(by, keys),
  ...(isMinimum && { min: printPrice(min, 2) }),
  ...(step > 0n && { step: printPrice(step, 2) }),
})
/** The standard of a tier goes without saying. */
const entriesOf = (by: readonly string[], keys: readonly string[]): Pick<Line, 'by'> => {
  const entries = keys
    .map((key, index) => [by[index] ?? '', key] as const)
    .filter(([name, key]) => !(isTier(name, key) && usualName(name, key) === STANDARD))
  return entries.length === 0 ? {} : { by: Object.fromEntries(entries) }
}
export const printQuantity = (quantity: bigint): string => printDecimal(quantity, QUANTITY_PLACES)
