/** The public price page: models with endpoints, prices in the shape of new-api, and exact prices.
 *  Built once for a configuration. */
import type { Host, HostBase, Json } from '../../engine/plugin.ts'
import { type Currency, configuredCurrency } from '../billing/currency.ts'
import { compileRule } from '../billing/rule.ts'
import type { Entry } from '../catalogue/catalogue.ts'
import { readCatalogue } from '../catalogue/configured.ts'
import { Endpoints, type RouteOptions } from '../catalogue/endpoints.ts'
import { readablePattern } from '../catalogue/pattern.ts'
import { ratiosOf } from './ratios.ts'
import { exactNumber, type ViewFactory } from './response.ts'
import { batchFactorOf, otherRoutePricesOf, routePricesOf } from './route-prices.ts'
import { videoPricesOf } from './video-prices.ts'

export const pricing: ViewFactory<Host> = host => {
  const page = host.share('account/pricing', host.config.hash, () => new Page(host))
  const headers = { 'content-type': 'application/json', 'cache-control': 'public, max-age=60' }
  return async exchange => void exchange.answer(200, page.bytes, headers)
}

type CatalogueHost = Pick<
  HostBase,
  'section' | 'upstreams' | 'file' | 'share' | 'config' | 'memo'
> &
  Partial<Pick<HostBase, 'formats'>>
/** Built on the first request, since ten thousand models take some megabytes. */
class Page {
  readonly #host: CatalogueHost
  #bytes: Uint8Array | undefined
  constructor(host: CatalogueHost) {
    this.#host = host
  }
  get bytes(): Uint8Array {
    this.#bytes ??= Buffer.from(JSON.stringify(pageOf(this.#host)))
    return this.#bytes
  }
}

export const pageOf = (host: CatalogueHost): Json => {
  const currency = configuredCurrency(host)
  const endpoints = new Endpoints(host)
  const catalogue = readCatalogue(host)
  const factor = batchFactorOf(host)
  const routePrices = otherRoutePricesOf(catalogue.all, endpoints, currency)
  const calls = Object.fromEntries(
    [...endpoints.routes].map(([endpoint, [route]]) => [endpoint, callOf(route)]),
  )
  return {
    success: true,
    message: '',
    data: catalogue.all.map(entry => rowOf(entry, currency, endpoints)),
    currency: currency.name,
    batch_factor: exactNumber(factor ?? '1'),
    ...(routePrices.length > 0 && { route_prices: routePrices as unknown as Json }),
    vendors: [],
    group_ratio: { default: 1 },
    usable_group: { default: 'default' },
    supported_endpoint: calls,
    auto_groups: ['default'],
  }
}

const callOf = (route: RouteOptions | undefined): Json => {
  const [method = '', path = ''] = route?.path.split(' ') ?? []
  return { method, path }
}

const rowOf = (entry: Entry, currency: Currency, endpoints: Endpoints): Json => {
  const { options, name, targets } = entry
  const rule = compileRule(options, { currency, where: [], report: () => {} })
  const routePrices = routePricesOf(entry, endpoints, currency)
  const videoPrices = rule ? videoPricesOf(entry, rule, currency) : []
  return {
    model_name: readablePattern(name),
    ...(options.title !== undefined && { description: options.title }),
    owner_by: options.owner ?? targets[0]?.upstream ?? '',
    ...ratiosOf(entry, rule, currency),
    enable_groups: ['default'],
    supported_endpoint_types: endpoints.of(entry),
    ...(rule?.free && { free: true }),
    prices: rule ? (JSON.parse(rule.text).price ?? []) : [],
    ...(routePrices.length > 0 && { route_prices: routePrices as unknown as Json }),
    ...(videoPrices.length > 0 && { video_prices: videoPrices }),
  }
}
