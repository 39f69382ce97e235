/** Audits the ledger: one query for each invariant. Reports findings and changes nothing. */
import { setTimeout as pause } from 'node:timers/promises'
import { EXIT } from '../../engine/cli/kit.ts'
import { DURATIONS } from '../../engine/kit.ts'
import type {
  Command,
  Database,
  Host,
  ReportProgress,
  Row,
  SingleCommand,
  Sql,
  Value,
} from '../../engine/plugin.ts'
import { PROCESSES_TABLE } from '../../engine/store/while-registered.ts'
import { unitsOf } from '../billing/money.ts'
import type { AuditReport } from '../rows/calls.ts'
import { BUDGET_RULES } from './budgets/audit-rules.ts'
import { PLAN_RULES } from './plans/audit-rules.ts'
import { plannedInSql } from './plans/part.ts'
import { nanosOf } from './statements.ts'
import { walletInSql } from './wallet.ts'

/** `rule`: the invariant. */
export type Finding = AuditReport['findings'][number]
/** A query of one invariant. It returns at most 100 rows: those that break it. */
interface Rule {
  readonly name: string
  readonly sql: Sql
  describe(row: Row): Omit<Finding, 'rule'>
}
/** A rule that is checked part by part, so that no read keeps others waiting. */
interface PartialRule<Part> extends Rule {
  values(part: Part): readonly Value[]
}
/** Wallets from one number to another, both included. */
type Wallets = readonly [first: number, last: number]

const sql = (name: string, text: string): Sql => ({ name: `audit: ${name}`, text })

const IN_RANGE = 'account BETWEEN ? AND ?'
const accountsIn = ([first, last]: Wallets): Wallets => [Math.ceil(first / 2), Math.floor(last / 2)]

/** All credits and charges of accounts, and the charges that are archived. Plans
 *  paid parts of the charges: those come last, and an index has them. */
const BALANCE_ENTRIES = `
  SELECT account, amount - planned AS amount FROM credits WHERE ${IN_RANGE}
  UNION ALL
  SELECT account, -amount FROM charges WHERE ${IN_RANGE} AND state = 'settled'
  UNION ALL
  SELECT account, planned - amount FROM archived_charges WHERE ${IN_RANGE}
  UNION ALL
  SELECT account, ${plannedInSql('charges')} FROM charges WHERE ${IN_RANGE} AND plan IS NOT NULL`

/** The same in an order independent of clocks: a credit by its id, then the charges settled after
 *  it. Charges older than the column `serial` come before the others of their account, since their
 *  order among its older credits is unknown. */
const ORDERED_ENTRIES = `
  SELECT account, id AS serial, 0 AS turn, amount - planned AS amount FROM credits WHERE ${IN_RANGE}
  UNION ALL
  SELECT account, coalesce(serial, min(serial) OVER (PARTITION BY account), (SELECT max(id) FROM credits)),
    1, -amount
  FROM (SELECT account, serial, sum(amount) AS amount FROM charges
    WHERE ${IN_RANGE} AND state = 'settled' GROUP BY account, serial) charged
  UNION ALL
  SELECT account, serial, 1, planned - amount FROM archived_charges WHERE ${IN_RANGE}
  UNION ALL
  SELECT account, serial, 1, ${plannedInSql('charges')} FROM charges
  WHERE ${IN_RANGE} AND plan IS NOT NULL AND state = 'settled'`

const USE_ENTRIES = `
  SELECT account, amount FROM charges WHERE ${IN_RANGE} AND state = 'settled'
  UNION ALL
  SELECT account, amount FROM archived_charges WHERE ${IN_RANGE}
  UNION ALL
  SELECT account, -amount FROM credits WHERE ${IN_RANGE} AND kind = 'refund'`

/** The shares of processes, and the holds that the books keep. */
const RESERVATIONS = `
  SELECT wallet, amount FROM shares
  UNION ALL
  SELECT ${walletInSql.account('account')}, held - coalesce(plan_held, 0) FROM charges
  WHERE state = 'open' AND process IS NULL
  UNION ALL
  SELECT ${walletInSql.key('key')}, held FROM charges
  WHERE state = 'open' AND process IS NULL AND key IS NOT NULL AND key_held = 1`

