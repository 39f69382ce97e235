/** The currency of all accounts, and what others are worth in it. */
import { isFields } from '../../engine/kit.ts'
import type { Lent, Report } from '../../engine/plugin.ts'
import { parseDecimal } from './decimal.ts'
import { messageOf, type Say, sayer, type Where } from './problems.ts'

export interface Currency {
  readonly name: string
  /** Code to what one of it is worth, in 1e-9. Its own is among them, at 1. */
  readonly rates: ReadonlyMap<string, bigint>
  /** Codes whose own rate cannot be meant: that is told where it stands, not at each price in them. */
  readonly broken?: ReadonlySet<string>
}
export const RATE_PLACES = 9
const ONE = 10n ** 9n
const CODE = /^[A-Z]{3,8}$/

/** `{ name: CNY, rates: { USD: 7.2 } }`; nothing at all is CNY alone. */
export const compileCurrency = (options: unknown, where: Where, report: Report): Currency => {
  const broken = new Set<string>()
  const say: Say = (at, ...said) => {
    broken.add(String(at.at(-1)))
    sayer(report)(at, ...said)
  }
  const given = isFields(options) ? options : {}
  const name = given.name ?? 'CNY'
  if (typeof name !== 'string' || !CODE.test(name))
    say([...where, 'name'], 'CURRENCY_RATE', 'a currency is called by a code such as CNY')
  const rates = new Map([[String(name), ONE]])
  for (const [code, value] of Object.entries(isFields(given.rates) ? given.rates : {})) {
    const at = [...where, 'rates', code]
    try {
      const rate = parseDecimal(value, { places: RATE_PLACES, most: ONE * ONE })
      if (!CODE.test(code)) say(at, 'CURRENCY_RATE', `"${code}" is not a code such as USD`)
      else if (rate === 0n) say(at, 'CURRENCY_RATE', 'a currency that is worth nothing')
      else if (code === name && rate !== ONE)
        say(at, 'CURRENCY_RATE', `${code} is the currency itself: its rate is 1`)
      else rates.set(code, rate)
    } catch (thrown) {
      say(at, 'CURRENCY_RATE', messageOf(thrown))
    }
  }
  return { name: String(name), rates, broken }
}

/** Its problems are those of the configuration, and were told there. */
export const configuredCurrency = ({ section }: Pick<Lent, 'section'>): Currency =>
  compileCurrency(section<{ readonly currency?: unknown }>('settings').currency, [], () => {})

export const CURRENCY = {
  description: 'The currency of accounts and receipts, and what others are worth in it.',
  type: 'object',
  additionalProperties: false,
  properties: {
    name: {
      description: 'Its code. Prices without a code are in it.',
      type: 'string',
      pattern: CODE.source,
      default: 'CNY',
      examples: ['CNY'],
    },
    rates: {
      description: 'What one unit of another currency, or credit, is worth in it: exact decimals.',
      type: 'object',
      propertyNames: { pattern: CODE.source },
      additionalProperties: {
        description: 'A decimal above zero, with at most 9 places.',
        type: ['string', 'number'],
        examples: [7.2],
      },
      examples: [{ USD: 7.2, CREDIT: 0.036 }],
    },
  },
  examples: [{ name: 'CNY', rates: { USD: 7.2 } }],
}
