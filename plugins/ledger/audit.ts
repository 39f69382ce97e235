/** Audits the ledger: one query for each invariant. Reports findings and changes nothing. */
import { EXIT } from '../../engine/cli/kit.ts'
import type {
  Command,
  Database,
  Host,
  ReportProgress,
  Row,
  SingleCommand,
  Sql,
} from '../../engine/plugin.ts'
import { PROCESSES_TABLE } from '../../engine/store/while-registered.ts'
import { printMoney } from '../billing/money.ts'
import { nanosOf } from './statements.ts'
import { walletInSql } from './wallet.ts'

export interface Finding {
  /** The invariant. */
  readonly rule: string
  readonly subject: string
  readonly detail: string
}
interface Rule {
  readonly name: string
  readonly sql: Sql
  describe(row: Row): Omit<Finding, 'rule'>
}
const sql = (name: string, text: string): Sql => ({ name: `audit: ${name}`, text })

/** All credits and charges of every account. */
const BALANCE_ENTRIES = `
  SELECT account, amount FROM credits
  UNION ALL
  SELECT account, -amount FROM charges WHERE state = 'settled'`

/** The same in an order independent of clocks: a credit by its id, then the charges settled after
 *  it. Charges older than the column `serial` come before all others and after the older credits,
 *  since their order among those is unknown. */
const ORDERED_ENTRIES = `
  SELECT account, id AS serial, 0 AS turn, amount FROM credits
  UNION ALL
  SELECT account, coalesce(serial, earliest), 1, -amount FROM charges,
    (SELECT coalesce(min(serial), (SELECT max(id) FROM credits)) AS earliest FROM charges) first
  WHERE state = 'settled'`

const USE_ENTRIES = `
  SELECT account, amount FROM charges WHERE state = 'settled'
  UNION ALL
  SELECT account, -amount FROM credits WHERE kind = 'refund'`

/** The shares of processes, and the holds that the books keep. */
const RESERVATIONS = `
  SELECT wallet, amount FROM shares
  UNION ALL
  SELECT ${walletInSql.account('account')}, held FROM charges
  WHERE state = 'open' AND process IS NULL
  UNION ALL
  SELECT ${walletInSql.key('key')}, held FROM charges
  WHERE state = 'open' AND process IS NULL AND key IS NOT NULL AND key_held = 1`

// Joins use an owner column: with an expression SQLite computes all sums again for every wallet.
const RULES: readonly Rule[] = [
  {
    name: 'balance = sum of entries',
    sql: sql(
      'balance',
      `SELECT w.account, w.balance, coalesce(e.total, 0) AS total FROM wallets w
       LEFT JOIN (SELECT account, sum(amount) AS total FROM (${BALANCE_ENTRIES}) entries GROUP BY account) e
         ON e.account = w.account
       WHERE w.account IS NOT NULL AND w.balance <> coalesce(e.total, 0) LIMIT 100`,
    ),
    describe: ({ account, balance, total }) => ({
      subject: `account ${account}`,
      detail: `its balance is ${balance}, the sum of its entries is ${total}`,
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
       GROUP BY p.account, w.deepest HAVING min(p.running) < -w.deepest LIMIT 100`,
    ),
    describe: ({ account, least, deepest }) => ({
      subject: `account ${account}`,
      detail: `its balance was ${least} at one time; its overdraft was never above ${deepest}`,
    }),
  },
  {
    name: 'reserved = sum of leases and kept holds',
    sql: sql(
      'reserved',
      `SELECT w.id, w.reserved, coalesce(s.total, 0) AS total FROM wallets w
       LEFT JOIN (SELECT wallet, sum(amount) AS total FROM (${RESERVATIONS}) reservations
         GROUP BY wallet) s ON s.wallet = w.id
       WHERE w.reserved <> coalesce(s.total, 0) LIMIT 100`,
    ),
    describe: ({ id, reserved, total }) => ({
      subject: `wallet ${id}`,
      detail: `${reserved} is reserved, the sum of its leases and kept holds is ${total}`,
    }),
  },
  {
    name: 'open holds are within leases',
    sql: sql(
      'held',
      `SELECT h.process, h.account, h.held, coalesce(s.amount, 0) AS amount FROM (
         SELECT process, account, sum(held) AS held FROM charges
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
  {
    name: 'used = sum of charges less refunds',
    sql: sql(
      'used',
      `SELECT w.account, w.used, coalesce(s.total, 0) AS total FROM wallets w
       LEFT JOIN (SELECT account, sum(amount) AS total FROM (${USE_ENTRIES}) spent GROUP BY account) s
         ON s.account = w.account
       WHERE w.account IS NOT NULL AND w.used <> coalesce(s.total, 0) LIMIT 100`,
    ),
    describe: ({ account, used, total }) => ({
      subject: `account ${account}`,
      detail: `it has used ${used}, the sum of its charges is ${total}`,
    }),
  },
]

/** Empty: the ledger balances. */
export const audit = async (
  database: Pick<Database, 'read'>,
  report?: ReportProgress,
): Promise<readonly Finding[]> => {
  const findings: Finding[] = []
  for (const [index, rule] of RULES.entries()) {
    report?.('audit', index, RULES.length, 'rules')
    for (const row of await database.read(rule.sql, []))
      findings.push({ rule: rule.name, ...rule.describe(row) })
  }
  return findings
}

const TOTAL_CHARGED = sql(
  'charged',
  "SELECT sum(amount) AS total FROM charges WHERE state = 'settled'",
)
/** The total of all charges, in units of the currency. */
const totalCharged = async (database: Pick<Database, 'read'>): Promise<number> => {
  const [row] = await database.read(TOTAL_CHARGED, [])
  return Number(printMoney(nanosOf(row?.total ?? 0)))
}

/** Runs the audit for operators: sets a metric that should be zero and logs each finding as an
 *  error. */
export const reportAudit = async ({ database, metrics, log }: Host): Promise<void> => {
  const findings = await audit(database)
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