/** The values of some entry queries, and of the wallets that they belong to. */
const entriesAndWallets =
  (entries: number) =>
  (wallets: Wallets): readonly Value[] => {
    const accounts = accountsIn(wallets)
    return [...Array.from({ length: entries }, () => accounts).flat(), ...wallets]
  }

/** A table with a row for each day, from the first one with sums to the last one. */
const DAYS_OF_SUMS = `(WITH RECURSIVE days (day) AS (SELECT min(day) FROM usage_days
    UNION ALL SELECT day + 1 FROM days WHERE day < (SELECT max(day) FROM usage_days))
  SELECT day FROM days)`

// Joins use an owner column: with an expression SQLite computes all sums again for every wallet.
const WALLET_RULES: readonly PartialRule<Wallets>[] = [
  {
    name: 'balance = sum of entries',
    sql: sql(
      'balance',
      `SELECT w.account, w.balance, coalesce(e.total, 0) AS total FROM wallets w
       LEFT JOIN (SELECT account, sum(amount) AS total FROM (${BALANCE_ENTRIES}) entries GROUP BY account) e
         ON e.account = w.account
       WHERE w.id BETWEEN ? AND ? AND w.account IS NOT NULL AND w.balance <> coalesce(e.total, 0) LIMIT 100`,
    ),
    values: entriesAndWallets(4),
    describe: ({ account, balance, total }) => ({
      subject: `account ${account}`,
      detail: `its balance is ${balance}, the sum of its entries is ${total}`,
    }),
  },
  {
    // Statements read sums of days. One search a day finds those of a part of the accounts.
    name: 'statements end at the balance',
    sql: sql(
      'statements',
      `SELECT w.account, w.balance, coalesce(e.total, 0) AS total FROM wallets w
       LEFT JOIN (SELECT account, sum(amount) AS total FROM (
           SELECT account, amount - planned AS amount FROM credits WHERE ${IN_RANGE}
           UNION ALL
           SELECT u.account, u.planned - u.amount FROM ${DAYS_OF_SUMS} d CROSS JOIN usage_days u
           WHERE u.day = d.day AND u.account BETWEEN ? AND ?) entries GROUP BY account) e
         ON e.account = w.account
       WHERE w.id BETWEEN ? AND ? AND w.account IS NOT NULL AND w.balance <> coalesce(e.total, 0) LIMIT 100`,
    ),
    values: entriesAndWallets(2),
    describe: ({ account, balance, total }) => ({
      subject: `account ${account}`,
      detail: `its balance is ${balance}, its statements end at ${total}`,
    }),
  },
  {
    name: 'balance never below the overdraft',
    sql: sql(
      'prefix',
      `SELECT p.account, min(p.running) AS least, w.deepest FROM (
         SELECT account, sum(amount) OVER (PARTITION BY account ORDER BY serial, turn) AS running
         FROM (${ORDERED_ENTRIES}) entries) p
       JOIN wallets w ON w.account = p.account
       WHERE w.id BETWEEN ? AND ?
       GROUP BY p.account, w.deepest HAVING min(p.running) < -w.deepest LIMIT 100`,
    ),
    values: entriesAndWallets(4),
    describe: ({ account, least, deepest }) => ({
      subject: `account ${account}`,
      detail: `its balance was ${least} at one time; its overdraft was never above ${deepest}`,
    }),
  },
  {
    name: 'used = sum of charges less refunds',
    sql: sql(
      'used',
      `SELECT w.account, w.used, coalesce(s.total, 0) AS total FROM wallets w
       LEFT JOIN (SELECT account, sum(amount) AS total FROM (${USE_ENTRIES}) spent GROUP BY account) s
         ON s.account = w.account
       WHERE w.id BETWEEN ? AND ? AND w.account IS NOT NULL AND w.used <> coalesce(s.total, 0) LIMIT 100`,
    ),
    values: entriesAndWallets(3),
    describe: ({ account, used, total }) => ({
      subject: `account ${account}`,
      detail: `it has used ${used}, the sum of its charges is ${total}`,
    }),
  },
  {
    name: 'reserved = sum of leases and kept holds',
    sql: sql(
      'reserved',
      `SELECT w.id, w.reserved, coalesce(s.total, 0) AS total FROM wallets w
       LEFT JOIN (SELECT wallet, sum(amount) AS total FROM (${RESERVATIONS}) reservations
         GROUP BY wallet) s ON s.wallet = w.id
       WHERE w.id BETWEEN ? AND ? AND w.reserved <> coalesce(s.total, 0) LIMIT 100`,
    ),
    values: wallets => wallets,
    describe: ({ id, reserved, total }) => ({
      subject: `wallet ${id}`,
      detail: `${reserved} is reserved, the sum of its leases and kept holds is ${total}`,
    }),
  },
]

