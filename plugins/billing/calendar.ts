/** Time conditions of a price: a time of day and days of the week, each at an offset from UTC. They
 *  apply to the start of the call. Also the time zones of options. Pure. */

/** Minutes of the day; `to` is exclusive and may be before `from`. `offset`: minutes east of
 *  UTC. */
export interface TimeOfDay {
  readonly kind: 'time'
  readonly from: number
  readonly to: number
  readonly offset: number
}
/** Days are numbers, Sunday 0. */
export interface Weekdays {
  readonly kind: 'weekdays'
  readonly days: readonly number[]
  readonly offset: number
}
const DAY = 24 * 60
const NAMES = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']

const ZONE = '(?: (UTC|([-+])(0[0-9]|1[0-4]):([0-5][0-9])))?$'
const TIME = new RegExp(`^([01][0-9]|2[0-3]):([0-5][0-9])-([01][0-9]|2[0-3]):([0-5][0-9])${ZONE}`)
export const compileTime = (value: unknown): TimeOfDay => {
  const match = TIME.exec(typeof value === 'string' ? value : '')
  if (!match)
    throw new Error("a time of day is written as in '22:00-06:00' (UTC) or '22:00-06:00 +08:00'")
  const [, fromHour, fromMinute, toHour, toMinute, , ...zone] = match
  const [from, to] = [minuteOf(fromHour, fromMinute), minuteOf(toHour, toMinute)]
  if (from === to) throw new Error('a time of day must not end when it begins')
  return { kind: 'time', from, to, offset: offsetOf(zone) }
}
const minuteOf = (hours: unknown, minutes: unknown): number => Number(hours) * 60 + Number(minutes)
const offsetOf = ([sign, hours = '0', minutes = '0']: readonly (string | undefined)[]): number => {
  const offset = minuteOf(hours, minutes)
  return sign === '-' ? 0 - offset : offset
}

const WEEKDAYS = new RegExp(`^([a-z]{3}(?:-[a-z]{3})?(?:, ?[a-z]{3}(?:-[a-z]{3})?)*)${ZONE}`)
/** `[sat, sun]`, `mon-fri`, `'sat, sun +08:00'`. `time`: the time of day of the same condition; its
 *  offset applies if the weekdays have none. */
export const compileWeekdays = (value: unknown, time: unknown): Weekdays => {
  const text = Array.isArray(value) ? value.join(', ') : value
  const match = WEEKDAYS.exec(typeof text === 'string' ? text : '')
  if (!match)
    throw new Error("weekdays are written as in [sat, sun], 'mon-fri' or 'sat, sun +08:00'")
  const [, list = '', zoneText, ...zone] = match
  const days = list.split(/, ?/).flatMap(daysIn)
  if (new Set(days).size < days.length) throw new Error('a day of the week is named twice')
  if (days.length === NAMES.length)
    throw new Error('these weekdays are all seven days; remove the condition')
  const offset = zoneText === undefined ? offsetOfTime(time) : offsetOf(zone)
  return { kind: 'weekdays', days: days.toSorted(), offset }
}
const offsetOfTime = (time: unknown): number => {
  const [, , , , , , ...zone] = TIME.exec(typeof time === 'string' ? time : '') ?? []
  return offsetOf(zone)
}
const daysIn = (range: string): readonly number[] => {
  const [first = 0, last = first] = range.split('-').map(dayOf)
  const count = ((last - first + NAMES.length) % NAMES.length) + 1
  return Array.from({ length: count }, (_, at) => (first + at) % NAMES.length)
}
const dayOf = (name: string): number => {
  const day = NAMES.indexOf(name)
  if (day < 0) throw new Error(`"${name}" is none of ${NAMES.join(', ')}`)
  return day
}

/** Whether the condition holds. Days begin at midnight at its offset. `at`: ms since 1970. */
export const isAt = (condition: TimeOfDay | Weekdays, at: number): boolean => {
  const minutes = Math.floor(at / 60_000) + condition.offset
  // The first of January 1970 was a Thursday.
  if (condition.kind === 'weekdays')
    return condition.days.includes(modulo(Math.floor(minutes / DAY) + 4, NAMES.length))
  const { from, to } = condition
  const minute = modulo(minutes, DAY)
  return from < to ? minute >= from && minute < to : minute >= from || minute < to
}
const modulo = (number: number, by: number): number => ((number % by) + by) % by

/** Prints a text that compiles to the same condition. */
export const printAt = (condition: TimeOfDay | Weekdays): string => {
  const { offset } = condition
  const zone = `${offset < 0 ? '-' : '+'}${clock(Math.abs(offset))}`
  if (condition.kind === 'time') return `${clock(condition.from)}-${clock(condition.to)} ${zone}`
  return `${condition.days.map(day => NAMES[day]).join(', ')} ${zone}`
}
const clock = (minutes: number): string =>
  `${twoDigits(Math.floor(minutes / 60))}:${twoDigits(minutes % 60)}`
const twoDigits = (number: number): string => String(number).padStart(2, '0')

/** Of an option `zone`. Undefined: an IANA name, or no text at all. */
export const zoneProblem = (zone: unknown): string | undefined => {
  if (typeof zone !== 'string') return undefined
  const advice = 'write an IANA time zone such as Europe/Berlin'
  if (/^(?:[-+\u2212]|\d\d:?\d\d$)/.test(zone))
    return `"${zone}" is an offset, which knows no daylight saving; ${advice}, or UTC`
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone })
    return undefined
  } catch {
    return `"${zone}" is not a time zone; ${advice}`
  }
}
