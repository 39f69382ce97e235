/** Telephone numbers: international ones with + or 00, those of North America with separators, and
 *  mobile numbers of China. Other national numbers look like any number. */
import { ALPHANUMERICS, characters, DIGITS, finderOfRuns, type Match, runAfter } from './finder.ts'

const PHONE = characters(/[0-9+(). -]/)
const LONGEST = 32
/** Sticky; each reads a bounded number of characters. */
const FORMS = [
  // ITU E.164: a country code and up to 15 digits in all.
  /(?:\+|00)[1-9](?:[ ().-]{0,2}[0-9]){6,14}(?![0-9A-Za-z])/y,
  /(?:1[ .-])?(?:\([2-9][0-9]{2}\) ?|[2-9][0-9]{2}[ .-])[2-9][0-9]{2}[ .-][0-9]{4}(?![0-9A-Za-z])/y,
  /1[3-9][0-9](?:[ -]?[0-9]{4}){2}(?![0-9A-Za-z])/y,
]
/** Every form begins with seven digits and their separators. No other place is looked at. */
const SEVEN = /[+(]?[0-9](?:[ ().-]{0,2}[0-9]){6}/g

const endOf = (text: string, start: number): number =>
  Math.max(
    ...FORMS.map(form => {
      form.lastIndex = start
      return form.test(text) ? form.lastIndex : 0
    }),
  )
const findPhones = (text: string): Match[] => {
  const matches: Match[] = []
  SEVEN.lastIndex = 0
  for (let match = SEVEN.exec(text); match; match = SEVEN.exec(text)) {
    const at = match.index
    const end = ALPHANUMERICS(text.charCodeAt(at - 1)) ? 0 : endOf(text, at)
    if (end > 0) matches.push({ start: at, end })
    // The rest of a number begins no other one.
    SEVEN.lastIndex = Math.max(end, runAfter(text, at, DIGITS, Number.POSITIVE_INFINITY), at + 1)
  }
  return matches
}
export const phone = finderOfRuns('PHONE', { are: PHONE, longest: LONGEST }, findPhones)
