/** E-mail addresses: looks for `@`, then reads the name before it and the domain behind it. */
import {
  ALPHANUMERICS,
  addMatch,
  characters,
  finderOfRuns,
  LETTERS,
  type Match,
  runAfter,
  runBefore,
} from './finder.ts'

const NAME = characters(/[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]/)
const DOMAIN = characters(/[A-Za-z0-9.-]/)
const LONGEST_NAME = 64
const LONGEST_DOMAIN = 255
const LEAST_TOP_LEVEL = 2
const MOST_TOP_LEVEL = 24
/** Characters that an address may have, but that rather belong to the text before it. */
const BEFORE = characters(/['`.{|=/&?!*]/)
/** Characters that rather belong to the text behind it. */
const AFTER = characters(/[.-]/)
const either = (code: number): boolean => code === 64 || NAME(code) || DOMAIN(code)
/** The code of the dot. */
const DOT = 46

/** Whether labels with letters and digits at both ends, and one of letters only, fill the range. */
const isDomain = (text: string, start: number, end: number): boolean => {
  let label = start
  let letters = start
  for (let at = start; at < end; at++) {
    const code = text.charCodeAt(at)
    if (code === DOT) {
      const isLabel = at > label && ALPHANUMERICS(text.charCodeAt(at - 1))
      if (!isLabel || !ALPHANUMERICS(text.charCodeAt(label))) return false
      label = at + 1
      letters = label
    } else if (!LETTERS(code)) letters = at + 1
  }
  const length = end - label
  return label > start && letters === label && length >= LEAST_TOP_LEVEL && length <= MOST_TOP_LEVEL
}

const findEmails = (text: string): Match[] => {
  const matches: Match[] = []
  for (let at = text.indexOf('@'); at >= 0; at = text.indexOf('@', at + 1)) {
    let start = runBefore(text, at, NAME, LONGEST_NAME)
    while (start < at && BEFORE(text.charCodeAt(start))) start++
    if (start === at) continue
    let end = runAfter(text, at + 1, DOMAIN, LONGEST_DOMAIN)
    while (end > at && AFTER(text.charCodeAt(end - 1))) end--
    // The domain of one may be the name of the next: `a@b.org@c.org`.
    if (isDomain(text, at + 1, end)) addMatch(matches, { start, end })
  }
  return matches
}
export const email = finderOfRuns(
  'EMAIL',
  { are: either, longest: LONGEST_NAME + 1 + LONGEST_DOMAIN },
  findEmails,
)
