/** The public price page: models with endpoints, prices in the shape of new-api, and exact prices.
 *  Built once for a configuration. */
import type { Host, HostBase, Json } from '../../engine/plugin.ts'
import { type Currency, configuredCurrency } from '../billing/currency.ts'
import { compileRule } from '../billing/rule.ts'
import type { Entry } from '../catalogue/catalogue.ts'
import { readCatalogue } from '../catalogue/configured.ts'
import {
  type EndpointRoutes,
  endpointRoutes,
  endpointsOf,
  type RouteOptions,
} from '../catalogue/endpoints.ts'
import { readablePattern } from '../catalogue/pattern.ts'
import { ratiosOf } from './ratios.ts'
import type { ViewFactory } from './response.ts'
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
  const routesByEndpoint = endpointRoutes(host)
  const catalogue = readCatalogue(host)
  const endpoints = Object.fromEntries(
    [...routesByEndpoint].map(([endpoint, [route]]) => [endpoint, callOf(route)]),
  )
  return {
    success: true,
    message: '',
    data: catalogue.all.map(entry => rowOf(entry, host, currency, routesByEndpoint)),
    currency: currency.name,
    vendors: [],
    group_ratio: { default: 1 },
    usable_group: { default: 'default' },
    supported_endpoint: endpoints,
    auto_groups: ['default'],
  }
}

const callOf = (route: RouteOptions | undefined): Json => {
  const [method = '', path = ''] = route?.path.split(' ') ?? []
  return { method, path }
}

const rowOf = (
  entry: Entry,
  host: CatalogueHost,
  currency: Currency,
  routesByEndpoint: EndpointRoutes,
): Json => {
  const { options, name, targets } = entry
  const rule = compileRule(options, { currency, where: [], report: () => {} })
  const videoPrices = rule ? videoPricesOf(entry, rule, currency) : []
  return {
    model_name: readablePattern(name),
    ...(options.title !== undefined && { description: options.title }),
    owner_by: options.owner ?? targets[0]?.upstream ?? '',
    ...ratiosOf(entry, rule, currency),
    enable_groups: ['default'],
    supported_endpoint_types: endpointsOf(entry, host.upstreams, routesByEndpoint, host),
    ...(rule?.free && { free: true }),
    prices: rule ? (JSON.parse(rule.text).price ?? []) : [],
    ...(videoPrices.length > 0 && { video_prices: videoPrices }),
  }
}
