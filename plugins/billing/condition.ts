/** Conditions of price lines: `{ prompt: '> 200k' }`, `{ off_peak: true }`,
 *  `{ weekdays: [sat, sun] }`. Pure. */
import { isFields } from '../../engine/kit.ts'
import { isTier, usualName } from '../formats/tiers.ts'
import {
  compileTime,
  compileWeekdays,
  isAt,
  printAt,
  type TimeOfDay,
  type Weekdays,
} from './calendar.ts'
import { parseDecimal, printDecimal } from './decimal.ts'
import { isMeter, isSum } from './meters.ts'
import { numberOf, type PricingFacts, type Range } from './pricing-facts.ts'
import { type Fields, messageOf, type ReportProblem, type Where } from './problems.ts'
import { QUANTITY_PLACES } from './usage.ts'

export type Condition =
  | {
      readonly kind: 'range'
      readonly name: string
      /** In millionths, both inclusive. */
      readonly from: bigint
      readonly to: bigint | undefined
    }
  | { readonly kind: 'one'; readonly name: string; readonly values: readonly string[] }
  | TimeOfDay
  | Weekdays

export const ATTRIBUTE = /^[a-z][a-z0-9_]*$/

/** Undefined: invalid; every problem is reported. */
export const compileWhen = (
  options: unknown,
  where: Where,
  report: ReportProblem,
): readonly Condition[] | undefined => {
  if (options === undefined) return []
  if (!isFields(options) || Object.keys(options).length === 0) {
    report(where, 'PRICE_WHEN', "a condition is a map such as { prompt: '> 200k' }")
    return undefined
  }
  const conditions = Object.entries(options).map(([name, value]) => {
    try {
      return compileCondition(name, value, options)
    } catch (error) {
      report([...where, name], 'PRICE_WHEN', messageOf(error))
      return undefined
    }
  })
  return conditions.every(each => each !== undefined) ? conditions : undefined
}

const compileCondition = (name: string, value: unknown, { time }: Fields): Condition => {
  if (name === 'time') return compileTime(value)
  if (name === 'weekdays') return compileWeekdays(value, time)
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

const COMPARISON = /\s*([<>]=?)\s*([0-9.]+)([kM])?/y
/** The smallest difference of two quantities. */
const MILLIONTH = 1n
const MAX_QUANTITY = 10n ** BigInt(12 + QUANTITY_PLACES)
/** `> 200k`, `<= 32k`, `> 32k <= 200k`. Quantities are whole millionths, so an exclusive bound is
 *  an inclusive one beside it. */
const compileRange = (name: string, value: unknown): Condition => {
  if (typeof value === 'number') return { kind: 'range', name, ...exactRange(limitOf(value)) }
  const text = typeof value === 'string' ? value.trim() : ''
  const steps = [...text.matchAll(new RegExp(COMPARISON, 'gy'))]
  const matchedLength = steps.reduce((sum, [whole]) => sum + whole.length, 0)
  if (steps.length === 0 || steps.length > 2 || matchedLength < text.length)
    throw new Error(`"${name}" is compared as in '> 200k', '<= 32k' or '> 32k <= 200k'`)
  let [from, to]: [bigint, bigint | undefined] = [0n, undefined]
  for (const [, sign = '', digits = '', suffix] of steps) {
    const limit = limitOf(digits, suffix)
    if (sign === '>' || sign === '>=') from = larger(from, sign === '>' ? limit + MILLIONTH : limit)
    else to = smaller(to, sign === '<' ? limit - MILLIONTH : limit)
  }
  if (from > MAX_QUANTITY || (to !== undefined && to < from)) throw new Error(`nothing is ${text}`)
  return { kind: 'range', name, from, to }
}
const exactRange = (limit: bigint) => ({ from: limit, to: limit })
const larger = (one: bigint, other: bigint): bigint => (one > other ? one : other)
const smaller = (one: bigint | undefined, other: bigint): bigint =>
  one === undefined || other < one ? other : one
const limitOf = (digits: unknown, suffix?: string): bigint => {
  const times = suffix === 'M' ? 1_000_000n : suffix === 'k' ? 1_000n : 1n
  const limit = parseDecimal(digits, { places: QUANTITY_PLACES, most: MAX_QUANTITY }) * times
  if (limit > MAX_QUANTITY) throw new Error(`${digits}${suffix} is more than any call can use`)
  return limit
}

/** Whether all conditions hold. Undefined: the facts do not decide it. */
export const holds = (
  conditions: readonly Condition[],
  facts: PricingFacts,
): boolean | undefined => {
  let all: boolean | undefined = true
  for (const each of conditions) {
    const one = isSatisfied(each, facts)
    if (one === false) return false
    if (one === undefined) all = undefined
  }
  return all
}
const isSatisfied = (condition: Condition, facts: PricingFacts): boolean | undefined => {
  if (condition.kind === 'time' || condition.kind === 'weekdays') return isAt(condition, facts.at)
  const { name } = condition
  if (condition.kind === 'range' && (isMeter(name) || isSum(name)))
    return overlap(condition, facts.quantity(name))
  const values = facts.attribute(name)
  if (values === 'any') return undefined
  const results = values.map(value => isSatisfiedBy(condition, value))
  return results.every(each => each === results[0]) ? results[0] : undefined
}
const isSatisfiedBy = (
  condition: Extract<Condition, { kind: 'range' | 'one' }>,
  value: string | undefined,
): boolean | undefined => {
  const { name } = condition
  if (condition.kind === 'one' && isTier(name, value)) {
    const tier = usualName(name, value)
    return condition.values.some(each => usualName(name, each) === tier)
  }
  // An absent flag counts as false.
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
/** Prints options that compile to the same conditions. */
export const printWhen = (
  conditions: readonly Condition[],
): Readonly<Record<string, string | readonly string[]>> =>
  Object.fromEntries(
    conditions.map(each => ['name' in each ? each.name : each.kind, printOne(each)]),
  )
const printOne = (condition: Condition): string | readonly string[] => {
  if (condition.kind === 'one') return condition.values
  if (condition.kind !== 'range') return printAt(condition)
  const { from, to } = condition
  const upper = to === undefined ? [] : [printBound('<', to, to % UNIT === UNIT - MILLIONTH)]
  const isLowest = from === 0n && to !== undefined
  const lower = isLowest ? [] : [printBound('>', from, from % UNIT === MILLIONTH)]
  return [...lower, ...upper].join(' ')
}
const UNIT = 10n ** BigInt(QUANTITY_PLACES)
/** `> 200k` rather than `>= 200000.000001`: the bound beside a whole number was exclusive. */
const printBound = (sign: '<' | '>', bound: bigint, isExclusive: boolean): string => {
  if (!isExclusive) return `${sign}= ${printLimit(bound)}`
  return `${sign} ${printLimit(sign === '>' ? bound - MILLIONTH : bound + MILLIONTH)}`
}
const SUFFIXES = [
  ['M', 1_000_000n],
  ['k', 1_000n],
] as const
const printLimit = (limit: bigint): string => {
  const [suffix, times] = SUFFIXES.find(
    ([, each]) => limit > 0n && limit % (each * UNIT) === 0n,
  ) ?? ['', 1n]
  return printDecimal(limit / times, QUANTITY_PLACES) + suffix
}
