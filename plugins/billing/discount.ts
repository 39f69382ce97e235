/** `discount:` of a price: a part of the whole sum, rounded up, if its condition holds. Pure. */
import { isFields } from '../../engine/kit.ts'
import { type Condition, compileWhen, printWhen } from './condition.ts'
import { parseDecimal, printDecimal } from './decimal.ts'
import { messageOf, type Where } from './problems.ts'
import { compileAmount, type PriceContext, printPrice } from './rate.ts'

export interface Discount {
  /** The part of the sum that is charged, in 1e-9: from 0 to 1. */
  readonly factor: bigint
  readonly when: readonly Condition[]
  /** In 1e-18. The reduced sum is rounded up to a multiple of this; 0: not rounded. */
  readonly step: bigint
}

const FACTOR_PLACES = 9
const ONE = 10n ** BigInt(FACTOR_PLACES)
const KEYS = ['factor', 'when', 'step']

/** Undefined: invalid. Reports every problem. */
export const compileDiscount = (
  options: unknown,
  where: Where,
  context: PriceContext,
): Discount | undefined => {
  const { report } = context
  if (!isFields(options)) {
    report(
      where,
      'PRICE_SHAPE',
      'a discount is a map such as { factor: 0.5, when: { off_peak: true } }',
    )
    return undefined
  }
  const unknown = Object.keys(options).filter(key => !KEYS.includes(key))
  for (const key of unknown) report([...where, key], 'PRICE_KEY', key, KEYS.join(', '))
  const factor = factorOf(options.factor, [...where, 'factor'], context)
  const when = compileWhen(options.when, [...where, 'when'], report)
  const step =
    options.step === undefined ? 0n : compileAmount(options.step, [...where, 'step'], context)
  if (factor === undefined || !when || step === undefined || unknown.length > 0) return undefined
  return { factor, when, step }
}
/** In 1e-9. Throws if it is not a decimal from 0 to 1. */
export const parseFactor = (value: unknown): bigint =>
  parseDecimal(value, { places: FACTOR_PLACES, most: ONE })
const factorOf = (value: unknown, where: Where, { report }: PriceContext): bigint | undefined => {
  try {
    return parseFactor(value)
  } catch (error) {
    report(where, 'PRICE_AMOUNT', `the factor of a discount is from 0 to 1: ${messageOf(error)}`)
    return undefined
  }
}

/** The reduced sum. All amounts are in the same parts; `step`: that of the discount. */
export const discountedSum = (sum: bigint, { factor }: Discount, step: bigint): bigint => {
  const unit = step === 0n ? ONE : ONE * step
  return roundUp(sum * factor, unit) / ONE
}
const roundUp = (amount: bigint, unit: bigint): bigint => ((amount + unit - 1n) / unit) * unit

/** Prints options that compile to the same discount. */
export const printDiscount = ({ factor, when, step }: Discount) => ({
  factor: printFactor(factor),
  ...(when.length > 0 && { when: printWhen(when) }),
  ...(step > 0n && { step: printPrice(step) }),
})
export const printFactor = (factor: bigint): string => printDecimal(factor, FACTOR_PLACES)
