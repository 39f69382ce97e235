/** Compiles a billing rule, and freezes its text for the hold of a call. Pure. */
import { errors } from '../../engine/errors.ts'
import { isFields } from '../../engine/kit.ts'
import type { Report } from '../../engine/plugin.ts'
import type { Meter } from '../slots.ts'
import type { Currency } from './currency.ts'
import { type FastPrice, fastPriceOf } from './fast-price.ts'
import { compileLine, type Placed, placedUnder, printLine, type RuleLine } from './line.ts'
import { type Home, homeOf, isMeter, METERS } from './meters.ts'
import { type Fields, problemReporter, type ReportProblem, type Where } from './problems.ts'
import { compileAmount, type PriceContext, printPrice } from './rate.ts'
import { ratesIn } from './table.ts'

const fault = errors({
  RULE_UNREADABLE: [503, 'The price frozen onto this call cannot be read: %s', { expose: false }],
})

/** The options of a model, of a route, and of a frozen rule. */
export interface BillingOptions {
  readonly price?: unknown
  readonly free?: boolean
  readonly max_calls?: unknown
}
export interface Rule {
  readonly free: boolean
  readonly lines: readonly RuleLine[]
  /** The meters that have lines, in the order of a receipt. */
  readonly priced: ReadonlyMap<Meter, Priced>
  /** The meter that prices each priced meter. */
  readonly homes: ReadonlyMap<Meter, Home>
  /** In 1e-18: the minimum of the whole, where it has any line. */
  readonly min: bigint
  /** The maximum that a hold assumes where the request sets none. */
  readonly maxCalls: ReadonlyMap<Meter, number>
  /** The least common multiple of all units: in these parts every line is a whole number. */
  readonly parts: bigint
  readonly text: string
  /** The fast path, where the rule allows it. */
  readonly fastPrice: FastPrice | undefined
}
interface Priced {
  readonly lines: readonly RuleLine[]
  /** The meters that these lines price: its own, and those without lines that it stands in for. */
  readonly guests: readonly Meter[]
}
export interface RuleContext {
  readonly currency: Currency
  /** The position of the options in the document. */
  readonly where: Where
  readonly report: Report
}

/** Undefined: invalid. Reports every problem with its position. */
export const compileRule = (
  options: BillingOptions,
  { currency, where, report }: RuleContext,
): Rule | undefined => compile(options, where, { currency, report: problemReporter(report) })

const compile = (options: BillingOptions, where: Where, ground: PriceContext): Rule | undefined => {
  const { price, free } = options
  let isValid = true
  const say: ReportProblem = (...told) => {
    isValid = false
    ground.report(...told)
  }
  const context = { ...ground, report: say }
  const maxCalls = compileMaxCalls(options.max_calls, [...where, 'max_calls'], say)
  if (free !== true && price === undefined) say(where, 'PRICE_MISSING')
  if (free === true && price !== undefined) say([...where, 'free'], 'PRICE_AND_FREE')
  const at = [...where, 'price']
  const { placed, least } = price === undefined ? NOTHING : readLines(price, at, say)
  const lines = placed.map(each => compileLine(each, context)).filter(line => line !== undefined)
  const min = least ? compileAmount(least.amount, least.where, context) : 0n
  checkOrder(placed, say)
  return isValid ? ruleOf(free === true, lines, min ?? 0n, maxCalls) : undefined
}

const ruleOf = (
  free: boolean,
  lines: readonly RuleLine[],
  min: bigint,
  maxCalls: Rule['maxCalls'],
): Rule => {
  const pers = lines.flatMap(({ table }) => ratesIn(table)).map(({ per }) => per)
  const price = [...lines.map(printLine), ...(min > 0n ? [{ min: printPrice(min) }] : [])]
  const frozen = {
    ...(free ? { free } : { price }),
    ...(maxCalls.size > 0 && { max_calls: Object.fromEntries(maxCalls) }),
  }
  const places = placesOf(lines)
  return {
    free,
    lines,
    min,
    maxCalls,
    ...places,
    fastPrice: fastPriceOf({ free, min, ...places }),
    parts: pers.reduce((one, other) => (one / divisor(one, other)) * other, 1n),
    text: JSON.stringify(frozen),
  }
}
const placesOf = (lines: readonly RuleLine[]): Pick<Rule, 'priced' | 'homes'> => {
  const own = Map.groupBy(lines, ({ meter }) => meter)
  const homes = new Map(
    METERS.flatMap(meter => {
      const home = homeOf(meter, own)
      return home ? [[meter, home] as const] : []
    }),
  )
  const guests = (of: Meter) => METERS.filter(meter => homes.get(meter)?.meter === of)
  const priced = METERS.filter(meter => own.has(meter)).map(
    meter => [meter, { lines: own.get(meter) ?? [], guests: guests(meter) }] as const,
  )
  return { priced: new Map(priced), homes }
}
const divisor = (one: bigint, other: bigint): bigint =>
  other === 0n ? one : divisor(other, one % other)

