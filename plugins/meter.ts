/** What a call costs: held before its first byte leaves, settled at what it used before its last one does, released when
 *  it failed. Owns the ledger. */
import { errors } from '../engine/errors.ts'
import { isFields } from '../engine/kit.ts'
import type {
  Document,
  Exchange,
  Host,
  Lent,
  Message,
  Next,
  Plugin,
  Report,
  Slot,
  Stage,
} from '../engine/plugin.ts'
import { type Asked, askedOf, calledIn, factsOf, saidIn } from './billing/asked.ts'
import { CURRENCY } from './billing/currency.ts'
import { parseQuota } from './billing/money.ts'
import type { BillingOptions } from './billing/rule.ts'
import { BILLING } from './billing/schema.ts'
import type { Facts } from './billing/usage.ts'
import { coverable, worst } from './billing/worst.ts'
import {
  askedModel,
  callsModel,
  findsModel,
  modelsIn,
  modelsOf,
  readCatalogue,
} from './catalogue/configured.ts'
import { routeFormat } from './conversion/route-format.ts'
import { audit, auditCommand, chargedInAll } from './ledger/audit.ts'
import { Bill } from './ledger/bill.ts'
import { type BillKit, mostCharged } from './ledger/charged.ts'
import { Watching } from './ledger/estimate.ts'
import { exportCommand } from './ledger/export.ts'
import { insufficientFunds } from './ledger/insufficient-funds.ts'
import { Ledger, type Payer } from './ledger/ledger.ts'
import { settleNoted } from './ledger/noted.ts'
import { type Override, overridden, overrideOf, type Price, Prices } from './ledger/prices.ts'
import { type Models, quoteCommand } from './ledger/quote.ts'
import { holdAt, leavesWhole, Receipt } from './ledger/receipt.ts'
import { Settling } from './ledger/settling.ts'
import { migrations } from './ledger/tables.ts'
import {
  ACCOUNT,
  type Account,
  FILES,
  METERED,
  MODEL,
  OUTPUT_LIMIT,
  PARTING,
  USAGE,
} from './slots.ts'

const refusal = errors({
  METER_UNPRICED: [400, 'This model has no price for what the request asks of it: %s.'],
  METER_NOBODY: [500, 'route "%s" has a price, and nobody to pay it', { expose: false }],
})

/** What a conversation is billed with. */
const BILL: Slot<Bill> = { name: 'bill' }
/** ms between two audits. */
const AUDIT = 3_600_000
/** ms between two looks for what streams that a death cut off have left behind. */
const NOTES = 5_000

const pricesOf = (host: Lent): Prices =>
  new Prices({ models: modelsOf(host), settings: host.section('settings') })
const quoted: Models = {
  prices: pricesOf,
  called: callsModel,
  asked: askedModel,
  find: (name, host) => readCatalogue(host).find(name)?.entry.name,
}

export default {
  schema: {
    ...BILLING,
    description: 'What a call of this route costs, in place of what its model says.',
    minProperties: 0,
  },
  // Who pays, for which model, and how much of the body is files.
  after: ['auth', 'form', 'model'],
  // Whatever has a price is metered.
  default: {},
  settings: { currency: CURRENCY },
  migrations,
  commands: { audit: auditCommand, export: exportCommand, quote: quoteCommand(quoted) },
  check(document: Document, report: Report) {
    if (Array.isArray(document.pipeline) && document.pipeline.includes('meter'))
      new Prices({ models: modelsIn(document), settings: document.settings }, report)
  },
  setup(options, host): Stage {
    if (!findsModel(host.route)) return {}
    const ledger = host.share(
      'ledger',
      '1',
      () => new Ledger(host.database, host.log, host.standing),
    )
    host.job('ledger notes', NOTES, () => settleNoted(host.database, host.log, Date.now()))
    host.job('ledger audit', AUDIT, () => auditAloud(host))
    const prices = host.share('prices', host.config.hash, () => pricesOf(host))
    return new Meter(host, ledger, prices, overrideOf(options, prices.currency))
  },
} satisfies Plugin<BillingOptions>

/** Books that do not balance are worth waking somebody: the metric is not zero, and the log says why. */
const auditAloud = async ({ database, metrics, log }: Host): Promise<void> => {
  const findings = await audit(database)
  metrics.gauge('ledger_imbalance', {}, findings.length)
  metrics.gauge('ledger_charged', {}, await chargedInAll(database))
  for (const finding of findings) log.error(finding, 'the books do not balance')
}

