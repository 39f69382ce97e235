/** Parses and prints decimal numbers as whole multiples of a power of ten, without floats. Pure. */
import { errors } from '../../engine/errors.ts'

const fault = errors({
  AMOUNT_MALFORMED: [400, '%s is not a decimal number such as 12.50'],
  AMOUNT_EXPONENT: [400, '%s is written with an exponent; write its digits out, in quotes'],
  AMOUNT_INEXACT: [400, '%s has more digits than a number keeps; put it in quotes'],
  AMOUNT_NEGATIVE: [400, '%s is negative'],
  AMOUNT_TOO_FINE: [400, '%s has more than %d decimal places'],
  AMOUNT_TOO_LARGE: [400, '%s is more than %s'],
})

export interface Limits {
  readonly places: number
  /** In the same multiples as the result. */
  readonly most: bigint
  readonly negative?: boolean
}

const MAX_LENGTH = 64
const DECIMAL = /^(-?)([0-9]+)(?:\.([0-9]+))?$/
const EXPONENT = /^-?[0-9]+(?:\.[0-9]+)?[eE][-+]?[0-9]+$/
// A decimal of so many digits is the same after conversion to a double and back (IEEE 754:
// DBL_DIG).
const DIGITS_OF_A_NUMBER = 15

/** `12.5` with 9 places is 12500000000n. Takes text, bigints, and numbers short enough to be exact.
 *  Throws AMOUNT_… (400). */
export const parseDecimal = (value: unknown, limits: Limits): bigint => {
  const text = textOf(value)
  const match = text.length <= MAX_LENGTH ? DECIMAL.exec(text) : null
  if (!match)
    throw fault(EXPONENT.test(text) ? 'AMOUNT_EXPONENT' : 'AMOUNT_MALFORMED', [quoteValue(value)])
  const [, sign, whole = '', fraction = ''] = match
  const digits = fraction.replace(/0+$/, '')
  if (typeof value === 'number' && countSignificant(whole + digits) > DIGITS_OF_A_NUMBER)
    throw fault('AMOUNT_INEXACT', [quoteValue(value)])
  if (digits.length > limits.places)
    throw fault('AMOUNT_TOO_FINE', [quoteValue(value), limits.places])
  const size = BigInt(whole + digits.padEnd(limits.places, '0'))
  if (sign && size > 0n && !limits.negative) throw fault('AMOUNT_NEGATIVE', [quoteValue(value)])
  if (size > limits.most)
    throw fault('AMOUNT_TOO_LARGE', [quoteValue(value), printDecimal(limits.most, limits.places)])
  return sign ? -size : size
}

/** 12500000000n with 9 places is `12.5`; with at least 2 of them shown, `12.50`. */
export const printDecimal = (amount: bigint, places: number, least = 0): string => {
  const digits = String(amount < 0n ? -amount : amount).padStart(places + 1, '0')
  const whole = digits.slice(0, digits.length - places)
  const fraction = digits
    .slice(digits.length - places)
    .replace(/0+$/, '')
    .padEnd(least, '0')
  return `${amount < 0n ? '-' : ''}${whole}${fraction && `.${fraction}`}`
}

const textOf = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint'
    ? String(value)
    : ''
const quoteValue = (value: unknown): string => {
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value)
  return text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}…` : text
}
const countSignificant = (digits: string): number => digits.replace(/^0+/, '').length
