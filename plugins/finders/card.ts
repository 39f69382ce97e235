/** Numbers of payment cards: 13 to 19 digits, alone or in groups, with the check digit of Luhn. */
import { ALPHANUMERICS, characters, DIGITS, finderOfRuns, type Match } from './finder.ts'

const LEAST = 13
const MOST = 19
/** Digits with a separator after each. */
const LONGEST = 2 * MOST
const SEPARATORS = characters(/[ -]/)
/** As many digits as the shortest card has. A text without them has no card. */
const DIGITS_OF_CARD = /[0-9](?:[ -]?[0-9]){12}/
const either = (code: number): boolean => DIGITS(code) || SEPARATORS(code)
/** By the first two digits: those of Mastercard, Visa, American Express and others. */
const IS_NETWORK = Array.from({ length: 100 }, (_, digits) =>
  /^(?:4|5|2[2-7]|3[04-9]|6|81)/.test(String(digits).padStart(2, '0')),
)

/** The code of the digit 0. */
const ZERO = 48
/** A digit as Luhn counts every other one. */
const DOUBLED = Uint8Array.of(0, 2, 4, 6, 8, 1, 3, 5, 7, 9)

/** Groups of digits with one separator between two of them, from this digit on. A group that is
 *  longer than a card is the last, and is not counted. */
const chainAt = (text: string, start: number) => {
  let end = start
  let count = 0
  for (;;) {
    const groupStart = end
    while (end < text.length && DIGITS(text.charCodeAt(end))) end++
    const length = end - groupStart
    if (length > MOST) return { end, count }
    count += length
    if (!SEPARATORS(text.charCodeAt(end)) || !DIGITS(text.charCodeAt(end + 1)))
      return { end, count }
    end++
  }
}

/** The digits of a chain. Sums are modulo 10, of the digits before each: Luhn's rule holds for some
 *  digits if the sums before the first and after the last are the same. */
interface Digits {
  readonly positions: Int32Array
  /** Digits at odd indexes are doubled. */
  readonly even: Uint8Array
  /** Digits at even indexes are doubled. */
  readonly odd: Uint8Array
}
const digitsFor = (most: number): Digits => ({
  positions: new Int32Array(most + 1),
  even: new Uint8Array(most + 1),
  odd: new Uint8Array(most + 1),
})
const readDigits = (text: string, start: number, count: number, into: Digits): void => {
  const { positions, even, odd } = into
  let [index, sumEven, sumOdd] = [0, 0, 0]
  for (let at = start; index < count; at++) {
    const digit = text.charCodeAt(at) - ZERO
    if (digit < 0) continue
    const doubled = DOUBLED[digit] ?? 0
    positions[index] = at
    const isEven = index % 2 === 0
    sumEven += isEven ? digit : doubled
    sumOdd += isEven ? doubled : digit
    if (sumEven > 9) sumEven -= 10
    if (sumOdd > 9) sumOdd -= 10
    index++
    even[index] = sumEven
    odd[index] = sumOdd
  }
  // After the last digit a group ends.
  positions[index] = -1
}

const EMPTY = digitsFor(0)
const findCards = (text: string): Match[] => {
  const matches: Match[] = []
  const first = text.search(DIGITS_OF_CARD)
  if (first < 0) return matches
  let digits = EMPTY
  for (let at = first; at < text.length; at++) {
    if (!DIGITS(text.charCodeAt(at))) continue
    const { end, count } = chainAt(text, at)
    if (count >= LEAST) {
      if (digits === EMPTY) digits = digitsFor(text.length - at)
      readDigits(text, at, count, digits)
      cardsIn(text, digits, count, matches)
    }
    at = end
  }
  return matches
}
/** Adds the cards of a chain: each begins and ends with a group. */
const cardsIn = (text: string, digits: Digits, count: number, matches: Match[]): void => {
  const { positions } = digits
  const isAt = (index: number): number => positions[index] ?? 0
  const first = isAt(0)
  const last = isAt(count - 1)
  const isBegun = first > 0 && ALPHANUMERICS(text.charCodeAt(first - 1))
  const ended = ALPHANUMERICS(text.charCodeAt(last + 1)) ? count - 1 : count
  for (let index = 0; index + LEAST <= count; ) {
    const at = isAt(index)
    const begins = index === 0 ? !isBegun : isAt(index - 1) !== at - 1
    const prefix = (text.charCodeAt(at) - ZERO) * 10 + text.charCodeAt(isAt(index + 1)) - ZERO
    const next = begins && IS_NETWORK[prefix] === true ? endOfCard(digits, index, ended) : 0
    if (next > 0) matches.push({ start: at, end: isAt(next - 1) + 1 })
    index = next > 0 ? next : index + 1
  }
}
/** The index after the last digit of the longest card that begins with this digit; 0: none.
 *  `count`: of the digits after which a card may end. */
const endOfCard = ({ positions, even, odd }: Digits, start: number, count: number): number => {
  for (let end = Math.min(start + MOST, count); end - start >= LEAST; end--) {
    const sums = end % 2 === 1 ? even : odd
    if (sums[end] === sums[start] && positions[end] !== (positions[end - 1] ?? 0) + 1) return end
  }
  return 0
}
export const card = finderOfRuns('CARD', { are: either, longest: LONGEST }, findCards)
