/** The prices of a configuration: a rule for each model, compiled once, and what a route says in their place. */
import type { Document, Json, Report } from '../../engine/plugin.ts'
import { type Currency, compileCurrency } from '../billing/currency.ts'
import { type BillingOptions, compileRule, type Rule } from '../billing/rule.ts'
import { Mosts } from './most.ts'

/** What stands under a name in `models:`, as far as money is concerned. */
interface Priced extends BillingOptions {
  readonly output?: number
  readonly context?: number
}
export interface Price {
  readonly rule: Rule
  readonly most: Mosts
  /** Tokens. */
  readonly output: number | undefined
  readonly context: number | undefined
}
interface Sections {
  readonly models: Document[string] | Readonly<Record<string, object>>
  readonly settings: Document[string]
}

const IGNORED: Report = () => {}

const currencyOf = ({ settings }: Sections, report: Report = IGNORED): Currency =>
  compileCurrency(
    (settings as { readonly currency?: Json } | undefined)?.currency,
    ['settings', 'currency'],
    report,
  )

export class Prices {
  readonly #prices = new Map<string, Price>()
  readonly currency: Currency

  /** Reports every price that cannot be meant; of such a model there is none. */
  constructor(sections: Sections, report: Report = IGNORED) {
    this.currency = currencyOf(sections, report)
    for (const [name, entry] of Object.entries(sections.models ?? {})) {
      const { output, context, ...options } = entry as unknown as Priced
      const where = ['models', name]
      const rule = compileRule(options, { currency: this.currency, where, report })
      if (rule) this.#prices.set(name, { rule, most: new Mosts(rule), output, context })
    }
  }
  /** By its key in `models:`. */
  of(entry: string): Price | undefined {
    return this.#prices.get(entry)
  }
}

/** What a route says in place of what its model says. */
export type Override = Pick<Price, 'rule' | 'most'>

/** Undefined where the route says nothing of a price. Its problems are thrown: they are told with its place. */
export const overrideOf = (options: BillingOptions, currency: Currency): Override | undefined => {
  if (options.price === undefined && options.free === undefined) return undefined
  const said: string[] = []
  const report: Report = (where, _, message) => said.push(`${where.join('.')}: ${message}`)
  const rule = compileRule(options, { currency, where: [], report })
  if (!rule) throw new Error(said.join('; '))
  return { rule, most: new Mosts(rule) }
}

export const overridden = (
  price: Price | undefined,
  override: Override | undefined,
): Price | undefined =>
  override ? { output: price?.output, context: price?.context, ...override } : price
