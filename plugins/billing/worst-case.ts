/** Computes the worst-case cost of a call over all quantities that are unknown before it runs.
 *  Pure. */
import { usualName } from '../formats/tiers.ts'
import type { Meter } from '../slots.ts'
import { type Bounds, factsBeforeCall, type Maximums, maximumsOf, smaller } from './bounds.ts'
import { holds } from './condition.ts'
import type { RuleLine } from './line.ts'
import { isIncluded, isToolMeter, METERS, SUM_OF, type Sum } from './meters.ts'
import { price } from './price.ts'
import { type PricingFacts, withServed } from './pricing-facts.ts'
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
import { lookUpAll, type TablePrice } from './table.ts'
import type { Facts } from './usage.ts'

export interface WorstCase {
  readonly nanos: bigint
  /** Priced meters without a bound or `max_calls`. The nanos do not include them. */
  readonly unboundedMeters: readonly Meter[]
  /** Meters that this call can use without a price: an attribute in no table, a tool without a
   *  line. */
  readonly unpriced: readonly Meter[]
}
export interface Quote extends WorstCase {
  /** The lines of the cost; they add up to it. */
  readonly lines: readonly Line[]
}

/** At least the `price` of every usage within the bounds, whatever of the permitted attributes the
 *  answer reports. */
export const worstCase = (rule: Rule, bounds: Bounds, facts: Facts): WorstCase => {
  const { nanos, unboundedMeters, unpriced } = computeWorstCase(rule, bounds, facts, false)
  return { nanos, unboundedMeters, unpriced }
}
/** Splits the meters without a price or a bound: `missingMeters` make a call impossible,
 *  `unpricedTools` cost nothing. */
export const missingPrices = (
  { unpriced, unboundedMeters }: WorstCase,
  { refusesUnpriced }: { readonly refusesUnpriced: boolean },
): { readonly missingMeters: readonly Meter[]; readonly unpricedTools: readonly Meter[] } => {
  const unpricedTools = refusesUnpriced ? [] : unpriced.filter(isToolMeter)
  const refusedMeters = unpriced.filter(meter => !unpricedTools.includes(meter))
  return { missingMeters: [...refusedMeters, ...unboundedMeters], unpricedTools }
}
/** The worst-case cost with its lines. */
export const quote = (rule: Rule, bounds: Bounds, facts: Facts): Quote =>
  computeWorstCase(rule, bounds, facts, true)

const computeWorstCase = (rule: Rule, bounds: Bounds, facts: Facts, withLines: boolean): Quote => {
  if (rule.free) return { nanos: 0n, lines: [], unboundedMeters: [], unpriced: [] }
  const maximums = maximumsOf(bounds, rule)
  const pricingFacts = factsBeforeCall(maximums, facts)
  const candidates: MeterChoices[] = []
  for (const [meter, pricedMeter] of rule.pricedMeters) {
    const most = maximums.pricedTotal(meter)
    if (most !== 0n) candidates.push(choicesOf(meter, most, pricedMeter.lines, rule, pricingFacts))
  }
  const sum = createSum(rule, withLines)
  for (const [each, allotment] of allotQuantities(candidates, maximums))
    addLine(sum, each, allotment, rule)
  sum.discount(holds(rule.discount?.when ?? [], pricingFacts))
  sum.close()
  const unboundedCandidates = candidates.filter(
    ({ most, highestPrice }) => most === undefined && highestPrice > 0n,
  )
  const uncertainCandidates = candidates.filter(({ isCertain }) => !isCertain)
  return {
    nanos: sum.nanos(),
    lines: sum.lines,
    unboundedMeters: unboundedCandidates.map(({ meter }) => meter),
    unpriced: [...uncertainCandidates.map(({ meter }) => meter), ...unpricedMeters(rule, bounds)],
  }
}

/** A meter with all prices that may apply to it. */
interface MeterChoices {
  readonly meter: Meter
  /** In millionths. */
  readonly most: bigint | undefined
  readonly choices: readonly { readonly line: RuleLine; readonly tablePrice: TablePrice }[]
  /** The highest price of a millionth, in parts. */
  readonly highestPrice: bigint
  /** Whether each line that may apply has a price for the attributes of the request. */
  readonly isCertain: boolean
}
const choicesOf = (
  meter: Meter,
  most: bigint | undefined,
  all: readonly RuleLine[],
  rule: Rule,
  pricingFacts: PricingFacts,
): MeterChoices => {
  const lines = possibleLines(all, pricingFacts)
  const lookups = lines.map(line => ({ line, ...lookUpAll(line.table, line.by, pricingFacts) }))
  const choices = lookups.flatMap(({ line, prices }) =>
    prices.map(tablePrice => ({ line, tablePrice })),
  )
  const highestPrice = choices
    .map(({ tablePrice }) => productOf(1n, tablePrice.rate, rule))
    .reduce(larger, 0n)
  return {
    meter,
    most,
    choices,
    highestPrice,
    isCertain: lookups.every(({ isComplete }) => isComplete),
  }
}
const larger = (one: bigint, other: bigint): bigint => (other > one ? other : one)
/** The lines up to the first one whose condition always holds. */
const possibleLines = (
  all: readonly RuleLine[],
  pricingFacts: PricingFacts,
): readonly RuleLine[] => {
  const lines: RuleLine[] = []
  for (const line of all) {
    const doesHold = holds(line.when, pricingFacts)
    if (doesHold !== false) lines.push(line)
    if (doesHold) break
  }
  return lines
}

