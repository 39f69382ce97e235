/** Computes the worst-case cost of a call over all facts that are unknown before it runs. Pure. */
import type { Meter } from '../slots.ts'
import { type Bounds, factsBeforeCall, type Maximums, maximumsOf, smaller } from './bounds.ts'
import { holds } from './condition.ts'
import type { RuleLine } from './line.ts'
import { isIncluded, METERS, SUM_OF } from './meters.ts'
import type { PricingFacts } from './pricing-facts.ts'
import type { Rule } from './rule.ts'
import {
  amountOf,
  type ChargeSum,
  createSum,
  type Line,
  partsOf,
  printQuantity,
  productOf,
  termsOf,
} from './sum.ts'
import { type Found, lookUp } from './table.ts'
import type { Facts } from './usage.ts'

export interface WorstCase {
  readonly nanos: bigint
  /** Priced meters without a bound or `max_calls`. The nanos do not include them. */
  readonly unbounded: readonly Meter[]
  /** Meters that this call can use without a price: an attribute in no table, a tool without a line. */
  readonly unpriced: readonly Meter[]
}
export interface Quote extends WorstCase {
  /** The lines of the cost; they add up to it. */
  readonly lines: readonly Line[]
}

/** At least the `price` of every usage within the bounds, if the known facts do not change. */
export const worstCase = (rule: Rule, bounds: Bounds, facts: Facts): WorstCase => {
  const { nanos, unbounded, unpriced } = computeWorst(rule, bounds, facts, false)
  return { nanos, unbounded, unpriced }
}
/** The same with its lines. */
export const quote = (rule: Rule, bounds: Bounds, facts: Facts): Quote =>
  computeWorst(rule, bounds, facts, true)

const computeWorst = (rule: Rule, bounds: Bounds, facts: Facts, lines: boolean): Quote => {
  if (rule.free) return { nanos: 0n, lines: [], unbounded: [], unpriced: [] }
  const maximums = maximumsOf(bounds, rule)
  const known = factsBeforeCall(maximums, facts)
  const steep: MeterChoices[] = []
  for (const [meter, priced] of rule.priced) {
    const most = maximums.home(meter)
    if (most !== 0n) steep.push(choicesOf(meter, most, priced.lines, rule, known))
  }
  const sum = createSum(rule, lines)
  for (const [each, taken] of allotQuantities(steep, maximums)) addLine(sum, each, taken, rule)
  sum.close()
  const boundless = steep.filter(
    ({ most, highestPrice }) => most === undefined && highestPrice > 0n,
  )
  const uncertain = steep.filter(({ isCertain }) => !isCertain)
  return {
    nanos: sum.nanos(),
    lines: sum.lines,
    unbounded: boundless.map(({ meter }) => meter),
    unpriced: [...uncertain.map(({ meter }) => meter), ...unpricedMeters(rule, bounds)],
  }
}

/** A meter with all prices that may apply to it. */
interface MeterChoices {
  readonly meter: Meter
  /** In millionths. */
  readonly most: bigint | undefined
  readonly choices: readonly { readonly line: RuleLine; readonly found: Found }[]
  /** The highest price of a millionth, in parts. */
  readonly highestPrice: bigint
  /** Whether every value of the attributes has a price. */
  readonly isCertain: boolean
}
const choicesOf = (
  meter: Meter,
  most: bigint | undefined,
  all: readonly RuleLine[],
  rule: Rule,
  known: PricingFacts,
): MeterChoices => {
  const lines = possible(all, known).map(line => ({
    line,
    choice: lookUp(line.table, line.by, known),
  }))
  const choices = lines.flatMap(({ line, choice }) => choice.rates.map(found => ({ line, found })))
  const dearest = choices.map(({ found }) => productOf(1n, found.rate, rule)).reduce(larger, 0n)
  return {
    meter,
    most,
    choices,
    highestPrice: dearest,
    isCertain: lines.every(({ choice }) => choice.isCertain),
  }
}
const larger = (one: bigint, other: bigint): bigint => (other > one ? other : one)
/** The lines up to the first one whose condition always holds. */
const possible = (all: readonly RuleLine[], known: PricingFacts): readonly RuleLine[] => {
  const lines: RuleLine[] = []
  for (const line of all) {
    const whether = holds(line.when, known)
    if (whether !== false) lines.push(line)
    if (whether) break
  }
  return lines
}

interface Allotment {
  readonly quantity: bigint
  /** No other meter shares its bound: its maximum quantity costs the most. */
  readonly isAlone: boolean
}
/** Members share the bound of their sum: it is filled with the most expensive meters first. */
const allotQuantities = (
  steep: readonly MeterChoices[],
  maximums: Maximums,
): ReadonlyMap<MeterChoices, Allotment> => {
  const parts = new Map<MeterChoices, Allotment>()
  for (const [sum, members] of Map.groupBy(steep, ({ meter }) => SUM_OF[meter])) {
    const isAlone = sum === undefined || members.length === 1
    let left = sum && maximums.sum(sum)
    for (const each of members.toSorted(byPrice)) {
      const quantity = smaller(each.most, left) ?? 0n
      parts.set(each, { quantity, isAlone })
      if (left !== undefined) left -= quantity
    }
  }
  // Restore the order of a receipt.
  return new Map(steep.map(each => [each, parts.get(each) ?? { quantity: 0n, isAlone: true }]))
}
const byPrice = (one: MeterChoices, other: MeterChoices): number =>
  Number(other.highestPrice > one.highestPrice) - Number(other.highestPrice < one.highestPrice)

const addLine = (
  sum: ChargeSum,
  steep: MeterChoices,
  { quantity, isAlone }: Allotment,
  rule: Rule,
): void => {
  // The split of a shared bound is unknown: add the minimum and step of each member.
  const extras = steep.choices.map(({ line }) => partsOf(line.min + line.step, rule))
  const extra = isAlone ? 0n : extras.reduce(larger, 0n)
  let dearest: Cost | undefined
  for (const { line, found } of steep.choices) {
    const product = productOf(quantity, found.rate, rule)
    const amount = isAlone ? amountOf(product, line, rule) : product + extra
    if (!dearest || amount > dearest.amount) dearest = { line, found, amount }
  }
  if (!dearest || (quantity === 0n && dearest.amount === 0n)) return
  const { line, found, amount } = dearest
  sum.add(amount, () => ({
    meter: steep.meter,
    quantity: printQuantity(quantity),
    ...termsOf(line, found, line.min > 0n),
  }))
}
interface Cost {
  readonly line: RuleLine
  readonly found: Found
  readonly amount: bigint
}

/** Meters that the request uses and that no line prices. */
const unpricedMeters = ({ priced, homes }: Rule, { meters }: Bounds): readonly Meter[] =>
  meters
    ? METERS.filter(meter => meters[meter] && !homes.has(meter) && !isIncluded(meter, priced))
    : []

/** The output tokens that `available` nanos cover; 0 also where they do not cover the input. */
export const coverableTokens = (
  rule: Rule,
  bounds: Bounds,
  facts: Facts,
  available: bigint,
): number => {
  const covers = (completion: number): boolean =>
    worstCase(rule, { ...bounds, completion }, facts).nanos <= available
  let [low, high] = [0, Math.floor(bounds.completion ?? MAX_OUTPUT)]
  if (!covers(low)) return 0
  // The worst price never falls as the bound grows: a search by halves.
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (covers(middle)) low = middle
    else high = middle - 1
  }
  return low
}
const MAX_OUTPUT = 1e9
