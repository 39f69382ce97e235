/** Accounts that pay for a chaos run, and the ledger, balances and reports after it. */
import type { Row } from '../../engine/plugin.ts'
import { findRunning } from '../../engine/processes/running-gateway.ts'
import type { OpenDatabase } from '../../engine/store/database.ts'
import { makeSecret } from '../../plugins/credentials/secret.ts'
import { addKey, addToken, createAccount } from '../../plugins/credentials/statements.ts'
import { audit } from '../../plugins/ledger/audit.ts'
import { settleCheckpoints } from '../../plugins/ledger/crash/crash-settlement.ts'
import { releaseProcess } from '../../plugins/ledger/crash/processes.ts'
import { plannedInSql } from '../../plugins/ledger/plans/part.ts'
import { addCredit, openWallet } from '../../plugins/ledger/statements.ts'
import { openEndpoint } from '../../plugins/webhooks/statements.ts'
import { eventually } from '../helpers/gateway/primary.ts'
import { SILENT_LOG } from '../helpers/gateway/test-server.ts'
import { SECRET } from '../helpers/money/webhooks.ts'
import { reapAll } from '../helpers/store/membership.ts'
import { sql, statement } from '../helpers/store/store.ts'
import { MODELS } from './answers/configuration.ts'
import type { Balance, LedgerRow, Reports, Violation } from './checker.ts'
import { budgetViolations } from './plans/budgets.ts'
import { planViolations } from './plans/payers.ts'
import type { StoreSetup } from './stores.ts'

const LARGE_CREDIT = 10n ** 18n
/** Credit of small accounts, in words: their first call brings them below their threshold. */
const SMALL_CREDIT = 200n
/** Nanos in a unit. */
const UNIT = 1_000_000_000

export interface Payers {
  /** Keys of accounts that get a low-balance event with their first call. */
  readonly small: readonly string[]
  /** The system token of the account that pays for the other calls. */
  readonly token: string
}
const rowsOf = (database: OpenDatabase, text: string) =>
  database.read(sql(`chaos: ${text}`, text), [])
export const nanos = (value: unknown): bigint => BigInt(String(value))

/** Credits the gateway's first account with a large amount, and creates `count` accounts with
 *  little credit and a webhook each. */
export const createPayers = async (
  database: OpenDatabase,
  count: number,
  price: bigint,
  urlOf: (account: number) => string,
): Promise<Payers> => {
  const now = Date.now()
  const credit = (account: number, amount: bigint) => [
    openWallet(account * 2, 0n),
    addCredit({ account, kind: 'credit', amount, note: 'chaos', at: now }),
  ]
  await database.write(credit(1, LARGE_CREDIT))
  const token = makeSecret('system-token')
  await database.write(addToken({ account: 1, name: 'chaos', secret: token }, now))
  const small: string[] = []
  for (let index = 0; index < count; index++) {
    const rows = await database.write(
      createAccount({ name: `small ${index}`, role: 'customer' }, now),
    )
    const account = Number(rows.at(-1)?.[0]?.id)
    const secret = makeSecret('key')
    const threshold = SMALL_CREDIT * price
    await database.write([
      ...addKey({ account, name: 'key', secret }, now),
      ...credit(account, threshold),
      openEndpoint(account, urlOf(account), SECRET),
      statement(
        'chaos: watch',
        'INSERT INTO notification_settings (account, threshold) VALUES (?, ?)',
        [account, threshold],
      ),
    ])
    small.push(secret.text)
  }
  return { small, token: token.text }
}

