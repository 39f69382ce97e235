/** International bank account numbers (ISO 13616), by their length and check digits. */
import { ALPHANUMERICS, characters, finderOfRuns, type Match } from './finder.ts'

/** Characters by country, from the registry of SWIFT. */
const LENGTHS: Readonly<Record<string, number>> = Object.fromEntries(
  (
    'NO15 BE16 DK18 FI18 FO18 GL18 NL18 MK19 SI19 AT20 BA20 EE20 KZ20 LT20 LU20 XK20 ' +
    'CH21 HR21 LI21 LV21 BG22 BH22 CR22 DE22 GB22 GE22 IE22 ME22 RS22 VA22 ' +
    'AE23 GI23 IL23 IQ23 OM23 SO23 TL23 AD24 CZ24 ES24 MD24 PK24 RO24 SA24 SE24 SK24 TN24 VG24 ' +
    'LY25 PT25 ST25 IS26 TR26 BI27 DJ27 FR27 GR27 IT27 MC27 MR27 SM27 ' +
    'AL28 AZ28 CY28 DO28 GT28 HU28 LB28 NI28 PL28 SV28 BY28 BR29 EG29 PS29 QA29 UA29 ' +
    'JO30 KW30 MU30 YE30 MT31 SC31 LC32 MN20 FK18 RU33 SD18'
  )
    .split(' ')
    .map(each => [each.slice(0, 2), Number(each.slice(2))]),
)
const LONGEST = 34 + 8
const IBAN = characters(/[A-Za-z0-9 ]/)
const START = /[A-Z]{2}[0-9]{2}/g

/** The number without spaces modulo 97, letters being 10 to 35. */
const isValid = (compact: string): boolean => {
  let rest = 0
  for (const each of compact.slice(4) + compact.slice(0, 4)) {
    const value = Number.parseInt(each, 36)
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97
  }
  return rest === 1
}
const ibanAt = (text: string, start: number): Match | undefined => {
  const length = LENGTHS[text.slice(start, start + 2)]
  if (length === undefined) return undefined
  let compact = ''
  let end = start
  while (end < text.length && compact.length < length) {
    const each = text.charAt(end)
    if (/[0-9A-Z]/.test(each)) compact += each
    else if (each !== ' ' || text.charAt(end - 1) === ' ') return undefined
    end++
  }
  const isWhole = compact.length === length && !ALPHANUMERICS(text.charCodeAt(end))
  return isWhole && isValid(compact) ? { start, end } : undefined
}

const findIbans = (text: string): Match[] => {
  const matches: Match[] = []
  for (const { index } of text.matchAll(START)) {
    if (index > 0 && ALPHANUMERICS(text.charCodeAt(index - 1))) continue
    if (index < (matches.at(-1)?.end ?? 0)) continue
    const match = ibanAt(text, index)
    if (match) matches.push(match)
  }
  return matches
}
export const iban = finderOfRuns('IBAN', { are: IBAN, longest: LONGEST }, findIbans)
