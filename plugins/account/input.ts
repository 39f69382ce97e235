/** What callers write into a query, read strictly: instants, bounds, cursors. Pure. */
import { fault } from './faults.ts'

/** A parameter that may be said once. */
export const singleParameter = (query: URLSearchParams, name: string): string | undefined => {
  const [first, ...more] = query.getAll(name)
  if (more.length > 0) throw fault('USAGE_TWICE', [name], { param: name })
  return first === '' ? undefined : first
}

const DATE = /^\d{4}-\d\d-\d\d$/
const TIME = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)$/

/** A date is its first instant, UTC. ms since 1970. */
export const instantOf = (text: string, name: string): number => {
  // In a query, a plus that was not escaped arrives as a space.
  const whole = text.replace(' ', '+')
  const date = DATE.test(whole) ? whole : TIME.exec(whole)?.[1]
  const at = Date.parse(whole)
  // JavaScript takes the 31st of February for the 3rd of March.
  const real = date !== undefined && isDay(date) && !Number.isNaN(at)
  if (!real) throw fault('USAGE_INSTANT', [`\`${name}\``], { param: name })
  return at
}
const isDay = (date: string): boolean => {
  const at = Date.parse(`${date}T00:00:00Z`)
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(date)
}

export interface Period {
  readonly from: number
  /** The first instant that is outside. */
  readonly to: number
}
const DAY = 86_400_000
const DEFAULT_PERIOD = 30 * DAY

/** The last thirty days, where nothing is said. */
export const periodOf = (
  given: { readonly from: string | undefined; readonly to: string | undefined },
  now: number,
): Period => {
  const to = given.to === undefined ? now + 1 : instantOf(given.to, 'to')
  const from = given.from === undefined ? to - DEFAULT_PERIOD : instantOf(given.from, 'from')
  if (from >= to) throw fault('USAGE_PERIOD')
  return { from, to }
}

const MAX_PAGE = 1_000
const DEFAULT_PAGE = 100
export const limitOf = (text: string | undefined): number => {
  if (text === undefined) return DEFAULT_PAGE
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0
  if (limit < 1 || limit > MAX_PAGE) throw fault('USAGE_LIMIT', [MAX_PAGE])
  return limit
}

/** What a page ended with: numbers and short texts. */
export type CursorMark = readonly (string | number)[]

/** `question`: a cursor of one list is nothing to another. */
export const cursorOf = (question: string, mark: CursorMark): string =>
  Buffer.from(JSON.stringify([question, ...mark])).toString('base64url')

const MAX_CURSOR = 4_096
export const markOf = (
  question: string,
  first: CursorMark,
  cursor: string | undefined,
): CursorMark => {
  if (cursor === undefined) return first
  const [asked, ...mark] = decodeCursor(cursor)
  const fits =
    asked === question &&
    mark.length === first.length &&
    mark.every((each, index) => typeof each === typeof first[index] && isStorable(each))
  if (!fits) throw fault('USAGE_CURSOR')
  return mark as unknown as CursorMark
}
const decodeCursor = (cursor: string): readonly unknown[] => {
  if (cursor.length > MAX_CURSOR || !/^[\w-]+$/.test(cursor)) throw fault('USAGE_CURSOR')
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    if (Array.isArray(value)) return value
  } catch {}
  throw fault('USAGE_CURSOR')
}
// Stores take neither broken numbers nor text with a NUL in it.
const isStorable = (value: unknown): boolean =>
  typeof value === 'number' ? Number.isSafeInteger(value) : !String(value).includes('\0')
