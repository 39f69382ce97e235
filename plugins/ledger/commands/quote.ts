/** `tollgate quote`: prints the worst-case cost of one request on its route, with the formula. */
import { readFileSync } from 'node:fs'
import { EXIT } from '../../../engine/cli/kit.ts'
import type { Command, HostBase, Json, Route, RouteMatch } from '../../../engine/plugin.ts'
import { formula } from '../../billing/formula.ts'
import { printMoney } from '../../billing/money.ts'
import { factsOf, requestBoundsOf } from '../../billing/request-bounds.ts'
import { quote } from '../../billing/worst-case.ts'
import { overridden, overrideOf, type Price, type Prices } from '../prices.ts'
import { isMetered, routePrice } from '../views/route.ts'

/** Access to the configured models, which this folder does not read. */
export interface Models {
  prices(host: HostBase): Prices
  /** Whether the requests of a route name one. */
  called(route: Route): boolean
  asked(route: Route, body: Json, request: RouteMatch<Route>): string | undefined
  /** The key in `models:` that answers to a name. */
  find(name: string, host: HostBase): string | undefined
}

/** A message that is printed to stderr instead of a price. */
class QuoteError extends Error {
  readonly exit: number
  constructor(exit: number, message: string) {
    super(message)
    this.exit = exit
  }
}
const USAGE = 'Usage: tollgate quote METHOD PATH --body FILE'

export const quoteCommand = (models: Models): Command => ({
  arguments: 'METHOD PATH',
  summary: 'Shows the worst-case cost of a call, with the formula.',
  example: 'tollgate quote POST /v1/chat/completions --body request.json',
  options: { body: { type: 'string', value: 'FILE', summary: 'the file with the request' } },
  async run({ values, positionals: [method = '', path = ''] }, host) {
    try {
      if (!path.startsWith('/'))
        throw new QuoteError(EXIT.usage, `a path begins with "/": ${method} /${path}`)
      const match = host.match(method.toUpperCase(), path)
      return match.route ? costOn(match.route, match, values.body, models, host) : noRoute(match)
    } catch (thrown) {
      if (!(thrown instanceof QuoteError)) throw thrown
      process.stderr.write(`${thrown.message}\n`)
      return thrown.exit
    }
  },
})

interface CommandResult {
  readonly text: string
  readonly json: object
  readonly exit?: number
}

/** No route: the wording of `tollgate explain`, without a price. */
const noRoute = ({ allowedMethods: allowed }: RouteMatch<Route>): CommandResult => ({
  text: `${allowed.length > 0 ? `405: the path has ${allowed.join(', ')}` : '404: no route'}\n`,
  json: { route: null, allowed },
  exit: EXIT.runTime,
})

const costOn = (
  route: Route,
  match: RouteMatch<Route>,
  file: unknown,
  models: Models,
  host: HostBase,
): CommandResult => {
  const prices = models.prices(host)
  const { name: currency } = prices.currency
  const summary = { route: route.name, currency, lacking: [] }
  const nothing = (reason: string): CommandResult => ({
    text: `0 ${currency}: ${reason}\n`,
    json: { ...summary, most: '0', formula: '0' },
  })
  if (!isMetered(route) || !models.called(route)) return nothing('the route calls no model')
  const override = overrideOf(routePrice(route), prices.currency)
  if (override?.rule.free) return nothing('the route is free')
  const live = route.method === 'WS'
  const { body, size } = live ? { body: null, size: 0 } : bodyIn(file)
  const name = models.asked(route, body, match)
  const entry = name === undefined ? undefined : models.find(name, host)
  if (name === undefined || entry === undefined)
    throw new QuoteError(EXIT.runTime, `no model answers to "${name ?? 'nothing'}"`)
  const price = overridden(prices.of(entry), override)
  if (!price) throw new QuoteError(EXIT.runTime, `the model ${name} has no price`)
  if (price.rule.free) return nothing(`the model ${entry} is free`)
  // The messages of a WebSocket are not known before: assume the whole context of the model.
  const most = mostOf(price, body, live ? (price.context ?? 0) : size)
  const missingPrices =
    most.lacking.length > 0 ? `without a price or a bound: ${most.lacking.join(', ')}\n` : ''
  return {
    text: `${most.most} ${currency} at most: ${most.formula}\n${missingPrices}`,
    json: { ...summary, model: entry, ...most },
    exit: missingPrices === '' ? EXIT.ok : EXIT.runTime,
  }
}

const mostOf = (price: Price, body: Json, size: number) => {
  const { bounds } = requestBoundsOf(body, size, price)
  const { nanos, lines, unbounded, unpriced } = quote(price.rule, bounds, factsOf(body, Date.now()))
  return {
    most: printMoney(nanos),
    formula: formula(lines),
    lacking: [...unpriced, ...unbounded],
  }
}

const bodyIn = (file: unknown): { readonly body: Json; readonly size: number } => {
  if (typeof file !== 'string') throw new QuoteError(EXIT.usage, USAGE)
  try {
    const bytes = readFileSync(file)
    return { body: JSON.parse(bytes.toString()) as Json, size: bytes.length }
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown)
    throw new QuoteError(EXIT.usage, `cannot read ${file}: ${reason}`)
  }
}
