/** Compiles price rules for tests: in yuan, with a dollar at 7.2. An invalid rule throws all its
 *  problems. */
import { parse } from 'yaml'
import { type Currency, compileCurrency } from '../../../plugins/billing/currency.ts'
import { type Charge, price } from '../../../plugins/billing/price.ts'
import { compileRule, type Rule } from '../../../plugins/billing/rule.ts'
import type { BillingOptions } from '../../../plugins/billing/schema.ts'
import { type Attribute, toExactUsage } from '../../../plugins/billing/usage.ts'
import type { Meters } from '../../../plugins/slots.ts'

export const RATES = { USD: '7.2', EUR: '7.812345678', CREDIT: '0.036' }
export const currencyOf = (options: unknown = { name: 'CNY', rates: RATES }): Currency =>
  compileCurrency(options, ['settings', 'currency'], refuse)
const refuse = (where: readonly (string | number)[], code: string, message: string): never => {
  throw new Error(`${where.join('.')} ${code} ${message}`)
}

export const ruleOf = (options: BillingOptions): Rule => {
  const rule = compileRule(options, { currency: currencyOf(), where: ['m'], report: refuse })
  if (!rule) throw new Error('no rule, and no problem either')
  return rule
}
/** Compiles a rule from YAML. */
export const ruleIn = (yaml: string): Rule => ruleOf(parse(yaml) as BillingOptions)
export const problemsOf = (options: unknown): readonly string[] => {
  const problems: string[] = []
  const rule = compileRule(options as BillingOptions, {
    currency: currencyOf(),
    where: ['m'],
    report: (where, code, message) => problems.push(`${where.join('.')} ${code} ${message}`),
  })
  if ((rule === undefined) !== problems.length > 0) problems.push('a rule in spite of problems')
  return problems
}

/** Noon in UTC. */
export const NOON = Date.UTC(2026, 0, 15, 12)
export const charge = (
  rule: Rule,
  meters: Meters,
  attributes: Readonly<Record<string, Attribute>> = {},
  at = NOON,
): Charge => price(toExactUsage({ meters }), rule, { at, attributes })
