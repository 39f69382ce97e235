/** Prices in the shape of new-api: ratios of tokens, or a price by call. Pure. */
import type { Json } from '../../engine/plugin.ts'
import type { Currency } from '../billing/currency.ts'
import { printDecimal } from '../billing/decimal.ts'
import { standardRateIn } from '../billing/fast-price.ts'
import { price } from '../billing/price.ts'
import type { Rate } from '../billing/rate.ts'
import { factsOf } from '../billing/request-bounds.ts'
import type { Rule } from '../billing/rule.ts'
import { ratesIn } from '../billing/table.ts'
import { toExactUsage } from '../billing/usage.ts'
import type { Entry } from '../catalogue/catalogue.ts'
import type { Meter } from '../slots.ts'
import { dollarOf } from './dollars.ts'
import { exactNumber } from './response.ts'
import { plainClipOf } from './video-prices.ts'

/** Prices by tokens as ratios, or a price by call: that of a request that sets no option. */
export const ratiosOf = (
  entry: Entry,
  rule: Rule | undefined,
  currency: Currency,
): { readonly [key: string]: Json } => {
  const rates = ratesOf(rule)
  const [input, output] = [rates.get('input'), rates.get('output')]
  if (rule && !input && !output && rates.size > 0)
    return { quota_type: 1, model_ratio: 0, model_price: plainPrice(entry, rule, currency) }
  const base = input ?? output
  return {
    quota_type: 0,
    // In new-api a ratio of 1 is 2 dollars per million tokens.
    model_ratio: base ? inDollars(base, 500_000n, currency) : 0,
    model_price: 0,
    completion_ratio: ratioOf(output, base) ?? 1,
    ...ratiosTo(rates, base),
  }
}
/** Dollars for a request that sets no option: one image, one clip of the default length, or one
 *  unit of what the model is paid by. */
const plainPrice = (entry: Entry, rule: Rule, currency: Currency): Json => {
  const { body, duration } = plainClipOf(entry) ?? { body: {}, duration: 1 }
  const meters = { calls: 1, images: 1, seconds: duration, characters: 1, search_units: 1 }
  const { nanos } = price(toExactUsage({ meters }), rule, factsOf(body, Date.now()))
  return exactNumber(printDecimal(divideRounded(nanos * SCALE, dollarOf(currency)), PLACES))
}
const RATIOS: readonly (readonly [name: string, meter: Meter, to: Meter])[] = [
  ['cache_ratio', 'cached', 'input'],
  ['create_cache_ratio', 'cache_write', 'input'],
  ['image_ratio', 'image_input', 'input'],
  ['audio_ratio', 'audio_input', 'input'],
  ['audio_completion_ratio', 'audio_output', 'audio_input'],
]
const ratiosTo = (rates: Rates, base: Rate | undefined): { readonly [key: string]: Json } =>
  Object.fromEntries(
    RATIOS.flatMap(([name, meter, to]) => {
      const value = ratioOf(rates.get(meter), to === 'input' ? base : rates.get(to))
      return value === undefined ? [] : [[name, value]]
    }),
  )

type Rates = ReadonlyMap<Meter, Rate>
/** One price for each meter: of the last of several lines the standard, or the first of a table. */
const ratesOf = (rule: Rule | undefined): Rates => {
  const rates = new Map<Meter, Rate>()
  for (const line of rule?.lines ?? []) {
    const { meter, table } = line
    const rate = standardRateIn(line) ?? ratesIn(table)[0]
    if (rate) rates.set(meter, rate)
  }
  return rates
}

const PLACES = 9
const SCALE = 10n ** BigInt(PLACES)
/** The price of `count` units in dollars. A price is in 1e-18 of the currency, a dollar in 1e-9. */
const inDollars = ({ price, per }: Rate, count: bigint, currency: Currency): Json =>
  exactNumber(printDecimal(divideRounded(price * count, per * dollarOf(currency)), PLACES))
const ratioOf = (one: Rate | undefined, to: Rate | undefined): Json | undefined => {
  if (!one || !to || to.price === 0n) return undefined
  return exactNumber(
    printDecimal(divideRounded(one.price * to.per * SCALE, to.price * one.per), PLACES),
  )
}
const divideRounded = (amount: bigint, by: bigint): bigint => (amount * 2n + by) / (by * 2n)