/** Of charges that are open, and of tasks: few rows, which an index has. */
const RULES: readonly Rule[] = [
  {
    name: 'open holds are within leases',
    sql: sql(
      'held',
      `SELECT h.process, h.account, h.held, coalesce(s.amount, 0) AS amount FROM (
         SELECT process, account, sum(held - coalesce(plan_held, 0)) AS held FROM charges
           WHERE state = 'open' AND process IS NOT NULL
         GROUP BY process, account) h
       LEFT JOIN wallets w ON w.account = h.account
       LEFT JOIN shares s ON s.process = h.process AND s.wallet = w.id
       WHERE h.held > coalesce(s.amount, 0) LIMIT 100`,
    ),
    describe: ({ process, account, held: heldAmount, amount }) => ({
      subject: `account ${account}`,
      detail: `${process} holds ${heldAmount} of a lease of ${amount}`,
    }),
  },
  {
    name: 'every open charge has a registered process',
    sql: sql(
      'orphans',
      `SELECT c.request, c.process FROM charges c
       LEFT JOIN ${PROCESSES_TABLE} p ON p.id = c.process
       WHERE c.state = 'open' AND c.process IS NOT NULL AND p.id IS NULL LIMIT 100`,
    ),
    describe: ({ request, process }) => ({
      subject: String(request),
      detail: `it is open, and its process ${process} is not registered`,
    }),
  },
  {
    // A late charge comes after the release of the first one.
    name: 'a task is held or charged once',
    sql: sql(
      'tasks',
      `SELECT task, count(*) AS number FROM charges
       WHERE task IS NOT NULL AND state <> 'released' GROUP BY task HAVING count(*) > 1 LIMIT 100`,
    ),
    describe: ({ task, number }) => ({
      subject: `task ${task}`,
      detail: `it has ${number} charges that are open or settled`,
    }),
  },
]

const COUNTED_BY_DAY = ['calls', 'failed', 'amount', 'refunded'] as const
const DAY_SUMS = COUNTED_BY_DAY.map(each => `coalesce(sum(${each}), 0) AS ${each}`).join(', ')
const DAY_RULE: PartialRule<number> = {
  name: 'sums of a day = its charges',
  sql: sql(
    'day',
    `SELECT ${COUNTED_BY_DAY.map(each => `d.${each}, e.${each} AS entered_${each}`).join(', ')}
     FROM (SELECT ${DAY_SUMS} FROM usage_days WHERE day = ?) d,
       (SELECT ${DAY_SUMS} FROM (
            SELECT CASE WHEN c.state = 'settled' THEN 1 ELSE 0 END AS calls,
              CASE WHEN c.state = 'released' THEN 1 ELSE 0 END AS failed, c.amount,
              coalesce(r.amount, 0) AS refunded
            FROM charges c LEFT JOIN credits r ON r.request = c.request
            WHERE c.opened >= ? AND c.opened < ? AND c.state <> 'open'
            UNION ALL SELECT calls, failed, amount, refunded FROM archived_days WHERE day = ?) entries) e
     WHERE ${COUNTED_BY_DAY.map(each => `d.${each} <> e.${each}`).join(' OR ')}`,
  ),
  values: day => [day, day * DAY, (day + 1) * DAY, day],
  describe: row => {
    const [summed, entered] = ['', 'entered_'].map(prefix =>
      COUNTED_BY_DAY.map(each => `${each} ${row[prefix + each]}`).join(', '),
    )
    return {
      subject: new Date(Number(row.day) * DAY).toISOString().slice(0, 10),
      detail: `its sums are: ${summed}; its charges and refunds: ${entered}`,
    }
  },
}
const DAY = DURATIONS.d

