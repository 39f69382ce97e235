/** Holds and settles a call in one row: a response that is complete before its first byte leaves
 *  needs no hold in the store. */
import type { Sql, Statement } from '../../engine/plugin.ts'
import { PROCESSES_TABLE, whileRegistered } from '../../engine/store/while-registered.ts'
import type { Meters } from '../slots.ts'
import { plannedOf } from './plans/part.ts'
import {
  budgetsColumn,
  budgetsIn,
  columnValueOf,
  type Hold,
  lockOf,
  memberColumn,
  pairsOf,
  planColumns,
  SERIAL_NOW,
  type SettledTokens,
  type Settlement,
  tokenBudgetsIn,
  tokenColumns,
} from './statements.ts'
import { addToTags, TAGGED_BY_LIST } from './views/tag-days.ts'
import { addPlannedToDay, addToDay } from './views/usage-days.ts'
import { walletOf } from './wallet.ts'

const columnsWith = (
  more: string,
): string => `request, account, key, route, model, version, rule, state, held, opened,
     amount, uncollected, estimated, usage, lines, closed, served, key_held, budgets, plan, plan_held, member, serial, summed${more}, process`
// No rule: the lines have the prices, and nothing prices this call again.
const valuesWith = (more: string): string =>
  `?, ?, ?, ?, ?, ?, '', 'settled', ?, ?, ?, ?, ?, ?, ?, ?, ?, CAST(? AS BIGINT), CAST(? AS TEXT), CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS BIGINT), ${SERIAL_NOW}, ${TAGGED_BY_LIST}${more}`
const TOKEN_COLUMNS = ', tokens, tokens_held, plan_tokens'
const TOKEN_VALUES = ', CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS BIGINT)'
const insertIfRegistered = (columns: string, values: string): string =>
  `INSERT INTO charges (${columnsWith(columns)}) SELECT ${valuesWith(values)}, id FROM ${PROCESSES_TABLE} WHERE id = ?`
/** A free call takes nothing from a lease: only the process table shows that the process is
 *  registered. */
const INSERT_FREE_CHARGE = whileRegistered(
  'ledger: free charge in one row',
  insertIfRegistered('', ''),
)
const INSERT_FREE_TOKENS = whileRegistered(
  'ledger: free charge with tokens in one row',
  insertIfRegistered(TOKEN_COLUMNS, TOKEN_VALUES),
)
/** Reaping a process deletes its leases: `REDUCE_LEASE` checks once per commit that one exists.
 *  Where several connections write, the statement locks the process row as well. */
const INSERT_CHARGE: Sql = {
  name: 'ledger: charge in one row',
  text: `INSERT INTO charges (${columnsWith('')}) VALUES (${valuesWith('')}, ?)`,
  joins: true,
}
const INSERT_TOKENS: Sql = {
  name: 'ledger: charge with tokens in one row',
  text: `INSERT INTO charges (${columnsWith(TOKEN_COLUMNS)}) VALUES (${valuesWith(TOKEN_VALUES)}, ?)`,
  joins: true,
}

/** The work of the settlement trigger, summed for all charges of one commit: see `Sql.sums`. */
const REDUCE_LEASE: Sql = {
  name: 'ledger: charge lease',
  text: 'UPDATE shares SET amount = amount - ? WHERE process = ? AND wallet IN (?, ?)',
  sums: [0],
}
const REDUCE_WALLETS: Sql = {
  name: 'ledger: charge wallets',
  text: `UPDATE wallets SET balance = balance - ?, used = used + ?,
     reserved = reserved - CAST(? AS BIGINT) * CASE WHEN id IN (?, ?) THEN 1 ELSE 0 END
   WHERE id IN (?, ?)`,
  sums: [0, 1, 2],
}
/** No wallet has this number. */
const NO_WALLET = 0
const NO_WALLETS = [NO_WALLET, NO_WALLET] as const
const VIOLATES = { 'charges.request': 'CHARGE_EXISTS', charges_pkey: 'CHARGE_EXISTS' }

/** Rejects with CHARGE_EXISTS, or with LEASE_GONE when the store has reaped the process and
 *  returned its leases. */
