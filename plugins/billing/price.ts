/** Prices the usage of a call: the exact sum of its lines, rounded once, half up, to a nano. Pure. */
import type { Meter } from '../slots.ts'
import { holds } from './condition.ts'
import type { RuleLine } from './line.ts'
import { fold, type Used } from './meter-homes.ts'
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
import type { Counted, Facts } from './usage.ts'

export interface Charge {
  readonly nanos: bigint
  readonly lines: readonly Line[]
  /** Meters without a price, with the price of a cheaper meter, or with an invalid count. If not empty,
   *  report it to operators. */
  readonly unpriced: readonly Meter[]
}

export const price = (counted: Counted, rule: Rule, facts: Facts): Charge => {
  if (rule.free) return { nanos: 0n, lines: [], unpriced: [] }
  const known = factsAtEnd(counted, facts)
  const { homes, unpriced: without } = fold(counted.quantities, rule)
  const unpriced = new Set([...without, ...counted.invalid])
  const sum = createSum(rule, true)
  for (const [meter, { lines }] of rule.priced) {
    const used = homes.get(meter)
    const line = lines.find(each => holds(each.when, known) === true)
    if (used && !addLine(sum, line, used, rule, known)) unpriced.add(meter)
  }
  sum.close()
  return { nanos: sum.nanos(), lines: sum.lines, unpriced: [...unpriced] }
}

const addLine = (
  sum: ChargeSum,
  line: RuleLine | undefined,
  used: Used,
  rule: Rule,
  known: PricingFacts,
): boolean => {
  const [found] = line ? lookUp(line.table, line.by, known).rates : []
  if (!line || !found) return false
  const amount = amountOf(productOf(used.quantity, found.rate, rule), line, rule)
  const lifted = line.min > 0n && amount === partsOf(line.min, rule)
  sum.add(amount, () => ({ meter: line.meter, ...counts(used), ...termsOf(line, found, lifted) }))
  return true
}
const counts = ({ quantity, joined }: Used): Pick<Line, 'quantity' | 'with'> => {
  if (joined.size === 0) return { quantity: printQuantity(quantity) }
  const shown = [...joined].map(([meter, each]) => [meter, printQuantity(each)])
  return { quantity: printQuantity(quantity), with: Object.fromEntries(shown) }
}
