/** `tollgate quote`: prints the worst-case cost of one request on its route, with the formula. */
import { readFileSync } from 'node:fs'
import { EXIT, instantIn, textOf, UsageError } from '../../../engine/cli/kit.ts'
import type { Command, HostBase, Json, Route, RouteMatch } from '../../../engine/plugin.ts'
import { printFormula } from '../../billing/formula.ts'
import { printMoney } from '../../billing/money.ts'
import {
  embeddingBounds,
  heldFactsOf,
  namedTiersOf,
  namesOfUnknownTools,
  requestBoundsOf,
  requestFactsOf,
} from '../../billing/request-bounds.ts'
import { coverableTokens, dearestFactsOf, missingPrices, quote } from '../../billing/worst-case.ts'
import {
  isForEmbeddings,
  openAttributesOf,
  routeFormat,
  secondsOrderOf,
} from '../../conversion/route-format.ts'
import { withoutUnpricedTiers } from '../../conversion/unpriced-tiers.ts'
import { MIN_OUTPUT } from '../admission/reserver.ts'
import { coverableSum, planTokensHeld, tokensHeld } from '../budgets/tokens.ts'
import { applyOverride, overrideOf, type Price, type Prices } from '../prices.ts'
import { isMetered, routePrice } from '../views/route.ts'
import type { Unit } from '../wallet.ts'
import {
  CALLER_OPTIONS,
  callerIn,
  describeBudgets,
  type QuotedCost,
  quoteBudgets,
} from './quote-budgets.ts'
import { describePlan, quotePlan } from './quote-plan.ts'

/** Access to the configured models, which this folder does not read. */
export interface Models {
  prices(host: HostBase): Prices
  /** Whether the requests of a route name a model. */
  namesModel(route: Route): boolean
  requestedModel(route: Route, body: Json, request: RouteMatch<Route>): string | undefined
  /** The key in `models:` of a model name. */
  findEntry(name: string, host: HostBase): string | undefined
  /** The body with the defaults of the model. */
  expandBody(route: Route, name: string, body: Json, host: HostBase): Json
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
  summary:
    'Shows the worst-case cost of a call, with the formula, the plan that pays it, and the budgets that it must fit into.',
  example: 'tollgate quote POST /v1/chat/completions --body request.json',
  options: {
    body: { type: 'string', value: 'FILE', summary: 'the file with the request' },
    at: { type: 'string', value: 'TIME', summary: 'when the call begins: 2030-01-31T23:30+08:00' },
    ...CALLER_OPTIONS,
  },
  async run({ values, positionals: [method = '', path = ''] }, host) {
    try {
      if (!path.startsWith('/'))
        throw new QuoteError(EXIT.usage, `a path begins with "/": ${method} /${path}`)
      const match = host.match(method.toUpperCase(), path)
      const at = startOf(textOf(values.at))
      const caller = await callerIn(values, host)
      if (!match.route) return noRoute(match)
      const { cost, ...result } = costOn(match.route, match, values.body, at, models, host)
      if (!caller || !cost) return result
      const { account } = caller
      const plan = await quotePlan(host, { account, entry: cost.entry, at }, cost)
      const budgets = await quoteBudgets(host, caller, at, cost)
      const { text, json } = result
      const { name: currency } = models.prices(host).currency
      return {
        ...result,
        text: `${text}${describePlan(plan, currency)}${describeBudgets(budgets, currency)}`,
        json: { ...json, plan, budgets },
      }
    } catch (error) {
      if (!(error instanceof QuoteError)) throw error
      process.stderr.write(`${error.message}\n`)
      return error.exit
    }
  },
})

/** ms since 1970; now without `--at`. */
const startOf = (text: string | undefined): number => {
  const at = text === undefined ? Date.now() : instantIn(text)
  if (!Number.isNaN(at)) return at
  throw new UsageError('--at must be a time with its offset, such as 2030-01-31T23:30+08:00')
}

interface CommandResult {
  readonly text: string
  readonly json: object
  readonly exit?: number
}

/** The output for a request without a route, as in `tollgate explain`. */
const noRoute = ({ allowedMethods: allowed }: RouteMatch<Route>): CommandResult => ({
  text: `${allowed.length > 0 ? `405: the path has ${allowed.join(', ')}` : '404: no route'}\n`,
  json: { route: null, allowed },
  exit: EXIT.runTime,
})