class Meter implements Stage {
  readonly #host: Host
  readonly #ledger: Ledger
  readonly #kit: BillKit
  readonly #prices: Prices
  readonly #override: Override | undefined
  /** Whether a request can say how much may be written. */
  readonly #binds: boolean
  /** Whether what is asked of a target stands in JSON. */
  readonly #json: boolean
  constructor(host: Host, ledger: Ledger, prices: Prices, override: Override | undefined) {
    this.#host = host
    this.#ledger = ledger
    this.#prices = prices
    this.#override = override
    const format = routeFormat(host.route)
    this.#binds = format?.outputLimit !== undefined
    const { name: currency } = prices.currency
    const insufficient = insufficientFunds({ ledger, currency, limitField: format?.limitField })
    this.#kit = { ledger, log: host.log, metrics: host.metrics, insufficient }
    this.#json = format?.codec !== undefined
  }
  handle(exchange: Exchange, next: Next): Promise<void> {
    const model = exchange.slots.get(MODEL)
    const price = model && this.#priceOf(model.entry)
    if (!model || !price || price.rule.free) return next()
    const account = exchange.slots.get(ACCOUNT)
    if (!account) throw refusal('METER_NOBODY', [exchange.route.name])
    return this.#charge(exchange, next, price, account, model.asked)
  }
  /** Of a WebSocket: after each answer as much as another may cost is held, or it ends with a word why. */
  async message(message: Message, out: (message: Message) => void, exchange: Exchange) {
    out(message)
    const bill = exchange.slots.get(BILL)
    const usage = exchange.slots.get(USAGE)
    if (!bill || !usage || usage.estimated || message.from === 'client') return
    const lack = await bill.ahead(usage)
    if (!lack) return
    const payload = exchange.slots.get(PARTING)?.(lack)
    if (payload) out({ from: 'upstream', text: true, payload })
    exchange.cut(lack)
  }
  explain(exchange: Exchange) {
    const model = exchange.slots.get(MODEL)
    const price = model && this.#priceOf(model.entry)
    return price ? { price: JSON.parse(price.rule.text) } : null
  }
  #priceOf(entry: string): Price | undefined {
    return overridden(this.#prices.of(entry), this.#override)
  }
  async #charge(
    exchange: Exchange,
    next: Next,
    price: Price,
    account: Account,
    model: string,
  ): Promise<void> {
    const { request } = exchange
    const at = Date.now()
    const live = exchange.kind === 'websocket'
    const said = live ? { body: null, size: price.context ?? 0 } : saidIn(exchange, this.#json)
    const { body, size } = said instanceof Promise ? await said : said
    // Facts are for prices that go by more than counts.
    const facts = price.rule.quick ? { at } : factsOf(body, at)
    const files = exchange.slots.get(FILES) ?? 0
    const asked = askedOf(body, size, price, files)
    const { nanos: worstPrice, unpriced, unbounded } = price.most.of(asked, facts)
    const without = [...unpriced, ...unbounded]
    if (without.length > 0) throw refusal('METER_UNPRICED', [calledIn(body, without).join(', ')])
    const payer = payerOf(account)
    const held = this.#ledger.takeNow(payer, worstPrice)
      ? worstPrice
      : await this.#take(exchange, payer, price, asked, facts, worstPrice)
    const { version } = this.#host.config
    const process = this.#ledger.processNow ?? (await this.#ledger.process())
    const most = mostCharged(held, live || asked.hosted)
    const terms = { payer, rule: price.rule, facts, model, version, held, most }
    const bill = new Bill(this.#kit, exchange, terms, process)
    exchange.slots.set(METERED, price.rule.priced)
    if (live) exchange.slots.set(BILL, bill)
    if (exchange.kind !== 'http' || asksForStream(request) || this.#ledger.tight(payer)) bill.hold()
    const seen = new Watching(exchange, { body, size: size - files }, bill)
    if (asksForStream(request)) seen.begin()
    let whole = false
    try {
      await next()
      if (live) return
      if (exchange.reply.status >= 400) return bill.release()
      const found = leavesWhole(exchange)
      whole = typeof found === 'boolean' ? found : await found
      if (!whole) holdAt(exchange, bill, seen)
    } catch (thrown) {
      bill.release()
      throw thrown
    }
    const limit = exchange.slots.get(OUTPUT_LIMIT)
    if (limit !== undefined) exchange.reply.headers['x-tollgate-output-limit'] = String(limit)
    exchange.reply.through(new (whole ? Receipt : Settling)(exchange, bill, seen))
  }
  /** Takes the most it can cost. Where the balance covers only a part, and the client named no bound, as much may be
   *  written as is covered, if the request can say so. */
  async #take(
    exchange: Exchange,
    payer: Payer,
    { rule }: Price,
    { bounds, limited }: Asked,
    facts: Facts,
    most: bigint,
  ): Promise<bigint> {
    const lack = await this.#ledger.take(payer, most)
    if (!lack) return most
    const room = limited || !this.#binds ? 0n : await this.#ledger.room(payer)
    const tokens = room > 0n ? coverable(rule, bounds, facts, room) : 0
    if (tokens < USEFUL) throw await this.#kit.insufficient(lack, payer, most)
    const { nanos } = worst(rule, { ...bounds, completion: tokens }, facts)
    if (await this.#ledger.take(payer, nanos)) throw await this.#kit.insufficient(lack, payer, most)
    exchange.slots.set(OUTPUT_LIMIT, tokens)
    return nanos
  }
}

/** Tokens below which an answer is of no use to anybody. */
const USEFUL = 256

const payerOf = ({ id, key }: Account): Payer => ({
  account: id,
  key: key?.id,
  quota: key?.quota === undefined ? undefined : parseQuota(key.quota),
})

/** Google's clients may ask for a stream that is one JSON text: it says so in its path. */
const asksForStream = ({ parsed, path }: Exchange['request']): boolean =>
  (isFields(parsed) && parsed.stream === true) || path.includes(':stream')