export interface LedgerReport {
  readonly ledger: readonly LedgerRow[]
  readonly balances: readonly Balance[]
  readonly findings: readonly Violation[]
  /** Requests that `others` judges. */
  readonly judgedElsewhere: ReadonlySet<string>
}
/** Charges after which calls have used up every kind of budget and plan. */
const LONG_RUN = 1_500
/** Reads the ledger after all processes ended: reaps them first, so that no hold may be left. */
export const readLedger = async (
  store: StoreSetup,
  data: string,
  report: (line: string) => void,
  others: { violations(database: OpenDatabase): Promise<readonly Violation[]> },
): Promise<LedgerReport> => {
  const { database, close } = await store.openLast(data)
  await reapAll(database, [
    {
      beforeReap: name => settleCheckpoints(database, SILENT_LOG, Date.now(), name),
      reapStatements: name => releaseProcess(name, Date.now()),
    },
  ])
  const rows = await rowsOf(
    database,
    `SELECT c.request, c.account, c.model, c.state, c.amount, c.held, c.uncollected, c.estimated, coalesce(r.amount, 0) AS refunded,
       coalesce(-l.amount, 0) AS late,
       CASE WHEN c.reaped = 1 AND c.plan_held > c.amount THEN c.plan_held - c.amount ELSE 0 END AS heldbyplan
     FROM charges c LEFT JOIN credits r ON r.request = c.request
     LEFT JOIN credits l ON l.request = 'late ' || c.request`,
  )
  const balanceRows = await rowsOf(
    database,
    // Plans pay parts of the charges.
    `SELECT w.id / 2 AS account, w.balance, w.reserved, c.given + coalesce(p.planned, 0) AS given,
       c.refunded, s.threshold FROM wallets w
     LEFT JOIN (SELECT account, sum(${plannedInSql('charges')}) AS planned FROM charges
       GROUP BY account) p ON p.account * 2 = w.id
     JOIN (SELECT account, sum(amount - planned) AS given, sum(CASE WHEN kind = 'refund' THEN amount ELSE 0 END) AS refunded
       FROM credits GROUP BY account) c ON c.account * 2 = w.id
     LEFT JOIN notification_settings s ON s.account * 2 = w.id`,
  )
  const findings = await audit(database)
  const isLong = rows.length >= LONG_RUN
  const budgets = await budgetViolations(database, isLong, report)
  const plans = await planViolations(database, isLong, report)
  const answers = await others.violations(database)
  const corruption = await store.corruptionIn(database)
  await close()
  return {
    ledger: rows.map(rowOf),
    judgedElsewhere: new Set(rows.filter(isAnswer).map(({ request }) => String(request))),
    balances: balanceRows.map(balanceOf),
    findings: [
      ...findings.map(({ rule, subject, detail }) => ({ invariant: rule, subject, detail })),
      ...budgets,
      ...plans,
      ...answers,
      ...(corruption === undefined
        ? []
        : [{ invariant: 'I11', subject: 'store', detail: corruption }]),
    ],
  }
}
const isAnswer = ({ model }: Row): boolean => (MODELS as readonly unknown[]).includes(model)
const rowOf = (row: Row): LedgerRow => ({
  request: String(row.request),
  account: Number(row.account),
  state: String(row.state),
  amount: nanos(row.amount),
  hold: nanos(row.held),
  uncollected: nanos(row.uncollected),
  isEstimated: row.estimated === 1,
  refunded: nanos(row.refunded),
  late: nanos(row.late),
  heldByPlan: nanos(row.heldbyplan),
})
const balanceOf = (row: Row): Balance => ({
  account: Number(row.account),
  credited: nanos(row.given),
  balance: nanos(row.balance),
  reserved: nanos(row.reserved),
  refunded: nanos(row.refunded),
  ...(row.threshold !== null && { threshold: nanos(row.threshold) }),
})

/** Reads the spending that the gateway reports: of the first account by usage, and of all by
 *  metric. */
export const readReports = async (data: string, token: string): Promise<Reports> => {
  const running = findRunning(data)
  if (!running) throw new Error('the gateway is not running')
  const headers = { authorization: `Bearer ${token}` }
  const page = async (query: string) => {
    const response = await fetch(`${running.url}/api/usage?${query}`, { headers })
    const body = (await response.json()) as Page
    if (!response.ok) throw new Error(JSON.stringify(body))
    return body
  }
  const sum = async (by: string): Promise<bigint> => {
    let total = 0n
    for (let next: string | null = ''; next !== null; ) {
      const from = new Date(Date.now() - 6 * 86_400_000).toISOString()
      const { data, next: more }: Page = await page(
        `by=${by}&limit=1000&from=${from}${next && `&cursor=${encodeURIComponent(next)}`}`,
      )
      for (const { cost } of data) total += nanosIn(cost)
      next = more
    }
    return total
  }
  const metric = await eventually(async () => {
    const text = await (await fetch(`${running.admin}/metrics`)).text()
    const value = /^tollgate_ledger_charged(?:\{[^}]*\})? (\S+)$/m.exec(text)?.[1]
    return value === undefined ? undefined : BigInt(Math.round(Number(value) * UNIT))
  })
  return { calls: await sum('call'), models: await sum('model'), metric }
}
interface Page {
  readonly data: readonly { readonly cost: string | number }[]
  readonly next: string | null
}
/** Parses an amount like "1.25" into nanos. */
const nanosIn = (amount: string | number): bigint => {
  const [whole = '0', fraction = ''] = String(amount).split('.')
  return BigInt(whole) * BigInt(UNIT) + BigInt(fraction.padEnd(9, '0').slice(0, 9))
}
