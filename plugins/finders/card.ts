/** Numbers of payment cards: 13 to 19 digits, alone or in groups, with the check digit of Luhn. */
import { ALPHANUMERICS, characters, DIGITS, finderOfRuns, type Match, runAfter } from './finder.ts'

const LEAST = 13
const MOST = 19
/** Digits with a separator after each. */
const LONGEST = 2 * MOST
const SEPARATORS = characters(/[ -]/)
const either = (code: number): boolean => DIGITS(code) || SEPARATORS(code)
/** First digits of the networks: Mastercard, Visa, American Express and others. */
const NETWORKS = /^(?:4|5[0-9]|2[2-7]|3[04-9]|6|81)/

const isCard = (digits: string): boolean => {
  if (digits.length < LEAST || digits.length > MOST || !NETWORKS.test(digits)) return false
  let sum = 0
  for (let index = 0; index < digits.length; index++) {
    const digit = Number(digits[digits.length - 1 - index])
    const doubled = index % 2 === 1 ? digit * 2 : digit
    sum += doubled > 9 ? doubled - 9 : doubled
  }
  return sum % 10 === 0
}

/** Groups of digits with one separator between two of them; as many as a card may have digits. */
const groupsAt = (text: string, start: number): Match[] => {
  const groups: Match[] = []
  let at = start
  while (groups.length < MOST) {
    const end = runAfter(text, at, DIGITS, MOST + 1)
    if (end === at) break
    groups.push({ start: at, end })
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
  for (let at = 0; at < text.length; at++) {
    if (!DIGITS(text.charCodeAt(at))) continue
    const isFirst = at === 0 || !ALPHANUMERICS(text.charCodeAt(at - 1))
    const card = isFirst ? cardIn(text, groupsAt(text, at)) : undefined
    if (card) matches.push(card)
    at = card ? card.end : runAfter(text, at, DIGITS, Number.POSITIVE_INFINITY)
  }
  return matches
}
export const card = finderOfRuns('CARD', { are: either, longest: LONGEST }, findCards)