const costOn = (
  route: Route,
  match: RouteMatch<Route>,
  file: unknown,
  at: number,
  models: Models,
  host: HostBase,
): CommandResult & { readonly cost?: QuotedCost & { readonly entry: string } } => {
  const prices = models.prices(host)
  const { name: currency } = prices.currency
  const summary = { route: route.name, currency, lacking: [], unpriced: [] }
  const nothing = (reason: string): CommandResult => ({
    text: `0 ${currency}: ${reason}\n`,
    json: { ...summary, most: '0', formula: '0' },
  })
  if (!isMetered(route) || !models.namesModel(route)) return nothing('the route calls no model')
  const override = overrideOf(routePrice(route), prices.currency)
  if (override?.rule.free) return nothing('the route is free')
  const isLive = route.method === 'WS'
  const { body, size } = isLive ? { body: null, size: 0 } : bodyIn(file)
  const name = models.requestedModel(route, body, match)
  const entry = name === undefined ? undefined : models.findEntry(name, host)
  if (name === undefined || entry === undefined)
    throw new QuoteError(
      EXIT.runTime,
      name === undefined ? 'the request names no model' : `unknown model "${name}"`,
    )
  const price = applyOverride(prices.of(entry), override)
  if (!price) throw new QuoteError(EXIT.runTime, `the model ${name} has no price`)
  if (price.rule.free) return nothing(`the model ${entry} is free`)
  // The messages of a WebSocket are unknown: assume the whole context of the model.
  const expandedBody = models.expandBody(route, name, body, host)
  const { cost, ...most } = mostOf(
    price,
    expandedBody,
    isLive ? (price.context ?? 0) : size,
    at,
    route,
  )
  const missing =
    most.lacking.length > 0 ? `without a price or a bound: ${most.lacking.join(', ')}\n` : ''
  const freeTools =
    most.unpriced.length > 0 ? `free, named as unpriced: ${most.unpriced.join(', ')}\n` : ''
  return {
    text: `${most.most} ${currency} at most: ${most.formula}\n${freeTools}${missing}`,
    json: { ...summary, model: entry, ...most },
    exit: missing === '' ? EXIT.ok : EXIT.runTime,
    cost: { ...cost, entry },
  }
}

const mostOf = (price: Price, body: Json, size: number, at: number, route: Route) => {
  const limits = isForEmbeddings(route) ? embeddingBounds : undefined
  const sentBody = price.tierRule === 'pass' ? body : withoutUnpricedTiers(body, price.rule.tiers)
  const open = openAttributesOf({ route })
  const reportsSeconds = open.includes('seconds')
  const request = requestBoundsOf(sentBody, size, price, 0, limits, {
    reportsSeconds,
    order: secondsOrderOf({ route }),
  })
  const { bounds } = request
  const facts = requestFactsOf(sentBody, at, price, open)
  const { heldFacts } = dearestFactsOf(facts, namedTiersOf({ body: sentBody }, price.rule), {
    rule: price.rule,
    bounds,
    heldAs: each => heldFactsOf(each, price.defaultTiers),
  })
  const worstCost = quote(price.rule, bounds, heldFacts)
  const { missingMeters, unpricedTools } = missingPrices(worstCost, price)
  return {
    cost: {
      nanos: worstCost.nanos,
      tokens: tokensHeld(price.rule, bounds),
      planTokens: planTokensHeld(price.rule, bounds),
      coversPart: (rest: bigint, unit: Unit) =>
        !request.isLimited &&
        routeFormat({ route })?.outputLimit !== undefined &&
        (unit === 'tokens'
          ? coverableSum(price.rule, bounds, rest, 'completion')
          : coverableTokens(price.rule, bounds, heldFacts, rest)) >= MIN_OUTPUT,
    },
    most: printMoney(worstCost.nanos),
    formula: printFormula(worstCost.lines),
    lacking: missingMeters,
    unpriced: namesOfUnknownTools(body, unpricedTools),
  }
}

const bodyIn = (file: unknown): { readonly body: Json; readonly size: number } => {
  if (typeof file !== 'string') throw new QuoteError(EXIT.usage, USAGE)
  try {
    const bytes = readFileSync(file)
    return { body: JSON.parse(bytes.toString()) as Json, size: bytes.length }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new QuoteError(EXIT.usage, `cannot read ${file}: ${reason}`)
  }
}
