/** Parses and prints a configured price, `2.00 USD / 1M`: an amount, its currency and its unit.
 *  Exact. */
import { isFields } from '../../engine/kit.ts'
import { type Currency, RATE_PLACES } from './currency.ts'
import { parseDecimal, printDecimal } from './decimal.ts'
import { messageOf, type ReportProblem, type Where } from './problems.ts'

/** Prices are stored in 1e-18: 9 places of a price times 9 of an exchange rate, without loss. */
export const PRICE_PLACES = 18
const CONFIGURED_PLACES = 9
const MAX_UNITS = 10n ** 9n
const MAX_PER = 10n ** 9n

export interface Rate {
  /** In 1e-18 of the configured currency. */
  readonly price: bigint
  readonly per: bigint
  /** Price and unit as receipts print them. */
  readonly texts: { readonly price: string; readonly per: string }
}
/** The context in which a price is parsed. */
export interface PriceContext {
  readonly currency: Currency
  /** Whether the price is in the currency of accounts, with all its places. */
  readonly isFrozen?: boolean
  readonly report: ReportProblem
}

const RATE = /^([^\s/]+)(?:\s+([A-Z]{3,8}))?(?:\s*\/\s*(\S+))?$/
const PER = /^([1-9][0-9]{0,9})?([kM])?$/

/** `per`: the unit of the line; undefined: the price has its own, or is per 1. */
export const compileRate = (
  value: unknown,
  per: bigint | undefined,
  where: Where,
  context: PriceContext,
): Rate | undefined => {
  const match = typeof value === 'string' ? RATE.exec(value.trim()) : null
  const perText = match?.[3]
  const price = compileAmount(perText === undefined ? value : amountText(value), where, context)
  if (price === undefined) return undefined
  if (perText === undefined) return rateOf(price, per ?? 1n)
  if (per !== undefined)
    context.report(where, 'PRICE_PER', 'both the price and `per` set a unit; remove one of them')
  const ownPer = compilePer(perText, where, context.report)
  return ownPer === undefined ? undefined : rateOf(price, ownPer)
}
const rateOf = (price: bigint, per: bigint): Rate => ({
  price,
  per,
  texts: { price: printPrice(price, 2), per: printPer(per) },
})
const amountText = (value: unknown): string => String(value).split('/', 1)[0]?.trim() ?? ''

/** `0.01` or `0.01 USD`, in 1e-18. */
export const compileAmount = (
  value: unknown,
  where: Where,
  context: PriceContext,
): bigint | undefined => {
  const { currency, isFrozen, report } = context
  if (isFields(value) || Array.isArray(value) || value === null || typeof value === 'boolean') {
    report(where, 'PRICE_AMOUNT', 'a price is an amount such as 2.00 / 1M')
    return undefined
  }
  const match = typeof value === 'string' ? RATE.exec(value.trim()) : undefined
  if (match === null || match?.[3] !== undefined) {
    report(
      where,
      'PRICE_AMOUNT',
      `${JSON.stringify(value)} is not an amount such as 2.00 or 2.00 USD`,
    )
    return undefined
  }
  const [, amount, code] = match ?? []
  const exchangeRate = currency.rates.get(code ?? currency.name)
  if (exchangeRate === undefined) {
    if (!currency.invalidRates?.has(code ?? ''))
      report(where, 'PRICE_CURRENCY', code, [...currency.rates.keys()].join(', '))
    return undefined
  }
  try {
    const places = isFrozen ? PRICE_PLACES : CONFIGURED_PLACES
    const most = MAX_UNITS * 10n ** BigInt(places)
    const price = parseDecimal(amount ?? value, { places, most })
    return isFrozen
      ? price
      : price * exchangeRate * 10n ** BigInt(PRICE_PLACES - places - RATE_PLACES)
  } catch (error) {
    report(where, 'PRICE_AMOUNT', messageOf(error))
    return undefined
  }
}

/** `1M`, `1k`, `60`, 1000. */
export const compilePer = (
  value: unknown,
  where: Where,
  report: ReportProblem,
): bigint | undefined => {
  const text = typeof value === 'string' || typeof value === 'number' ? String(value) : ''
  const [whole, digits, suffix] = PER.exec(text) ?? []
  const per = BigInt(digits ?? 1) * (suffix === 'M' ? 1_000_000n : suffix === 'k' ? 1_000n : 1n)
  if (whole && per <= MAX_PER) return per
  report(where, 'PRICE_PER', `a price is per 1, 1k, 1M or another whole number up to ${MAX_PER}`)
  return undefined
}

/** 1000000n is `1M`. */
const printPer = (per: bigint): string => {
  if (per % 1_000_000n === 0n) return `${per / 1_000_000n}M`
  return per % 1_000n === 0n ? `${per / 1_000n}k` : String(per)
}
/** Prints all digits, and at least `least` places. */
export const printPrice = (price: bigint, least = 0): string =>
  printDecimal(price, PRICE_PLACES, least)
export const printRate = ({ price, per }: Rate): string =>
  per === 1n ? printPrice(price) : `${printPrice(price)} / ${printPer(per)}`
