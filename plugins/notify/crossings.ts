/** Turns threshold crossings into outbox events: at most one per account in ten minutes, and at
 *  least one after the last crossing. */
import type { Database, Row, Sql, Statement } from '../../engine/plugin.ts'
import { lockOf } from '../ledger/statements.ts'
import { balanceInSql } from '../ledger/views/wallets.ts'
import { walletOf } from '../ledger/wallet.ts'
import { ATTEMPTS } from '../webhooks/schedule.ts'
import { enqueue, makeEventId, OPEN_ENDPOINTS } from '../webhooks/statements.ts'
import { eventBody } from './event.ts'

const sql = (name: string, text: string): Sql => ({ name: `notifications: ${name}`, text })

/** ms. Crossings within this window become one event at its end, with the balance of the last
 *  crossing. */
const MERGE_WINDOW = 600_000
const PAGE = 100

/** Crossings whose window is over, with their open endpoint. Parameters: end of the window, row
 *  count. */
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
const SET_EVENT_TIME = sql(
  'set event time',
  'UPDATE notification_settings SET noted = ? WHERE account = ?',
)
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
const DELETE_CROSSING = sql(
  'delete crossing',
  'DELETE FROM notification_crossings WHERE account = ?',
)

/** Records a crossing if a new threshold is above the balance. Must precede the statements that
 *  change the threshold. */
export const recordCrossing = (account: number, threshold: bigint, now: number): Statement => ({
  sql: CROSS,
  values: [account, now, account, threshold, account],
})
export const deleteCrossing = (account: number): Statement => ({
  sql: DELETE_CROSSING,
  values: [account],
})

type Store = Pick<Database, 'read' | 'write' | 'now'>
/** Returns the number of events that were added to the outbox. */
export const moveCrossings = async (database: Store): Promise<number> => {
  const now = await database.now()
  let eventCount = 0
  for (const row of await database.read(READY, [now - MERGE_WINDOW, PAGE])) {
    try {
      await database.write(statementsOf(row, now))
      if (row.endpoint !== null) eventCount++
    } catch (error) {
      // A newer crossing replaced this one, or its endpoint was deleted: the next run reads the
      // current state.
      if (!['CROSSING_MOVED', 'NO_ENDPOINT'].includes((error as { code: string }).code)) throw error
    }
  }
  return eventCount
}

const statementsOf = (row: Row, now: number): readonly Statement[] => {
  const [account, balance] = [Number(row.account), BigInt(row.balance as bigint | number)]
  const take: Statement = {
    sql: TAKE,
    values: [account, balance, row.at ?? null],
    rows: 1,
    otherwise: 'CROSSING_MOVED',
    // The lock order of a charge: first the wallet, then by its trigger the crossing.
    locks: [lockOf(walletOf.account(account))],
  }
  // Without a receiver the crossing is deleted. Saving an endpoint records it again if the balance
  // is still low.
  if (row.endpoint === null) return [take]
  const event = { id: makeEventId(now), endpoint: account, body: eventBody(balance) }
  return [
    take,
    enqueue({ ...event, attempts: ATTEMPTS, now }),
    { sql: SET_EVENT_TIME, values: [now, account] },
  ]
}
