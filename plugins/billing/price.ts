/** Prices the usage of a call: the exact sum of its lines, rounded once to a nano, half up.
 *  Pure. */
import type { Meter } from '../slots.ts'
import { holds } from './condition.ts'
import type { RuleLine } from './line.ts'
import { groupByPricingMeter, type PricedQuantity } from './priced-quantities.ts'
import { factsAtEnd, type PricingFacts } from './pricing-facts.ts'
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
import type { ExactUsage, Facts } from './usage.ts'

export interface Charge {
  readonly nanos: bigint
  readonly lines: readonly Line[]
  /** Meters without a price, with the price of a cheaper meter, or with an invalid count. Callers
   *  report them to operators. */
  readonly unpriced: readonly Meter[]
}

export const price = (usage: ExactUsage, rule: Rule, facts: Facts): Charge => {
  if (rule.free) return { nanos: 0n, lines: [], unpriced: [] }
  const pricingFacts = factsAtEnd(usage, facts)
  const { byMeter, unpriced: unpricedMeters } = groupByPricingMeter(usage.quantities, rule)
  const unpriced = new Set([...unpricedMeters, ...usage.invalid])
  const sum = createSum(rule, true)
  for (const [meter, { lines }] of rule.pricedMeters) {
    const pricedQuantity = byMeter.get(meter)
    const line = lines.find(each => holds(each.when, pricingFacts) === true)
    if (pricedQuantity && !addLine(sum, line, pricedQuantity, rule, pricingFacts))
      unpriced.add(meter)
  }
  sum.close(holds(rule.discount?.when ?? [], pricingFacts))
  return { nanos: sum.nanos(), lines: sum.lines, unpriced: [...unpriced] }
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