interface Allotment {
  readonly quantity: bigint
  /** Whether no other meter shares the bound: then the maximum quantity costs the most. */
  readonly isAlone: boolean
}
/** Divides quantities among meters that share the bound of a sum: the most expensive meters
 *  first. */
const allotQuantities = (
  candidates: readonly MeterChoices[],
  maximums: Maximums,
): ReadonlyMap<MeterChoices, Allotment> => {
  const parts = new Map<MeterChoices, Allotment>()
  for (const [sum, members] of Map.groupBy(candidates, ({ meter }) => SUM_OF[meter])) {
    const isAlone = sum === undefined || members.length === 1
    let remaining = sum && maximums.sum(sum)
    for (const each of members.toSorted(byPrice)) {
      const quantity = smaller(each.most, remaining) ?? 0n
      parts.set(each, { quantity, isAlone })
      if (remaining !== undefined) remaining -= quantity
    }
  }
  // Restore the order of a receipt.
  return new Map(candidates.map(each => [each, parts.get(each) ?? { quantity: 0n, isAlone: true }]))
}
const byPrice = (one: MeterChoices, other: MeterChoices): number =>
  Number(other.highestPrice > one.highestPrice) - Number(other.highestPrice < one.highestPrice)

const addLine = (
  sum: ChargeSum,
  candidates: MeterChoices,
  { quantity, isAlone }: Allotment,
  rule: Rule,
): void => {
  // The split of a shared bound is unknown: add the minimum and step of each member.
  const extras = candidates.choices.map(({ line }) => partsOf(line.min + line.step, rule))
  const extra = isAlone ? 0n : extras.reduce(larger, 0n)
  let highestCost: Cost | undefined
  for (const { line, tablePrice } of candidates.choices) {
    const product = productOf(quantity, tablePrice.rate, rule)
    const amount = isAlone ? amountOf(product, line, rule) : product + extra
    if (!highestCost || amount > highestCost.amount) highestCost = { line, tablePrice, amount }
  }
  if (!highestCost || (quantity === 0n && highestCost.amount === 0n)) return
  const { line, tablePrice, amount } = highestCost
  sum.add(amount, () => ({
    meter: candidates.meter,
    quantity: printQuantity(quantity),
    ...termsOf(line, tablePrice, line.min > 0n),
  }))
}
interface Cost {
  readonly line: RuleLine
  readonly tablePrice: TablePrice
  readonly amount: bigint
}

/** Meters that the request uses and that no line prices. */
const unpricedMeters = (
  { pricedMeters, pricingMeters }: Rule,
  { meters }: Bounds,
): readonly Meter[] =>
  meters
    ? METERS.filter(
        meter => meters[meter] && !pricingMeters.has(meter) && !isIncluded(meter, pricedMeters),
      )
    : []

/** A tier that a request names. */
interface NamedTier {
  readonly name: string
  readonly value: string
}
interface CostTerms {
  readonly rule: Rule
  readonly bounds: Bounds
  /** The facts of a hold for those of a request. */
  heldAs(facts: Facts): Facts
}
/** Where a request names a tier in several places, its upstream reads one of them: the hold and the
 *  charge have the value that costs the most. `facts`: those of the request, with one of them. */
export const dearestFactsOf = (
  facts: Facts,
  tiers: readonly NamedTier[],
  { rule, bounds, heldAs }: CostTerms,
): { readonly facts: Facts; readonly heldFacts: Facts } => {
  if (tiers.length < 2) return { facts, heldFacts: heldAs(facts) }
  const permitted = permittedFactsOf(facts, tiers)
  const maximums = maximumsOf(bounds, rule)
  const entries = [...rule.pricedMeters.keys()].map(
    meter => [meter, maximums.pricedTotal(meter) ?? ONE] as const,
  )
  const usage = { quantities: new Map(entries), invalid: [] }
  return {
    facts: dearest(permitted, each => price(usage, rule, each).nanos),
    heldFacts: dearest(permitted.map(heldAs), each => worstCase(rule, bounds, each).nanos),
  }
}
/** A quantity without a bound, in millionths. */
const ONE = 1_000_000n
/** Never empty. */
const permittedFactsOf = (facts: Facts, tiers: readonly NamedTier[]): readonly Facts[] => {
  let permitted: readonly Facts[] = [facts]
  for (const [name, all] of Map.groupBy(tiers, each => each.name)) {
    const values = new Map(all.map(({ value }) => [usualName(name, value), value])).values()
    const attributes = [...values].map(value => ({ [name]: value }))
    permitted = permitted.flatMap(each => attributes.map(one => withServed(each, one)))
  }
  return permitted
}
const dearest = (all: readonly Facts[], costOf: (facts: Facts) => bigint): Facts =>
  all
    .map(facts => ({ facts, cost: costOf(facts) }))
    .reduce((one, other) => (other.cost > one.cost ? other : one)).facts

/** The tokens of a sum that `available` nanos cover; 0 if they do not even cover the other
 *  bounds. */
export const coverableTokens = (
  rule: Rule,
  bounds: Bounds,
  facts: Facts,
  available: bigint,
  sum: Sum = 'completion',
): number => {
  const covers = (tokens: number): boolean =>
    worstCase(rule, { ...bounds, [sum]: tokens }, facts).nanos <= available
  let [low, high] = [0, Math.floor(bounds[sum] ?? MAX_TOKENS)]
  if (!covers(low)) return 0
  // The worst-case cost never falls as the bound grows: binary search.
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (covers(middle)) low = middle
    else high = middle - 1
  }
  return low
}
const MAX_TOKENS = 1e9
