/** What a call costs: held before its first byte leaves, settled at what it used before its last one does, released when
 *  it failed. Owns the ledger. */
import { errors } from '../engine/errors.ts'
import type {
  Document,
  Exchange,
  Filter,
  Host,
  Lent,
  Next,
  Out,
  Plugin,
  Report,
  Stage,
} from '../engine/plugin.ts'
import { type Asked, askedOf, factsOf } from './billing/asked.ts'
import { CURRENCY } from './billing/currency.ts'
import { parseQuota, printMoney } from './billing/money.ts'
import { type BillingOptions, compileRule } from './billing/rule.ts'
import { BILLING } from './billing/schema.ts'
import type { Facts } from './billing/usage.ts'
import { coverable, worst } from './billing/worst.ts'
import { Catalogue } from './catalogue/catalogue.ts'
import type { Section } from './catalogue/section.ts'
import { isEventStream } from './formats/sse.ts'
import { audit } from './ledger/audit.ts'
import { Bill } from './ledger/bill.ts'
import { auditCommand, quoteCommand } from './ledger/commands.ts'
import { Watching } from './ledger/estimate.ts'
import { exportCommand } from './ledger/export.ts'
import { fault } from './ledger/faults.ts'
import { Ledger, type Payer } from './ledger/ledger.ts'
import { Mosts } from './ledger/most.ts'
import { type Price, Prices } from './ledger/prices.ts'
import { sweep } from './ledger/sweep.ts'
import { migrations } from './ledger/tables.ts'
import { ACCOUNT, type Account, METERED, MODEL, OUTPUT_LIMIT, USAGE } from './slots.ts'

const refusal = errors({
  METER_UNPRICED: [400, 'This model has no price for what the request asks of it: %s.'],
  METER_NOBODY: [500, 'route "%s" has a price, and nobody to pay it', { expose: false }],
})

/** ms between two looks for processes that ended without a word, and between two audits. */
const SWEEP = 5_000
const AUDIT = 3_600_000

const findModel = (name: string, host: Lent): string | undefined =>
  new Catalogue(host.section<Section>('models'), host).find(name)?.entry.name

export default {
  schema: {
    ...BILLING,
    description: 'What a call of this route costs, in place of what its model says.',
    minProperties: 0,
  },
  // Whatever has a price is metered.
  default: {},
  settings: { currency: CURRENCY },
  migrations,
  commands: { audit: auditCommand, export: exportCommand, quote: quoteCommand(findModel) },
  check(document: Document, report: Report) {
    if (Array.isArray(document.pipeline) && document.pipeline.includes('meter'))
      new Prices({ models: document.models, settings: document.settings }, report)
  },
  setup(options, host): Stage {
    if (!host.route.has('model')) return {}
    const ledger = host.share('ledger', '1', () => new Ledger(host.database, host.log))
    host.job('ledger sweep', SWEEP, () => sweep(host.database, host.log).then(() => {}))
    host.job('ledger audit', AUDIT, () => auditAloud(host))
    const prices = host.share(
      'prices',
      host.config.hash,
      () => new Prices({ models: host.section('models'), settings: host.section('settings') }),
    )
    return new Meter(host, ledger, prices, overrideOf(options, prices))
  },
} satisfies Plugin<BillingOptions>

/** Books that do not balance are worth waking somebody: the metric is not zero, and the log says why. */
const auditAloud = async ({ database, metrics, log }: Host): Promise<void> => {
  const findings = await audit(database)
  metrics.gauge('ledger_imbalance', {}, findings.length)
  for (const finding of findings) log.error(finding, 'the books do not balance')
}

/** What the route says of its price, if it says anything. Its problems are told with its place. */
const overrideOf = (options: BillingOptions, { currency }: Prices): Priced | undefined => {
  if (options.price === undefined && options.free === undefined) return undefined
  const said: string[] = []
  const report: Report = (where, _, message) => said.push(`${where.join('.')}: ${message}`)
  const rule = compileRule(options, { currency, where: [], report })
  if (!rule) throw new Error(said.join('; '))
  return { rule, most: new Mosts(rule) }
}
type Priced = Pick<Price, 'rule' | 'most'>

