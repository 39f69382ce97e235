/** The patterns of a schema, tested in time linear in the text: by JavaScript's own engine where that is certain, else by RE2. */
import { RE2JS, RE2Set } from 're2js'

export interface Matcher {
  test(text: string): boolean
}
/** Look-around and back-references do not exist in RE2, and are refused at load. */
export const matcherOf = (pattern: string): Matcher => {
  if (isSimple(pattern)) return new RegExp(pattern, 'u')
  const set = new RE2Set()
  set.add(translated(pattern))
  set.compile()
  // A set always takes the automaton (8 ns a character). Alone, a pattern may get a machine that takes ten times as long.
  const matcher = { test: (text: string) => set.match(text).length > 0 }
  matcher.test(SAMPLE) // its first texts would be slow ones
  return Object.assign(matcher, { toString: () => `/${pattern}/` })
}
/** Characters that it reads in ten milliseconds however they are chosen. */
export const reachOf = (pattern: string): number => {
  if (isSimple(pattern)) return Number.POSITIVE_INFINITY
  const size = RE2JS.compile(translated(pattern)).programSize()
  return Math.floor(PATIENCE / (size > LARGE ? BUILDING * size : Math.max(size, LEAST)))
}
/** ns: ten milliseconds; and what one character takes until the machine is warm, and one for each instruction. A large automaton is built while
 *  it reads, in thirty times as much. */
const PATIENCE = 10_000_000
const LEAST = 200
const LARGE = 500
const BUILDING = 30
const SAMPLE = 'The quick brown fox, 1234567890 '.repeat(16)
const translated = (pattern: string): string => pattern.replace(/\\u([0-9a-fA-F]{4})/g, '\\x{$1}')

// JavaScript's engine goes back and tries again. That is harmless, and twenty times as fast as RE2, where little can be tried: one
// place without an upper bound, few characters behind it, few ways to match the others, and only from the beginning of the text.

/** Characters looked at again and again at worst: for each character of the text, and where all of it is bounded. */
const AGAIN = { endless: 8, bounded: 1_000_000 }
const LITERAL = /^[\w -]{1,64}$/
const ATOM = String.raw`(?:\\u[0-9a-fA-F]{4}|\\[pP]\{\w+(?:=\w+)?\}|\\[dDwWsS]|\\[^\w]|\[\^?(?:\\.|[^\\[\]])+\]|[^\\^$.*+?()[\]{}|]|\.)`
const ITEM = new RegExp(
  String.raw`(?:(?<atom>${ATOM})|\((?:\?:)?(?<group>${ATOM}*(?:\|${ATOM}*)*)\))(?<often>[*+?]|\{\d{1,4}(?:,\d{0,4})?\})?`,
  'uy',
)
const isSimple = (pattern: string): boolean => {
  if (LITERAL.test(pattern)) return true
  const body = /^\^(.*?)\$?$/su.exec(pattern)?.[1]
  if (body === undefined || !isPattern(body)) return false
  const items = itemsOf(body)
  if (!items) return false
  const endless = items.findIndex(({ ways }) => ways === Number.POSITIVE_INFINITY)
  const first = endless < 0 ? items.findIndex(({ ways }) => ways > 1) : endless
  const behind = items.slice(first + 1).reduce((sum, { length }) => sum + length, 0)
  const ways = items.reduce((all, each, at) => (at === endless ? all : all * each.ways), 1)
  return ways * Math.max(1, behind) <= (endless < 0 ? AGAIN.bounded : AGAIN.endless)
}
const isPattern = (text: string): boolean => {
  try {
    return new RegExp(text, 'u') !== undefined
  } catch {
    return false // its own escapes, or cut within one
  }
}

interface Item {
  /** In how many ways it may match at one place. */
  readonly ways: number
  /** Characters at most. */
  readonly length: number
}
/** Undefined for what is more than a row of characters, each so many times. */
const itemsOf = (body: string): readonly Item[] | undefined => {
  const items: Item[] = []
  for (let at = 0; at < body.length; at = ITEM.lastIndex) {
    ITEM.lastIndex = at
    const { atom, group, often } = ITEM.exec(body)?.groups ?? {}
    const bounds = boundsOf(often)
    // Whatever repeats in more than one way is RE2's.
    if (atom !== undefined)
      items.push({ ways: bounds.most - bounds.least + 1, length: bounds.most })
    else if (group !== undefined && bounds.most === 1) items.push(choice(group, bounds.least))
    else return undefined
  }
  return items
}
const boundsOf = (often = '{1}'): { readonly least: number; readonly most: number } => {
  const [, least = '', comma, most = ''] = /^\{(\d+)(,)?(\d*)\}$/.exec(often) ?? []
  if (least !== '')
    return { least: +least, most: comma ? +(most || Number.POSITIVE_INFINITY) : +least }
  return { least: often === '+' ? 1 : 0, most: often === '?' ? 1 : Number.POSITIVE_INFINITY }
}
const choice = (group: string, least: number): Item => ({
  ways: group.split('|').length + 1 - least,
  length: group.length,
})
