/** Holds that outlive their process: a durable task takes the hold of its call over, stores it with
 *  its own row, and closes it later in any process. The books keep such a hold (`charges.process`
 *  is null); no share is behind it, so reaping a process leaves it alone. */
import type { Json, Sql, Statement } from '../../engine/plugin.ts'
import { PROCESSES_TABLE } from '../../engine/store/while-registered.ts'
import { printMoney } from '../billing/money.ts'
import { price } from '../billing/price.ts'
import { withServed } from '../billing/pricing-facts.ts'
import { thaw } from '../billing/rule.ts'
import { type Attribute, toExactUsage } from '../billing/usage.ts'
import type { KeptHold, Usage } from '../slots.ts'
import { tokensUsed } from './budgets/tokens.ts'
import { settledPart } from './plans/part.ts'
import {
  budgetsIn,
  type Hold,
  insertHold,
  insertOfHold,
  lockOf,
  type Pair,
  pairsOf,
  planColumns,
  releaseCharge,
  type Settlement,
  settleCharge,
  tokenBudgetsIn,
  tokenColumns,
} from './statements.ts'
import { walletOf, walletsOf } from './wallet.ts'

const KEEP = insertOfHold(
  'keep',
  (
    column,
    value,
  ) => `INSERT INTO charges (request, account, key, route, model, version, rule, state, held, opened, key_held, budgets, plan, plan_held, member${column})
   SELECT ?, ?, ?, ?, ?, ?, ?, 'open', ?, ?, CAST(? AS BIGINT), CAST(? AS TEXT), CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS BIGINT)${value} FROM ${PROCESSES_TABLE} WHERE id = ?`,
)
const KEEP_OPEN: Sql = {
  name: 'ledger: keep open',
  text: "UPDATE charges SET process = NULL, held = ? WHERE request = ? AND process = ? AND state = 'open'",
}
const KEEP_OPEN_PLANNED: Sql = {
  name: 'ledger: keep open planned',
  text: KEEP_OPEN.text.replace('held = ?', 'held = ?, plan = ?, plan_held = ?'),
}
const KEEP_TOKENS: Sql = {
  name: 'ledger: keep tokens',
  text: "UPDATE charges SET tokens_held = ?, plan_tokens = ? WHERE request = ? AND state = 'open'",
}
/** The wallets stay reserved: the amount moves from the share to the kept hold. */
const LEAVE_SHARE: Sql = {
  name: 'ledger: leave share',
  text: 'UPDATE shares SET amount = amount - ? WHERE process = ? AND wallet IN (?, ?)',
}
/** Read in the order of writes, so that it shows whether an earlier list of this process was
 *  applied. */
export const IS_KEPT: Sql = {
  name: 'ledger: kept',
  text: 'SELECT request FROM charges WHERE request = ? AND process IS NULL',
}

/** Hands a hold over from the process to the books. `stored`: its row is written already. Rejects
 *  with CHARGE_EXISTS, or with LEASE_GONE when the process was expelled. */
export const keepHold = (hold: Hold, stored: boolean): readonly Statement[] => {
  const account = walletOf.account(hold.account)
  const quotaWallet =
    hold.holdsKeyQuota && hold.key !== undefined ? walletOf.key(hold.key) : account
  const leaveShare = ([one, other]: Pair, amount = hold.heldAmount): Statement => ({
    sql: LEAVE_SHARE,
    values: [amount, hold.process, one, other],
    rows: 'some',
    otherwise: 'LEASE_GONE',
  })
  const { plan, tokens } = hold
  const own = hold.heldAmount - (plan?.amount ?? 0n)
  const row: Statement = stored
    ? {
        sql: plan ? KEEP_OPEN_PLANNED : KEEP_OPEN,
        values: [hold.heldAmount, ...(plan ? planColumns(hold) : []), hold.request, hold.process],
        rows: 1,
        otherwise: 'LEASE_GONE',
      }
    : insertHold(KEEP, hold)
  const keepTokens = tokens ? pairsOf(tokenBudgetsIn(hold).reserved) : []
  const ofTokens: readonly Statement[] = [
    ...(stored && tokens !== undefined
      ? [{ sql: KEEP_TOKENS, values: [...tokenColumns(hold), hold.request] }]
      : []),
    ...keepTokens.map(pair => leaveShare(pair, tokens)),
    ...(plan?.tokens === undefined ? [] : [leaveShare([plan.wallet, plan.wallet], plan.tokens)]),
  ]
  if (hold.heldAmount === 0n) return [row, ...ofTokens]
  return [
    row,
    ...ofTokens,
    ...(plan
      ? [
          ...(plan.tokens === undefined
            ? [leaveShare([plan.wallet, plan.wallet], plan.amount)]
            : []),
          ...(own > 0n ? [leaveShare([account, account], own)] : []),
          ...(quotaWallet === account ? [] : [leaveShare([quotaWallet, quotaWallet])]),
        ]
      : [leaveShare([account, quotaWallet])]),
    ...pairsOf(budgetsIn(hold).reserved).map(pair => leaveShare(pair)),
  ]
}

