/** The plugin `meter`: reserves the worst-case cost of a call before the call is forwarded, charges
 *  its usage before the last byte of the response leaves, and releases the hold of a failed
 *  call. */
import { errors } from '../engine/errors.ts'
import type {
  Attempt,
  CheckHostOf,
  Document,
  Exchange,
  HostBase,
  Json,
  Log,
  Message,
  Next,
  Plugin,
  Report,
  RouteDescription,
  Slot,
  Stage,
} from '../engine/plugin.ts'
import { BILLING, type BillingOptions } from './billing/schema.ts'
import {
  catalogueOf,
  hasModelStage,
  modelsIn,
  namesModel,
  readCatalogue,
  requestedModel,
  unknownModelIn,
} from './catalogue/configured.ts'
import { editAttempt, UNPRICED_TIERS } from './conversion/unpriced-tiers.ts'
import { isOpen } from './credentials/credential-extraction.ts'
import { exportAccounts } from './declared-accounts/command.ts'
import { type Admission, CallAdmission } from './ledger/admission/call-admission.ts'
import { pricesOf, sharedPrices } from './ledger/admission/configured-prices.ts'
import { ledgerCommands } from './ledger/commands/index.ts'
import { LEDGER, reportSections, reportUnusedSections } from './ledger/declarations.ts'
import {
  applyOverride,
  describePrice,
  type Override,
  overrideOf,
  type Price,
  Prices,
  ReducedPrices,
} from './ledger/prices.ts'
import { meterResponse } from './ledger/receipt-filter.ts'
import { sharedLedger } from './ledger/shared-ledger.ts'
import {
  ACCOUNT,
  CLOSE_MESSAGE,
  COVERED_INPUT,
  HOLD,
  METERED,
  MODEL,
  OUTPUT_LIMIT,
  PRICE_FACTOR,
  USAGE,
} from './slots.ts'

const refusal = errors({
  METER_NOBODY: [
    500,
    'Route "%s" has a price but no account to charge. Remove none from its auth, or make it free.',
    { expose: false },
  ],
})

/** The metered call of a WebSocket. */
const CALL: Slot<Admission['call']> = { name: 'metered call' }

const MODELS: Parameters<typeof ledgerCommands>[0] = {
  prices: pricesOf,
  namesModel,
  requestedModel,
  findEntry: (name, host) => readCatalogue(host).find(name)?.entry.name,
  expandBody: (route, name, body, host) => readCatalogue(host).expandBody(route.name, name, body),
}
const commands = ledgerCommands(MODELS, { accounts: exportAccounts })

export default {
  schema: { ...BILLING.schema, minProperties: 0 },
  // Those stages set the account, the bytes of form files, and the model.
  after: ['auth', 'form', 'model'],
  // Every call that has a price is metered.
  default: {},
  ...LEDGER,
  commands,
  metrics: {
    ledger_imbalance: 'Findings of the hourly audit of the ledger: 0 while it balances.',
    ledger_charged: 'Total cost of all calls at the last audit, in units of the currency.',
    unpriced_total: 'Calls that used a meter without a price.',
    uncollected_total: 'Calls that cost more than could be collected.',
    budgets_total: 'Calls that did not fit into a budget, by what happened to them.',
    uncharged_total: 'Calls that an upstream served but that were not charged.',
  },
  check(document: Document, report: Report, { before }: CheckHostOf<HostBase>) {
    if (!Array.isArray(document.pipeline)) return
    if (!document.pipeline.includes('meter')) return reportUnusedSections(document, report)
    const prices = new Prices({ models: modelsIn(document), settings: document.settings }, report)
    prices.check(report, before)
    const isPriced = Object.keys(modelsIn(document)).some(
      name => prices.of(name)?.rule.free === false,
    )
    reportOpenRoutes(document, isPriced, report)
    const isReachable = routesIn(document).some(route => canCost(route, isPriced))
    const { currency } = prices
    const isModel = (name: string) =>
      unknownModelIn([name], { section: () => modelsIn(document) as never }) === undefined
    reportSections(document, { currency, isReachable, isModel, report })
  },
  setup(options, host): Stage {
    if (!hasModelStage(host.route)) return {}
    const ledger = sharedLedger(host)
    const prices = sharedPrices(host)
    const admission = new CallAdmission(host, ledger, prices)
    const about = namesModel(host.route) ? describePrice(options, host.route) : {}
    const override = overrideOf(options, prices.currency)
    return new Meter({
      admission,
      prices,
      override,
      about,
      log: host.log,
      catalogue: catalogueOf(host),
    })
  },
} satisfies Plugin<BillingOptions>

