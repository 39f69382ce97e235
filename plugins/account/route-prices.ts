/** Prices that routes have of their own, for the models that they serve. They replace the price of
 *  the model there. Pure. */
import { readerOf } from '../../engine/config/shape.ts'
import { isFields } from '../../engine/kit.ts'
import type { HostBase, Json } from '../../engine/plugin.ts'
import type { Currency } from '../billing/currency.ts'
import { compileRule } from '../billing/rule.ts'
import { BATCH_PRICE } from '../billing/schema.ts'
import type { Entry } from '../catalogue/catalogue.ts'
import type { Endpoints } from '../catalogue/endpoints.ts'

interface RoutePrice {
  /** `POST /ent/v2/reference2image`. */
  readonly path: string
  readonly prices: readonly { readonly [name: string]: Json }[]
}
export const routePricesOf = (
  entry: Entry,
  endpoints: Endpoints,
  currency: Currency,
): readonly RoutePrice[] =>
  endpoints.pricedRoutesOf(entry).flatMap(({ path, meter }) => {
    const rule = compileRule(meter as object, { currency, where: [], report: () => {} })
    const lines = (rule ? (JSON.parse(rule.text).price ?? []) : []) as RoutePrice['prices']
    const prices = lines.flatMap(line => lineOf(line, entry.name))
    return prices.length === 0 ? [] : [{ path, prices }]
  })

/** Of a table by model, its row. */
const lineOf = (line: RoutePrice['prices'][number], model: string): RoutePrice['prices'] => {
  const { by, price, ...others } = line
  const [first, ...names] = Array.isArray(by) ? (by as readonly string[]) : []
  if (first !== 'model' || !isFields(price)) return [line]
  const own = price[model] ?? price.default
  if (own === undefined) return []
  return [
    { ...others, ...(names.length > 0 && isFields(own) && { by: names }), price: own as Json },
  ]
}

/** The part of the price that a request of a batch costs. Undefined: no route makes batches. */
export const batchFactorOf = ({ section }: Pick<HostBase, 'section'>): string | undefined => {
  const routes = section<Json>('routes')
  const hasBatches =
    Array.isArray(routes) && routes.some(route => isFields(route) && route.batches !== undefined)
  if (!hasBatches) return undefined
  const { batch } = section<{ readonly batch?: { readonly price?: number | string } }>('settings')
  return readerOf({ price: BATCH_PRICE })(batch ?? {}).price
}
