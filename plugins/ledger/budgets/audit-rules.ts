/** The invariants of budgets: each window agrees with the charges that name it. */
import type { Row, Sql } from '../../../engine/plugin.ts'
import { walletInSql } from '../wallet.ts'
import { tagIn } from './owner.ts'
import { NUMBERS, type Numbers } from './tables.ts'
import { heldIn, usedIn } from './token-tables.ts'

const perStore = (name: string, text: (numbers: Numbers) => string): Sql => ({
  name: `audit: ${name}`,
  text: text(NUMBERS.sqlite),
  postgres: text(NUMBERS.postgres),
})
const subjectOf = ({ budget, kind, owner, start }: Row): string => {
  const subject = tagIn(String(kind)) === undefined ? `${kind} ${owner}` : kind
  return `budget ${budget} of ${subject} since ${new Date(Number(start)).toISOString()}`
}

/** An archive takes charges away: the windows that began after it are complete. */
// Casts: SQLite makes no index of a sum for an expression without a type.
const USED = (numbers: Numbers): string => `
  SELECT b.budget, b.kind, b.owner, b.start, w.used, coalesce(e.total, 0) AS total
  FROM budget_windows b JOIN wallets w ON w.id = b.wallet
  LEFT JOIN (
    SELECT CAST(-abs(${numbers.value}) AS BIGINT) AS wallet,
      sum(CASE WHEN r.request IS NOT NULL AND ${walletInSql.countsTokens(`-abs(${numbers.value})`)} THEN 0
        ELSE ${usedIn(`-abs(${numbers.value})`, 'c')} - coalesce(r.amount, 0) END) AS total
    FROM charges c CROSS JOIN ${numbers.of('c.budgets')}
      LEFT JOIN credits r ON r.request = c.request AND r.kind = 'refund'
    WHERE c.state = 'settled' AND c.budgets IS NOT NULL GROUP BY 1) e ON e.wallet = b.wallet
  WHERE w.used <> coalesce(e.total, 0)
    AND b.start >= coalesce((SELECT max(before) FROM archives), 0) LIMIT 100`

const RESERVED = (numbers: Numbers): string => `
  SELECT b.budget, b.kind, b.owner, b.start, w.reserved, coalesce(e.total, 0) AS total
  FROM budget_windows b JOIN wallets w ON w.id = b.wallet
  LEFT JOIN (
    SELECT CAST(wallet AS BIGINT) AS wallet, sum(amount) AS total FROM (
      SELECT wallet, amount FROM shares WHERE wallet < 0
      UNION ALL
      SELECT ${numbers.value}, ${heldIn(numbers.value, 'c')} FROM charges c CROSS JOIN ${numbers.of('c.budgets')}
      WHERE c.state = 'open' AND c.process IS NULL AND c.budgets IS NOT NULL) reservations
    GROUP BY 1) e ON e.wallet = b.wallet
  WHERE w.reserved <> coalesce(e.total, 0) LIMIT 100`

export const BUDGET_RULES = [
  {
    name: 'used of a budget = sum of its charges less refunds',
    sql: perStore('budgets used', USED),
    describe: (row: Row) => ({
      subject: subjectOf(row),
      detail: `it has used ${row.used}, the sum of its charges is ${row.total}`,
    }),
  },
  {
    name: 'reserved of a budget = sum of leases and kept holds',
    sql: perStore('budgets reserved', RESERVED),
    describe: (row: Row) => ({
      subject: subjectOf(row),
      detail: `${row.reserved} is reserved, the sum of its leases and kept holds is ${row.total}`,
    }),
  },
] as const
