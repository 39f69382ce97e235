/** The currency of all accounts, and exchange rates into it. */
import { map, object, ofTypes, text } from '../../engine/config/shape.ts'
import { isFields } from '../../engine/kit.ts'
import type { HostBase, Report } from '../../engine/plugin.ts'
import { parseDecimal } from './decimal.ts'
import { messageOf, problemReporter, type ReportProblem, type Where } from './problems.ts'

export interface Currency {
  readonly name: string
  /** Value of one unit by currency code, in 1e-9. Includes the currency itself, at 1. */
  readonly rates: ReadonlyMap<string, bigint>
  /** Codes with an invalid rate: reported once at the rate, not at each price in that currency. */
  readonly invalidRates?: ReadonlySet<string>
}
export const RATE_PLACES = 9
const ONE = 10n ** 9n
const CODE = /^[A-Z]{3,8}$/

/** `{ name: CNY, rates: { USD: 7.2 } }`; the default is CNY without rates. */
export const compileCurrency = (options: unknown, where: Where, report: Report): Currency => {
  const invalidRates = new Set<string>()
  const reportInvalid: ReportProblem = (at, ...problem) => {
    invalidRates.add(String(at.at(-1)))
    problemReporter(report)(at, ...problem)
  }
  const settings = isFields(options) ? options : {}
  const name = settings.name ?? NAME.fallback
  if (typeof name !== 'string' || !CODE.test(name))
    reportInvalid(
      [...where, 'name'],
      'CURRENCY_RATE',
      'the name of a currency is a code such as CNY',
    )
  const rates = new Map([[String(name), ONE]])
  for (const [code, value] of Object.entries(isFields(settings.rates) ? settings.rates : {})) {
    const at = [...where, 'rates', code]
    try {
      const rate = parseDecimal(value, { places: RATE_PLACES, most: ONE * ONE })
      if (!CODE.test(code))
        reportInvalid(at, 'CURRENCY_RATE', `"${code}" is not a code such as USD`)
      else if (rate === 0n) reportInvalid(at, 'CURRENCY_RATE', 'an exchange rate must be above 0')
      else if (code === name && rate !== ONE)
        reportInvalid(at, 'CURRENCY_RATE', `${code} is the currency itself: its rate is 1`)
      else rates.set(code, rate)
    } catch (error) {
      reportInvalid(at, 'CURRENCY_RATE', messageOf(error))
    }
  }
  return { name: String(name), rates, invalidRates }
}

/** Ignores problems: the configuration check has reported them. */
export const configuredCurrency = ({ section }: Pick<HostBase, 'section'>): Currency =>
  compileCurrency(section<{ readonly currency?: unknown }>('settings').currency, [], () => {})

const NAME = text('The currency code. Prices without a code are in this currency.', {
  pattern: CODE.source,
  default: 'CNY',
  examples: ['CNY'],
})
export const CURRENCY = object(
  'The currency of accounts and receipts, and exchange rates into it.',
  {
    name: NAME,
    rates: map(
      'The value of one unit of another currency, or credit: exact decimals.',
      ofTypes('A decimal above zero, with at most 9 places.', ['string', 'number'], {
        examples: [7.2],
      }),
      { propertyNames: { pattern: CODE.source }, examples: [{ USD: 7.2, CREDIT: 0.036 }] },
    ),
  },
  { examples: [{ name: 'CNY', rates: { USD: 7.2 } }] },
)
