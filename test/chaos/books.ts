/** What the store and the gateway say of a chaos run's money: accounts that pay, and everything that is told of them afterwards. */

import type { Row } from '../../engine/plugin.ts'
import { findRunning } from '../../engine/processes/running-gateway.ts'
import type { OpenDatabase } from '../../engine/store/database.ts'
import { makeSecret } from '../../plugins/credentials/secret.ts'
import { addKey, addToken, createAccount } from '../../plugins/credentials/statements.ts'
import { audit } from '../../plugins/ledger/audit.ts'
import { settleCheckpoints } from '../../plugins/ledger/crash-settlement.ts'
import { releaseProcess } from '../../plugins/ledger/processes.ts'
import { addCredit, openWallet } from '../../plugins/ledger/statements.ts'
import { openEndpoint } from '../../plugins/webhooks/statements.ts'
import { silent } from '../helpers/core.ts'
import { reapAll } from '../helpers/membership.ts'
import { eventually } from '../helpers/primary.ts'
import { sql, statement } from '../helpers/store.ts'
import { SECRET } from '../helpers/webhooks.ts'
import type { LedgerRow, Purse, Said, Violation } from './checker.ts'
import type { Ground } from './stores.ts'

const GIVEN = 10n ** 18n
/** Of those who are told as soon as they have spent anything: enough for one call. */
const SMALL = 200n
/** Nanos in a unit. */
const UNIT = 1_000_000_000

export interface Payers {
  /** Keys of accounts that are told of a low balance with their first call. */
  readonly small: readonly string[]
  /** System token of the account that pays for the rest. */
  readonly token: string
}
const rowsOf = (database: OpenDatabase, text: string) =>
  database.read(sql(`chaos: ${text}`, text), [])
export const nanos = (value: unknown): bigint => BigInt(String(value))

/** The first account, made by the gateway, gets much; `count` others little, and an endpoint each. */
export const givePayers = async (
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
  await database.write(credit(1, GIVEN))
  const token = makeSecret('system-token')
  await database.write(addToken({ account: 1, name: 'chaos', secret: token }, now))
  const small: string[] = []
  for (let index = 0; index < count; index++) {
    const rows = await database.write(
      createAccount({ name: `small ${index}`, role: 'customer' }, now),
    )
    const account = Number(rows.at(-1)?.[0]?.id)
    const secret = makeSecret('key')
    const threshold = SMALL * price
    await database.write([
      ...addKey({ account, name: 'key', secret }, now),
      ...credit(account, threshold),
      openEndpoint(account, urlOf(account), SECRET),
      statement(
        'chaos: watch',
        'INSERT INTO notification_settings (account, threshold) VALUES (?, ?)',
        [...[account, threshold]],
      ),
    ])
    small.push(secret.text)
  }
  return { small, token: token.text }
}

export interface Books {
  readonly ledger: readonly LedgerRow[]
  readonly purses: readonly Purse[]
  readonly findings: readonly Violation[]
}
/** No process is left: all of them are reaped, and then nothing may be held any more. */
export const readBooks = async (ground: Ground, data: string): Promise<Books> => {
  const { database, close } = await ground.openLast(data)
  await reapAll(database, [
    {
      beforeReap: name => settleCheckpoints(database, silent, Date.now(), name),
      reapStatements: name => releaseProcess(name, Date.now()),
    },
  ])
  const rows = await rowsOf(
    database,
    `SELECT c.request, c.account, c.state, c.amount, c.held, c.uncollected, c.estimated, coalesce(r.amount, 0) AS refunded
     FROM charges c LEFT JOIN credits r ON r.request = c.request`,
  )
  const purses = await rowsOf(
    database,
    `SELECT w.id / 2 AS account, w.balance, w.reserved, c.given, c.refunded, s.threshold FROM wallets w
     JOIN (SELECT account, sum(amount) AS given, sum(CASE WHEN kind = 'refund' THEN amount ELSE 0 END) AS refunded
       FROM credits GROUP BY account) c ON c.account * 2 = w.id
     LEFT JOIN notification_settings s ON s.account * 2 = w.id`,
  )
  const findings = await audit(database)
  const broken = await ground.whole(database)
  await close()
  return {
    ledger: rows.map(rowOf),
    purses: purses.map(purseOf),
    findings: [
      ...findings.map(({ rule, subject, detail }) => ({ invariant: rule, subject, detail })),
      ...(broken === undefined ? [] : [{ invariant: 'I11', subject: 'store', detail: broken }]),
    ],
  }
}
const rowOf = (row: Row): LedgerRow => ({
  ...{ request: String(row.request), account: Number(row.account), state: String(row.state) },
  ...{ amount: nanos(row.amount), held: nanos(row.held), uncollected: nanos(row.uncollected) },
  estimated: row.estimated === 1,
  refunded: nanos(row.refunded),
})
const purseOf = (row: Row): Purse => ({
  ...{ account: Number(row.account), given: nanos(row.given), balance: nanos(row.balance) },
  ...{ reserved: nanos(row.reserved), refunded: nanos(row.refunded) },
  ...(row.threshold !== null && { threshold: nanos(row.threshold) }),
})

/** What the gateway tells of the first account's spending, and of everybody's. */
export const readSaid = async (data: string, token: string): Promise<Said> => {
  const running = findRunning(data)
  if (!running) throw new Error('nobody is there to be asked')
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
    const found = /^tollgate_ledger_charged(?:\{[^}]*\})? (\S+)$/m.exec(text)?.[1]
    return found === undefined ? undefined : BigInt(Math.round(Number(found) * UNIT))
  })
  return { calls: await sum('call'), models: await sum('model'), metric }
}
interface Page {
  readonly data: readonly { readonly cost: string | number }[]
  readonly next: string | null
}
/** "1.25" units. */
const nanosIn = (money: string | number): bigint => {
  const [whole = '0', part = ''] = String(money).split('.')
  return BigInt(whole) * BigInt(UNIT) + BigInt(part.padEnd(9, '0').slice(0, 9))
}
