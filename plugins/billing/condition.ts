/** When a line of a price holds: `{ prompt: '> 200k' }`, `{ off_peak: true }`, `{ time: '22:00-06:00 +08:00' }`. Pure. */
import { parseDecimal, printDecimal } from './decimal.ts'
import { type Known, numberOf, type Range } from './known.ts'
import { isMeter, isSum } from './meters.ts'
import { isFields, messageOf, type Say, type Where } from './problems.ts'
import { QUANTITY_PLACES } from './usage.ts'

export type Condition =
  | {
      readonly kind: 'range'
      readonly name: string
      /** In millionths, both included. */
      readonly from: bigint
      readonly to: bigint | undefined
    }
  | { readonly kind: 'one'; readonly name: string; readonly values: readonly string[] }
  /** Minutes of the day; `to` is not included, and may lie before `from`. `offset`: minutes east of UTC. */
  | {
      readonly kind: 'time'
      readonly from: number
      readonly to: number
      readonly offset: number
    }

export const ATTRIBUTE = /^[a-z][a-z0-9_]*$/

/** Undefined: some of it cannot be meant, and was said. */
export const compileWhen = (
  given: unknown,
  where: Where,
  say: Say,
): readonly Condition[] | undefined => {
  if (given === undefined) return []
  if (!isFields(given) || Object.keys(given).length === 0) {
    say(where, 'PRICE_WHEN', "a condition is a map such as { prompt: '> 200k' }")
    return undefined
  }
  const conditions = Object.entries(given).map(([name, value]) => {
    try {
      return compileCondition(name, value)
    } catch (thrown) {
      say([...where, name], 'PRICE_WHEN', messageOf(thrown))
      return undefined
    }
  })
  return conditions.every(each => each !== undefined) ? conditions : undefined
}

const compileCondition = (name: string, value: unknown): Condition => {
  if (name === 'time') return compileTime(value)
  if (isMeter(name) || isSum(name)) return compileRange(name, value)
  if (!ATTRIBUTE.test(name)) throw new Error(`"${name}" is neither a meter nor an attribute`)
  if (typeof value === 'string' && /^\s*[<>=]/.test(value)) return compileRange(name, value)
  const values = Array.isArray(value) ? value : [value]
  if (values.length === 0 || !values.every(isValue))
    throw new Error(
      'an attribute is compared with a text, a number, true, false, or a list of them',
    )
  return { kind: 'one', name, values: values.map(String) }
}
const isValue = (value: unknown): boolean =>
  typeof value === 'boolean' ||
  (typeof value === 'number' && Number.isFinite(value)) ||
  (typeof value === 'string' && /^[^<>=\s]/.test(value))

const STEP = /\s*([<>]=?)\s*([0-9.]+)([kM])?/y
const ONE_MORE = 1n
const MOST = 10n ** BigInt(12 + QUANTITY_PLACES)
/** `> 200k`, `<= 32k`, `> 32k <= 200k`. Quantities are whole millionths, so every bound can be an included one. */
const compileRange = (name: string, value: unknown): Condition => {
  if (typeof value === 'number') return { kind: 'range', name, ...exactly(limitOf(value)) }
  const text = typeof value === 'string' ? value.trim() : ''
  const steps = [...text.matchAll(new RegExp(STEP, 'gy'))]
  const read = steps.reduce((sum, [whole]) => sum + whole.length, 0)
  if (steps.length === 0 || steps.length > 2 || read < text.length)
    throw new Error(`"${name}" is compared as in '> 200k', '<= 32k' or '> 32k <= 200k'`)
  let [from, to]: [bigint, bigint | undefined] = [0n, undefined]
  for (const [, sign = '', digits = '', suffix] of steps) {
    const limit = limitOf(digits, suffix)
    if (sign === '>' || sign === '>=') from = larger(from, sign === '>' ? limit + ONE_MORE : limit)
    else to = smaller(to, sign === '<' ? limit - ONE_MORE : limit)
  }
  if (from > MOST || (to !== undefined && to < from)) throw new Error(`nothing is ${text}`)
  return { kind: 'range', name, from, to }
}
const exactly = (limit: bigint) => ({ from: limit, to: limit })
const larger = (one: bigint, other: bigint): bigint => (one > other ? one : other)
const smaller = (one: bigint | undefined, other: bigint): bigint =>
  one === undefined || other < one ? other : one