type RouteOptions = Readonly<Record<string, Json>>
const routesIn = (document: Document) => (document.routes ?? []) as readonly RouteOptions[]
interface MeterOptions {
  readonly free?: boolean
  readonly price?: Json
}
const meterOf = ({ meter }: RouteOptions): MeterOptions => (meter ?? {}) as MeterOptions
/** Whether calls of a route may cost something. `isPriced`: a model has a price. */
const canCost = (options: RouteOptions, isPriced: boolean): boolean => {
  const { free, price } = meterOf(options)
  const route = { option: (plugin: string) => options[plugin] }
  return namesModel(route) && free !== true && (price !== undefined || isPriced)
}

/** Reports routes that take no credential although their models have prices: no account can be
 *  charged, so each call would be refused. */
const reportOpenRoutes = (document: Document, isPriced: boolean, report: Report): void => {
  for (const [index, options] of routesIn(document).entries()) {
    const route = { option: (plugin: string) => options[plugin] }
    if (options.auth === undefined || !isOpen(route)) continue
    if (!canCost(options, isPriced)) continue
    const message =
      'a route without a credential has no account to charge, but its calls have prices; remove `auth: none`, or add `meter: { free: true }`'
    report(['routes', index, 'auth'], 'METER_NOBODY', message)
  }
}

interface MeterParts {
  readonly admission: CallAdmission
  readonly prices: Prices
  readonly override: Override | undefined
  readonly about: RouteDescription
  readonly log: Log
  readonly catalogue: ReturnType<typeof catalogueOf>
}
type ModelChange = Extract<Awaited<ReturnType<CallAdmission['admit']>>, { readonly model: string }>
type ModelOrder = Omit<Parameters<CallAdmission['admit']>[1], 'account' | 'request'>
/** The budgets that a call did not fit into, and their header. */
const WARNED: Slot<string> = { name: 'budget warning' }
const WARNING = 'x-tollgate-budget-warning'

/** Whether headers of tiers were left out, which another model may price. */
const lostHeaders = ({ slots }: Exchange): boolean => {
  const { headers = [], betas } = slots.get(UNPRICED_TIERS) ?? {}
  return headers.length > 0 || betas !== undefined
}

