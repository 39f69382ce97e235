/** Parses and prints a written price, `2.00 USD / 1M`: an amount, its currency and its unit. Exact. */
import { isFields } from '../../engine/kit.ts'
import { type Currency, RATE_PLACES } from './currency.ts'
import { parseDecimal, printDecimal } from './decimal.ts'
import { messageOf, type ReportProblem, type Where } from './problems.ts'

/** Prices are stored in 1e-18: 9 places of a price times 9 of an exchange rate, without loss. */
export const PRICE_PLACES = 18
const WRITTEN_PLACES = 9
const MOST_UNITS = 10n ** 9n
const MOST_PER = 10n ** 9n

export interface Rate {
  /** In 1e-18 of the configured currency. */
  readonly price: bigint
  readonly per: bigint
  /** Both as printed on receipts. */
  readonly shown: { readonly price: string; readonly per: string }
}
/** The context in which a price is parsed. */
export interface PriceContext {
  readonly currency: Currency
  /** A frozen price is converted already and has all its places. */
  readonly frozen?: boolean
  readonly report: ReportProblem
}

const RATE = /^([^\s/]+)(?:\s+([A-Z]{3,8}))?(?:\s*\/\s*(\S+))?$/
const PER = /^([1-9][0-9]{0,9})?([kM])?$/

/** `per`: the unit of the line, where the text has none. */
export const compileRate = (
  given: unknown,
  per: bigint | undefined,
  where: Where,
  ground: PriceContext,
): Rate | undefined => {
  const match = typeof given === 'string' ? RATE.exec(given.trim()) : null
  const perText = match?.[3]
  const price = compileAmount(perText === undefined ? given : amountText(given), where, ground)
  if (price === undefined) return undefined
  if (perText === undefined) return rateOf(price, per ?? 1n)
  if (per !== undefined)
    ground.report(where, 'PRICE_PER', 'both the price and `per` set a unit; remove one of them')
  const ownPer = compilePer(perText, where, ground.report)
  return ownPer === undefined ? undefined : rateOf(price, ownPer)
}
const rateOf = (price: bigint, per: bigint): Rate => ({
  price,
  per,
  shown: { price: printPrice(price, 2), per: printPer(per) },
})
const amountText = (given: unknown): string => String(given).split('/', 1)[0]?.trim() ?? ''

/** `0.01` or `0.01 USD`, in 1e-18. */
export const compileAmount = (
  given: unknown,
  where: Where,
  ground: PriceContext,
): bigint | undefined => {
  const { currency, frozen, report } = ground
  if (isFields(given) || Array.isArray(given) || given === null || typeof given === 'boolean') {
    report(where, 'PRICE_AMOUNT', 'a price is an amount such as 2.00 / 1M')
    return undefined
  }
  const match = typeof given === 'string' ? RATE.exec(given.trim()) : undefined
  if (match === null || match?.[3] !== undefined) {
    report(
      where,
      'PRICE_AMOUNT',
      `${JSON.stringify(given)} is not an amount such as 2.00 or 2.00 USD`,
    )
    return undefined
  }
  const [, amount, code] = match ?? []
  const worth = currency.rates.get(code ?? currency.name)
  if (worth === undefined) {
    if (!currency.invalidRates?.has(code ?? ''))
      report(where, 'PRICE_CURRENCY', code, [...currency.rates.keys()].join(', '))
    return undefined
  }
  try {
    const places = frozen ? PRICE_PLACES : WRITTEN_PLACES
    const most = MOST_UNITS * 10n ** BigInt(places)
    const price = parseDecimal(amount ?? given, { places, most })
    return frozen ? price : price * worth * 10n ** BigInt(PRICE_PLACES - places - RATE_PLACES)
  } catch (thrown) {
    report(where, 'PRICE_AMOUNT', messageOf(thrown))
    return undefined
  }
}

/** `1M`, `1k`, `60`, 1000. */
export const compilePer = (
  given: unknown,
  where: Where,
  say: ReportProblem,
): bigint | undefined => {
  const text = typeof given === 'string' || typeof given === 'number' ? String(given) : ''
  const [whole, digits, suffix] = PER.exec(text) ?? []
  const per = BigInt(digits ?? 1) * (suffix === 'M' ? 1_000_000n : suffix === 'k' ? 1_000n : 1n)
  if (whole && per <= MOST_PER) return per
  say(where, 'PRICE_PER', `a price is per 1, 1k, 1M or another whole number up to ${MOST_PER}`)
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