const limitOf = (digits: unknown, suffix?: string): bigint => {
  const times = suffix === 'M' ? 1_000_000n : suffix === 'k' ? 1_000n : 1n
  const limit = parseDecimal(digits, { places: QUANTITY_PLACES, most: MOST }) * times
  if (limit > MOST) throw new Error(`${digits}${suffix} is more than any call can use`)
  return limit
}

const TIME =
  /^([01][0-9]|2[0-3]):([0-5][0-9])-([01][0-9]|2[0-3]):([0-5][0-9])(?: (UTC|([-+])(0[0-9]|1[0-4]):([0-5][0-9])))?$/
const compileTime = (value: unknown): Condition => {
  const match = TIME.exec(typeof value === 'string' ? value : '')
  if (!match)
    throw new Error("a time of day is written as in '22:00-06:00' (UTC) or '22:00-06:00 +08:00'")
  const [, fromHour, fromMinute, toHour, toMinute, , sign, hours = 0, minutes = 0] = match
  const [from, to] = [minuteOf(fromHour, fromMinute), minuteOf(toHour, toMinute)]
  if (from === to) throw new Error('a time of day that begins when it ends')
  const offset = minuteOf(hours, minutes)
  return { kind: 'time', from, to, offset: sign === '-' ? 0 - offset : offset }
}
const minuteOf = (hours: unknown, minutes: unknown): number => Number(hours) * 60 + Number(minutes)

/** Undefined: what is known does not decide it. */
export const holds = (conditions: readonly Condition[], known: Known): boolean | undefined => {
  let all: boolean | undefined = true
  for (const each of conditions) {
    const one = holdsOne(each, known)
    if (one === false) return false
    if (one === undefined) all = undefined
  }
  return all
}
const holdsOne = (condition: Condition, known: Known): boolean | undefined => {
  if (condition.kind === 'time') return isWithin(condition, known.at)
  const { name } = condition
  if (condition.kind === 'range' && (isMeter(name) || isSum(name)))
    return overlap(condition, known.quantity(name))
  const value = known.attribute(name)
  if (value === undefined && known.open) return undefined
  // A flag that nobody sets is not set.
  if (condition.kind === 'one') return condition.values.includes(value ?? 'false')
  const number = value === undefined ? undefined : numberOf(value)
  return number !== undefined && overlap(condition, { least: number, most: number })
}

const overlap = (
  { from, to }: Extract<Condition, { kind: 'range' }>,
  { least, most }: Range,
): boolean | undefined => {
  if ((most !== undefined && most < from) || (to !== undefined && least > to)) return false
  const inside = least >= from && (to === undefined || (most !== undefined && most <= to))
  return inside || undefined
}
const isWithin = (
  { from, to, offset }: Extract<Condition, { kind: 'time' }>,
  at: number,
): boolean => {
  const day = 24 * 60
  const minute = (((Math.floor(at / 60_000) + offset) % day) + day) % day
  return from < to ? minute >= from && minute < to : minute >= from || minute < to
}

/** As options that compile to the same. */
export const printWhen = (
  conditions: readonly Condition[],
): Readonly<Record<string, string | readonly string[]>> =>
  Object.fromEntries(
    conditions.map(each => [each.kind === 'time' ? 'time' : each.name, printOne(each)]),
  )
const printOne = (condition: Condition): string | readonly string[] => {
  if (condition.kind === 'one') return condition.values
  if (condition.kind === 'time') {
    const { from, to, offset } = condition
    const sign = offset < 0 ? '-' : '+'
    return `${clock(from)}-${clock(to)} ${sign}${clock(Math.abs(offset))}`
  }
  const { from, to } = condition
  const upper = to === undefined ? '' : ` <= ${printDecimal(to, QUANTITY_PLACES)}`
  return `>= ${printDecimal(from, QUANTITY_PLACES)}${upper}`
}
const clock = (minutes: number): string => `${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`
const two = (number: number): string => String(number).padStart(2, '0')
