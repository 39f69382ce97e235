/** Matches schema patterns in time linear in the text: with JavaScript's engine where that is
 *  certain, otherwise with RE2. */
import { RE2JS, RE2Set } from 're2js'

export interface Matcher {
  test(text: string): boolean
}
/** Throws for look-around and back-references, which RE2 does not support. */
export const matcherOf = (pattern: string): Matcher => {
  if (isSimple(pattern)) return new RegExp(pattern, 'u')
  const set = new RE2Set()
  set.add(toRe2(pattern))
  set.compile()
  // A set always uses the automaton (8 ns a character). A single pattern may use a matcher that is
  // ten times slower.
  const matcher = { test: (text: string) => set.match(text).length > 0 }
  matcher.test(WARM_UP_TEXT) // warms up the automaton
  return Object.assign(matcher, { toString: () => `/${pattern}/` })
}
/** Number of characters that a pattern tests within ten milliseconds in the worst case. */
export const maxTestLength = (pattern: string): number => {
  if (isSimple(pattern)) return Number.POSITIVE_INFINITY
  const size = RE2JS.compile(toRe2(pattern)).programSize()
  return Math.floor(
    TIME_LIMIT_NS / (size > LARGE_PROGRAM ? BUILD_FACTOR * size : Math.max(size, COLD_NS)),
  )
}
/** ns: the limit of ten milliseconds; the least time of one character in a cold automaton, or one
 *  for each instruction. A large automaton is built while it reads, in thirty times as long. */
const TIME_LIMIT_NS = 10_000_000
const COLD_NS = 200
const LARGE_PROGRAM = 500
const BUILD_FACTOR = 30
const WARM_UP_TEXT = 'The quick brown fox, 1234567890 '.repeat(16)
const toRe2 = (pattern: string): string => pattern.replace(/\\u([0-9a-fA-F]{4})/g, '\\x{$1}')

// JavaScript's engine backtracks. It is harmless and twenty times faster than RE2 for patterns with
// little to retry: anchored at the start, one unbounded repetition, few characters after it, and
// few ways to match the rest.

/** Limits of retried characters: per character of the text for an unbounded pattern, and in total
 *  for a bounded one. */
const RETRY_LIMITS = { endless: 8, bounded: 1_000_000 }
const LITERAL = /^[\w -]{1,64}$/
const ATOM = String.raw`(?:\\u[0-9a-fA-F]{4}|\\[pP]\{\w+(?:=\w+)?\}|\\[dDwWsS]|\\[^\w]|\[\^?(?:\\.|[^\\[\]])+\]|[^\\^$.*+?()[\]{}|]|\.)`
const ITEM_PATTERN = new RegExp(
  String.raw`(?:(?<atom>${ATOM})|\((?:\?:)?(?<group>${ATOM}*(?:\|${ATOM}*)*)\))(?<often>[*+?]|\{\d{1,4}(?:,\d{0,4})?\})?`,
  'uy',
)
const isSimple = (pattern: string): boolean => {
  if (LITERAL.test(pattern)) return true
  const body = /^\^(.*?)\$?$/su.exec(pattern)?.[1]
  if (body === undefined || !isRegExp(body)) return false
  const items = itemsOf(body)
  if (!items) return false
  const unboundedAt = items.findIndex(({ ways }) => ways === Number.POSITIVE_INFINITY)
  const first = unboundedAt < 0 ? items.findIndex(({ ways }) => ways > 1) : unboundedAt
  const charactersAfter = items.slice(first + 1).reduce((sum, { length }) => sum + length, 0)
  const ways = items.reduce((all, each, at) => (at === unboundedAt ? all : all * each.ways), 1)
  return (
    ways * Math.max(1, charactersAfter) <=
    (unboundedAt < 0 ? RETRY_LIMITS.bounded : RETRY_LIMITS.endless)
  )
}
const isRegExp = (text: string): boolean => {
  try {
    return new RegExp(text, 'u') !== undefined
  } catch {
    return false // invalid escapes, or cut within one
  }
}

interface Item {
  /** Number of ways to match at one position. */
  readonly ways: number
  /** Maximum number of characters. */
  readonly length: number
}
/** The items of a pattern; undefined if it is not a sequence of repeated characters and groups. */
const itemsOf = (body: string): readonly Item[] | undefined => {
  const items: Item[] = []
  for (let index = 0; index < body.length; index = ITEM_PATTERN.lastIndex) {
    ITEM_PATTERN.lastIndex = index
    const { atom, group, often: repetition } = ITEM_PATTERN.exec(body)?.groups ?? {}
    const bounds = boundsOf(repetition)
    // Repeated groups go to RE2.
    if (atom !== undefined)
      items.push({ ways: bounds.most - bounds.least + 1, length: bounds.most })
    else if (group !== undefined && bounds.most === 1) items.push(groupItem(group, bounds.least))
    else return undefined
  }
  return items
}
const boundsOf = (repetition = '{1}'): { readonly least: number; readonly most: number } => {
  const [, least = '', comma, most = ''] = /^\{(\d+)(,)?(\d*)\}$/.exec(repetition) ?? []
  if (least !== '')
    return { least: +least, most: comma ? +(most || Number.POSITIVE_INFINITY) : +least }
  return {
    least: repetition === '+' ? 1 : 0,
    most: repetition === '?' ? 1 : Number.POSITIVE_INFINITY,
  }
}
const groupItem = (group: string, least: number): Item => ({
  ways: group.split('|').length + 1 - least,
  length: group.length,
})
