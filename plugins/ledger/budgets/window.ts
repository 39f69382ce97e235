/** The window of a budget: a function of an instant, a period and a zone. Pure. */

import type { PERIODS } from '../../rows/money.ts'

export type Period = (typeof PERIODS)[number]

/** ms since 1970; `end` is exclusive, and undefined for a life. */
export interface Window {
  readonly start: number
  readonly end: number | undefined
}
type DayPeriod = Exclude<Period, 'hour' | 'life'>

const HOUR = 3_600_000
const MONTHS = { month: 1, quarter: 3, year: 12 } as const

/** The window that holds an instant, ms since 1970. Weeks begin on Monday. `zone`: an IANA name. */
export const windowOf = (at: number, period: Period, zone: string): Window => {
  if (period === 'life') return { start: 0, end: undefined }
  const now = Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone)
  if (period === 'hour') return hourOf(at, now)
  const first = firstDay(now.toPlainDate(), period)
  return { start: startOfDay(first, zone), end: startOfDay(dayAfter(first, period), zone) }
}
/** A change of the clock within an hour ends that hour: no instant belongs to two. */
const hourOf = (at: number, now: Temporal.ZonedDateTime): Window => {
  const offset = now.offsetNanoseconds / 1_000_000
  const start = Math.floor((at + offset) / HOUR) * HOUR - offset
  const before = now.add({ nanoseconds: 1 }).getTimeZoneTransition('previous')
  const after = now.getTimeZoneTransition('next')
  return {
    start: Math.max(start, before?.epochMilliseconds ?? start),
    end: Math.min(start + HOUR, after?.epochMilliseconds ?? Infinity),
  }
}
const firstDay = (date: Temporal.PlainDate, period: DayPeriod): Temporal.PlainDate => {
  if (period === 'day') return date
  if (period === 'week') return date.subtract({ days: date.dayOfWeek - 1 })
  const months = MONTHS[period]
  return date.with({ day: 1, month: date.month - ((date.month - 1) % months) })
}
const dayAfter = (first: Temporal.PlainDate, period: DayPeriod): Temporal.PlainDate => {
  if (period === 'day') return first.add({ days: 1 })
  return period === 'week' ? first.add({ days: 7 }) : first.add({ months: MONTHS[period] })
}
const startOfDay = (date: Temporal.PlainDate, zone: string): number =>
  date.toZonedDateTime(zone).epochMilliseconds

/** `2026-12-01T00:00:00+01:00`. */
export const printInstant = (at: number, zone: string): string =>
  Temporal.Instant.fromEpochMilliseconds(at)
    .toZonedDateTimeISO(zone)
    .toString({ timeZoneName: 'never', smallestUnit: 'second' })
