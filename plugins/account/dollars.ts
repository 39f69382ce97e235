/** Amounts of the configured currency in dollars, for clients that know nothing else. Pure. */
import type { Currency } from '../billing/currency.ts'
import { printDecimal } from '../billing/decimal.ts'

const PLACES = 6
/** What one dollar is worth, in 1e-9; where nobody says it, the currency is taken for dollars. */
export const dollarOf = ({ rates }: Currency): bigint => rates.get('USD') ?? 10n ** 9n

/** Nanos as dollars with up to six places, rounded to the nearest. */
export const dollars = (nanos: bigint, currency: Currency): string => {
  const dollar = dollarOf(currency)
  const micros = (nanos * 10n ** 6n * 2n) / dollar
  const half = micros < 0n ? -1n : 1n
  return printDecimal((micros + half) / 2n, PLACES)
}
