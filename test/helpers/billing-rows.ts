/** What calls cost, row by row: a rule as an operator writes it, a usage, and the charge to the nano with its sentence. */
import t from 'tap'
import { printFormula } from '../../plugins/billing/formula.ts'
import type { Attribute } from '../../plugins/billing/usage.ts'
import type { Meters } from '../../plugins/slots.ts'
import { charge, NOON, ruleIn } from './billing.ts'

export interface Row {
  readonly what: string
  readonly rule: string
  readonly meters: Meters
  readonly facts?: Readonly<Record<string, Attribute>>
  readonly at?: number
  readonly nanos: bigint
  readonly says?: string
  readonly unpriced?: readonly string[]
}

export const charged = (table: readonly Row[]): void => {
  for (const { what, rule, meters, facts, at = NOON, nanos, says, unpriced = [] } of table)
    t.test(what, async t => {
      const charged = charge(ruleIn(rule), meters, facts, at)
      t.equal(charged.nanos, nanos)
      if (says !== undefined) t.equal(printFormula(charged.lines), says)
      t.same(charged.unpriced, unpriced)
      const sum = charged.lines.reduce((total, line) => total + BigInt(line.nanos), 0n)
      t.equal(sum, nanos, 'the lines add up to it')
      t.same(JSON.parse(JSON.stringify(charged.lines)), charged.lines, 'lines are JSON')
    })
}