class Meter implements Stage {
  readonly #host: Host
  readonly #ledger: Ledger
  readonly #prices: Prices
  readonly #override: Priced | undefined
  constructor(host: Host, ledger: Ledger, prices: Prices, override: Priced | undefined) {
    this.#host = host
    this.#ledger = ledger
    this.#prices = prices
    this.#override = override
  }
  handle(exchange: Exchange, next: Next): Promise<void> {
    const model = exchange.slots.get(MODEL)
    const price = model && this.#priceOf(model.entry)
    if (!model || !price || price.rule.free) return next()
    const account = exchange.slots.get(ACCOUNT)
    if (!account) throw refusal('METER_NOBODY', [exchange.route.name])
    return this.#charge(exchange, next, price, account, model.asked)
  }
  explain(exchange: Exchange) {
    const model = exchange.slots.get(MODEL)
    const price = model && this.#priceOf(model.entry)
    return price ? { price: JSON.parse(price.rule.text) } : null
  }
  #priceOf(entry: string): Price | undefined {
    const price = this.#prices.of(entry)
    if (!this.#override) return price
    return { output: price?.output, context: price?.context, ...this.#override }
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
    const body = request.parsed ?? null
    const size = Number(request.headers['content-length'] ?? 0) || (await request.bytes()).length
    const facts = factsOf(body, at)
    const asked = askedOf(body, size, price)
    const { nanos: most, unpriced, unbounded } = price.most.of(asked, facts)
    const lacking = [...unpriced, ...unbounded]
    if (lacking.length > 0) throw refusal('METER_UNPRICED', [lacking.join(', ')])
    const payer = payerOf(account)
    const held = await this.#take(exchange, payer, price, asked, facts, most)
    const kit = { ledger: this.#ledger, log: this.#host.log, metrics: this.#host.metrics }
    const { version } = this.#host.config
    const process = await this.#ledger.process()
    const bill = new Bill(
      kit,
      exchange,
      { payer, rule: price.rule, facts, model, version, held },
      process,
    )
    exchange.slots.set(METERED, true)
    const seen = new Watching(size, usage => bill.note(usage))
    try {
      await next()
      if (exchange.reply.status >= 400) return bill.release()
      await receipt(exchange, bill, seen)
    } catch (thrown) {
      bill.release()
      throw thrown
    }
    const limit = exchange.slots.get(OUTPUT_LIMIT)
    if (limit !== undefined) exchange.reply.headers['x-tollgate-output-limit'] = String(limit)
    exchange.reply.through(new Settling(exchange, bill, seen))
  }
  /** Takes the most it can cost. Where the balance covers only a part, and the client named no bound, as much may be
   *  written as is covered. */
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
    const room = limited ? 0n : await this.#ledger.room(payer)
    const tokens = room > 0n ? coverable(rule, bounds, facts, room) : 0
    if (tokens < USEFUL) throw fault(LACKS[lack], [printMoney(most)])
    const { nanos } = worst(rule, { ...bounds, completion: tokens }, facts)
    if (await this.#ledger.take(payer, nanos)) throw fault(LACKS[lack], [printMoney(most)])
    exchange.slots.set(OUTPUT_LIMIT, tokens)
    return nanos
  }
}

/** Tokens below which an answer is of no use to anybody. */
const USEFUL = 256
const LACKS = { account: 'INSUFFICIENT', key: 'KEY_EXHAUSTED' } as const

const payerOf = ({ id, key }: Account): Payer => ({
  account: id,
  key: key?.id,
  quota: key?.quota === undefined ? undefined : parseQuota(key.quota),
})

/** The largest plain answer that is waited for, so that its head can say what it cost. */
const RECEIPT = 1024 * 1024

/** Google's clients may ask for a stream that is one JSON text: it says so in its path. */
const isPlain = ({ reply, request }: Exchange): boolean =>
  /\bjson\b/i.test(String(reply.headers['content-type'] ?? '')) && !request.path.includes(':stream')

/** A plain answer says what it cost. A longer one, and a stream, are asked about by their id. */
const receipt = async (exchange: Exchange, bill: Bill, seen: Watching): Promise<void> => {
  const { reply, slots } = exchange
  if (!isPlain(exchange)) return
  const first = await reply.peek(bytes => bytes.length > RECEIPT)
  if (first && first.length > RECEIPT) return
  const nanos = bill.priceOf(seen.guessing(first?.length ?? 0, slots.get(USAGE)))
  reply.headers['x-tollgate-charge'] = printMoney(nanos)
}

/** Settles as the reply ends, and holds its tail back where the account has to be asked first. */
class Settling implements Filter {
  readonly #exchange: Exchange
  readonly #bill: Bill
  readonly #seen: Watching
  constructor(exchange: Exchange, bill: Bill, seen: Watching) {
    this.#exchange = exchange
    this.#bill = bill
    this.#seen = seen
    seen.stream = isEventStream(exchange.reply)
  }
  write(chunk: Uint8Array, out: Out): void {
    this.#seen.saw(chunk)
    out.write(chunk)
  }
  end(tail: Uint8Array | undefined, out: Out): void {
    if (tail) this.#seen.sawLast(tail)
    const more = this.#settle()
    if (!more) return out.end(tail)
    void more.then(() => out.end(tail))
  }
  fail(reason: Parameters<Out['fail']>[0], out: Out): void {
    // An upstream that failed before it said anything is paid for by nobody.
    const more = this.#seen.any ? this.#settle() : this.#bill.release()
    if (!more) return out.fail(reason)
    void more.then(() => out.fail(reason))
  }
  #settle(): Promise<void> | undefined {
    return this.#bill.settle(this.#seen.complete(this.#exchange.slots.get(USAGE)))
  }
}
