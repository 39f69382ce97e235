/** What a call costs: the exact sum of its lines, rounded once, half up, to a nano. Pure. */
import type { Meter } from '../slots.ts'
import { holds } from './condition.ts'
import { fold, type Priced } from './fold.ts'
import { type Known, knownAtEnd } from './known.ts'
import { METERS } from './meters.ts'
import { printPrice } from './rate.ts'
import type { Rule } from './rule.ts'
import {
  amountOf,
  type Line,
  partsOf,
  printQuantity,
  productOf,
  rateShown,
  type Summer,
  summer,
} from './sum.ts'
import { choose } from './table.ts'
import type { Counted, Facts } from './usage.ts'

export interface Charge {
  readonly nanos: bigint
  readonly lines: readonly Line[]
  /** Meters that are paid for by nothing, or by the price of something cheaper, or whose count is nonsense.
   *  Not empty: somebody should know. */
  readonly unpriced: readonly Meter[]
}

export const price = (counted: Counted, rule: Rule, facts: Facts): Charge => {
  if (rule.free) return { nanos: 0n, lines: [], unpriced: [] }
  const known = knownAtEnd(counted, facts)
  const { homes, unpriced: without } = fold(counted.quantities, rule)
  const unpriced = new Set([...without, ...counted.nonsense])
  const sum = summer(rule)
  for (const meter of METERS) {
    const priced = homes.get(meter)
    if (priced && !addLine(sum, meter, priced, rule, known)) unpriced.add(meter)
  }
  sum.close()
  return { nanos: sum.nanos(), lines: sum.lines, unpriced: [...unpriced] }
}

const addLine = (sum: Summer, meter: Meter, priced: Priced, rule: Rule, known: Known): boolean => {
  const line = rule.lines.find(each => each.meter === meter && holds(each.when, known) === true)
  const [found] = line ? choose(line.table, line.by, known).rates : []
  if (!line || !found) return false
  const product = productOf(priced.quantity, found.rate, rule)
  const amount = amountOf(product, line, rule)
  sum.add(amount, {
    meter,
    ...counts(priced),
    ...rateShown(line, found),
    ...(line.min > 0n && amount === partsOf(line.min, rule) && { min: printPrice(line.min, 2) }),
    ...(line.step > 0n && { step: printPrice(line.step, 2) }),
  })
  return true
}
const counts = ({ quantity, joined }: Priced): Pick<Line, 'quantity' | 'with'> => {
  const shown = [...joined].map(([meter, each]) => [meter, printQuantity(each)])
  return {
    quantity: printQuantity(quantity),
    ...(joined.size > 0 && { with: Object.fromEntries(shown) }),
  }
}
