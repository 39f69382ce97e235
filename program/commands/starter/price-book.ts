/** The price book: public list prices of providers, as models/prices.yaml has them. Pure. */
import type { PRICE_LIST } from '../../../engine/config/sections/price-book.ts'
import type { RawOf } from '../../../engine/config/shape.ts'
import { isFields } from '../../../engine/kit.ts'
import type { Json } from '../../../engine/plugin.ts'
import { compileRule } from '../../../plugins/billing/rule.ts'
import type { BillingOptions } from '../../../plugins/billing/schema.ts'
import { fieldsOf } from './shipped.ts'

type Fields = { readonly [key: string]: Json }
export interface ProviderPrices extends Omit<RawOf<typeof PRICE_LIST>, 'models'> {
  /** Model -> meter -> price, as in `price:` of a model. */
  readonly models: { readonly [model: string]: Fields }
}

/** Names with a date, and what is without it. */
const DATED = /-(\d{4}-\d{2}-\d{2}|\d{8}|latest|\d{3})$|@\d{8}$/

/** Presets whose models are those of another provider, at its prices. */
const SAME: Readonly<Record<string, string>> = { azure: 'openai' }

export class PriceBook {
  readonly providers: ReadonlyMap<string, ProviderPrices>

  /** `document`: of a file with `prices:`. Throws an error for people that names what is wrong. */
  constructor(document: Fields) {
    const entries = Object.entries(fieldsOf(document.prices))
    if (entries.length === 0) throw new Error('it has no section `prices`')
    this.providers = new Map(entries.map(([name, value]) => [name, providerIn(name, value)]))
  }
  /** The price of a model. `preset`: of its upstream. */
  priceOf(preset: string | undefined, model: string): Fields | undefined {
    const models = this.modelsOf(preset)
    const name = [model, model.replace(DATED, '')].find(each => Object.hasOwn(models, each))
    return name === undefined ? undefined : models[name]
  }
  modelsOf(preset = ''): ProviderPrices['models'] {
    return this.providers.get(SAME[preset] ?? preset)?.models ?? {}
  }
  /** The newest day of its lists. */
  get date(): string {
    return (
      Array.from(this.providers.values(), ({ date }) => date)
        .sort()
        .at(-1) ?? ''
    )
  }
}

const providerIn = (name: string, value: Json): ProviderPrices => {
  const { host, source, date, models } = fieldsOf(value)
  for (const [key, text] of Object.entries({ host, source, date }))
    if (typeof text !== 'string') throw new Error(`prices.${name}.${key} must be a text`)
  if (!isFields(models)) throw new Error(`prices.${name}.models must be a map`)
  for (const [model, price] of Object.entries(models)) {
    const reason = isFields(price) ? faultOf(price) : 'it must be a map of meters'
    if (reason !== undefined) throw new Error(`prices.${name}.models.${model}: ${reason}`)
  }
  return {
    host: String(host),
    source: String(source),
    date: String(date),
    models: models as ProviderPrices['models'],
  }
}
const USD = { name: 'USD', rates: new Map([['USD', 10n ** 9n]]) }
const ruleOf = (options: BillingOptions, report: (message: string) => void) =>
  compileRule(options, {
    currency: USD,
    where: [],
    report: (_, __, message) => report(message),
  })
const faultOf = (price: Fields): string | undefined => {
  let fault: string | undefined
  ruleOf({ price }, message => {
    fault ??= message
  })
  return fault
}

/** One text for prices that are the same: `2 USD / 1M` and `2.00 USD / 1M`. */
const textOf = (meter: string, price: Json | undefined): string =>
  price === undefined ? '' : (ruleOf({ price: { [meter]: price } }, () => {})?.text ?? '')
export const isSamePrice = (meter: string, one: Json | undefined, other: Json | undefined) =>
  textOf(meter, one) === textOf(meter, other)

export interface PriceChange {
  readonly provider: string
  readonly model: string
  readonly meter: string
  readonly before?: Json
  readonly after?: Json
}
/** The prices of `after` that `before` has not; `missing`: models of `before` that `after` has
 *  not. */
export const changesBetween = (
  before: PriceBook,
  after: PriceBook,
): { readonly changes: readonly PriceChange[]; readonly missing: readonly string[] } => {
  const changes: PriceChange[] = []
  const missing: string[] = []
  for (const provider of union(before.providers.keys(), after.providers.keys())) {
    const [old = {}, current = {}] = [before, after].map(
      book => book.providers.get(provider)?.models,
    )
    for (const model of union(Object.keys(old), Object.keys(current)))
      if (current[model] === undefined) missing.push(`${provider}/${model}`)
      else changes.push(...modelChanges({ provider, model }, old[model] ?? {}, current[model]))
  }
  return { changes, missing }
}
const modelChanges = (
  at: Pick<PriceChange, 'provider' | 'model'>,
  before: Fields,
  after: Fields,
): readonly PriceChange[] =>
  union(Object.keys(before), Object.keys(after))
    .filter(meter => !isSamePrice(meter, before[meter], after[meter]))
    .map(meter => ({
      ...at,
      meter,
      ...(before[meter] !== undefined && { before: before[meter] }),
      ...(after[meter] !== undefined && { after: after[meter] }),
    }))
const union = (one: Iterable<string>, other: Iterable<string>): readonly string[] => [
  ...new Set([...one, ...other]),
]
