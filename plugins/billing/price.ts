/** Prices the usage of a call: the exact sum of its lines, rounded once to a nano, half up.
 *  Pure. */
import type { Meter, UsagePart } from '../slots.ts'
import { holds } from './condition.ts'
import type { RuleLine } from './line.ts'
import { groupByPricingMeter, type PricedQuantity } from './priced-quantities.ts'
import { factsAtEnd, type PricingFacts, withServed } from './pricing-facts.ts'
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
import { lookUp } from './table.ts'
import { type ExactUsage, type Facts, toExactUsage } from './usage.ts'

export interface Charge {
  readonly nanos: bigint
  readonly lines: readonly Line[]
  /** Meters without a price, with the price of a cheaper meter, or with an invalid count. Callers
   *  report them to operators. */
  readonly unpriced: readonly Meter[]
}

export const price = (usage: ExactUsage, rule: Rule, facts: Facts): Charge =>
  sumOf([{ usage, facts }], rule)

/** Prices a session, which is one call. */
export const priceParts = (parts: readonly UsagePart[], rule: Rule, facts: Facts): Charge =>
  sumOf(
    parts.map(({ meters, attributes }, index) => ({
      usage: toExactUsage({ meters: index === 0 ? meters : { ...meters, calls: 0 } }),
      facts: withServed(facts, attributes),
    })),
    rule,
  )

/** A part of the usage of a call that has facts of its own. */
interface PricedPart {
  readonly usage: ExactUsage
  readonly facts: Facts
}
const sumOf = (parts: readonly PricedPart[], rule: Rule): Charge => {
  if (rule.free) return { nanos: 0n, lines: [], unpriced: [] }
  const unpriced = new Set<Meter>()
  const sum = createSum(rule, true)
  for (const part of parts) for (const meter of addPart(sum, part, rule)) unpriced.add(meter)
  sum.close()
  return { nanos: sum.nanos(), lines: sum.lines, unpriced: [...unpriced] }
}
/** Adds the lines of a part to the sum. Returns the meters without a price. */
const addPart = (sum: ChargeSum, { usage, facts }: PricedPart, rule: Rule): readonly Meter[] => {
  const pricingFacts = factsAtEnd(usage, facts)
  const { byMeter, unpriced: unpricedMeters } = groupByPricingMeter(usage.quantities, rule)
  const unpriced: Meter[] = [...unpricedMeters, ...usage.invalid]
  for (const [meter, { lines }] of rule.pricedMeters) {
    const pricedQuantity = byMeter.get(meter)
    const line = lines.find(each => holds(each.when, pricingFacts) === true)
    if (pricedQuantity && !addLine(sum, line, pricedQuantity, rule, pricingFacts))
      unpriced.push(meter)
  }
  sum.discount(holds(rule.discount?.when ?? [], pricingFacts))
  return unpriced
}

const addLine = (
  sum: ChargeSum,
  line: RuleLine | undefined,
  pricedQuantity: PricedQuantity,
  rule: Rule,
  pricingFacts: PricingFacts,
): boolean => {
  const tablePrice = line && lookUp(line.table, line.by, pricingFacts)
  if (!line || !tablePrice) return false
  const amount = amountOf(productOf(pricedQuantity.quantity, tablePrice.rate, rule), line, rule)
  const isMinimum = line.min > 0n && amount === partsOf(line.min, rule)
  sum.add(amount, () => ({
    meter: line.meter,
    ...quantityTerms(pricedQuantity),
    ...termsOf(line, tablePrice, isMinimum),
  }))
  return true
}
const quantityTerms = ({
  quantity,
  includedMeters,
}: PricedQuantity): Pick<Line, 'quantity' | 'with'> => {
  if (includedMeters.size === 0) return { quantity: printQuantity(quantity) }
  const entries = [...includedMeters].map(([meter, each]) => [meter, printQuantity(each)])
  return { quantity: printQuantity(quantity), with: Object.fromEntries(entries) }
}
