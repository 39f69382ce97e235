/** Reserves the worst-case cost of a call, or what the balance covers of it. */
import type { Exchange, Json } from '../../../engine/plugin.ts'
import { parseQuota } from '../../billing/money.ts'
import type { RequestBounds } from '../../billing/request-bounds.ts'
import type { Rule } from '../../billing/rule.ts'
import type { Facts } from '../../billing/usage.ts'
import { coverableTokens, worstCase } from '../../billing/worst-case.ts'
import { estimatePromptTokens } from '../../formats/prompt-tokens.ts'
import { type Account, COVERED_INPUT, OUTPUT_LIMIT } from '../../slots.ts'
import type { LedgerContext } from '../call-charge.ts'
import type { Payer } from '../ledger.ts'

/** Output tokens below which a response is of no use. */
const MIN_OUTPUT = 256
/** Attempts to reserve a part, since other calls may take it at the same time. */
const ATTEMPTS = 3

export interface BoundedRequest {
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
  /** Who pays a call that begins at `at`, ms since 1970. A promise only where a budget begins. */
  payerOf(account: Account, at: number): Payer | Promise<Payer> {
    const payer = payerOf(account)
    const windows = this.#context.budgets?.windowsOf(account, at)
    if (windows === undefined) return payer
    if (!(windows instanceof Promise)) return { ...payer, budgets: windows }
    return windows.then(budgets => ({ ...payer, budgets }))
  }
  /** Returns the reserved nanos. Where the balance covers only a part, and the client set no limit,
   *  limits the output to what the balance covers, if the format can express that. Where media make
   *  the bound of the prompt, reserves what is available, if it covers an estimate. Rejects with
   *  INSUFFICIENT, KEY_EXHAUSTED or BUDGET_EXCEEDED. */
  async reserve(
    { slots }: Exchange,
    payer: Payer,
    rule: Rule,
    request: BoundedRequest,
  ): Promise<bigint> {
    const { ledger, insufficient } = this.#context
    const { bounds, cost } = request
    const canLimit = !bounds.isLimited && this.#hasOutputLimit
    let shortage = await ledger.take(payer, cost)
    if (!shortage) return cost
    for (let attempts = canLimit || bounds.hasMedia ? ATTEMPTS : 0; attempts > 0; attempts--) {
      const available = await ledger.available(payer)
      const part = available > 0n ? partialHold(rule, request, available, canLimit) : undefined
      if (!part) break
      shortage = await ledger.take(payer, part.amount)
      if (shortage) continue
      if (part.outputLimit !== undefined) slots.set(OUTPUT_LIMIT, part.outputLimit)
      if (part.coveredInput !== undefined) slots.set(COVERED_INPUT, part.coveredInput)
      return part.amount
    }
    throw await insufficient(shortage, payer, cost)
  }
}

const partialHold = (
  rule: Rule,
  request: BoundedRequest,
  available: bigint,
  canLimit: boolean,
): PartialHold | undefined => {
  const { bounds, hasMedia } = request.bounds
  if (hasMedia) return partialMediaHold(rule, request, available, canLimit)
  const outputLimit = coverableTokens(rule, bounds, request.facts, available)
  if (outputLimit < MIN_OUTPUT) return undefined
  const { nanos } = worstCase(rule, { ...bounds, completion: outputLimit }, request.facts)
  return { amount: nanos, outputLimit }
}
/** All of the output and at least the estimated prompt, or the estimated prompt and a part of the
 *  output. */
const partialMediaHold = (
  rule: Rule,
  { bounds: { bounds }, facts, body, size }: BoundedRequest,
  available: bigint,
  canLimit: boolean,
): PartialHold | undefined => {
  const typical = estimatePromptTokens(body, size)
  const prompt = Math.min(typical, bounds.prompt ?? typical)
  const estimate = { ...bounds, prompt }
  if (worstCase(rule, estimate, facts).nanos <= available)
    return {
      amount: available,
      coveredInput: coverableTokens(rule, bounds, facts, available, 'prompt'),
    }
  const outputLimit = canLimit ? coverableTokens(rule, estimate, facts, available) : 0
  return outputLimit < MIN_OUTPUT
    ? undefined
    : { amount: available, coveredInput: prompt, outputLimit }
}

/** The account that pays, and its key with its own quota. */
const payerOf = ({ id, key }: Account): Payer => ({
  account: id,
  key: key?.id,
  quota: key?.quota === undefined ? undefined : parseQuota(key.quota),
})
