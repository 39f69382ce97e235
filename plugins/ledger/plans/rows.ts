/** The plans of accounts: rows of the store, which operators set. */
import type { Database, Row, Sql, Statement } from '../../../engine/plugin.ts'
import { ChangeCheck } from '../../credentials/change-check.ts'

const sql = (name: string, text: string): Sql => ({ name: `plans: ${name}`, text })

/** Locks the counter, so that changes become visible in their order. */
const COUNT_CHANGE: Statement = {
  sql: sql('count change', 'UPDATE plan_changes SET number = number + 1 WHERE id = 1'),
  values: [],
  rows: 1,
}
const NUMBER = '(SELECT number FROM plan_changes WHERE id = 1)'
const SET = sql(
  'set',
  `INSERT INTO account_plans (account, plan, since, until, change) VALUES (?, ?, ?, ?, ${NUMBER})
   ON CONFLICT (account) DO UPDATE SET plan = excluded.plan, since = excluded.since,
     until = excluded.until, change = excluded.change`,
)
const CANCEL = sql(
  'cancel',
  `UPDATE account_plans SET plan = NULL, until = NULL, change = ${NUMBER}
   WHERE account = ? AND plan IS NOT NULL`,
)
/** Times in ms since 1970. */
export interface AssignedPlan {
  readonly account: number
  readonly plan: string
  readonly since: number
  /** Undefined: without an end. */
  readonly until: number | undefined
}
/** Takes the place of the plan that the account has. */
export const assignPlan = ({ account, plan, since, until }: AssignedPlan): readonly Statement[] => [
  COUNT_CHANGE,
  { sql: SET, values: [account, plan, since, until ?? null], rows: 1 },
]
/** Rejects with PLAN_MISSING. */
export const cancelPlan = (account: number): readonly Statement[] => [
  COUNT_CHANGE,
  { sql: CANCEL, values: [account], rows: 1, otherwise: 'PLAN_MISSING' },
]

// The last window of each: it may have ended.
const LISTED = `SELECT p.account, p.plan, p.since, p.until, l.start, l.period, l.amount, w.balance, w.used
  FROM account_plans p
  LEFT JOIN plan_windows l ON l.account = p.account AND l.plan = p.plan
    AND l.start = (SELECT max(o.start) FROM plan_windows o
      WHERE o.account = p.account AND o.plan = p.plan)
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
  'SELECT account, plan, until, change FROM account_plans WHERE change > ? ORDER BY change',
)
/** ms between two checks for changes, in the background. */
export const FOLLOW_INTERVAL = 500
/** ms after a check from which calls wait for the next one: only if the background is late. */
const STALE = 900

type KnownPlan = Pick<AssignedPlan, 'plan' | 'until'>
export class PlanRows {
  readonly #database: Pick<Database, 'read'>
  readonly #accounts = new Map<number, KnownPlan>()
  #change = -1
  readonly #check: ChangeCheck

  constructor(database: Pick<Database, 'read'>) {
    this.#database = database
    this.#check = new ChangeCheck(
      () => this.#read(),
      () => performance.now(),
    )
  }
  get isEmpty(): boolean {
    return this.#accounts.size === 0
  }
  of(account: number): KnownPlan | undefined {
    return this.#accounts.get(account)
  }
  /** A promise if the rows must be read before they are used. It rejects if they were never read.
   *  While the store is away, the known ones apply: no call can be charged then. */
  refresh(): Promise<void> | undefined {
    const { age, sinceFailure } = this.#check
    if (age <= STALE) return undefined
    const isKnown = age !== Number.POSITIVE_INFINITY
    if (isKnown && sinceFailure <= STALE) return undefined
    const checked = this.check()
    return isKnown ? checked.catch(() => {}) : checked
  }
  /** Reads changes, or waits for the check that does. */
  check(): Promise<void> {
    return this.#check.run()
  }
  async #read(): Promise<void> {
    for (const row of await this.#database.read(CHANGED, [this.#change])) {
      const [account, change] = [Number(row.account), Number(row.change)]
      this.#change = Math.max(this.#change, change)
      const until = row.until === null ? undefined : Number(row.until)
      if (row.plan === null) this.#accounts.delete(account)
      else this.#accounts.set(account, { plan: String(row.plan), until })
    }
  }
}
