/** Converts between nanos (1e-9 of the currency's unit) and quota, the unit that customers see.
 *  Pure. */
import { asFault } from '../../engine/errors.ts'
import { parseDecimal, printDecimal } from './decimal.ts'

const PLACES = 9
/** The nanos of one unit of currency. */
export const UNIT = 10n ** 9n
/** 500,000 quota are one unit. */
const NANOS_PER_QUOTA = 2_000n
/** Quota units of one unit of the currency. */
export const QUOTA_PER_UNIT = UNIT / NANOS_PER_QUOTA
/** The largest amount: a billion units. Nine of them fit into 64 bits, and a balance of one is an
 *  exact JSON number. */
export const MAX_AMOUNT = 10n ** 9n * UNIT

export const smaller = (one: bigint, other: bigint): bigint => (other < one ? other : one)

/** `12.50` is 12500000000n. Throws AMOUNT_… (400). */
export const parseMoney = (
  value: unknown,
  { negative = false }: { readonly negative?: boolean } = {},
): bigint => parseDecimal(value, { places: PLACES, most: MAX_AMOUNT, negative })
/** The amount of an argument, whose name errors have. */
export const moneyIn = (value: unknown, name: string): bigint => {
  try {
    return parseMoney(value)
  } catch (error) {
    const fault = asFault(error)
    throw Object.assign(fault, { message: `Invalid '${name}': ${fault.message}`, param: name })
  }
}
/** Prints all digits: `0.000000001`. */
export const printMoney = (nanos: bigint): string => printDecimal(nanos, PLACES)
/** Units of the currency as a number, for metrics and traces only: it may be rounded. */
export const unitsOf = (nanos: bigint): number => Number(printMoney(nanos))

/** Rounds for display: two places, or two digits of a smaller amount: `1.89`, `0.00094`. Takes no
 *  negative amounts. */
export const roundMoney = (nanos: bigint, direction: 'up' | 'down'): string => {
  let [places, step] = [2, UNIT / 100n]
  for (; nanos > 0n && nanos < 10n * step && step > 1n && nanos < UNIT / 100n; places++) step /= 10n
  const steps = direction === 'up' ? (nanos + step - 1n) / step : nanos / step
  const digits = String(steps).padStart(places + 1, '0')
  return `${digits.slice(0, -places)}.${digits.slice(-places)}`
}

/** A whole number of quota, in nanos. */
export const parseQuota = (value: unknown): bigint =>
  parseDecimal(value, { places: 0, most: MAX_AMOUNT / NANOS_PER_QUOTA }) * NANOS_PER_QUOTA
/** Rounds down, also below zero, so that no balance is shown too high. */
export const quotaOf = (nanos: bigint): bigint => {
  const whole = nanos / NANOS_PER_QUOTA
  return nanos < 0n && whole * NANOS_PER_QUOTA !== nanos ? whole - 1n : whole
}
/** The same in the currency: quota / 500,000, with at most 6 places, exact as a `Number`. */
export const balanceOf = (nanos: bigint): string => printDecimal(quotaOf(nanos) * 2n, 6)

export interface Quotas {
  readonly remaining: bigint
  readonly used: bigint
  readonly total: bigint
}
/** remaining + used = total, exactly. Rounds the total, not each part, so that spending does not
 *  change it. */
export const quotasOf = (remaining: bigint, used: bigint): Quotas => {
  const [remainingQuota, total] = [quotaOf(remaining), quotaOf(remaining + used)]
  return { remaining: remainingQuota, used: total - remainingQuota, total }
}
