/** Reserves the worst-case cost of a call, or what the balance covers of it. */
import type { Exchange, Json } from '../../../engine/plugin.ts'
import { parseQuota, smaller } from '../../billing/money.ts'
import type { RequestBounds } from '../../billing/request-bounds.ts'
import type { Rule } from '../../billing/rule.ts'
import type { Facts } from '../../billing/usage.ts'
import { coverableTokens, worstCase } from '../../billing/worst-case.ts'
import { estimatePromptTokens } from '../../formats/prompt-tokens.ts'
import { type Account, COVERED_INPUT, OUTPUT_LIMIT, TAGS } from '../../slots.ts'
import {
  countOnly,
  describeWindow,
  includesWindow,
  isPassable,
  type ModelChange,
  markSpent,
  onlyHard,
  otherModel,
  type Passed,
  resultOf,
  warningOf,
  withWindows,
} from '../budgets/at-limit.ts'
import type { BudgetWindow } from '../budgets/section.ts'
import { coverableSum, inUnitOf, planTokensHeld, tokensHeld } from '../budgets/tokens.ts'
import type { LedgerContext } from '../call-charge.ts'
import type { Payer, Room, Shortage } from '../ledger.ts'
import type { PlanWindow } from '../plans/section.ts'
import { takeInOrder, withPlan } from '../plans/take.ts'

/** Output tokens below which a response is of no use. */
export const MIN_OUTPUT = 256
/** Attempts to reserve a part, since other calls may take it at the same time. */
const ATTEMPTS = 3

/** Who pays, and the nanos that it reserves. */
export interface Reserved {
  readonly payer: Payer
  readonly amount: bigint
  /** Budgets that the call did not fit into: a header. */
  readonly warning: string | undefined
}
interface TakeResult extends Pick<Reserved, 'payer' | 'amount'> {
  readonly shortage: Shortage | undefined
  readonly change?: ModelChange
}
type Reserving = Reserved | ModelChange
export interface BoundedRequest {
  /** The key of the model in `models:`. */
  readonly entry: string
  /** Windows that only count the call. */
  readonly passed: Passed
  readonly bounds: RequestBounds
  readonly facts: Facts
  /** The worst-case cost in nanos. */
  readonly cost: bigint
  readonly body: Json
  /** Bytes. */
  readonly size: number
}
/** A part of the worst case that the balance covers. */
interface PartialHold {
  /** Nanos. */
  readonly amount: bigint
  /** The most tokens that it permits. */
  readonly tokens: bigint
  readonly outputLimit?: number
  readonly coveredInput?: number
}

export class Reserver {
  readonly #context: LedgerContext
  /** Whether the format of the route has a parameter that bounds the output. */
  readonly #hasOutputLimit: boolean
  constructor(context: LedgerContext, hasOutputLimit: boolean) {
    this.#context = context
    this.#hasOutputLimit = hasOutputLimit
  }
  /** Reserves the worst case. A promise only where a budget begins, or the leases of this process
   *  do not cover it. Where the balance covers only a part, and the client set no limit, limits the
   *  output to what the balance covers, if the format can express that. Where media make the bound
   *  of the prompt, reserves what is available, if it covers an estimate. Rejects with
   *  INSUFFICIENT, KEY_EXHAUSTED, PLAN_EXHAUSTED or BUDGET_EXCEEDED. */
  reserve(
    exchange: Exchange,
    account: Account,
    rule: Rule,
    request: BoundedRequest,
  ): Reserving | Promise<Reserving> {
    const { cost, entry, facts, passed } = request
    const { at } = facts
    const windows = this.#context.budgets?.windowsOf(account, at, exchange.slots.get(TAGS))
    const plan = this.#context.plans?.windowOf(account.id, entry, at)
    const reserve = (
      opened: Passed | undefined,
      window: PlanWindow | undefined,
    ): Reserving | Promise<Reserving> => {
      const own = payerOf(account)
      const { bounds } = request.bounds
      const ofPlan = () => planTokensHeld(rule, bounds)
      const payer = window ? withPlan(own, window, { at, cost, tokensHeld: ofPlan }) : own
      const ofBudgets = () => tokensHeld(rule, bounds)
      const full = opened
        ? withWindows(payer, opened, { at, cost, passed, tokensHeld: ofBudgets })
        : payer
      return this.#reserveFor(exchange, full, rule, request)
    }
    return windows instanceof Promise || plan instanceof Promise
      ? Promise.all([windows, plan]).then(both => reserve(...both))
      : reserve(windows, plan)
  }
  #reserveFor(
    exchange: Exchange,
    payer: Payer,
    rule: Rule,
    request: BoundedRequest,
  ): Reserving | Promise<Reserving> {
    const { cost } = request
    const change = payer.counted && this.#changeOf(payer.counted, payer, request)
    if (change) return change
    if (this.#context.ledger.takeNow(payer, cost)) return this.#reserved(payer, cost)
    return this.#reserveFromStore(exchange, payer, rule, request)
  }
  async #reserveFromStore(
    { slots }: Exchange,
    payer: Payer,
    rule: Rule,
    request: BoundedRequest,
  ): Promise<Reserving> {
    const { ledger, insufficient } = this.#context
    const { bounds, cost } = request
    const canLimit = !bounds.isLimited && this.#hasOutputLimit
    let result = await this.#take(payer, cost, request)
    for (let attempts = canLimit || bounds.isPromptOpen ? ATTEMPTS : 0; attempts > 0; attempts--) {
      if (!result.shortage || result.change) break
      const rooms = await ledger.roomsOf(onlyHard(result.payer))
      const part = largest(rooms.map(room => partialHold(rule, request, room, canLimit)))
      if (!part) break
      const partly = payer.tokens === undefined ? {} : { tokens: part.tokens }
      result = await this.#take({ ...result.payer, ...partly }, part.amount, request)
      if (result.shortage || result.change) continue
      if (part.outputLimit !== undefined) slots.set(OUTPUT_LIMIT, part.outputLimit)
      if (part.coveredInput !== undefined) slots.set(COVERED_INPUT, part.coveredInput)
    }
    const { shortage, change } = result
    if (change) return change
    if (!shortage) return this.#reserved(result.payer, result.amount)
    if (typeof shortage === 'object') this.#count(shortage)
    throw await insufficient(shortage, { ...result.payer, tokens: payer.tokens }, cost)
  }
  #reserved(payer: Payer, amount: bigint): Reserved {
    for (const window of payer.counted ?? []) this.#count(window)
    return { payer, amount, warning: payer.counted && warningOf(payer.counted) }
  }
  /** Another model, if a window that does not fit sends the call there. */
  #changeOf(
    windows: Passed,
    payer: Payer,
    { entry, passed, cost }: BoundedRequest,
  ): ModelChange | undefined {
    for (const window of windows) {
      const model = includesWindow(passed, window) ? undefined : otherModel(window, entry)
      if (model === undefined) continue
      this.#count(window)
      const refusal = () => this.#context.insufficient(window, payer, cost)
      return { window, model, warning: describeWindow(window), refusal }
    }
    return undefined
  }
  #count(window: BudgetWindow): void {
    const labels = { budget: window.budget.name, result: resultOf(window) }
    this.#context.metrics.count('budgets_total', labels)
  }
  /** Takes an amount; a window that calls may pass counts it instead. */
  async #take(payer: Payer, amount: bigint, request: BoundedRequest): Promise<TakeResult> {
    const { payer: paying, shortage } = await takeInOrder(this.#context.ledger, payer, amount)
    if (!isPassable(shortage)) return { payer: paying, amount, shortage }
    markSpent(shortage, request.facts.at, inUnitOf(shortage, amount, payer.tokens))
    const change = this.#changeOf([shortage], payer, request)
    if (change) return { payer, amount, shortage, change }
    return this.#take(countOnly(payer, shortage), amount, request)
  }
}

