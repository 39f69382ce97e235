/** The invariants of plans: each window agrees with the charges that it paid. */
import type { Row, Sql } from '../../../engine/plugin.ts'
import { plannedInSql } from './part.ts'

const sql = (name: string, text: string): Sql => ({ name: `audit: plans ${name}`, text })
const subjectOf = ({ plan, account, start }: Row): string =>
  `plan ${plan} of account ${account} since ${new Date(Number(start)).toISOString()}`

export const PLAN_RULES = [
  {
    // An archive takes charges away: the windows that began after it are complete.
    name: 'used of a plan = sum of its parts of charges less refunds',
    sql: sql(
      'used',
      `SELECT l.plan, l.account, l.start, w.used, coalesce(e.total, 0) AS total
       FROM plan_windows l JOIN wallets w ON w.id = l.wallet
       LEFT JOIN (
         SELECT c.plan AS wallet,
           sum(CASE WHEN c.plan_tokens IS NULL THEN ${plannedInSql('c')} - coalesce(r.planned, 0)
             WHEN r.request IS NULL THEN c.plan_tokens ELSE 0 END) AS total
         FROM charges c LEFT JOIN credits r ON r.request = c.request AND r.kind = 'refund'
         WHERE c.state = 'settled' AND c.plan IS NOT NULL GROUP BY c.plan) e ON e.wallet = l.wallet
       WHERE w.used <> coalesce(e.total, 0)
         AND l.start >= coalesce((SELECT max(before) FROM archives), 0) LIMIT 100`,
    ),
    describe: (row: Row) => ({
      subject: subjectOf(row),
      detail: `it has used ${row.used}, the sum of its parts is ${row.total}`,
    }),
  },
  {
    name: 'balance of a plan = its amount less what it has used and moved, and at least what is reserved',
    sql: sql(
      'balance',
      `SELECT l.plan, l.account, l.start, l.amount, l.moved, w.balance, w.used, w.reserved
       FROM plan_windows l LEFT JOIN wallets w ON w.id = l.wallet
       WHERE w.id IS NULL OR w.balance <> l.amount - w.used - l.moved OR w.balance < w.reserved LIMIT 100`,
    ),
    describe: (row: Row) => ({
      subject: subjectOf(row),
      detail: `of ${row.amount} it has used ${row.used} and moved ${row.moved}; ${row.balance} is left, ${row.reserved} is reserved`,
    }),
  },
  {
    // With `+` SQLite reads the few open charges, not all that have a plan.
    name: 'reserved of a plan = sum of leases and kept holds',
    sql: sql(
      'reserved',
      `SELECT l.plan, l.account, l.start, w.reserved, coalesce(e.total, 0) AS total
       FROM plan_windows l JOIN wallets w ON w.id = l.wallet
       LEFT JOIN (
         SELECT wallet, sum(amount) AS total FROM (
           SELECT wallet, amount FROM shares WHERE wallet < 0
           UNION ALL
           SELECT plan, coalesce(plan_tokens, plan_held) FROM charges
           WHERE state = 'open' AND process IS NULL AND +plan IS NOT NULL) reservations
         GROUP BY wallet) e ON e.wallet = l.wallet
       WHERE w.reserved <> coalesce(e.total, 0) LIMIT 100`,
    ),
    describe: (row: Row) => ({
      subject: subjectOf(row),
      detail: `${row.reserved} is reserved, the sum of its leases and kept holds is ${row.total}`,
    }),
  },
  {
    name: 'the rest that a window of a plan carries = the rest that the window before has moved',
    sql: sql(
      'carried',
      `SELECT l.plan, l.account, l.start, l.carried, s.moved FROM plan_windows l
       LEFT JOIN plan_windows s ON s.wallet = l.source AND s.account = l.account
       WHERE l.carried <> 0 AND (s.wallet IS NULL OR s.moved <> l.carried)
       UNION ALL
       SELECT s.plan, s.account, s.start, 0 AS carried, s.moved FROM plan_windows s
       WHERE s.moved <> 0 AND NOT EXISTS (
         SELECT 1 FROM plan_windows n WHERE n.account = s.account AND n.source = s.wallet) LIMIT 100`,
    ),
    describe: (row: Row) => ({
      subject: subjectOf(row),
      detail: `it carries ${row.carried}, the window before has moved ${row.moved ?? 'nothing'}`,
    }),
  },
  {
    name: 'a payment of a plan is a debit of its price',
    sql: sql(
      'payments',
      `SELECT p.credit, p.account, p.price, c.amount FROM plan_payments p
       LEFT JOIN credits c ON c.id = p.credit AND c.account = p.account AND c.kind = 'debit'
       WHERE c.id IS NULL OR c.amount <> -p.price LIMIT 100`,
    ),
    describe: ({ credit, account, price, amount }: Row) => ({
      subject: `credit ${credit} of account ${account}`,
      detail: `the price is ${price}, the debit is ${amount ?? 'missing'}`,
    }),
  },
  {
    name: 'a window of a plan has the amounts that were paid for it',
    sql: sql(
      'paid',
      `SELECT p.wallet, p.account, l.plan, l.start, l.amount, p.total FROM (
         SELECT wallet, account, sum(amount) AS total FROM plan_payments GROUP BY wallet, account) p
       LEFT JOIN plan_windows l ON l.wallet = p.wallet AND l.account = p.account
       WHERE l.wallet IS NULL OR l.amount < p.total LIMIT 100`,
    ),
    describe: ({ wallet, account, amount, total }: Row) => ({
      subject: `window ${wallet} of account ${account}`,
      detail: `it has ${amount ?? 'no row'}, and ${total} was paid for`,
    }),
  },
  {
    name: 'a bought plan has paid for its window',
    sql: sql(
      'bought',
      `SELECT a.account, a.plan, a.paid FROM account_plans a
       WHERE a.paid IS NOT NULL AND NOT EXISTS (
         SELECT 1 FROM plan_payments p WHERE p.wallet = a.paid AND p.account = a.account) LIMIT 100`,
    ),
    describe: ({ account, plan, paid }: Row) => ({
      subject: `plan ${plan} of account ${account}`,
      detail: `nothing was paid for its window ${paid}`,
    }),
  },
] as const
