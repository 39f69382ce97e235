/** Numbers of payment cards: 13 to 19 digits, alone or in groups, with the check digit of Luhn. */
import { ALPHANUMERICS, characters, DIGITS, finderOfRuns, type Match, runAfter } from './finder.ts'

const LEAST = 13
const MOST = 19
/** Digits with a separator after each. */
const LONGEST = 2 * MOST
const SEPARATORS = characters(/[ -]/)
/** As many digits as the shortest card has. No other place is looked at. */
const DIGITS_OF_CARD = /[0-9](?:[ -]?[0-9]){12}/g
const either = (code: number): boolean => DIGITS(code) || SEPARATORS(code)
/** First digits of the networks: Mastercard, Visa, American Express and others. */
const NETWORKS = /^(?:4|5[0-9]|2[2-7]|3[04-9]|6|81)/

/** The code of the digit 0. */
const ZERO = 48

const isCard = (digits: string): boolean => {
  if (digits.length < LEAST || digits.length > MOST || !NETWORKS.test(digits)) return false
  let sum = 0
  for (let index = 0; index < digits.length; index++) {
    const digit = digits.charCodeAt(digits.length - 1 - index) - ZERO
    const doubled = index % 2 === 1 ? digit * 2 : digit
    sum += doubled > 9 ? doubled - 9 : doubled
  }
  return sum % 10 === 0
}

/** Groups of digits with one separator between two of them, until a card has no more digits. */
const groupsAt = (text: string, start: number): Match[] => {
  const groups: Match[] = []
  let at = start
  for (let digits = 0; digits < MOST; ) {
    const end = runAfter(text, at, DIGITS, MOST + 1)
    if (end === at) break
    groups.push({ start: at, end })
    digits += end - at
    if (!SEPARATORS(text.charCodeAt(end)) || !DIGITS(text.charCodeAt(end + 1))) break
    at = end + 1
  }
  return groups
}
/** The longest card that begins with the first group. */
const cardIn = (text: string, groups: readonly Match[]): Match | undefined => {
  const start = groups[0]?.start ?? 0
  let digits = ''
  let card: Match | undefined
  for (const group of groups) {
    digits += text.slice(group.start, group.end)
    if (digits.length > MOST) break
    if (!ALPHANUMERICS(text.charCodeAt(group.end)) && isCard(digits))
      card = { start, end: group.end }
  }
  return card
}

const findCards = (text: string): Match[] => {
  const matches: Match[] = []
  DIGITS_OF_CARD.lastIndex = 0
  for (let match = DIGITS_OF_CARD.exec(text); match; match = DIGITS_OF_CARD.exec(text)) {
    const at = match.index
    const isFirst = at === 0 || !ALPHANUMERICS(text.charCodeAt(at - 1))
    const card = isFirst ? cardIn(text, groupsAt(text, at)) : undefined
    if (card) matches.push(card)
    DIGITS_OF_CARD.lastIndex = card?.end ?? runAfter(text, at, DIGITS, Number.POSITIVE_INFINITY)
  }
  return matches
}
export const card = finderOfRuns('CARD', { are: either, longest: LONGEST }, findCards)