/** The one that serves most of the call. */
const largest = (parts: readonly (PartialHold | undefined)[]): PartialHold | undefined =>
  parts.reduce(
    (one, other) => (other && other.amount > (one?.amount ?? 0n) ? other : one),
    undefined,
  )
const partialHold = (
  rule: Rule,
  request: BoundedRequest,
  available: Room,
  canLimit: boolean,
): PartialHold | undefined => {
  const { nanos, tokens } = available
  if (nanos <= 0n || (tokens !== undefined && tokens <= 0n)) return undefined
  const { bounds, isPromptOpen } = request.bounds
  if (isPromptOpen) return partialMediaHold(rule, request, available, canLimit)
  const outputLimit = coverable(rule, { facts: request.facts, bounds }, available)
  if (outputLimit < MIN_OUTPUT) return undefined
  const limited = { ...bounds, completion: outputLimit }
  return {
    amount: worstCase(rule, limited, request.facts).nanos,
    outputLimit,
    tokens: tokensHeld(rule, limited),
  }
}
/** The part of one sum that both the nanos and the tokens cover. */
const coverable = (
  rule: Rule,
  { facts, bounds }: { readonly facts: Facts; readonly bounds: RequestBounds['bounds'] },
  { nanos, tokens }: Room,
  sum: 'prompt' | 'completion' = 'completion',
): number =>
  Math.min(
    coverableTokens(rule, bounds, facts, nanos, sum),
    coverableSum(rule, bounds, tokens, sum),
  )
/** All of the output and at least the estimated prompt, or the estimated prompt and a part of the
 *  output. */
const partialMediaHold = (
  rule: Rule,
  request: BoundedRequest,
  available: Room,
  canLimit: boolean,
): PartialHold | undefined => {
  const {
    facts,
    body,
    size,
    bounds: { bounds },
  } = request
  const { nanos, tokens } = available
  const typical = estimatePromptTokens(body, size)
  const prompt = Math.min(typical, bounds.prompt ?? typical)
  const estimate = { ...bounds, prompt }
  const most = tokensHeld(rule, bounds)
  const hold = {
    amount: smaller(nanos, request.cost),
    tokens: smaller(tokens ?? most, most),
  }
  if (
    worstCase(rule, estimate, facts).nanos <= nanos &&
    tokensHeld(rule, estimate) <= (tokens ?? most)
  )
    return { ...hold, coveredInput: coverable(rule, { facts, bounds }, available, 'prompt') }
  const outputLimit = canLimit ? coverable(rule, { facts, bounds: estimate }, available) : 0
  return outputLimit < MIN_OUTPUT ? undefined : { ...hold, coveredInput: prompt, outputLimit }
}

/** The account that pays, its key with its own quota, and the member who makes the call. */
const payerOf = ({ id, key, member }: Account): Payer => ({
  account: id,
  key: key?.id,
  member: member?.id,
  quota: key?.quota === undefined ? undefined : parseQuota(key.quota),
})
