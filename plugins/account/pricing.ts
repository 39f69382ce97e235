/** The public price page: models with endpoints, prices in the shape of new-api, and exact prices.
 *  Built once for a configuration. */
import type { Host, HostBase, Json } from '../../engine/plugin.ts'
import { type Currency, configuredCurrency } from '../billing/currency.ts'
import { printDecimal } from '../billing/decimal.ts'
import type { Rate } from '../billing/rate.ts'
import { compileRule, type Rule } from '../billing/rule.ts'
import { ratesIn } from '../billing/table.ts'
import type { Entry } from '../catalogue/catalogue.ts'
import { readCatalogue } from '../catalogue/configured.ts'
import {
  type EndpointRoutes,
  endpointRoutes,
  endpointsOf,
  type RouteOptions,
} from '../catalogue/endpoints.ts'
import type { Meter } from '../slots.ts'
import { dollarOf } from './dollars.ts'
import { exactNumber, type ViewFactory } from './response.ts'
import { videoPricesOf } from './video-prices.ts'

export const pricing: ViewFactory<Host> = host => {
  const page = host.share('account/pricing', host.config.hash, () => new Page(host))
  const headers = { 'content-type': 'application/json', 'cache-control': 'public, max-age=60' }
  return async exchange => void exchange.answer(200, page.bytes, headers)
}

type CatalogueHost = Pick<HostBase, 'section' | 'upstreams' | 'file' | 'share'>
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

// ---------------------------------------------------------------- prices

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
    model_name: name,
    ...(options.title !== undefined && { description: options.title }),
    owner_by: options.owner ?? targets[0]?.upstream ?? '',
    ...ratiosOf(rule, currency),
    enable_groups: ['default'],
    supported_endpoint_types: endpointsOf(entry, host.upstreams, routesByEndpoint),
    ...(rule?.free && { free: true }),
    prices: rule ? (JSON.parse(rule.text).price ?? []) : [],
    ...(videoPrices.length > 0 && { video_prices: videoPrices }),
  }
}

/** Prices by tokens as ratios, or a price by call. */
const ratiosOf = (rule: Rule | undefined, currency: Currency): { readonly [key: string]: Json } => {
  const rates = ratesOf(rule)
  const [input, output] = [rates.get('input'), rates.get('output')]
  const [first] = rates.values()
  if (!input && !output && first)
    return { quota_type: 1, model_ratio: 0, model_price: inDollars(first, 1n, currency) }
  const base = input ?? output
  return {
    quota_type: 0,
    // In new-api a ratio of 1 is 2 dollars per million tokens.
    model_ratio: base ? inDollars(base, 500_000n, currency) : 0,
    model_price: 0,
    completion_ratio: ratioOf(output, base) ?? 1,
    ...ratiosTo(rates, base),
  }
}
const RATIOS: readonly (readonly [name: string, meter: Meter, to: Meter])[] = [
  ['cache_ratio', 'cached', 'input'],
  ['create_cache_ratio', 'cache_write', 'input'],
  ['image_ratio', 'image_input', 'input'],
  ['audio_ratio', 'audio_input', 'input'],
  ['audio_completion_ratio', 'audio_output', 'audio_input'],
]
const ratiosTo = (rates: Rates, base: Rate | undefined): { readonly [key: string]: Json } =>
  Object.fromEntries(
    RATIOS.flatMap(([name, meter, to]) => {
      const value = ratioOf(rates.get(meter), to === 'input' ? base : rates.get(to))
      return value === undefined ? [] : [[name, value]]
    }),
  )

type Rates = ReadonlyMap<Meter, Rate>
/** One price for each meter: the last of several lines, the first of a table. */
const ratesOf = (rule: Rule | undefined): Rates => {
  const rates = new Map<Meter, Rate>()
  for (const { meter, table } of rule?.lines ?? []) {
    const [rate] = ratesIn(table)
    if (rate) rates.set(meter, rate)
  }
  return rates
}

const PLACES = 9
const SCALE = 10n ** BigInt(PLACES)
/** The price of `count` units in dollars. A price is in 1e-18 of the currency, a dollar in 1e-9. */
const inDollars = ({ price, per }: Rate, count: bigint, currency: Currency): Json =>
  exactNumber(printDecimal(divideRounded(price * count, per * dollarOf(currency)), PLACES))
const ratioOf = (one: Rate | undefined, to: Rate | undefined): Json | undefined => {
  if (!one || !to || to.price === 0n) return undefined
  return exactNumber(
    printDecimal(divideRounded(one.price * to.per * SCALE, to.price * one.per), PLACES),
  )
}
const divideRounded = (amount: bigint, by: bigint): bigint => (amount * 2n + by) / (by * 2n)