// ---------------------------------------------------------------- freezing

/** The rule as options, converted into the currency of accounts: a reload does not change it. */
export const freeze = ({ text }: Rule): string => text

/** Throws RULE_UNREADABLE. */
export const thaw = (text: string): Rule => {
  const problems: string[] = []
  const say = problemReporter((where, _, message) =>
    problems.push(`${where.join('.')}: ${message}`),
  )
  const currency = { name: 'FROZEN', rates: new Map([['FROZEN', 1n]]) }
  const rule = compile(parseFrozen(text), [], { currency, report: say, frozen: true })
  if (!rule) throw fault('RULE_UNREADABLE', [problems.join('; ')])
  return rule
}
const parseFrozen = (text: string): Fields => {
  try {
    const value: unknown = JSON.parse(text)
    if (isFields(value)) return value
  } catch {}
  throw fault('RULE_UNREADABLE', ['it is no JSON object'])
}

// ---------------------------------------------------------------- reading

interface Lines {
  readonly placed: readonly Placed[]
  readonly least?: { readonly amount: unknown; readonly where: Where }
}
const NOTHING: Lines = { placed: [] }

const readLines = (price: unknown, where: Where, say: ReportProblem): Lines => {
  const lines = Array.isArray(price) ? readList(price, where, say) : readMap(price, where)
  if (lines.placed.length > 0) return lines
  say(where, 'PRICE_SHAPE', 'a price is a map such as { input: 2.00 / 1M }, or a list of lines')
  return NOTHING
}
const readMap = (price: unknown, where: Where): Lines => {
  if (!isFields(price)) return NOTHING
  const { min, ...meters } = price
  return {
    placed: Object.entries(meters).flatMap(([meter, value]) =>
      placedUnder(meter, value, [...where, meter]),
    ),
    ...(min !== undefined && { least: { amount: min, where: [...where, 'min'] } }),
  }
}
const readList = (price: readonly unknown[], where: Where, say: ReportProblem): Lines => {
  const placed: Placed[] = []
  let least: Lines['least']
  for (const [index, each] of price.entries()) {
    const at = [...where, index]
    if (!isFields(each))
      say(at, 'PRICE_SHAPE', 'a line is a map such as { meter: input, price: 2 }')
    else if (Object.keys(each).join() !== 'min') {
      const { meter, ...given } = each
      placed.push({ where: at, meter, given })
    } else if (least)
      say(at, 'PRICE_SHAPE', 'the minimum of the whole is set twice; remove one of them')
    else least = { amount: each.min, where: [...at, 'min'] }
  }
  return { placed, ...(least && { least }) }
}

/** All lines of a meter but the last must have a condition: then every case has a price, and every line is reachable. */
const checkOrder = (placed: readonly Placed[], say: ReportProblem): void => {
  const known = placed.filter(each => isMeter(each.meter))
  for (const [meter, lines] of Map.groupBy(known, each => each.meter))
    for (const [index, { where, given }] of lines.entries()) {
      const last = index === lines.length - 1
      if (!last && given.when === undefined)
        say(
          where,
          'PRICE_ORDER',
          `this line has no \`when\` and takes all ${meter}: the lines after it are never used`,
        )
      if (last && given.when !== undefined)
        say(
          where,
          'PRICE_ORDER',
          `the last line of ${meter} must have no \`when\`, since it prices all other cases`,
        )
    }
}

const compileMaxCalls = (
  given: unknown,
  where: Where,
  say: ReportProblem,
): ReadonlyMap<Meter, number> => {
  const bounds = new Map<Meter, number>()
  if (given === undefined) return bounds
  if (!isFields(given))
    say(where, 'PRICE_MAX_CALLS', 'max_calls is a map such as { web_search: 10 }')
  for (const [meter, most] of Object.entries(isFields(given) ? given : {})) {
    const whole = Number.isInteger(most) && Number(most) >= 0 && Number(most) <= 1_000_000
    if (!isMeter(meter)) say([...where, meter], 'PRICE_MAX_CALLS', `unknown meter "${meter}"`)
    else if (!whole)
      say([...where, meter], 'PRICE_MAX_CALLS', 'a whole number of calls, from 0 to a million')
    else bounds.set(meter, Number(most))
  }
  return bounds
}
