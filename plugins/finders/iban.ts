/** International bank account numbers (ISO 13616), by their length and check digits. */
import { ALPHANUMERICS, characters, DIGITS, finderOfRuns, type Match } from './finder.ts'

const UPPER = characters(/[A-Z]/)
/** The codes of characters. */
const [SPACE, ZERO, A] = [32, 48, 65]
/** A number for two capital letters. */
const country = (first: number, second: number): number => (first - A) * 26 + second - A

/** Characters by country, from the registry of SWIFT. */
const LENGTHS = new Map(
  (
    'NO15 BE16 DK18 FI18 FO18 GL18 NL18 MK19 SI19 AT20 BA20 EE20 KZ20 LT20 LU20 XK20 ' +
    'CH21 HR21 LI21 LV21 BG22 BH22 CR22 DE22 GB22 GE22 IE22 ME22 RS22 VA22 ' +
    'AE23 GI23 IL23 IQ23 OM23 SO23 TL23 AD24 CZ24 ES24 MD24 PK24 RO24 SA24 SE24 SK24 TN24 VG24 ' +
    'LY25 PT25 ST25 IS26 TR26 BI27 DJ27 FR27 GR27 IT27 MC27 MR27 SM27 ' +
    'AL28 AZ28 CY28 DO28 GT28 HU28 LB28 NI28 PL28 SV28 BY28 BR29 EG29 PS29 QA29 UA29 ' +
    'JO30 KW30 MU30 YE30 MT31 SC31 LC32 MN20 FK18 RU33 SD18'
  )
    .split(' ')
    .map(each => [country(each.charCodeAt(0), each.charCodeAt(1)), Number(each.slice(2))]),
)
const LONGEST = 34 + 8
const IBAN = characters(/[A-Za-z0-9 ]/)
/** Every number has one. */
const START = /[A-Z]{2}[0-9]{2}/
/** Country and check digits; they count last. */
const PREFIX = 4
/** Below it a number can grow by two digits, and stays a small integer. */
const LARGE = 10_000_000
/** The numbers of characters by their codes, letters being 10 to 35. */
const [BLANK, OTHER] = [254, 255]
const NUMBERS = Uint8Array.from({ length: 128 }, (_, code) => {
  if (code === SPACE) return BLANK
  if (DIGITS(code)) return code - ZERO
  return UPPER(code) ? code - A + 10 : OTHER
})
/** The number that is written by `number` and this one behind it, modulo 97 if it is large. */
const append = (number: number, next: number): number => {
  const longer = next < 10 ? number * 10 + next : number * 100 + next
  return longer < LARGE ? longer : longer % 97
}
/** The end of a number of `length` capital letters and digits with at most one space between two
 *  of them; 0 if another character or the end of the text comes first, or the check digits are
 *  wrong. One pass: the text may have a beginning in every five characters. */
const endOf = (text: string, start: number, length: number): number => {
  let number = 0
  let count = PREFIX
  let at = start + PREFIX
  for (let last = 0; count < length; at++) {
    const code = text.charCodeAt(at)
    const next = code < NUMBERS.length ? (NUMBERS[code] as number) : OTHER
    if (next < BLANK) {
      number = append(number, next)
      count++
    } else if (next !== BLANK || last === BLANK) return 0
    last = next
  }
  for (let first = start; first < start + PREFIX; first++)
    number = append(number, NUMBERS[text.charCodeAt(first)] as number)
  return number % 97 === 1 ? at : 0
}
const ibanAt = (text: string, start: number): number => {
  const length = LENGTHS.get(country(text.charCodeAt(start), text.charCodeAt(start + 1)))
  const end = length === undefined ? 0 : endOf(text, start, length)
  return end === 0 || ALPHANUMERICS(text.charCodeAt(end)) ? 0 : end
}

const findIbans = (text: string): Match[] => {
  const matches: Match[] = []
  const first = text.search(START)
  if (first < 0) return matches
  for (let at = first; at + PREFIX < text.length; at++) {
    if (!UPPER(text.charCodeAt(at)) || !UPPER(text.charCodeAt(at + 1))) continue
    if (!DIGITS(text.charCodeAt(at + 2)) || !DIGITS(text.charCodeAt(at + 3))) continue
    const end = at > 0 && ALPHANUMERICS(text.charCodeAt(at - 1)) ? 0 : ibanAt(text, at)
    if (end > 0) matches.push({ start: at, end })
    at = Math.max(end, at + PREFIX) - 1
  }
  return matches
}
export const iban = finderOfRuns('IBAN', { are: IBAN, longest: LONGEST }, findIbans)
