/** Tests prices row by row: a rule in YAML, a usage, and the expected charge in nanos with its
 *  formula. */
import t from 'tap'
import { printFormula } from '../../../plugins/billing/formula.ts'
import type { Attribute } from '../../../plugins/billing/usage.ts'
import type { Meters } from '../../../plugins/slots.ts'
import { charge, NOON, ruleIn } from '../../helpers/money/billing.ts'

export interface Row {
  readonly what: string
  readonly rule: string
  readonly meters: Meters
  readonly facts?: Readonly<Record<string, Attribute>>
  readonly at?: number
  readonly nanos: bigint
  readonly formula?: string
  readonly unpriced?: readonly string[]
}

export const testCharges = (table: readonly Row[]): void => {
  for (const { what, rule, meters, facts, at = NOON, nanos, formula: says, unpriced = [] } of table)
    t.test(what, async t => {
      const actual = charge(ruleIn(rule), meters, facts, at)
      t.equal(actual.nanos, nanos)
      if (says !== undefined) t.equal(printFormula(actual.lines), says)
      t.same(actual.unpriced, unpriced)
      const sum = actual.lines.reduce((total, line) => total + BigInt(line.nanos), 0n)
      t.equal(sum, nanos, 'the lines add up to it')
      t.same(JSON.parse(JSON.stringify(actual.lines)), actual.lines, 'lines are JSON')
    })
}
