/** Computes the price of a call a second time from the options alone: with fractions, and without
 *  code of plugins/billing. */
import type { Meter } from '../../../plugins/slots.ts'
import { RATES } from '../../helpers/money/billing.ts'
import type { Call, LineOptions, Prices, RuleOptions } from './random-rules.ts'

interface Fraction {
  readonly over: bigint
  readonly under: bigint
}
const whole = (number: bigint): Fraction => ({ over: number, under: 1n })
const fraction = (text: string): Fraction => {
  const [integer = '0', decimals = ''] = text.split('.')
  return { over: BigInt(integer + decimals), under: 10n ** BigInt(decimals.length) }
}
const times = (a: Fraction, b: Fraction): Fraction => ({
  over: a.over * b.over,
  under: a.under * b.under,
})
const plus = (a: Fraction, b: Fraction): Fraction => ({
  over: a.over * b.under + b.over * a.under,
  under: a.under * b.under,
})
const less = (a: Fraction, b: Fraction): boolean => a.over * b.under < b.over * a.under

const PROMPT = [
  'input',
  'cached',
  'cached_audio',
  'cached_image',
  'cache_write',
  'cache_write_1h',
  'audio_input',
  'image_input',
  'transcription_input',
]
const COMPLETION = [
  'output',
  'thinking',
  'audio_output',
  'image_output',
  'video_output',
  'transcription_output',
]
const CHAINS: Readonly<Record<string, readonly Meter[]>> = {
  cached: ['input'],
  cached_audio: ['cached', 'input'],
  cached_image: ['cached', 'input'],
  cache_write: ['input'],
  cache_write_1h: ['cache_write', 'input'],
  audio_input: ['input'],
  image_input: ['input'],
  thinking: ['output'],
  audio_output: ['output'],
  image_output: ['output'],
  video_output: ['output'],
  transcription_input: ['audio_input', 'input'],
  transcription_output: ['output'],
}

/** Returns nanos. */
export const oracle = ({ lines, min, discount }: RuleOptions, call: Call): bigint => {
  const quantities = new Map<Meter, Fraction>()
  for (const [meter, text] of Object.entries({ calls: '1', ...call.meters })) {
    const homes = [meter as Meter, ...(CHAINS[meter] ?? [])]
    const home = homes.find(each => lines.some(line => line.meter === each))
    if (home && fraction(text).over > 0n)
      quantities.set(home, plus(quantities.get(home) ?? whole(0n), fraction(text)))
  }
  let sum = whole(0n)
  let any = false
  for (const [meter, quantity] of quantities) {
    const line = lines.find(each => each.meter === meter && holds(each.when ?? {}, call))
    const leaf = line && leafOf(line, call)
    if (!line || leaf === undefined) continue
    any = true
    sum = plus(sum, amountOf(line, leaf, quantity))
  }
  if (any && discount && holds(discount.when ?? {}, call))
    sum = roundUp(times(sum, fraction(discount.factor)), discount.step)
  if (any && min !== undefined && less(sum, worth(min))) sum = worth(min)
  const nanos = times(sum, whole(1_000_000_000n))
  return (nanos.over * 2n + nanos.under) / (nanos.under * 2n)
}

const amountOf = (line: LineOptions, leaf: string, quantity: Fraction): Fraction => {
  const amount = roundUp(times(quantity, worth(leaf)), line.step)
  return line.min !== undefined && less(amount, worth(line.min)) ? worth(line.min) : amount
}
const roundUp = (amount: Fraction, multiple = '0'): Fraction => {
  const step = worth(multiple)
  if (step.over === 0n) return amount
  const [over, under] = [amount.over * step.under, amount.under * step.over]
  return times(step, whole(over / under + (over % under === 0n ? 0n : 1n)))
}
/** Converts `2.00 USD / 1M` to yuan per unit. */
const worth = (text: string): Fraction => {
  const [amount = '', per = '1'] = text.split('/').map(part => part.trim())
  const [digits = '', code = 'CNY'] = amount.split(' ')
  const rate = fraction({ CNY: '1', ...RATES }[code] ?? '')
  const many = BigInt(per.replace('k', '000').replace('M', '000000'))
  return times(times(fraction(digits), rate), { over: 1n, under: many })
}
const leafOf = ({ by = [], price }: LineOptions, { attributes }: Call): string | undefined => {
  let at: Prices | undefined = price
  for (const name of by) {
    const value = attributes[name]
    if (typeof at !== 'object') return undefined
    const key = String(value)
    at = Object.hasOwn(at, key) ? at[key] : at.default
  }
  return typeof at === 'string' ? at : undefined
}

const holds = (when: Readonly<Record<string, unknown>>, call: Call): boolean =>
  Object.entries(when).every(([name, expected]) => {
    if (name === 'time') return inTime(String(expected), call.at)
    if (name === 'weekdays') return onDay(expected, when.time, call.at)
    if (typeof expected === 'string' && /^[<>]/.test(expected))
      return matchesComparison(expected, name, call)
    const value = call.attributes[name] ?? false
    return (Array.isArray(expected) ? expected : [expected]).map(String).includes(String(value))
  })
const matchesComparison = (
  expected: string,
  name: string,
  { meters, attributes }: Call,
): boolean => {
  const members = { prompt: PROMPT, completion: COMPLETION }[name] ?? [name]
  const texts = members.map(each => meters[each as Meter] ?? (each === 'calls' ? '1' : '0'))
  const attribute = attributes[name]
  const quantity = name === 'duration' ? String(attribute ?? 'x') : undefined
  if (quantity === 'x') return false
  const sum = (quantity === undefined ? texts : [quantity])
    .map(fraction)
    .reduce((a, b) => plus(a, b), whole(0n))
  return [...expected.matchAll(/([<>]=?) (\d+)/g)].every(([, sign, digits = '']) => {
    const limit = whole(BigInt(digits))
    if (sign === '>') return less(limit, sum)
    if (sign === '<') return less(sum, limit)
    return sign === '>=' ? !less(sum, limit) : !less(limit, sum)
  })
}
/** Compares hours and minutes in the time zone of the rule. */
const inTime = (expected: string, at: number): boolean => {
  const [hours = '', zone] = expected.split(' ')
  const [from = '', to = ''] = hours.split('-')
  const clock = onTheWall(at, zone).toISOString().slice(11, 16)
  return from < to ? from <= clock && clock < to : from <= clock || clock < to
}
const onTheWall = (at: number, zone = 'UTC'): Date => {
  if (zone === 'UTC') return new Date(at)
  const east = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(4))
  return new Date(at + (zone.startsWith('-') ? -east : east) * 60_000)
}
const WEEK = 'mon tue wed thu fri sat sun mon tue wed thu fri sat sun'
/** Compares weekdays in the time zone of the rule. */
const onDay = (expected: unknown, time: unknown, at: number): boolean => {
  const text = Array.isArray(expected) ? expected.join(', ') : String(expected)
  const [, zone = typeof time === 'string' ? time.split(' ')[1] : undefined] =
    / (UTC|[-+]\S+)$/.exec(text) ?? []
  const today = onTheWall(at, zone).toUTCString().slice(0, 3).toLowerCase()
  return [...text.matchAll(/([a-z]{3})(?:-([a-z]{3}))?/g)].some(([, first = '', last = first]) => {
    const from = WEEK.indexOf(first)
    return WEEK.slice(from, WEEK.indexOf(last, from) + 3).includes(today)
  })
}
