/** The lines of a model's price as texts for the page of models. Pure. */
import type { PricedModel, PriceLine } from '../../views.ts'

/** Prices that depend on the request, one for each case: `images (low, 1024x1024) 0.08`. */
const pricesIn = (
  meter: string,
  price: string | object,
  cases: readonly string[] = [],
): readonly string[] =>
  typeof price === 'object'
    ? Object.entries(price).flatMap(([name, each]) => pricesIn(meter, each, [...cases, name]))
    : [`${meter} ${cases.length > 0 ? `(${cases.join(', ')}) ` : ''}${price}`]
/** A line without a meter is a discount, or the least price of a call: `min 0.01`. */
export const pricesOfLine = ({ meter, price = '', ...others }: PriceLine): readonly string[] =>
  meter === undefined
    ? Object.entries(others).flatMap(([name, each]) => pricesIn(name, each))
    : pricesIn(meter, price)

const PER_MILLION = /^(\d+(?:\.\d+)?) \/ 1M$/
/** The price of a request that names no attribute, such as a service tier. */
const standardOf = (price: string | object | undefined): string => {
  if (typeof price !== 'object') return price ?? ''
  return standardOf((price as { readonly default?: string | object }).default)
}
/** The price of a million; undefined: none, or one that depends on the request. */
export const millionOf = (
  { prices, free }: Pick<PricedModel, 'prices' | 'free'>,
  name: string,
): number | undefined => {
  const price = free ? undefined : prices.find(({ meter }) => meter === name)?.price
  const [, amount] = PER_MILLION.exec(standardOf(price)) ?? []
  return amount === undefined ? undefined : Number(amount)
}
