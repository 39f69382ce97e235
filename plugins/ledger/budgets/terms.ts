/** The terms that budgets and plans have in common: an amount, and a window of the calendar. */
import { ofTypes, oneOf, required, text } from '../../../engine/config/shape.ts'
import type { Report } from '../../../engine/plugin.ts'
import type { Currency } from '../../billing/currency.ts'
import { MAX_AMOUNT } from '../../billing/money.ts'
import { problemReporter, type Where } from '../../billing/problems.ts'
import { compileAmount } from '../../billing/rate.ts'
import { PERIODS } from './window.ts'

export const NAME_PATTERN = '^[a-z0-9][a-z0-9_-]{0,62}$'

export const amountTerm = <const D extends string>(
  description: D,
  examples: readonly (string | number)[],
) => required(ofTypes(description, ['string', 'number'], { minimum: 0, examples }))
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
/** Reads amounts in nanos; one that is wrong is reported, and may be below zero. `zero` and `most`:
 *  the sentences about amounts that are too small and too large. */
export const amountReader =
  (code: string, sentences: { readonly zero: string; readonly most: string }) =>
  (value: unknown, where: Where, currency: Currency, report: Report): bigint => {
    const context = { currency, report: problemReporter(report) }
    const amount = (compileAmount(value, where, context) ?? -PER_NANO) / PER_NANO
    if (amount === 0n) report(where, code, sentences.zero)
    if (amount > MAX_AMOUNT) report(where, code, sentences.most)
    return amount
  }
