/** Compiles a billing rule, and freezes its text for the hold of a call. Pure. */
import { errors } from '../../engine/errors.ts'
import { isFields } from '../../engine/kit.ts'
import type { Report } from '../../engine/plugin.ts'
import type { PricedTiers } from '../formats/tiers.ts'
import type { Meter } from '../slots.ts'
import type { Currency } from './currency.ts'
import { compileDiscount, type Discount, parseFactor, printDiscount } from './discount.ts'
import { type FastPrice, fastPriceOf } from './fast-price.ts'
import { compileLine, linesUnder, type PlacedLine, printLine, type RuleLine } from './line.ts'
import { isMeter, METERS, type PricingMeter, pricingMeterOf } from './meters.ts'
import { pricedTiersOf } from './priced-tiers.ts'
import { type Fields, problemReporter, type ReportProblem, type Where } from './problems.ts'
import { compileAmount, type PriceContext, printPrice } from './rate.ts'
import type { BillingOptions } from './schema.ts'
import { ratesIn } from './table.ts'

const fault = errors({
  RULE_UNREADABLE: [503, 'The stored price of this call cannot be read: %s', { expose: false }],
})

export interface Rule {
  readonly free: boolean
  readonly lines: readonly RuleLine[]
  /** The meters that have lines, in the order of a receipt. */
  readonly pricedMeters: ReadonlyMap<Meter, PricedMeter>
  /** The meter that prices each priced meter. */
  readonly pricingMeters: ReadonlyMap<Meter, PricingMeter>
  /** In 1e-18: the minimum of a charge with any line. */
  readonly min: bigint
  /** Applies to the sum of the lines, before the minimum. */
  readonly discount: Discount | undefined
  /** The maximum that a hold assumes if the request sets none. */
  readonly maxCalls: ReadonlyMap<Meter, number>
  /** The least common multiple of all units: every line is a whole number of these parts. */
  readonly parts: bigint
  readonly text: string
  /** The fast path, if the rule allows it. */
  readonly fastPrice: FastPrice | undefined
  /** The tiers that have prices of their own. */
  readonly tiers: PricedTiers
}
interface PricedMeter {
  readonly lines: readonly RuleLine[]
  /** The meters that these lines price: this one, and those without lines whose price it is. */
  readonly coveredMeters: readonly Meter[]
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

const compile = (options: BillingOptions, where: Where, base: PriceContext): Rule | undefined => {
  const { price, free } = options
  let isValid = true
  const report: ReportProblem = (...problem) => {
    isValid = false
    base.report(...problem)
  }
  const context = { ...base, report }
  const maxCalls = compileMaxCalls(options.max_calls, [...where, 'max_calls'], report)
  if (free !== true && price === undefined) report(where, 'PRICE_MISSING')
  if (free === true && price !== undefined) report([...where, 'free'], 'PRICE_AND_FREE')
  const at = [...where, 'price']
  const { placedLines, minimum, discount } =
    price === undefined ? NO_LINES : readLines(price, at, report)
  const lines = placedLines
    .map(each => compileLine(each, context))
    .filter(line => line !== undefined)
  const min = minimum ? compileAmount(minimum.value, minimum.where, context) : 0n
  const reduction = discount && compileDiscount(discount.value, discount.where, context)
  checkOrder(placedLines, report)
  if (!isValid) return undefined
  return ruleOf({ free: free === true, lines, min: min ?? 0n, discount: reduction, maxCalls })
}

const ruleOf = ({
  free,
  lines,
  min,
  discount,
  maxCalls,
}: Pick<Rule, 'free' | 'lines' | 'min' | 'discount' | 'maxCalls'>): Rule => {
  const units = lines.flatMap(({ table }) => ratesIn(table)).map(({ per }) => per)
  const price = [
    ...lines.map(printLine),
    ...(discount ? [{ discount: printDiscount(discount) }] : []),
    ...(min > 0n ? [{ min: printPrice(min) }] : []),
  ]
  const frozenOptions = {
    ...(free ? { free } : { price }),
    ...(maxCalls.size > 0 && { max_calls: Object.fromEntries(maxCalls) }),
  }
  const meters = metersOf(lines)
  return {
    free,
    lines,
    min,
    discount,
    maxCalls,
    ...meters,
    fastPrice: fastPriceOf({ free, min, discount, ...meters }),
    tiers: pricedTiersOf({ lines, discount }),
    parts: units.reduce((one, other) => (one / greatestCommonDivisor(one, other)) * other, 1n),
    text: JSON.stringify(frozenOptions),
  }
}
/** The rule with a factor on the sum of its lines. A rule that has a discount keeps it alone. */
export const reducedRule = (rule: Rule, factor: string): Rule =>
  rule.discount || rule.free
    ? rule
    : ruleOf({ ...rule, discount: { factor: parseFactor(factor), when: [], step: 0n } })
const metersOf = (lines: readonly RuleLine[]): Pick<Rule, 'pricedMeters' | 'pricingMeters'> => {
  const own = Map.groupBy(lines, ({ meter }) => meter)
  const pricingMeters = new Map(
    METERS.flatMap(meter => {
      const pricingMeter = pricingMeterOf(meter, own)
      return pricingMeter ? [[meter, pricingMeter] as const] : []
    }),
  )
  const coveredMeters = (of: Meter) =>
    METERS.filter(meter => pricingMeters.get(meter)?.meter === of)
  const pricedMeters = METERS.filter(meter => own.has(meter)).map(
    meter => [meter, { lines: own.get(meter) ?? [], coveredMeters: coveredMeters(meter) }] as const,
  )
  return { pricedMeters: new Map(pricedMeters), pricingMeters }
}
const greatestCommonDivisor = (one: bigint, other: bigint): bigint =>
  other === 0n ? one : greatestCommonDivisor(other, one % other)

// ---------------------------------------------------------------- freezing

/** The rule as JSON options, in the currency of accounts: a reload does not change them. */
export const freeze = ({ text }: Rule): string => text

/** Throws RULE_UNREADABLE. */
export const thaw = (text: string): Rule => {
  const problems: string[] = []
  const report = problemReporter((where, _, message) =>
    problems.push(`${where.join('.')}: ${message}`),
  )
  const currency = { name: 'FROZEN', rates: new Map([['FROZEN', 1n]]) }
  const rule = compile(parseFrozen(text), [], { currency, report, isFrozen: true })
  if (!rule) throw fault('RULE_UNREADABLE', [problems.join('; ')])
  return rule
}
const parseFrozen = (text: string): Fields => {
  try {
    const value: unknown = JSON.parse(text)
    if (isFields(value)) return value
  } catch {}
  throw fault('RULE_UNREADABLE', ['it is not a JSON object'])
}

// ---------------------------------------------------------------- reading

interface PriceLines {
  readonly placedLines: readonly PlacedLine[]
  readonly minimum?: PlacedValue
  readonly discount?: PlacedValue
}
/** A value with its position in the document. */
interface PlacedValue {
  readonly value: unknown
  readonly where: Where
}
const NO_LINES: PriceLines = { placedLines: [] }

const readLines = (price: unknown, where: Where, report: ReportProblem): PriceLines => {
  const lines = Array.isArray(price) ? readList(price, where, report) : readMap(price, where)
  if (lines.placedLines.length > 0) return lines
  report(where, 'PRICE_SHAPE', 'a price is a map such as { input: 2.00 / 1M }, or a list of lines')
  return NO_LINES
}
/** Keys that apply to the whole charge. */
const WHOLE_KEYS = { min: 'minimum', discount: 'discount' } as const
const isWholeKey = (key: string): key is keyof typeof WHOLE_KEYS => Object.hasOwn(WHOLE_KEYS, key)

const readMap = (price: unknown, where: Where): PriceLines => {
  const entries = Object.entries(isFields(price) ? price : {})
  return {
    placedLines: entries.flatMap(([key, value]) =>
      isWholeKey(key) ? [] : linesUnder(key, value, [...where, key]),
    ),
    ...Object.fromEntries(
      entries.flatMap(([key, value]) =>
        isWholeKey(key) ? [[WHOLE_KEYS[key], { value, where: [...where, key] }]] : [],
      ),
    ),
  }
}
const readList = (price: readonly unknown[], where: Where, report: ReportProblem): PriceLines => {
  const placedLines: PlacedLine[] = []
  const whole: { -readonly [K in 'minimum' | 'discount']?: PlacedValue } = {}
  for (const [index, each] of price.entries()) {
    const at = [...where, index]
    const key = isFields(each) ? Object.keys(each).join() : ''
    if (!isFields(each))
      report(at, 'PRICE_SHAPE', 'a line is a map such as { meter: input, price: 2 }')
    else if (!isWholeKey(key)) {
      const { meter, ...options } = each
      placedLines.push({ where: at, meter, options })
    } else if (whole[WHOLE_KEYS[key]])
      report(
        at,
        'PRICE_SHAPE',
        `the ${WHOLE_KEYS[key]} of the whole is set twice; remove one of them`,
      )
    else whole[WHOLE_KEYS[key]] = { value: each[key], where: [...at, key] }
  }
  return { placedLines, ...whole }
}

/** All lines of a meter but the last must have a condition: then every case has a price, and every
 *  line is reachable. */
const checkOrder = (placedLines: readonly PlacedLine[], report: ReportProblem): void => {
  const knownLines = placedLines.filter(each => isMeter(each.meter))
  for (const [meter, lines] of Map.groupBy(knownLines, each => each.meter))
    for (const [index, { where, options }] of lines.entries()) {
      const last = index === lines.length - 1
      if (!last && options.when === undefined)
        report(
          where,
          'PRICE_ORDER',
          `this line has no \`when\` and takes all ${meter}: the lines after it are never used`,
        )
      if (last && options.when !== undefined)
        report(
          where,
          'PRICE_ORDER',
          `the last line of ${meter} must have no \`when\`, since it prices all other cases`,
        )
    }
}

const compileMaxCalls = (
  options: unknown,
  where: Where,
  report: ReportProblem,
): ReadonlyMap<Meter, number> => {
  const bounds = new Map<Meter, number>()
  if (options === undefined) return bounds
  if (!isFields(options))
    report(where, 'PRICE_MAX_CALLS', 'max_calls is a map such as { web_search: 10 }')
  for (const [meter, most] of Object.entries(isFields(options) ? options : {})) {
    const whole = Number.isInteger(most) && Number(most) >= 0 && Number(most) <= 1_000_000
    if (!isMeter(meter)) report([...where, meter], 'PRICE_MAX_CALLS', `unknown meter "${meter}"`)
    else if (!whole)
      report([...where, meter], 'PRICE_MAX_CALLS', 'a whole number of calls, from 0 to a million')
    else bounds.set(meter, Number(most))
  }
  return bounds
}