/** The part of a kept hold that its owner stores. `attributes`: those of the request that its price
 *  depends on. */
export const keptHoldOf = (
  { request, account, key, budgets, tokens, plan, heldAmount, openedAt, rule }: Hold,
  attributes: string | null,
): KeptHold => ({
  request,
  account,
  key: key ?? null,
  held: String(heldAmount),
  opened: openedAt,
  rule,
  ...((budgets || plan) && { budgets: [...(budgets ?? []), ...(plan ? [plan.wallet] : [])] }),
  ...(tokens !== undefined && { tokens: String(tokens) }),
  ...(plan?.tokens !== undefined && {
    plan: { amount: String(plan.amount), tokens: String(plan.tokens) },
  }),
  attributes: attributes === null ? {} : (JSON.parse(attributes) as Record<string, Json>),
})

/** `takesHold`: the quantities are not known, and the hold is charged whole. */
export interface KeptUsage extends Usage {
  readonly takesHold?: boolean
}
/** The cost of a usage by the frozen rule. `charged`: at most what is held. Amounts in nanos. */
interface KeptCharge {
  readonly charged: bigint
  readonly uncollected: bigint
  /** JSON. */
  readonly lines: string
  /** Every meter has a price. */
  readonly isComplete: boolean
}
export const priceKept = (hold: KeptHold, usage: KeptUsage): KeptCharge => {
  if (usage.takesHold) return chargeWhole(hold)
  const attributes = hold.attributes as Readonly<Record<string, Attribute>>
  const facts = withServed({ at: hold.opened, attributes }, usage.attributes)
  const { nanos, lines, unpriced } = price(toExactUsage(usage), thaw(hold.rule), facts)
  const heldAmount = BigInt(hold.held)
  const charged = nanos < heldAmount ? nanos : heldAmount
  return {
    charged,
    uncollected: nanos - charged,
    lines: JSON.stringify(lines),
    isComplete: unpriced.length === 0,
  }
}
const chargeWhole = (hold: KeptHold): KeptCharge => {
  const nanos = hold.held
  const charged = BigInt(nanos)
  const line = {
    meter: 'minimum',
    quantity: '1',
    price: printMoney(charged),
    per: '1',
    nanos,
  }
  return { charged, uncollected: 0n, lines: JSON.stringify([line]), isComplete: true }
}

/** Charges the usage of a kept hold and frees the rest; a trigger changes the wallets. Rejects with
 *  CHARGE_CLOSED. `closedAt`: ms since 1970. `served`: what served it, as JSON. */
export const settleKept = (
  hold: KeptHold,
  usage: KeptUsage,
  closedAt: number,
  served?: string | null,
): Statement => {
  const { charged, uncollected, lines } = priceKept(hold, usage)
  const tokens = tokensOf(hold, usage)
  const settlement: Settlement = {
    request: hold.request,
    amount: charged,
    uncollected,
    isEstimated: usage.estimated,
    usage: JSON.stringify(usage.meters),
    lines,
    closedAt,
    served,
    wallets: walletsIn(hold),
    tokens,
    planned: plannedIn(hold, charged, tokens?.used ?? 0n),
  }
  return settleCharge(settlement)
}
const plannedIn = (hold: KeptHold, amount: bigint, used: bigint): Settlement['planned'] =>
  hold.plan &&
  settledPart(
    { amount: BigInt(hold.plan.amount), tokens: BigInt(hold.plan.tokens) },
    { heldAmount: BigInt(hold.held), amount, used },
  )
/** Undefined: nothing that it holds counts tokens. */
export const tokensOf = (
  { tokens }: KeptHold,
  { meters, takesHold }: KeptUsage,
): Settlement['tokens'] =>
  tokens === undefined ? undefined : { used: takesHold ? BigInt(tokens) : tokensUsed(meters) }
/** Closes a kept hold without a charge and frees it. Rejects with CHARGE_CLOSED. */
export const releaseKept = (hold: KeptHold, closedAt: number): Statement => ({
  ...releaseCharge(hold.request, closedAt),
  locks: walletsIn(hold).map(lockOf),
})

const walletsIn = ({ account, key, budgets }: KeptHold): readonly number[] =>
  walletsOf(account, key ?? undefined, budgets)
