/** Converts amounts of the configured currency into dollars, for clients that expect dollars.
 *  Pure. */
import type { Currency } from '../billing/currency.ts'
import { printDecimal } from '../billing/decimal.ts'

const PLACES = 6
/** The value of one dollar, in 1e-9; without a configured rate the currency counts as dollars. */
export const dollarOf = ({ rates }: Currency): bigint => rates.get('USD') ?? 10n ** 9n

/** Nanos as dollars with up to six places, rounded to the nearest. */
export const toDollars = (nanos: bigint, currency: Currency): string => {
  const dollar = dollarOf(currency)
  const micros = (nanos * 10n ** 6n * 2n) / dollar
  const half = micros < 0n ? -1n : 1n
  return printDecimal((micros + half) / 2n, PLACES)
}