class Meter implements Stage {
  readonly #catalogue: MeterParts['catalogue']
  readonly #about: RouteDescription
  readonly #admission: CallAdmission
  readonly #prices: Prices
  readonly #override: Override | undefined
  readonly #reducedPrices = new ReducedPrices()
  readonly #log: Log
  constructor({ admission, prices, override, about, log, catalogue }: MeterParts) {
    this.#log = log
    this.#about = about
    this.#admission = admission
    this.#prices = prices
    this.#override = override
    this.#catalogue = catalogue
  }
  handle(exchange: Exchange, next: Next): Promise<void> {
    const model = exchange.slots.get(MODEL)
    const price = model && this.#priceFor(exchange, model.entry)
    if (!model || !price || price.rule.free) return next()
    return this.#meter(exchange, next, {
      price,
      model: model.asked,
      entry: model.entry,
      passed: [],
    })
  }
  forward(attempt: Attempt, next: Next): Promise<void> {
    editAttempt(attempt)
    return next()
  }
  /** WebSocket: after each response, holds the worst-case cost of the next one. If the balance does
   *  not cover it, sends the format's close message and cuts the connection. The store knows what a
   *  response costs before the client has its last event: if this process crashes then, it is
   *  charged. */
  async message(message: Message, out: (message: Message) => void, exchange: Exchange) {
    const call = message.from === 'client' ? undefined : exchange.slots.get(CALL)
    const usage = exchange.slots.get(USAGE)
    if (!call || !usage) return out(message)
    call.onContent()
    const reason = usage.estimated ? undefined : await call.preAuthorise(usage)
    out(message)
    if (!reason) return
    const payload = exchange.slots.get(CLOSE_MESSAGE)?.(reason)
    if (payload) out({ from: 'upstream', text: true, payload })
    exchange.cut(reason)
  }
  describe() {
    return this.#about
  }
  explain(exchange: Exchange) {
    const model = exchange.slots.get(MODEL)
    const price = model && this.#priceOf(model.entry)
    if (!price) return null
    const dropped = exchange.slots.get(UNPRICED_TIERS)?.names
    const budgets = exchange.slots.get(WARNED)
    return {
      price: JSON.parse(price.rule.text),
      ...(dropped && { dropped }),
      ...(budgets !== undefined && { budgets }),
    }
  }
  #priceOf(entry: string): Price | undefined {
    return applyOverride(this.#prices.of(entry), this.#override)
  }
  #priceFor({ slots }: Exchange, entry: string): Price | undefined {
    const price = this.#priceOf(entry)
    const factor = slots.get(PRICE_FACTOR)
    return !price || price.rule.free || factor === undefined
      ? price
      : this.#reducedPrices.of(price, factor)
  }
  async #meter(exchange: Exchange, next: Next, order: ModelOrder): Promise<void> {
    const request = await this.#admission.read(exchange, order)
    const account = exchange.slots.get(ACCOUNT)
    if (!account) throw refusal('METER_NOBODY', [exchange.route.name])
    const full = { ...order, account, request }
    const admission = await this.#admission.admit(exchange, full)
    if ('model' in admission) return this.#changeModel(exchange, next, full, admission)
    const { call, estimator, warning, unpricedTools } = admission
    if (warning !== undefined) exchange.slots.set(WARNED, warning)
    exchange.slots.set(METERED, order.price.rule.pricedMeters)
    if (exchange.kind === 'websocket') exchange.slots.set(CALL, call)
    else exchange.slots.set(HOLD, call)
    try {
      await next()
      request.dropped?.report(exchange.reply, this.#log, exchange.id)
      if (warning !== undefined) exchange.reply.headers[WARNING] = warning
      if (exchange.kind === 'websocket' || call.isKept) return
      if (exchange.reply.status >= 400) return call.release()
      await meterResponse(exchange, call, estimator)
    } catch (error) {
      call.release()
      throw error
    }
    const limit = exchange.slots.get(OUTPUT_LIMIT)
    const { headers } = exchange.reply
    if (limit !== undefined) headers['x-tollgate-output-limit'] = String(limit)
    const covered = exchange.slots.get(COVERED_INPUT)
    if (covered !== undefined) headers['x-tollgate-input-covered'] = String(covered)
    if (unpricedTools.length > 0) headers['x-tollgate-unpriced'] = unpricedTools.join(', ')
  }
  /** A budget sends the call to another model: the call is metered as one to that model. */
  async #changeModel(
    exchange: Exchange,
    next: Next,
    order: Parameters<CallAdmission['admit']>[1],
    { window, model, warning, refusal: refuse }: ModelChange,
  ): Promise<void> {
    try {
      const entry = lostHeaders(exchange)
        ? undefined
        : await this.#catalogue.changeModel(model, order.account, exchange)
      if (entry === undefined) throw await refuse()
      exchange.slots.set(MODEL, { asked: exchange.slots.need(MODEL).asked, entry })
      const price = this.#priceFor(exchange, entry)
      if (price && !price.rule.free) {
        const passed = [...order.passed, window]
        await this.#meter(exchange, next, { price, model, entry, passed })
      } else {
        await next()
        exchange.reply.headers[WARNING] = warning
      }
    } catch (error) {
      throw this.#catalogue.isUnreachable(error) ? await refuse() : error
    }
    order.request.dropped?.report(exchange.reply, this.#log, exchange.id)
  }
}
