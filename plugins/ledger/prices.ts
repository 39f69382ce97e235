/** The prices of a configuration: one compiled rule for each model, and the overrides of routes. */
import { isDeepStrictEqual } from 'node:util'
import type { Document, Json, Report, Route, RouteDescription } from '../../engine/plugin.ts'
import { type Currency, compileCurrency } from '../billing/currency.ts'
import type { MediaBounds } from '../billing/request-bounds.ts'
import { compileRule, type Rule, reducedRule } from '../billing/rule.ts'
import type { BillingOptions } from '../billing/schema.ts'
import type { ModelOptions } from '../catalogue/section.ts'
import type { TierRule } from '../conversion/tier-gate.ts'
import { dialectOf, statusIn } from '../dialects/index.ts'
import { OPEN } from '../formats/tiers.ts'
import type { Attributes } from '../slots.ts'
import { WorstCaseCosts } from './worst-case-cost.ts'

export interface Price {
  readonly rule: Rule
  readonly worstCase: WorstCaseCosts
  /** Tokens. */
  readonly output: number | undefined
  readonly context: number | undefined
  readonly media: MediaBounds | undefined
  readonly refusesUnpriced: boolean
  readonly tierRule: TierRule
  /** The tiers at which its upstreams serve requests that name none. */
  readonly defaultTiers: Attributes
}
interface Sections {
  readonly models: Document[string] | Readonly<Record<string, object>>
  readonly settings: Document[string]
  readonly upstreams?: Document[string]
}

const ignoreProblem: Report = () => {}

const currencyOf = ({ settings }: Sections, report: Report = ignoreProblem): Currency =>
  compileCurrency(
    (settings as { readonly currency?: Json } | undefined)?.currency,
    ['settings', 'currency'],
    report,
  )

export class Prices {
  readonly currency: Currency
  readonly #models: Readonly<Record<string, ModelOptions>>
  /** Whether calls with a tool without a price are refused if the model does not say. */
  readonly #unpriced: ModelOptions['unpriced']
  readonly #tiers: TierRule | undefined
  readonly #upstreams: Upstreams
  readonly #prices = new Map<string, Price>()

