/** Prices that routes have of their own, for the models that they serve. They replace the price of
 *  the model there. Pure. */
import { readerOf } from '../../engine/config/shape.ts'
import { isFields } from '../../engine/kit.ts'
import type { HostBase, Json } from '../../engine/plugin.ts'
import type { Currency } from '../billing/currency.ts'
import { compileRule } from '../billing/rule.ts'
import { BATCH_PRICE } from '../billing/schema.ts'
import type { Entry } from '../catalogue/catalogue.ts'
import type { Endpoints, RouteOptions } from '../catalogue/endpoints.ts'

export interface RoutePrice {
  /** `POST /ent/v2/reference2image`. */
  readonly path: string
  readonly prices: readonly { readonly [name: string]: Json }[]
}
export const routePricesOf = (
  entry: Entry,
  endpoints: Endpoints,
  currency: Currency,
): readonly RoutePrice[] =>
  endpoints.pricedRoutesOf(entry).flatMap(route => {
    const prices = linesIn(route, currency).flatMap(line => lineOf(line, entry.name))
    return prices.length === 0 ? [] : [{ path: route.path, prices }]
  })

/** Prices of routes that serve none of these models, such as routes without a model. */
export const otherRoutePricesOf = (
  entries: readonly Entry[],
  endpoints: Endpoints,
  currency: Currency,
): readonly RoutePrice[] => {
  const routesOfModels = new Set(entries.flatMap(entry => endpoints.pricedRoutesOf(entry)))
  return endpoints.priced
    .filter(route => !routesOfModels.has(route))
    .map(route => ({ path: route.path, prices: linesIn(route, currency) }))
}

const linesIn = ({ meter }: RouteOptions, currency: Currency): RoutePrice['prices'] => {
  const rule = compileRule(meter as object, { currency, where: [], report: () => {} })
  return rule ? (JSON.parse(rule.text).price ?? []) : []
}

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
