/** Telephone numbers: international ones with + or 00, those of North America with separators, and
 *  mobile numbers of China. Other national numbers look like any number. */
import { ALPHANUMERICS, characters, DIGITS, finderOfRuns, type Match } from './finder.ts'

const PHONE = characters(/[0-9+(). -]/)
const LONGEST = 32
const BEGINS = characters(/[0-9+(]/)
/** Every form begins with seven digits and their separators. */
const SEVEN = /[+(]?[0-9](?:[ ().-]{0,2}[0-9]){6}/
/** The codes of characters. */
const [SPACE, OPEN, CLOSE, PLUS, ZERO, ONE] = [32, 40, 41, 43, 48, 49]

/** Kinds of characters in forms of numbers. */
const KINDS = { d: /[0-9]/, n: /[2-9]/, m: /[3-9]/, 1: /1/, s: /[ .-]/ } as const
const BITS = Object.fromEntries(Object.keys(KINDS).map((kind, index) => [kind, 1 << index]))
/** The kinds of each character, as bits. */
const KINDS_OF = Uint8Array.from({ length: 128 }, (_, code) =>
  Object.entries(KINDS).reduce(
    (bits, [kind, pattern]) =>
      pattern.test(String.fromCharCode(code)) ? bits | (BITS[kind] ?? 0) : bits,
    0,
  ),
)
const shapeOf = (kinds: string) => Uint8Array.from(kinds, kind => BITS[kind] ?? 0)
/** The end of as many characters, each of its kind; 0: there are others. */
const endOfShape = (text: string, start: number, shape: Uint8Array): number => {
  for (let index = 0; index < shape.length; index++) {
    const code = text.charCodeAt(start + index)
    if (!(code < 128) || ((KINDS_OF[code] ?? 0) & (shape[index] ?? 0)) === 0) return 0
  }
  return start + shape.length
}
/** The end, or 0 if a letter or a digit follows. */
const whole = (text: string, end: number): number => (ALPHANUMERICS(text.charCodeAt(end)) ? 0 : end)

const FIRST_DIGIT = characters(/[1-9]/)
const BETWEEN = characters(/[ ().-]/)
const MOST_DIGITS = 15
/** Those after the first. */
const LEAST_DIGITS = 6
/** ITU E.164: + or 00, then digits with up to two separators between two of them. */
const endOfInternational = (text: string, start: number): number => {
  const code = text.charCodeAt(start)
  if (code !== PLUS && (code !== ZERO || text.charCodeAt(start + 1) !== ZERO)) return 0
  let at = code === PLUS ? start + 1 : start + 2
  if (!FIRST_DIGIT(text.charCodeAt(at))) return 0
  let end = 0
  for (let digits = 1; digits <= MOST_DIGITS; digits++) {
    at++
    if (digits > LEAST_DIGITS && whole(text, at) > 0) end = at
    if (BETWEEN(text.charCodeAt(at))) at++
    if (BETWEEN(text.charCodeAt(at))) at++
    if (!DIGITS(text.charCodeAt(at))) break
  }
  return end
}

const AMERICAN_GAP = characters(/[ .-]/)
const AREA = shapeOf('ndd')
const SUBSCRIBER = shapeOf('nddsdddd')
/** `415-555-1234`, `(415) 555-1234`, also with `1-` before them. */
const endOfAmerican = (text: string, start: number): number => {
  const isLong = text.charCodeAt(start) === ONE && AMERICAN_GAP(text.charCodeAt(start + 1))
  const area = isLong ? start + 2 : start
  const isBracketed = text.charCodeAt(area) === OPEN
  const end = endOfShape(text, isBracketed ? area + 1 : area, AREA)
  const next = text.charCodeAt(end)
  if (end === 0 || (isBracketed ? next !== CLOSE : !AMERICAN_GAP(next))) return 0
  const hasSpace = isBracketed && text.charCodeAt(end + 1) === SPACE
  return whole(text, endOfShape(text, hasSpace ? end + 2 : end + 1, SUBSCRIBER))
}

const CHINESE_GAP = characters(/[ -]/)
const NETWORK = shapeOf('1md')
const FOUR = shapeOf('dddd')
/** `13812345678`, `138-1234-5678`. */
const endOfChinese = (text: string, start: number): number => {
  const afterGap = (at: number): number => (CHINESE_GAP(text.charCodeAt(at)) ? at + 1 : at)
  const network = endOfShape(text, start, NETWORK)
  const middle = network > 0 ? endOfShape(text, afterGap(network), FOUR) : 0
  return middle > 0 ? whole(text, endOfShape(text, afterGap(middle), FOUR)) : 0
}

const endOfPhone = (text: string, at: number, code: number): number => {
  if (code === PLUS || code === ZERO) return endOfInternational(text, at)
  const end = endOfAmerican(text, at)
  return code === ONE ? Math.max(end, endOfChinese(text, at)) : end
}
const findPhones = (text: string): Match[] => {
  const matches: Match[] = []
  const first = text.search(SEVEN)
  if (first < 0) return matches
  for (let at = first; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (!BEGINS(code)) continue
    const isInside = at > 0 && ALPHANUMERICS(text.charCodeAt(at - 1))
    const end = isInside ? 0 : endOfPhone(text, at, code)
    if (end > 0) matches.push({ start: at, end })
    // The rest of a number begins no other one.
    let next = Math.max(end, at + 1)
    if (DIGITS(code)) while (DIGITS(text.charCodeAt(next))) next++
    at = next - 1
  }
  return matches
}
export const phone = finderOfRuns('PHONE', { are: PHONE, longest: LONGEST }, findPhones)
