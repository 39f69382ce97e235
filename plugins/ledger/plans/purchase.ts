/** Plans that accounts buy: the wallet pays for a window in the transaction that opens it, and for
 *  the next one when it ends. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Database, Row, Sql, Statement } from '../../../engine/plugin.ts'
import { SUSPENDED_ACCOUNTS } from '../../credentials/statements.ts'
import { changesOf } from '../budgets/row-follower.ts'
import { printInstant, type Window, windowOf } from '../budgets/window.ts'
import { isCode } from '../faults.ts'
import type { Ledger } from '../ledger.ts'
import { addCredit, openWallet } from '../statements.ts'
import { countsTokens, walletOf } from '../wallet.ts'
import { ADMISSION_TIMEOUT, writeWithRetry } from '../write-with-retry.ts'
import { rowOf, walletFor } from './names.ts'
import { CHANGE_IN_SQL } from './rows.ts'
import type { Plan } from './section.ts'
import { addToPlanWindow, carryRest } from './tables.ts'

const sql = (name: string, text: string): Sql => ({ name: `plans: ${name}`, text })
const { count: COUNT_CHANGE, number: NUMBER } = changesOf('plan')

const BUY = sql(
  'buy',
  `INSERT INTO account_plans (account, plan, since, until, paid, renews, change)
   VALUES (?, ?, ?, ?, ?, ?, ${NUMBER})
   ON CONFLICT (account) DO UPDATE SET plan = excluded.plan, since = excluded.since,
     until = excluded.until, paid = excluded.paid, renews = excluded.renews, unpaid = 0,
     change = excluded.change
   WHERE ${CHANGE_IN_SQL} = ?`,
)
const OF_PAYER = 'WHERE account = ? AND plan = ? AND until = ? AND renews = 1'
const RENEW = sql(
  'renew',
  `UPDATE account_plans SET until = ?, paid = ?, change = ${NUMBER} ${OF_PAYER}`,
)
const END_UNPAID = sql(
  'end unpaid',
  `UPDATE account_plans SET renews = 0, unpaid = 1, change = ${NUMBER} ${OF_PAYER}
   AND coalesce((SELECT balance + overdraft FROM wallets WHERE id = ?), 0) < ?`,
)
const SET_RENEWAL = sql(
  'set renewal',
  `UPDATE account_plans SET renews = ?, change = ${NUMBER} WHERE account = ? AND change = ?`,
)
// The credit that this list has just made: no other transaction changes the account meanwhile.
const ADD_PAYMENT = sql(
  'add payment',
  `INSERT INTO plan_payments (credit, account, wallet, price, amount)
   VALUES ((SELECT max(id) FROM credits WHERE account = ?), ?, ?, ?, ?)`,
)
const DUE = sql(
  'due',
  `SELECT account, plan, until, paid FROM account_plans
   WHERE renews = 1 AND until <= ? AND account > ?
     AND account NOT IN (${SUSPENDED_ACCOUNTS})
   ORDER BY account LIMIT ?`,
)
const PAGE = 500

/** A plan with a price, for one account. */
export interface PlanPurchase {
  readonly plan: Plan
  /** Nanos. */
  readonly price: bigint
  readonly account: number
  /** ms since 1970. */
  readonly at: number
  /** The wallet of the window that a renewal follows. */
  readonly source?: number
}

/** Pays for a window of the plan from the wallet. Another payment in the same window adds to it.
 *  Rejects with OVERDRAWN or WALLET_TAKEN. */
const payWindow = (
  { plan, price, account, at }: PlanPurchase,
  { start, end }: Window,
  wallet: number,
): readonly Statement[] => {
  const until = end === undefined ? '' : ` until ${printInstant(end, plan.zone)}`
  const note = `plan ${plan.name}${until}`
  return [
    openWallet(walletOf.account(account), 0n),
    ...addToPlanWindow({ ...rowOf(plan, account, start), wallet }, plan.amount),
    addCredit({ account, kind: 'debit', amount: -price, windows: [wallet], note, at }),
    { sql: ADD_PAYMENT, values: [account, account, wallet, price, plan.amount], rows: 1 },
  ]
}

/** Gives the account the plan from now, in place of the one it has, and pays for its window.
 *  `change`: that of the account's row as it was read, -1 without a plan. Rejects with PLAN_CHANGED
 *  if it has changed since, or with OVERDRAWN. */
export const buyPlan = (order: PlanPurchase, change: number): readonly Statement[] => {
  const { plan, account, at } = order
  const window = windowOf(at, plan.per, plan.zone)
  const wallet = walletFor(plan, account, window.start)
  const renews = plan.renews && window.end !== undefined ? 1 : 0
  return [
    COUNT_CHANGE,
    {
      sql: BUY,
      values: [account, plan.name, at, window.end ?? null, wallet, renews, change],
      rows: 1,
      otherwise: 'PLAN_CHANGED',
    },
    ...payWindow(order, window, wallet),
  ]
}
/** Whether a bought plan renews itself. Rejects with PLAN_CHANGED. */
export const setRenewal = (
  account: number,
  renews: boolean,
  change: number,
): readonly Statement[] => [
  COUNT_CHANGE,
  {
    sql: SET_RENEWAL,
    values: [renews ? 1 : 0, account, change],
    rows: 1,
    otherwise: 'PLAN_CHANGED',
  },
]

