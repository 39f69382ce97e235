/** The terms that budgets and plans have in common: an amount or tokens, and a window of the
 *  calendar. */
import { ofTypes, oneOf, required, text } from '../../../engine/config/shape.ts'
import type { Report } from '../../../engine/plugin.ts'
import type { Currency } from '../../billing/currency.ts'
import { problemReporter, type Where } from '../../billing/problems.ts'
import { compileAmount } from '../../billing/rate.ts'
import { PERIODS } from '../../rows/money.ts'
import { MAX_BUDGET } from './tokens.ts'

export const NAME_PATTERN = '^[a-z0-9][a-z0-9_-]{0,62}$'

const AMOUNT_TYPES = ['string', 'number'] as const
export const amountTerm = <const D extends string>(
  description: D,
  examples: readonly (string | number)[],
) => ofTypes(description, AMOUNT_TYPES, { minimum: 0, examples })
export const tokensTerm = <const D extends string>(description: D) =>
  ofTypes(description, ['integer', 'string'], {
    minimum: 1,
    maximum: MAX_BUDGET,
    pattern: '^[1-9][0-9]{0,2}(_?[0-9]{3}){0,4}$',
    maxLength: 20,
    examples: [1_000_000, '1_000_000'],
  })
/** `value`: as `tokensTerm` permits it. */
export const tokensIn = (value: string | number): bigint =>
  BigInt(String(value).replaceAll('_', ''))
export const WINDOW_TERMS = {
  per: required(
    oneOf('The window, by the calendar of `zone`; weeks begin on Monday.', PERIODS, {
      type: 'string',
      examples: ['month'],
    }),
  ),
  zone: text('The IANA time zone of the calendar.', {
    default: 'UTC',
    examples: ['Europe/Berlin'],
  }),
} as const

/** Prices are in 1e-18, amounts in nanos. */
const PER_NANO = 10n ** 9n
/** Nanos; below zero, and reported, if the value is not an amount. */
export const amountIn = (
  value: unknown,
  where: Where,
  currency: Currency,
  report: Report,
): bigint => {
  const context = { currency, report: problemReporter(report) }
  return (compileAmount(value, where, context) ?? -PER_NANO) / PER_NANO
}
