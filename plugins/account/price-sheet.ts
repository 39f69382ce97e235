/** The prices of all models as CSV (RFC 4180), with exact decimals: one row for each price. Built
 *  once for a configuration. */
import type { Host } from '../../engine/plugin.ts'
import { configuredCurrency } from '../billing/currency.ts'
import { compileRule } from '../billing/rule.ts'
import { readCatalogue } from '../catalogue/configured.ts'
import { Endpoints } from '../catalogue/endpoints.ts'
import { readablePattern } from '../catalogue/pattern.ts'
import { isFields } from '../formats/fields.ts'
import { csvCell } from '../ledger/views/csv.ts'
import type { ViewFactory } from './response.ts'
import {
  batchFactorOf,
  otherRoutePricesOf,
  type RoutePrice,
  routePricesOf,
} from './route-prices.ts'

const COLUMNS = ['model', 'title', 'owner', 'meter', 'when', 'price', 'per', 'step', 'currency']

export const priceSheet: ViewFactory<Host> = host => {
  const sheet = host.share('account/price-sheet', host.config.hash, () => new Sheet(host))
  const headers = {
    'content-type': 'text/csv; charset=utf-8; header=present',
    'content-disposition': 'attachment; filename="prices.csv"',
    'cache-control': 'public, max-age=60',
  }
  return async exchange => void exchange.answer(200, sheet.bytes, headers)
}

type SheetHost = Pick<Host, 'section' | 'file' | 'share' | 'config' | 'memo' | 'upstreams'> &
  Partial<Pick<Host, 'formats'>>
class Sheet {
  readonly #host: SheetHost
  #bytes: Uint8Array | undefined
  constructor(host: SheetHost) {
    this.#host = host
  }
  get bytes(): Uint8Array {
    this.#bytes ??= Buffer.from([COLUMNS, ...rowsOf(this.#host)].map(csvLine).join(''))
    return this.#bytes
  }
}

export const rowsOf = (host: SheetHost): readonly (readonly string[])[] => {
  const currency = configuredCurrency(host)
  const endpoints = new Endpoints(host)
  const factor = batchFactorOf(host)
  const ofBatches = ['*', '', '', 'discount', 'request of a batch', factor ?? '', '', '', '']
  const entries = readCatalogue(host).all
  const ofModels = entries.flatMap(entry => {
    const { name, options, targets } = entry
    const rule = compileRule(options, { currency, where: [], report: () => {} })
    const owner = options.owner ?? targets[0]?.upstream ?? ''
    const model = [readablePattern(name), options.title ?? '', owner]
    const row = (line: SheetLine) => [...model, ...cellsIn(line, currency.name)]
    const ofRoutes = routePricesOf(entry, endpoints, currency).flatMap(routeLines).map(row)
    if (!rule) return ofRoutes
    if (rule.free) return [row({ meter: 'calls', price: '0' }), ...ofRoutes]
    const { price } = JSON.parse(rule.text) as { readonly price?: readonly object[] }
    return [...(price ?? []).flatMap(line => linesOf(line).map(row)), ...ofRoutes]
  })
  const others = otherRoutePricesOf(entries, endpoints, currency)
  const ofRoutes = others
    .flatMap(routeLines)
    .map(line => ['*', '', '', ...cellsIn(line, currency.name)])
  return [...ofModels, ...ofRoutes, ...(factor === undefined ? [] : [ofBatches])]
}

/** The cells of a row from `meter` on. */
const cellsIn = (
  { meter, when = '', price, step = '' }: SheetLine,
  currency: string,
): readonly string[] => {
  const [amount = '', per = '1'] = price.split(' / ')
  // A discount is a factor, not an amount.
  const units = meter === 'discount' ? ['', step, ''] : [per, step, currency]
  return [meter, when, amount, ...units]
}
const routeLines = ({ path, prices }: RoutePrice): readonly SheetLine[] =>
  prices.flatMap(linesOf).map(({ when = '', ...line }) => {
    return { ...line, when: [`route = ${path}`, ...(when === '' ? [] : [when])].join('; ') }
  })

interface SheetLine {
  /** A meter; `min`: the least that a charge is; `discount`: the factor on its sum. */
  readonly meter: string
  readonly when?: string
  readonly price: string
  /** The amount is rounded up to a multiple of it. */
  readonly step?: string | undefined
}
interface RuleLine {
  readonly meter?: string
  readonly when?: object
  readonly by?: readonly string[]
  readonly price?: unknown
  readonly step?: string
  readonly min?: string
  readonly discount?: { readonly factor: string; readonly when?: object; readonly step?: string }
}
/** A line of a rule as rows: one for each cell of its table. */
const linesOf = (line: object): readonly SheetLine[] => {
  const { meter = '', when, by = [], price, step, min, discount } = line as RuleLine
  if (discount) {
    const conditions = conditionsIn(discount.when).join('; ')
    return [{ meter: 'discount', when: conditions, price: discount.factor, step: discount.step }]
  }
  if (min !== undefined) return [{ meter: 'min', price: min }]
  return cellsOf(price, by).map(([conditions, text]) => {
    return { meter, when: [...conditionsIn(when), ...conditions].join('; '), price: text, step }
  })
}
const conditionsIn = (when: object | undefined): readonly string[] =>
  Object.entries(when ?? {}).map(([name, value]) =>
    Array.isArray(value) ? `${name} = ${value.join(' or ')}` : `${name} ${value}`,
  )
type Cell = readonly [conditions: readonly string[], price: string]
const cellsOf = (price: unknown, [name = '', ...names]: readonly string[]): readonly Cell[] => {
  if (!isFields(price)) return [[[], String(price)]]
  return Object.entries(price).flatMap(([value, inner]) =>
    cellsOf(inner, names).map(
      ([conditions, text]): Cell => [
        value === 'default'
          ? [`${name} other`, ...conditions]
          : [`${name} = ${value}`, ...conditions],
        text,
      ],
    ),
  )
}

export const csvLine = (cells: readonly string[]): string => `${cells.map(csvCell).join()}\r\n`
