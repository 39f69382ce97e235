/** Parses query parameters strictly: times, limits, cursors. Pure. */
import { isDay } from '../../engine/cli/kit.ts'
import { fault } from './faults.ts'

/** A parameter that must not be repeated. Throws USAGE_TWICE. */
export const singleParameter = (query: URLSearchParams, name: string): string | undefined => {
  const [first, ...more] = query.getAll(name)
  if (more.length > 0) throw fault('USAGE_TWICE', [name], { param: name })
  return first === '' ? undefined : first
}

const DATE = /^\d{4}-\d\d-\d\d$/
const TIME = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)$/

/** ms since 1970; a date is its midnight, UTC. Throws USAGE_INSTANT. */
export const instantOf = (text: string, name: string): number => {
  // An unescaped plus in a query is decoded as a space.
  const whole = text.replace(' ', '+')
  const date = DATE.test(whole) ? whole : TIME.exec(whole)?.[1]
  const at = Date.parse(whole)
  const isValid = date !== undefined && isDay(date) && !Number.isNaN(at)
  if (!isValid) throw fault('USAGE_INSTANT', [`\`${name}\``], { param: name })
  return at
}

export interface Period {
  readonly from: number
  /** Exclusive. */
  readonly to: number
}
const DAY = 86_400_000
const DEFAULT_PERIOD = 30 * DAY

/** The last thirty days by default. Throws USAGE_PERIOD. */
export const periodOf = (
  range: { readonly from: string | undefined; readonly to: string | undefined },
  now: number,
): Period => {
  const to = range.to === undefined ? now + 1 : instantOf(range.to, 'to')
  const from = range.from === undefined ? to - DEFAULT_PERIOD : instantOf(range.from, 'from')
  if (from >= to) throw fault('USAGE_PERIOD')
  return { from, to }
}

const MAX_PAGE = 1_000
const DEFAULT_PAGE = 100
/** The rows of a page. Throws USAGE_LIMIT. */
export const limitOf = (text: string | undefined): number => {
  if (text === undefined) return DEFAULT_PAGE
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0
  if (limit < 1 || limit > MAX_PAGE) throw fault('USAGE_LIMIT', [MAX_PAGE])
  return limit
}

/** The position where a page ended: numbers and short texts. */
export type CursorMark = readonly (string | number)[]

/** `list`: the name of the list. `markOf` refuses the cursor of another list. */
export const cursorOf = (list: string, mark: CursorMark): string =>
  Buffer.from(JSON.stringify([list, ...mark])).toString('base64url')

const MAX_CURSOR = 4_096
/** The mark in a cursor; `first` without one. Throws USAGE_CURSOR. */
export const markOf = (list: string, first: CursorMark, cursor: string | undefined): CursorMark => {
  if (cursor === undefined) return first
  const [listName, ...mark] = decodeCursor(cursor)
  const fits =
    listName === list &&
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
// Databases accept neither unsafe integers nor text with a NUL.
const isStorable = (value: unknown): boolean =>
  typeof value === 'number' ? Number.isSafeInteger(value) : !String(value).includes('\0')
