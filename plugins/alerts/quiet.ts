/** Quiet hours: when a message may be sent. Pure. */
import type { Quiet } from './section.ts'

const MINUTE = 60_000
const DAY = 1_440

/** The first time at or after `now` outside the quiet hours; ms since 1970. A change of the clock
 *  within them is followed. */
export const sendTime = (quiet: Quiet | undefined, now: number): number => {
  if (quiet === undefined || !isQuiet(quiet, now)) return now
  const { to, zone } = quiet
  const rest = (to - minuteOfDay(zone, now) + DAY) % DAY
  let at = Math.floor(now / MINUTE + rest) * MINUTE
  // A clock that was set back or forward meanwhile.
  const off = (to - minuteOfDay(zone, at) + DAY) % DAY
  if (off !== 0) at += (off > DAY / 2 ? off - DAY : off) * MINUTE
  return Math.max(at, now)
}

const isQuiet = ({ from, to, zone }: Quiet, now: number): boolean => {
  const minute = minuteOfDay(zone, now)
  return from <= to ? minute >= from && minute < to : minute >= from || minute < to
}

const minuteOfDay = (zone: string, at: number): number => {
  const parts = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  }).format(at)
  return Number(parts.slice(0, 2)) * 60 + Number(parts.slice(3, 5))
}
