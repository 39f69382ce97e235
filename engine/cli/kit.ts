/** Helpers of engine and plugin commands. */
import { amountIn, DURATIONS, isCode } from '../kit.ts'

/** Exit codes of every command. */
export const EXIT = { ok: 0, problems: 1, usage: 2, runTime: 3 } as const

/** Wrong usage of a command: exit code 2. */
export class UsageError extends Error {
  // A plugin bundle has its own copy of this class, so `instanceof` does not work.
  readonly code = 'USAGE'
}
export const isUsageError = (error: unknown): boolean => isCode(error, 'USAGE')

/** Thrown by a standalone command that uses routes or upstreams: the whole configuration is loaded
 *  and the command runs again. */
export class NeedsRoutesError extends Error {
  readonly code = 'NEEDS_ROUTES'
}
export const isNeedsRoutesError = (error: unknown): boolean => isCode(error, 'NEEDS_ROUTES')

export const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : undefined

/** Text of others for a terminal: control characters, and those that change the direction of
 *  writing, become visible escapes. */
export const printable = (text: string): string =>
  text.replace(UNSAFE, char => `\\u${(char.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`)
const UNSAFE = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu

/** Whether a text is a day of the calendar, such as 2026-02-28: Date.parse reads 31 February as 3
 *  March. */
export const isDay = (text: string): boolean => {
  const at = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) : Number.NaN
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(text)
}
/** ms since 1970 of a date, or of a time with its offset from UTC; NaN for any other text. */
export const instantIn = (text: string): number => {
  const [, day = ''] = /^(\d{4}-\d\d-\d\d)(T[\d:.]+(Z|[+-]\d\d:\d\d))?$/.exec(text) ?? []
  return isDay(day) ? Date.parse(text) : Number.NaN
}

/** ms since 1970 of `--since`: a time before now (`90s 30m 2h 7d`), a date or a time. */
export const sinceOf = (text: string | undefined, now = Date.now()): number | undefined => {
  if (text === undefined) return undefined
  if (/^\d{1,6}[smhd]$/.test(text)) return now - amountIn(text, DURATIONS)
  const at = instantIn(text)
  if (!Number.isNaN(at)) return at
  throw new UsageError('--since must be a time such as 2h, 7d, 2026-11-01 or 2026-11-01T12:00:00Z')
}
/** A whole number from 1 to `most`, as in `--top 20`. */
export const countOf = (
  text: string | undefined,
  option: string,
  most: number,
): number | undefined => {
  if (text === undefined) return undefined
  const count = /^\d{1,9}$/.test(text) ? Number(text) : 0
  if (count >= 1 && count <= most) return count
  throw new UsageError(`--${option} must be a whole number from 1 to ${most}`)
}

/** Formats rows as lines, with cells in columns of equal width. */
export const columns = (rows: readonly (readonly string[])[]): string[] => {
  const widths: number[] = []
  for (const row of rows)
    for (const [index, cell] of row.entries())
      widths[index] = Math.max(widths[index] ?? 0, cell.length)
  return rows.map(row =>
    row
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}