// ---------------------------------------------------------------- renewal

/** The window that a renewal at `at` pays for. If the calendar of the plan has changed since the
 *  last one, a window does not begin at its end: the rest of that window comes with the next. */
const windowAfter = ({ per, zone }: Plan, until: number, at: number): Window => {
  const window = windowOf(at, per, zone)
  if (window.start >= until || window.end === undefined) return window
  return { start: until, end: windowOf(window.end, per, zone).end }
}
const renewStatements = (order: PlanPurchase, until: number): readonly Statement[] => {
  const { plan, account, at, source } = order
  const window = windowAfter(plan, until, at)
  const wallet = walletFor(plan, account, window.start)
  return [
    COUNT_CHANGE,
    {
      sql: RENEW,
      values: [window.end ?? null, wallet, account, plan.name, until],
      rows: 1,
      otherwise: 'PLAN_CHANGED',
    },
    ...payWindow(order, window, wallet),
    ...(source !== undefined &&
    plan.rollover !== undefined &&
    window.start === until &&
    countsTokens(source) === countsTokens(wallet)
      ? carryRest(source, wallet, plan.rollover)
      : []),
  ]
}
const endUnpaid = ({ plan, price, account }: PlanPurchase, until: number): readonly Statement[] => [
  COUNT_CHANGE,
  {
    sql: END_UNPAID,
    values: [account, plan.name, until, walletOf.account(account), price],
    rows: 1,
    otherwise: 'BALANCE_SUFFICES',
  },
]

export interface PlanStore {
  readonly database: Pick<Database, 'read' | 'write' | 'now'>
  /** Returns the money that this process leases and no call holds. */
  readonly ledger?: Pick<Ledger, 'returnUnused'> & Partial<Pick<Ledger, 'setTrialFunds'>>
}
/** How often a payment is tried while calls hold the money, and the pause in between, ms. */
export const PAYMENT_ATTEMPTS = 20
export const PAYMENT_PAUSE = 50

/** Renews a plan that ended at `until`: it pays, or ends if the balance does not cover the price.
 *  False: calls in progress hold the money. Also true if another process was faster. */
export const renewPlan = async (
  { database, ledger }: PlanStore,
  order: PlanPurchase,
  until: number,
  attempts = PAYMENT_ATTEMPTS,
): Promise<boolean> => {
  const write = (list: readonly Statement[]) => writeWithRetry(database, list, ADMISSION_TIMEOUT)
  for (let remainingAttempts = attempts; ; ) {
    await ledger?.returnUnused(walletOf.account(order.account))
    if (order.source !== undefined) await ledger?.returnUnused(order.source)
    try {
      await write(renewStatements(order, until))
      return true
    } catch (error) {
      if (isCode(error, 'PLAN_CHANGED')) return true
      if (!isCode(error, 'OVERDRAWN')) throw error
    }
    try {
      await write(endUnpaid(order, until))
      return true
    } catch (error) {
      if (!isCode(error, 'BALANCE_SUFFICES')) throw error
    }
    if (--remainingAttempts === 0) return false
    await pause(PAYMENT_PAUSE)
  }
}
/** Renews the plans whose window has ended, also of accounts without calls. Suspended and deleted
 *  accounts do not pay. An error at one account does not stop the others; the promise rejects with
 *  all errors at the end. `now`: ms. */
export const renewDuePlans = async (
  store: PlanStore,
  plans: ReadonlyMap<string, Plan>,
  now: number,
  signal?: AbortSignal,
): Promise<void> => {
  const failures: string[] = []
  let last = 0
  for (let rows: readonly Row[] | undefined; rows === undefined || rows.length === PAGE; ) {
    rows = await store.database.read(DUE, [now, last, PAGE])
    for (const row of rows) {
      if (signal?.aborted) return
      last = Number(row.account)
      const order = orderOf(plans, row, now)
      if (!order) continue
      // The next run tries again.
      await renewPlan(store, order, Number(row.until), 1).catch(
        (error: Error) => void failures.push(`account ${last}: ${error.message}`),
      )
    }
  }
  if (failures.length > 0)
    throw new Error(`${failures.length} plans were not renewed: ${failures.slice(0, 5).join('; ')}`)
}
const orderOf = (
  plans: ReadonlyMap<string, Plan>,
  { account, plan: name, paid }: Row,
  at: number,
): PlanPurchase | undefined => {
  const plan = plans.get(String(name))
  return plan?.price === undefined || !plan.renews
    ? undefined
    : {
        plan,
        price: plan.price,
        account: Number(account),
        at,
        ...(paid !== null && { source: Number(paid) }),
      }
}
