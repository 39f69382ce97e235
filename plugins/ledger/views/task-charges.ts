/** Charges of tasks: by the id of the task, and after the release of its hold, where the work was
 *  done after all. */
import type { Json, Sql, Statement } from '../../../engine/plugin.ts'
import type { KeptHold } from '../../slots.ts'
import { type KeptUsage, priceKept, tokensOf } from '../kept-hold.ts'
import { columnValueOf, lockOf, SERIAL_NOW } from '../statements.ts'
import { walletOf, walletsOf } from '../wallet.ts'

const sql = (name: string, text: string): Sql => ({ name: `ledger: task ${name}`, text })

const LINK = sql(
  'link',
  'UPDATE charges SET task = ?, attributes = ?, served = ? WHERE request = ?',
)
/** Makes the open charge of a request that of a task, so that its receipt is found by the id of the
 *  task. `settings`: of the effective request, for the receipt. `served`: where it is sent, as
 *  JSON. */
export const linkCharge = (
  task: string,
  request: string,
  settings: Readonly<Record<string, Json>>,
  served: string | null = null,
): Statement => ({
  sql: LINK,
  values: [task, JSON.stringify(settings), served, request],
  rows: 1,
  otherwise: 'CHARGE_MISSING',
})

// ---------------------------------------------------------------- late charges

/** The part of the cost that the account, and the quota of its key, can pay. */
const GRANT = sql(
  'late grant',
  `UPDATE wallets SET granted = (
     SELECT CASE WHEN r.room <= 0 THEN 0 WHEN r.room < c.cost THEN r.room ELSE c.cost END
     FROM (SELECT min(w.balance + w.overdraft - w.reserved) AS room FROM wallets w
           WHERE w.id IN (?, ?) AND w.limited = 1) r,
       (SELECT CAST(? AS BIGINT) AS cost) c)
   WHERE id = ?`,
)
const RESERVE = sql('late reserve', 'UPDATE wallets SET reserved = reserved + granted WHERE id = ?')
// The wallets of budgets count it and held nothing: see `budgets/tables.ts`.
const OPEN = sql(
  'late open',
  `INSERT INTO charges (request, account, key, route, model, version, rule, task, attributes, served, state, held, opened, key_held, budgets, tokens_held, member)
   SELECT CAST(? AS TEXT), c.account, c.key, c.route, c.model, c.version, c.rule, c.task, c.attributes, c.served, 'open', w.granted,
     CAST(? AS BIGINT), 0, replace(c.budgets, '-', ''), c.tokens_held, c.member
   FROM charges c, wallets w WHERE c.request = ? AND w.id = ?`,
)
/** A trigger changes the wallets. */
const SETTLE = sql(
  'late settle',
  `UPDATE charges SET state = 'settled', serial = ${SERIAL_NOW}, amount = held,
     uncollected = CAST(? AS BIGINT) - held, usage = ?, lines = ?, closed = ?, served = coalesce(CAST(? AS TEXT), served),
     tokens = CAST(? AS BIGINT)
   WHERE request = ? AND state = 'open'`,
)

/** Charges a usage by the frozen price of a released hold, at most what was held and what the
 *  balance covers; the rest is `uncollected`. The caller makes sure that it happens once. Rejects
 *  with CHARGE_EXISTS. */
export const chargeLate = (
  hold: KeptHold,
  usage: KeptUsage,
  now: number,
  served?: string | null,
): readonly Statement[] => {
  const { charged, uncollected, lines } = priceKept(hold, usage)
  const request = `${hold.request}_late`
  const account = walletOf.account(hold.account)
  const key = hold.key === null ? account : walletOf.key(hold.key)
  return [
    {
      sql: GRANT,
      values: [account, key, charged, account],
      locks: walletsOf(hold.account, hold.key ?? undefined, hold.budgets).map(lockOf),
    },
    { sql: RESERVE, values: [account] },
    {
      sql: OPEN,
      values: [request, now, hold.request, account],
      rows: 1,
      otherwise: 'CHARGE_MISSING',
      violates: { 'charges.request': 'CHARGE_EXISTS', charges_pkey: 'CHARGE_EXISTS' },
    },
    {
      sql: SETTLE,
      values: [
        columnValueOf(charged + uncollected),
        JSON.stringify(usage.meters),
        lines,
        now,
        served ?? null,
        tokensOf(hold, usage)?.used ?? null,
        request,
      ],
      rows: 1,
      otherwise: 'CHARGE_CLOSED',
    },
  ]
}