const WALLET_PAGE = 2_000
const WALLETS = sql('wallets', 'SELECT id FROM wallets WHERE id > ? ORDER BY id LIMIT ?')
const WALLET_COUNT = sql('wallet count', 'SELECT count(*) AS number FROM wallets')
/** The first day after another that has charges or sums. */
const NEXT_DAY = sql(
  'next day',
  `SELECT min(day) AS day FROM (
     SELECT min(day) AS day FROM usage_days WHERE day > ?
     UNION ALL SELECT min(opened) / ${DAY} FROM charges WHERE opened >= ? AND state <> 'open') days`,
)

/** Empty: the ledger balances. Each read takes a part of the accounts or one day, and sees one
 *  snapshot. */
export const audit = async (
  database: Pick<Database, 'read'>,
  report?: ReportProgress,
): Promise<readonly Finding[]> => {
  const findings: Finding[] = []
  const check = async (rule: Rule, values: readonly Value[], more: Row = {}) => {
    for (const row of await database.read(rule.sql, values))
      findings.push({ rule: rule.name, ...rule.describe({ ...row, ...more }) })
  }
  for (const rule of [...RULES, ...BUDGET_RULES, ...PLAN_RULES]) await check(rule, [])
  const [counted] = report ? await database.read(WALLET_COUNT, []) : []
  let done = 0
  for (let last = -1; ; ) {
    const rows = await database.read(WALLETS, [last, WALLET_PAGE])
    if (rows.length === 0) break
    const part = [last + 1, Number(rows.at(-1)?.id)] as const
    for (const rule of WALLET_RULES) await check(rule, rule.values(part))
    last = part[1]
    done += rows.length
    report?.('audited', done, Number(counted?.number), 'wallets')
  }
  for (let day = -1; ; ) {
    const [next] = await database.read(NEXT_DAY, [day, (day + 1) * DAY])
    if (next?.day == null) return findings
    day = Number(next.day)
    await check(DAY_RULE, DAY_RULE.values(day), { day })
  }
}

const TOTAL_CHARGED = sql(
  'charged',
  `SELECT CAST((SELECT coalesce(sum(used), 0) FROM wallets WHERE account IS NOT NULL)
     + (SELECT coalesce(sum(amount), 0) FROM credits WHERE kind = 'refund') AS BIGINT) AS total`,
)
/** The total of all charges, in units of the currency. */
const totalCharged = async (database: Pick<Database, 'read'>): Promise<number> => {
  const [row] = await database.read(TOTAL_CHARGED, [])
  return unitsOf(nanosOf(row?.total ?? 0))
}

/** How many times as long as a read a job beside calls waits after it. */
const WAIT = 3
/** Reads that take a quarter of one thread's time. Rejects when the signal is aborted. */
export const slowReads = (database: Pick<Database, 'read'>, signal: AbortSignal) => ({
  async read(...query: Parameters<Database['read']>) {
    const begin = performance.now()
    const rows = await database.read(...query)
    await pause((performance.now() - begin) * WAIT, undefined, { signal })
    return rows
  },
})

/** Runs the audit for operators: sets a metric that should be zero and logs each finding as an
 *  error. */
export const reportAudit = async (
  { database, metrics, log }: Host,
  signal: AbortSignal,
): Promise<void> => {
  const findings = await audit(slowReads(database, signal))
  metrics.gauge('ledger_imbalance', {}, findings.length)
  metrics.gauge('ledger_charged', {}, await totalCharged(database))
  for (const finding of findings) log.error(finding, 'the ledger does not balance')
}

// ---------------------------------------------------------------- command

const auditLedger: SingleCommand = {
  summary: 'Checks whether the ledger balances.',
  example: 'tollgate audit ledger',
  async run({ report }, { database }) {
    const findings = await audit(database, report)
    const lines = findings.map(({ rule, subject, detail }) => `${rule}: ${subject}: ${detail}`)
    const isBalanced = findings.length === 0
    return {
      text: isBalanced ? 'the ledger balances' : lines.join('\n'),
      json: { balanced: isBalanced, findings },
      exit: isBalanced ? EXIT.ok : EXIT.problems,
    }
  },
}
export const auditCommand: Command = {
  summary: 'Checks stored data for consistency.',
  subcommands: { ledger: auditLedger },
}
