/** The plans of accounts: rows of the store, which operators set. */
import type { Database, Row, Sql, Statement } from '../../../engine/plugin.ts'
import { changesOf, RowFollower } from '../budgets/row-follower.ts'
import { nanosOf } from '../statements.ts'

const sql = (name: string, text: string): Sql => ({ name: `plans: ${name}`, text })

const { count: COUNT_CHANGE, number: NUMBER } = changesOf('plan')
const SET = sql(
  'set',
  `INSERT INTO account_plans (account, plan, since, until, change) VALUES (?, ?, ?, ?, ${NUMBER})
   ON CONFLICT (account) DO UPDATE SET plan = excluded.plan, since = excluded.since,
     until = excluded.until, paid = NULL, renews = 0, unpaid = 0, change = excluded.change`,
)
const CANCEL = sql(
  'cancel',
  `UPDATE account_plans SET plan = NULL, until = NULL, paid = NULL, renews = 0, unpaid = 0,
     change = ${NUMBER}
   WHERE account = ? AND plan IS NOT NULL AND change = ?`,
)
/** The change of the account's row: -1 if it has no plan. */
export const CHANGE_IN_SQL =
  'CASE WHEN account_plans.plan IS NULL THEN -1 ELSE account_plans.change END'
/** The same of a row that was read; undefined: no plan. */
export const changeOf = (stored: Row | undefined): number => (stored ? Number(stored.change) : -1)
const SET_UNCHANGED = sql('set unchanged', `${SET.text} WHERE ${CHANGE_IN_SQL} = ?`)
/** Times in ms since 1970. */
export interface AssignedPlan {
  readonly account: number
  readonly plan: string
  readonly since: number
  /** Undefined: without an end. */
  readonly until: number | undefined
}
/** Takes the place of the plan that the account has. `expected`: the change of its row as it was
 *  read, -1 without a plan; then it rejects with PLAN_CHANGED if the row has changed since. */
export const assignPlan = (
  { account, plan, since, until }: AssignedPlan,
  expected?: number,
): readonly Statement[] => {
  const values = [account, plan, since, until ?? null]
  return [
    COUNT_CHANGE,
    expected === undefined
      ? { sql: SET, values, rows: 1 }
      : {
          sql: SET_UNCHANGED,
          values: [...values, expected],
          rows: 1,
          otherwise: 'PLAN_CHANGED',
        },
  ]
}
const EXTEND = sql(
  'extend',
  `UPDATE account_plans SET until = ?, paid = NULL, unpaid = 0, change = ${NUMBER}
   WHERE account = ? AND plan IS NOT NULL AND change = ?`,
)
/** Moves the end of the plan that the account has, whose windows and renewal stay. `until`: ms
 *  since 1970; undefined: without an end. `expected`: as of `cancelPlan`. Rejects with
 *  PLAN_CHANGED. */
export const extendPlan = (
  account: number,
  until: number | undefined,
  expected: number,
): readonly Statement[] => [
  COUNT_CHANGE,
  {
    sql: EXTEND,
    values: [until ?? null, account, expected],
    rows: 1,
    otherwise: 'PLAN_CHANGED',
  },
]
/** `expected`: the change of its row as it was read. Rejects with PLAN_CHANGED. */
export const cancelPlan = (account: number, expected: number): readonly Statement[] => [
  COUNT_CHANGE,
  { sql: CANCEL, values: [account, expected], rows: 1, otherwise: 'PLAN_CHANGED' },
]

// The window that it bought, or the last one: it may have ended.
const LISTED = `SELECT p.account, p.plan, p.since, p.until, p.paid, p.renews, p.unpaid, p.change,
    l.wallet, l.start, l.period, l.amount, w.balance, w.used
  FROM account_plans p
  LEFT JOIN plan_windows l ON l.account = p.account AND l.plan = p.plan
    AND CASE WHEN p.paid IS NULL
      THEN l.start = (SELECT max(o.start) FROM plan_windows o
        WHERE o.account = p.account AND o.plan = p.plan)
      ELSE l.wallet = p.paid END
  LEFT JOIN wallets w ON w.id = l.wallet
  WHERE p.plan IS NOT NULL`
/** Parameters: an account or null, twice; the account to start after; row count. */
export const LIST_PLANS = `${LISTED} AND (CAST(? AS BIGINT) IS NULL OR p.account = ?)
  AND p.account > ? ORDER BY p.account LIMIT ?`
const FIND = sql('find', `${LISTED} AND p.account = ?`)
export const findPlan = async (
  database: Pick<Database, 'read'>,
  account: number,
): Promise<Row | undefined> => {
  const [row] = await database.read(FIND, [account])
  return row
}

// ---------------------------------------------------------------- rows as calls use them

const CHANGED = sql(
  'changed rows',
  `SELECT p.account, p.plan, p.since, p.until, p.renews, p.unpaid, p.change, p.paid, l.start, l.amount
   FROM account_plans p LEFT JOIN plan_windows l ON l.wallet = p.paid
   WHERE p.change > ? ORDER BY p.change`,
)
export interface PaidWindow {
  readonly wallet: number
  readonly start: number
  /** The amount that it has got, in its unit. */
  readonly amount: bigint
}
export interface KnownPlan extends Omit<AssignedPlan, 'account'> {
  /** The window that it bought; undefined: an operator assigned it. */
  readonly paid: PaidWindow | undefined
  readonly renews: boolean
  /** It ended, since the balance did not cover its price. */
  readonly isUnpaid: boolean
  /** As it was before a renewal. */
  readonly before: KnownPlan | undefined
}
export class PlanRows {
  readonly #database: Pick<Database, 'read'>
  readonly #accounts = new Map<number, KnownPlan>()
  #change = -1
  readonly follower = new RowFollower(() => this.#read())

  constructor(database: Pick<Database, 'read'>) {
    this.#database = database
  }
  get isEmpty(): boolean {
    return this.#accounts.size === 0
  }
  /** `at`: the beginning of a call; it belongs to the window of that time. */
  of(account: number, at: number): KnownPlan | undefined {
    const known = this.#accounts.get(account)
    return known?.paid && at < known.paid.start ? known.before : known
  }
  async #read(): Promise<void> {
    for (const row of await this.#database.read(CHANGED, [this.#change])) {
      const [account, change] = [Number(row.account), Number(row.change)]
      this.#change = Math.max(this.#change, change)
      if (row.plan === null) this.#accounts.delete(account)
      else this.#accounts.set(account, knownPlanOf(row, this.#accounts.get(account)))
    }
  }
}
const knownPlanOf = (row: Row, before: KnownPlan | undefined): KnownPlan => {
  const plan = String(row.plan)
  const paid =
    row.paid === null
      ? undefined
      : { wallet: Number(row.paid), start: Number(row.start), amount: nanosOf(row.amount) }
  const isRenewal = paid !== undefined && before?.plan === plan && before.until === paid.start
  return {
    plan,
    since: Number(row.since),
    until: row.until === null ? undefined : Number(row.until),
    paid,
    renews: Number(row.renews) === 1,
    isUnpaid: Number(row.unpaid) === 1,
    before: isRenewal ? { ...before, before: undefined } : undefined,
  }
}