export const singleRowCharge = (
  hold: Hold,
  settlement: Omit<Settlement, 'request'>,
  meters: Meters,
): readonly Statement[] => {
  const { amount } = settlement
  const account = walletOf.account(hold.account)
  const key = hold.key === undefined ? account : walletOf.key(hold.key)
  // The wallet of a key without a quota only counts usage.
  const quotaWallet = hold.holdsKeyQuota ? key : account
  const { reserved, counted } = budgetsIn(hold)
  return [
    insertOf(hold, settlement),
    ...(hold.plan
      ? payWithPlan(hold, hold.plan, amount)
      : [
          {
            sql: REDUCE_LEASE,
            values: [amount, hold.process, account, quotaWallet],
            ...(hold.heldAmount > 0n && LEASED),
          },
          {
            sql: REDUCE_WALLETS,
            values: [amount, amount, amount, account, quotaWallet, account, key],
          },
        ]),
    ...pairsOf(reserved).flatMap(pair => [
      { sql: REDUCE_LEASE, values: [amount, hold.process, ...pair] },
      { sql: REDUCE_WALLETS, values: [amount, amount, amount, ...pair, ...pair] },
    ]),
    ...pairsOf(counted).map(pair => ({
      sql: REDUCE_WALLETS,
      values: [amount, amount, amount, ...NO_WALLETS, ...pair],
    })),
    ...(settlement.tokens ? countTokens(hold, settlement.tokens) : []),
    addToDay(hold, amount, meters),
    ...addToTags(hold, amount, meters, settlement.served ?? null),
  ]
}
const LEASED = { rows: 'some', otherwise: 'LEASE_GONE' } as const
/** The plan pays its part, the account the rest; both the account and the key count all of it. A
 *  wallet that the call holds nothing of may have no lease. `plan`: with the part of the charge, if
 *  it counts tokens. */
const payWithPlan = (
  hold: Hold,
  plan: NonNullable<Hold['plan']>,
  amount: bigint,
): readonly Statement[] => {
  const { process } = hold
  const planned = plannedOf(amount, plan)
  const usedOfPlan = plan.tokens ?? planned
  const own = amount - planned
  const account = walletOf.account(hold.account)
  const reduceLease = (wallet: number, nanos: bigint): Statement => ({
    sql: REDUCE_LEASE,
    values: [nanos, process, wallet, wallet],
    ...LEASED,
  })
  const reduceWallet = (wallet: number, nanos: bigint, used: bigint, isHeld = true): Statement => ({
    sql: REDUCE_WALLETS,
    values: [nanos, used, nanos, ...(isHeld ? [wallet, wallet] : NO_WALLETS), wallet, wallet],
  })
  const key = hold.key === undefined ? undefined : walletOf.key(hold.key)
  return [
    reduceLease(plan.wallet, usedOfPlan),
    ...(own > 0n ? [reduceLease(account, own)] : []),
    ...(key !== undefined && hold.holdsKeyQuota ? [reduceLease(key, amount)] : []),
    reduceWallet(plan.wallet, usedOfPlan, usedOfPlan),
    reduceWallet(account, own, amount),
    ...(key === undefined ? [] : [reduceWallet(key, amount, amount, hold.holdsKeyQuota)]),
    addPlannedToDay(hold, planned),
  ]
}
/** As the trigger of `budgets/token-tables.ts`: all that was used counts, also beyond the hold. */
const countTokens = (
  hold: Hold,
  { used, heldTokens = 0n }: SettledTokens,
): readonly Statement[] => {
  const { reserved, counted } = tokenBudgetsIn(hold)
  const leased = used < heldTokens ? used : heldTokens
  return [
    ...pairsOf(reserved).flatMap(pair => [
      { sql: REDUCE_LEASE, values: [leased, hold.process, ...pair] },
      { sql: REDUCE_WALLETS, values: [used, used, leased, ...pair, ...pair] },
    ]),
    ...pairsOf(counted).map(pair => ({
      sql: REDUCE_WALLETS,
      values: [used, used, used, ...NO_WALLETS, ...pair],
    })),
  ]
}
const insertSqlOf = ({ heldAmount, tokens }: Hold): Sql => {
  if (tokens !== undefined) return heldAmount > 0n ? INSERT_TOKENS : INSERT_FREE_TOKENS
  return heldAmount > 0n ? INSERT_CHARGE : INSERT_FREE_CHARGE
}
const insertOf = (hold: Hold, settlement: Omit<Settlement, 'request'>): Statement => ({
  sql: insertSqlOf(hold),
  values: [
    hold.request,
    hold.account,
    hold.key ?? null,
    hold.route,
    hold.model,
    hold.version,
    hold.heldAmount,
    hold.openedAt,
    settlement.amount,
    columnValueOf(settlement.uncollected),
    settlement.isEstimated ? 1 : 0,
    settlement.usage,
    settlement.lines,
    settlement.closedAt,
    settlement.served ?? null,
    hold.holdsKeyQuota ? 1 : 0,
    budgetsColumn(hold),
    ...planColumns(hold),
    memberColumn(hold),
    ...(hold.tokens === undefined ? [] : [settlement.tokens?.used ?? 0n]),
    ...tokenColumns(hold),
    hold.process,
  ],
  rows: 1,
  otherwise: 'LEASE_GONE',
  violates: VIOLATES,
  locks: settlement.wallets.map(lockOf),
  once: true,
})