  constructor(sections: Sections, report: Report = ignoreProblem) {
    this.currency = currencyOf(sections, report)
    const { unpriced, tiers } = (sections.settings ?? {}) as Pick<
      ModelOptions,
      'unpriced' | 'tiers'
    >
    this.#unpriced = unpriced
    this.#tiers = tiers
    this.#upstreams = (sections.upstreams ?? {}) as Upstreams
    this.#models = (sections.models ?? {}) as Readonly<Record<string, ModelOptions>>
  }
  /** The price of a model by its key in `models:`; undefined: it has none, or an invalid one.
   *  Compiled at the first call: a process serves few of ten thousand models. */
  of(entry: string): Price | undefined {
    return this.#prices.get(entry) ?? this.#compile(entry, ignoreProblem)
  }
  /** Reports every invalid price. `before`: a document without problems; models that are the same
   *  there are not compiled again. */
  check(report: Report, before: Document | undefined): void {
    const { currency } = before ? new Prices(before as Pick<Document, keyof Sections>) : this
    const isSameCurrency = isDeepStrictEqual(currency, this.currency)
    const known =
      before && isSameCurrency ? (before.models as Readonly<Record<string, object>>) : {}
    if (known === this.#models) return
    for (const [name, options] of Object.entries(this.#models))
      if (known?.[name] !== options) this.#compile(name, report)
  }
  #compile(name: string, report: Report): Price | undefined {
    if (!Object.hasOwn(this.#models, name)) return undefined
    const entry = this.#models[name] as ModelOptions
    const { unpriced = this.#unpriced, tiers = this.#tiers, ...entryOptions } = entry
    const { output, context, media, ...options } = entryOptions
    const rule = compileRule(options, { currency: this.currency, where: ['models', name], report })
    if (!rule) return undefined
    const worstCase = new WorstCaseCosts(rule)
    const price: Price = {
      rule,
      worstCase,
      output,
      context,
      media,
      refusesUnpriced: unpriced === 'refuse',
      tierRule: tiers ?? 'drop',
      defaultTiers: defaultTiersOf(upstreamsOf(entry, this.#models), this.#upstreams),
    }
    this.#prices.set(name, price)
    return price
  }
}

type Upstreams = Readonly<Record<string, { readonly default_tiers?: Attributes } | undefined>>
/** The upstreams of a model and of its fallbacks. */
const upstreamsOf = (
  { to, fallback }: ModelOptions,
  models: Readonly<Record<string, ModelOptions>>,
): readonly string[] => {
  const fallbacks = listOf(fallback).flatMap(name => listOf(models[String(name)]?.to))
  return [...listOf(to), ...fallbacks].map(target => {
    const address =
      typeof target === 'object' ? (target as { readonly to?: Json } | null)?.to : target
    return String(address).split('/', 1)[0] ?? ''
  })
}
const listOf = (value: Json | undefined): readonly Json[] =>
  Array.isArray(value) ? value : value === undefined ? [] : [value]
/** Where upstreams differ, any tier may serve. */
const defaultTiersOf = (names: readonly string[], upstreams: Upstreams): Attributes => {
  const tiers: { [name: string]: Attributes[string] } = {}
  const all = [...new Set(names)].map(name => upstreams[name]?.default_tiers ?? {})
  for (const each of all)
    for (const [name, value] of Object.entries(each))
      tiers[name] = all.every(other => other[name] === value) ? value : OPEN
  return tiers
}

/** The price of a route, which replaces that of the model. */
export type Override = Pick<Price, 'rule' | 'worstCase'>

/** Undefined: the route sets no price. Throws its problems, which the caller reports with the
 *  position of the route. */
export const overrideOf = (options: BillingOptions, currency: Currency): Override | undefined => {
  if (options.price === undefined && options.free === undefined) return undefined
  const problems: string[] = []
  const report: Report = (where, _, message) => problems.push(`${where.join('.')}: ${message}`)
  const rule = compileRule(options, { currency, where: [], report })
  if (!rule) throw new Error(problems.join('; '))
  return { rule, worstCase: new WorstCaseCosts(rule) }
}

export const applyOverride = (
  price: Price | undefined,
  override: Override | undefined,
): Price | undefined =>
  override
    ? {
        output: price?.output,
        context: price?.context,
        media: price?.media,
        refusesUnpriced: price?.refusesUnpriced ?? false,
        tierRule: price?.tierRule ?? 'drop',
        defaultTiers: price?.defaultTiers ?? {},
        ...override,
      }
    : price

/** For clients: that calls are free, the price of the route as written, or that the model has the
 *  price; and the refusal if the balance does not cover it. */
export const describePrice = (
  { free, price }: BillingOptions,
  route: Pick<Route, 'option'>,
): RouteDescription => {
  const own: Json = price === undefined ? { by: 'model' } : { price: price as Json }
  const status = statusIn(dialectOf(route), 'INSUFFICIENT', 403)
  return free === true
    ? { price: { free } }
    : { price: own, refusals: { [status]: 'The balance does not cover the call' } }
}

/** The prices of calls that are charged a part of their price. */
export class ReducedPrices {
  readonly #prices = new WeakMap<Rule, Map<string, Price>>()

  of(price: Price, factor: string): Price {
    const prices = this.#prices.get(price.rule) ?? new Map<string, Price>()
    this.#prices.set(price.rule, prices)
    const known = prices.get(factor)
    if (known) return known
    const rule = reducedRule(price.rule, factor)
    const reducedPrice = { ...price, rule, worstCase: new WorstCaseCosts(rule) }
    prices.set(factor, reducedPrice)
    return reducedPrice
  }
}
