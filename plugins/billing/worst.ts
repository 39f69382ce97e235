/** The most a call can cost, over everything that is not decided before it runs: what a hold takes. Pure. */
import type { Meter } from '../slots.ts'
import { type Bounds, knownBefore, least, type Mosts, mostsOf } from './bounds.ts'
import { holds } from './condition.ts'
import type { Known } from './known.ts'
import type { RuleLine } from './line.ts'
import { isIncluded, METERS, SUM_OF } from './meters.ts'
import type { Rule } from './rule.ts'
import {
  amountOf,
  type Line,
  partsOf,
  printQuantity,
  productOf,
  type Summer,
  summer,
  termsOf,
} from './sum.ts'
import { choose, type Found } from './table.ts'
import type { Facts } from './usage.ts'

export interface Worst {
  readonly nanos: bigint
  /** Meters that cost something and that nothing bounds: a bound or `max_calls` is missing. The nanos do without them. */
  readonly unbounded: readonly Meter[]
  /** Meters that this call can use and that then have no price: an attribute in no table, a tool without a line. */
  readonly unpriced: readonly Meter[]
}
export interface Quote extends Worst {
  /** How it comes about. They add up to it. */
  readonly lines: readonly Line[]
}

/** Never less than `price` of any usage within the bounds, if the facts known now are the facts then. */
export const worst = (rule: Rule, bounds: Bounds, facts: Facts): Worst => {
  const { nanos, unbounded, unpriced } = reckon(rule, bounds, facts, false)
  return { nanos, unbounded, unpriced }
}
/** The same with its lines, for whoever asks what a call may cost. */
export const quote = (rule: Rule, bounds: Bounds, facts: Facts): Quote =>
  reckon(rule, bounds, facts, true)

const reckon = (rule: Rule, bounds: Bounds, facts: Facts, lines: boolean): Quote => {
  if (rule.free) return { nanos: 0n, lines: [], unbounded: [], unpriced: [] }
  const mosts = mostsOf(bounds, rule)
  const known = knownBefore(mosts, facts)
  const steep: Steep[] = []
  for (const [meter, priced] of rule.priced) {
    const most = mosts.home(meter)
    if (most !== 0n) steep.push(steepest(meter, most, priced.lines, rule, known))
  }
  const sum = summer(rule, lines)
  for (const [each, taken] of allotted(steep, mosts)) addLine(sum, each, taken, rule)
  sum.close()
  const boundless = steep.filter(({ most, dearest }) => most === undefined && dearest > 0n)
  const uncertain = steep.filter(({ certain }) => !certain)
  return {
    ...{ nanos: sum.nanos(), lines: sum.lines },
    unbounded: boundless.map(({ meter }) => meter),
    unpriced: [...uncertain.map(({ meter }) => meter), ...asked(rule, bounds)],
  }
}

/** A meter with the prices it may meet. */
interface Steep {
  readonly meter: Meter
  /** In millionths. */
  readonly most: bigint | undefined
  readonly choices: readonly { readonly line: RuleLine; readonly found: Found }[]
  /** What a millionth costs at most, in parts. */
  readonly dearest: bigint
  /** Whatever the attributes turn out to be, there is a price. */
  readonly certain: boolean
}
const steepest = (
  meter: Meter,
  most: bigint | undefined,
  all: readonly RuleLine[],
  rule: Rule,
  known: Known,
): Steep => {
  const lines = possible(all, known).map(line => ({
    line,
    choice: choose(line.table, line.by, known),
  }))
  const choices = lines.flatMap(({ line, choice }) => choice.rates.map(found => ({ line, found })))
  const dearest = choices.map(({ found }) => productOf(1n, found.rate, rule)).reduce(larger, 0n)
  return { meter, most, choices, dearest, certain: lines.every(({ choice }) => choice.certain) }
}
const larger = (one: bigint, other: bigint): bigint => (other > one ? other : one)
/** Up to the first line that holds whatever happens. */
const possible = (all: readonly RuleLine[], known: Known): readonly RuleLine[] => {
  const lines: RuleLine[] = []
  for (const line of all) {
    const whether = holds(line.when, known)
    if (whether !== false) lines.push(line)
    if (whether) break
  }
  return lines
}

interface Part {
  readonly quantity: bigint
  /** Nobody shares its bound: it costs the most where there is the most of it. */
  readonly alone: boolean
}
/** What is read cannot be all of it cached and all of it new: a sum is filled with its dearest meters first. */
const allotted = (steep: readonly Steep[], mosts: Mosts): ReadonlyMap<Steep, Part> => {
  const parts = new Map<Steep, Part>()
  for (const [sum, members] of Map.groupBy(steep, ({ meter }) => SUM_OF[meter])) {
    const alone = sum === undefined || members.length === 1
    let left = sum && mosts.sum(sum)
    for (const each of members.toSorted(byPrice)) {
      const quantity = least(each.most, left) ?? 0n
      parts.set(each, { quantity, alone })
      if (left !== undefined) left -= quantity
    }
  }
  // In the order of a receipt, whoever was filled first.
  return new Map(steep.map(each => [each, parts.get(each) ?? { quantity: 0n, alone: true }]))
}
const byPrice = (one: Steep, other: Steep): number =>
  Number(other.dearest > one.dearest) - Number(other.dearest < one.dearest)

const addLine = (sum: Summer, steep: Steep, { quantity, alone }: Part, rule: Rule): void => {
  // Of a shared bound nobody knows who takes what: a minimum and a step may come on top for each.
  const extras = steep.choices.map(({ line }) => partsOf(line.min + line.step, rule))
  const extra = alone ? 0n : extras.reduce(larger, 0n)
  let dearest: Cost | undefined
  for (const { line, found } of steep.choices) {
    const product = productOf(quantity, found.rate, rule)
    const amount = alone ? amountOf(product, line, rule) : product + extra
    if (!dearest || amount > dearest.amount) dearest = { line, found, amount }
  }
  if (!dearest || (quantity === 0n && dearest.amount === 0n)) return
  const { line, found, amount } = dearest
  sum.add(amount, () => ({
    ...{ meter: steep.meter, quantity: printQuantity(quantity) },
    ...termsOf(line, found, line.min > 0n),
  }))
}
interface Cost {
  readonly line: RuleLine
  readonly found: Found
  readonly amount: bigint
}

/** Meters the request is said to use, with no line for them. */
const asked = ({ priced, homes }: Rule, { meters }: Bounds): readonly Meter[] =>
  meters
    ? METERS.filter(meter => meters[meter] && !homes.has(meter) && !isIncluded(meter, priced))
    : []

/** How many tokens may be written for this much: 0 also where not even the reading is covered. */
export const coverable = (rule: Rule, bounds: Bounds, facts: Facts, available: bigint): number => {
  const covers = (completion: number): boolean =>
    worst(rule, { ...bounds, completion }, facts).nanos <= available
  let [low, high] = [0, Math.floor(bounds.completion ?? MOST_WRITTEN)]
  if (!covers(low)) return 0
  // The worst price never falls as the bound grows: a search by halves.
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (covers(middle)) low = middle
    else high = middle - 1
  }
  return low
}
const MOST_WRITTEN = 1e9
