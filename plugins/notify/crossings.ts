/** From a balance that fell below its threshold to an event in the outbox: at most one in ten minutes, none lost. */
import type { Database, Row, Sql, Statement } from '../../engine/plugin.ts'
import { lockOf } from '../ledger/statements.ts'
import { balanceInSql } from '../ledger/views/wallets.ts'
import { walletOf } from '../ledger/wallet.ts'
import { ATTEMPTS } from '../webhooks/schedule.ts'
import { enqueue, makeEventId, OPEN_ENDPOINTS } from '../webhooks/statements.ts'
import { eventBody } from './event.ts'

const sql = (name: string, text: string): Sql => ({ name: `notifications: ${name}`, text })

/** ms. What happens within it is told once, at its end, with the balance of the last crossing. */
const MERGE_WINDOW = 600_000
const PAGE = 100

/** Those whose ten minutes are over (since then; how many), and whether anybody is to be told. */
const READY = sql(
  'ready',
  `SELECT c.account, c.balance, c.at, p.id AS endpoint FROM notification_crossings c
     LEFT JOIN notification_settings s ON s.account = c.account
     LEFT JOIN ${OPEN_ENDPOINTS} p ON p.id = c.account
   WHERE coalesce(s.noted, 0) <= ? ORDER BY c.at LIMIT ?`,
)
const TAKE = sql(
  'take crossing',
  'DELETE FROM notification_crossings WHERE account = ? AND balance = ? AND at = ?',
)
const NOTED = sql('noted', 'UPDATE notification_settings SET noted = ? WHERE account = ?')
const CROSS = sql(
  'cross',
  `INSERT INTO notification_crossings (account, balance, at)
   SELECT CAST(? AS BIGINT), b.balance, CAST(? AS BIGINT)
   FROM (SELECT ${balanceInSql('?')} AS balance) b
   WHERE b.balance < ? AND NOT EXISTS (
     SELECT 1 FROM notification_settings s JOIN ${OPEN_ENDPOINTS} p ON p.id = s.account
     WHERE s.account = ? AND s.threshold > b.balance)
   ON CONFLICT (account) DO UPDATE SET balance = excluded.balance, at = excluded.at`,
)
const FORGET = sql('forget crossing', 'DELETE FROM notification_crossings WHERE account = ?')

/** Where a threshold is raised above the present balance, or is first there while the balance is below it. Stands before
 *  the statements that change it. */
export const recordCrossing = (account: number, threshold: bigint, now: number): Statement => ({
  sql: CROSS,
  values: [account, now, account, threshold, account],
})
export const forgetCrossing = (account: number): Statement => ({ sql: FORGET, values: [account] })

type Store = Pick<Database, 'read' | 'write' | 'now'>
/** Returns how many events entered the outbox. */
export const moveCrossings = async (database: Store): Promise<number> => {
  const now = await database.now()
  let moved = 0
  for (const row of await database.read(READY, [now - MERGE_WINDOW, PAGE])) {
    try {
      await database.write(statementsOf(row, now))
      if (row.endpoint !== null) moved++
    } catch (thrown) {
      // Another crossing took its place, or its endpoint went: the next look sees how it is now.
      if (!['CROSSING_MOVED', 'NO_ENDPOINT'].includes((thrown as { code: string }).code))
        throw thrown
    }
  }
  return moved
}

const statementsOf = (row: Row, now: number): readonly Statement[] => {
  const [account, balance] = [Number(row.account), BigInt(row.balance as bigint | number)]
  const take: Statement = {
    sql: TAKE,
    values: [account, balance, row.at ?? null],
    ...{ rows: 1, otherwise: 'CROSSING_MOVED' },
    // As a charge takes them: first the wallet, and by its trigger the crossing.
    locks: [lockOf(walletOf.account(account))],
  }
  // Nobody is there to be told. Whoever comes back is told when the endpoint is opened, if it is still so.
  if (row.endpoint === null) return [take]
  const event = { id: makeEventId(now), endpoint: account, body: eventBody(balance) }
  return [
    take,
    enqueue({ ...event, attempts: ATTEMPTS, now }),
    { sql: NOTED, values: [now, account] },
  ]
}
