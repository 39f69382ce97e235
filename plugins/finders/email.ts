/** E-mail addresses: looks for `@`, then reads the name before it and the domain behind it. */
import { characters, finderOfRuns, type Match, runAfter, runBefore } from './finder.ts'

const NAME = characters(/[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]/)
const DOMAIN = characters(/[A-Za-z0-9.-]/)
const LONGEST_NAME = 64
const LONGEST_DOMAIN = 255
const TOP_LEVEL = /^(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.)+[A-Za-z]{2,24}$/
/** Characters that an address may have, but that rather belong to the text before it. */
const BEFORE = /^['`.{|=/&?!*]+/
const either = (code: number): boolean => code === 64 || NAME(code) || DOMAIN(code)

const findEmails = (text: string): Match[] => {
  const matches: Match[] = []
  for (let at = text.indexOf('@'); at >= 0; at = text.indexOf('@', at + 1)) {
    const begin = runBefore(text, at, NAME, LONGEST_NAME)
    const name = text.slice(begin, at)
    const start = begin + (BEFORE.exec(name)?.[0].length ?? 0)
    let end = runAfter(text, at + 1, DOMAIN, LONGEST_DOMAIN)
    while (end > at && /[.-]/.test(text.charAt(end - 1))) end--
    if (start < at && TOP_LEVEL.test(text.slice(at + 1, end))) matches.push({ start, end })
  }
  return matches
}
export const email = finderOfRuns(
  'EMAIL',
  { are: either, longest: LONGEST_NAME + 1 + LONGEST_DOMAIN },
  findEmails,
)
