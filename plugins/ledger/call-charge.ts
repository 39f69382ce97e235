/** Prices the usage of a call, builds its rows, and reports uncharged usage. */
import type { Exchange, Log, Metrics } from '../../engine/plugin.ts'
import { priceFast } from '../billing/fast-price.ts'
import { printMoney } from '../billing/money.ts'
import { price, priceParts } from '../billing/price.ts'
import { costsStandard } from '../billing/priced-tiers.ts'
import { freeze, type Rule } from '../billing/rule.ts'
import { type Facts, toExactUsage } from '../billing/usage.ts'
import type { Usage } from '../slots.ts'
import type { Budgets } from './budgets/budgets.ts'
import type { InsufficientFunds } from './insufficient-funds.ts'
import type { Ledger, Payer } from './ledger.ts'
import type { Plans } from './plans/plans.ts'
import type { Hold, Settlement } from './statements.ts'
import { walletsOf } from './wallet.ts'

export interface CallTerms {
  readonly payer: Payer
  readonly rule: Rule
  readonly facts: Facts
  readonly model: string
  readonly version: number
  /** Nanos. */
  readonly heldAmount: bigint
  /** The maximum charge in nanos. Absent: the balance is the only limit. */
  readonly limit?: bigint | undefined
}
/** The maximum charge is this multiple of the hold; calls of hosted tools have no such limit, since
 *  the request does not bound them. */
const MAX_HOLD_MULTIPLE = 2n
export const chargeLimit = (heldAmount: bigint, hasHostedTools: boolean): bigint | undefined =>
  hasHostedTools ? undefined : heldAmount * MAX_HOLD_MULTIPLE

/** Caps nanos at the limit of the call. */
export const capCharge = (nanos: bigint, { limit = nanos }: Pick<CallTerms, 'limit'>): bigint =>
  nanos < limit ? nanos : limit

export interface LedgerContext {
  readonly ledger: Ledger
  readonly log: Log
  readonly metrics: Metrics
  readonly insufficient: InsufficientFunds
  /** Undefined: there are none. */
  readonly budgets?: Budgets | undefined
  readonly plans?: Plans | undefined
}

export interface CallCharge {
  readonly nanos: bigint
  /** JSON. */
  readonly lines: string
  readonly unpriced: readonly string[]
}
const ALL_PRICED: readonly string[] = []
export const priceUsage = (
  usage: Usage,
  { rule, facts }: Pick<CallTerms, 'rule' | 'facts'>,
): CallCharge => {
  if (usage.parts) {
    const { nanos, lines, unpriced } = priceParts(usage.parts, rule, facts)
    return { nanos, lines: JSON.stringify(lines), unpriced }
  }
  const fastPrice = costsStandard(rule, facts) ? rule.fastPrice : undefined
  const result = fastPrice && priceFast(fastPrice, usage.meters)
  if (result) return { nanos: result.nanos, lines: result.lines, unpriced: ALL_PRICED }
  const { nanos, lines, unpriced } = price(toExactUsage(usage), rule, facts)
  return { nanos, lines: JSON.stringify(lines), unpriced }
}

/** As in `charges.budgets`. */
export const budgetWallets = ({ budgets, counted = [] }: Payer): readonly number[] | undefined =>
  budgets && [...budgets.map(({ wallet }) => wallet), ...counted.map(({ wallet }) => -wallet)]

/** The wallets that a charge or a refund changes. */
export const walletsPaying = (payer: Payer): readonly number[] => {
  const { plan } = payer
  const wallets = walletsOf(payer.account, payer.key, budgetWallets(payer))
  return plan ? [...wallets, plan.window.wallet] : wallets
}

/** The columns of a hold that never change, without the plan's part. */
export const holdOf = (
  { id, route }: Exchange,
  { rule, model, version, facts }: CallTerms,
  payer: Payer,
): Omit<Hold, 'process' | 'heldAmount' | 'plan'> => ({
  request: id,
  account: payer.account,
  key: payer.key,
  member: payer.member,
  holdsKeyQuota: payer.quota !== undefined,
  budgets: budgetWallets(payer),
  tokens: payer.tokens,
  route: route.name,
  model,
  version,
  rule: freeze(rule),
  openedAt: facts.at,
})

/** Reports usage that has no price to operators. */
export const reportUnpriced = (
  { log, metrics }: LedgerContext,
  id: string,
  model: string,
  unpriced: readonly string[],
): void => {
  if (unpriced.length === 0) return
  for (const meter of unpriced) metrics.count('unpriced_total', { model, meter })
  log.warn({ id, model, unpriced }, 'a call used meters that have no price')
}
/** Reports a cost beyond the limit of the call or the balance of the account. */
export const reportUncollected = (
  { log, metrics }: LedgerContext,
  { id, account, model }: { readonly id: string; readonly account: number; readonly model: string },
  nanos: bigint,
): void => {
  if (nanos <= 0n) return
  metrics.count('uncollected_total', { model })
  const uncollected = printMoney(nanos)
  log.warn({ id, account, model, uncollected }, 'a call cost more than could be collected')
}
export const settlementOf = (
  request: string,
  payer: Payer,
  { meters, estimated }: Usage,
  { nanos, lines }: CallCharge,
  amount: bigint,
  served: string | null,
): Settlement => ({
  request,
  amount,
  uncollected: nanos - amount,
  isEstimated: estimated,
  wallets: walletsPaying(payer),
  closedAt: Date.now(),
  usage: JSON.stringify(meters),
  lines,
  served,
})

/** Counts an uncharged call: its upstream worked before the store had a row for it. */
export const countUncharged = ({ metrics }: Pick<LedgerContext, 'metrics'>, model: string): void =>
  metrics.count('uncharged_total', { model })
