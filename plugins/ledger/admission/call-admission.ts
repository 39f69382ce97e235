/** Admits calls: computes the worst-case cost of a call and reserves it before the call is
 *  forwarded. */
import { errors } from '../../../engine/errors.ts'
import type { Exchange, Host, Json } from '../../../engine/plugin.ts'
import {
  embeddingBounds,
  heldFactsOf,
  namedTiersOf,
  namesOfUnknownTools,
  requestBoundsOf,
  requestFactsOf,
  storageBoundsOf,
  targetRequestOf,
  toolNamesOf,
} from '../../billing/request-bounds.ts'
import { dearestFactsOf, missingPrices } from '../../billing/worst-case.ts'
import {
  isForEmbeddings,
  openAttributesOf,
  routeFormat,
  secondsOrderOf,
  ToolKeeping,
} from '../../conversion/route-format.ts'
import { TierGate } from '../../conversion/tier-gate.ts'
import { asksForStream } from '../../formats/stream-request.ts'
import { type Account, CACHE_STORAGE, COVERED_INPUT, FILES, NAMED_FILES } from '../../slots.ts'
import { chargeLimit, type LedgerContext } from '../call-charge.ts'
import type { Ledger } from '../ledger.ts'
import { createLedgerContext } from '../ledger-context.ts'
import { MeteredCall } from '../metered-call.ts'
import type { Price, Prices } from '../prices.ts'
import { UsageEstimator } from '../usage-estimator.ts'
import { type BoundedRequest, type Reserved, Reserver } from './reserver.ts'

const refusal = errors({
  METER_UNPRICED: [400, 'This model has no price for these parts of the request: %s.'],
})

/** A call that asks for admission. */
interface Order extends Pick<BoundedRequest, 'entry' | 'passed'> {
  readonly price: Price
  readonly account: Account
  /** The model name in the request. */
  readonly model: string
  /** The body that the target gets, or its outline. */
  readonly request: {
    readonly body: Json
    /** Bytes. */
    readonly size: number
    /** Tiers that are left out, since the model does not price them. */
    readonly dropped?: NonNullable<ReturnType<TierGate['check']>>['dropped']
  }
}
type ModelChange = Extract<Awaited<ReturnType<Reserver['reserve']>>, { readonly model: string }>
/** An admitted call, and the estimator that counts its response. */
export interface Admission {
  readonly call: MeteredCall
  readonly estimator: UsageEstimator
  /** Budgets that the call did not fit into: a header. */
  readonly warning: Reserved['warning']
  /** Meters of offered tools without a price, and names of unknown tools: their calls cost
   *  nothing. */
  readonly unpricedTools: readonly string[]
}

export class CallAdmission {
  readonly #ledger: Ledger
  readonly #context: LedgerContext
  readonly #reserver: Reserver
  /** The configuration version whose prices apply. */
  readonly #version: number
  /** Whether requests of the route are JSON. */
  readonly #isJson: boolean
  readonly #format: ReturnType<typeof routeFormat>
  readonly #tierGate: TierGate
  readonly #toolKeeping: ToolKeeping
  /** How requests of the route bound their usage. */
  readonly #limits: Parameters<typeof requestBoundsOf>[4]
  readonly #openAttributes: readonly string[]
  readonly #order: ReturnType<typeof secondsOrderOf>
  constructor(host: Host, ledger: Ledger, { currency }: Prices) {
    this.#ledger = ledger
    this.#version = host.config.version
    const format = routeFormat(host)
    this.#format = format
    this.#tierGate = new TierGate(host)
    this.#toolKeeping = new ToolKeeping(host, format)
    this.#limits = isForEmbeddings(host.route) ? embeddingBounds : format
    this.#openAttributes = openAttributesOf(host)
    this.#order = secondsOrderOf(host)
    this.#isJson = format?.codec !== undefined
    this.#context = createLedgerContext(host, ledger, currency.name, format?.limitField)
    this.#reserver = new Reserver(this.#context, format?.outputLimit !== undefined)
  }
  /** Reads the request, and leaves out the tiers that the model does not price. Rejects with
   *  METER_TIER or FIELD_LOST. */
  async read(
    exchange: Exchange,
    { price, model }: Pick<Order, 'price' | 'model'>,
  ): Promise<Order['request']> {
    if (exchange.kind === 'websocket') return { body: null, size: price.context ?? 0 }
    const { body, size } = await targetRequestOf(exchange, this.#isJson)
    const { rule, tierRule } = price
    const gated = this.#tierGate.check(exchange, body, { model, tierRule, tiers: rule.tiers })
    return { body, size, ...gated }
  }
  /** Reserves the worst-case cost. Rejects with METER_UNPRICED, INSUFFICIENT, KEY_EXHAUSTED or
   *  BUDGET_EXCEEDED. */
  async admit(exchange: Exchange, order: Order): Promise<Admission | ModelChange> {
    const { price, account, model, request } = order
    const at = Date.now()
    const isLive = exchange.kind === 'websocket'
    const { body, size } = request
    const { headers } = exchange.request
    const requestFacts = requestFactsOf(body, at, price, this.#openAttributes, headers)
    const files = exchange.slots.get(FILES) ?? 0
    const named = exchange.slots.get(NAMED_FILES)
    const storage = exchange.slots.get(CACHE_STORAGE)
    const usual = requestBoundsOf(body, size, price, files, this.#limits, {
      files: named,
      targets: exchange.targets,
      getsTools: () => this.#toolKeeping.reachesTarget(exchange, body),
      reportsSeconds: this.#openAttributes.includes('seconds'),
      order: this.#order,
    })
    const bounds = storage ? storageBoundsOf(usual, storage) : usual
    const needsTranslation = this.#toolKeeping.needsTranslation(exchange)
    const tiers = namedTiersOf({ body, headers }, price.rule)
    const { facts, heldFacts } = dearestFactsOf(requestFacts, tiers, {
      rule: price.rule,
      bounds: bounds.bounds,
      heldAs: each => (needsTranslation ? heldFactsOf(each, price.defaultTiers) : each),
    })
    const worstCost = price.worstCase.of(bounds, heldFacts)
    const { nanos: cost } = worstCost
    const { missingMeters, unpricedTools } = missingPrices(worstCost, price)
    if (missingMeters.length > 0)
      throw refusal('METER_UNPRICED', [toolNamesOf(body, missingMeters).join(', ')])
    const bounded = { ...order, bounds, facts: heldFacts, cost, body, size }
    const reserving = this.#reserver.reserve(exchange, account, price.rule, bounded)
    const reserved = reserving instanceof Promise ? await reserving : reserving
    if ('model' in reserved) return reserved
    const { payer, amount: heldAmount, warning } = reserved
    const version = this.#version
    const process = this.#ledger.processNow ?? (await this.#ledger.process())
    // Media may cost up to their bound, also if the balance covers less.
    const isBounded = exchange.slots.get(COVERED_INPUT) === undefined
    const limit = chargeLimit(isBounded ? heldAmount : cost, isLive || bounds.hasHostedTools)
    const terms = { payer, rule: price.rule, facts, model, version, heldAmount, limit }
    const call = new MeteredCall(this.#context, exchange, terms, process)
    const wantsStream = asksForStream(exchange.request, this.#format)
    if (exchange.kind !== 'http' || wantsStream || this.#ledger.isContended(payer)) call.hold()
    const estimator = new UsageEstimator(exchange, { body, size: size - files }, call)
    if (wantsStream) estimator.startCheckpoints()
    return {
      call,
      estimator,
      warning,
      unpricedTools: namesOfUnknownTools(body, unpricedTools),
    }
  }
}
