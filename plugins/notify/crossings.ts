/** Turns threshold crossings into outbox events: at most one per account in ten minutes, and at
 *  least one after the last crossing. */
import type { Database, Row, Sql, Statement } from '../../engine/plugin.ts'
import { lockOf } from '../ledger/statements.ts'
import { balanceInSql } from '../ledger/views/wallets.ts'
import { walletOf } from '../ledger/wallet.ts'
import { addLowMail, CONFIRMED } from '../webhooks/account-mails.ts'
import { ATTEMPTS } from '../webhooks/schedule.ts'
import { enqueue, makeEventId, OPEN_ENDPOINTS } from '../webhooks/statements.ts'
import { eventBody } from './event.ts'
import { MAIL_ATTEMPTS } from './mail-queue.ts'

const sql = (name: string, text: string): Sql => ({ name: `notifications: ${name}`, text })

/** ms. Crossings within this window become one event at its end, with the balance of the last
 *  crossing. */
const MERGE_WINDOW = 600_000
const PAGE = 100

/** Crossings whose window is over, with their receivers: an open endpoint, a confirmed address.
 *  Parameters: end of the window, row count. */
const READY = sql(
  'ready',
  `SELECT c.account, c.balance, c.at, s.threshold, p.id AS endpoint, m.address
   FROM notification_crossings c
     LEFT JOIN notification_settings s ON s.account = c.account
     LEFT JOIN ${OPEN_ENDPOINTS} p ON p.id = c.account AND c.webhook = 1
     LEFT JOIN ${CONFIRMED} m ON m.account = c.account AND c.mail = 1
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
/** 1 if the receiver has not had an event of the balance `c.balance` by the saved threshold. */
const isNew = (receiver: string): string => `CASE WHEN EXISTS (SELECT 1 FROM notification_settings s
       JOIN ${receiver} ON p.id = s.account WHERE s.account = c.account AND s.threshold > c.balance)
     THEN 0 ELSE 1 END`
const CROSS = sql(
  'cross',
  `INSERT INTO notification_crossings (account, balance, at, webhook, mail)
   SELECT d.account, d.balance, d.at, d.webhook, d.mail FROM (
     SELECT c.account, c.balance, c.at, ${isNew(`${OPEN_ENDPOINTS} p`)} AS webhook,
       ${isNew(`(SELECT account AS id FROM ${CONFIRMED} a) p`)} AS mail
     FROM (SELECT CAST(? AS BIGINT) AS account, CAST(? AS BIGINT) AS at,
       ${balanceInSql('?')} AS balance) c) d
   WHERE d.balance < ? AND d.webhook + d.mail > 0
   ON CONFLICT (account) DO UPDATE SET balance = excluded.balance, at = excluded.at,
     webhook = CASE WHEN notification_crossings.webhook = 1 THEN 1 ELSE excluded.webhook END,
     mail = CASE WHEN notification_crossings.mail = 1 THEN 1 ELSE excluded.mail END`,
)
const DELETE_CROSSING = sql(
  'delete crossing',
  'DELETE FROM notification_crossings WHERE account = ?',
)

/** Records a crossing if a new threshold is above the balance. Must precede the statements that
 *  change the threshold. */
export const recordCrossing = (account: number, threshold: bigint, now: number): Statement => ({
  sql: CROSS,
  values: [account, now, account, threshold],
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
  // Without a receiver the crossing is deleted. Saving one records it again if the balance is still
  // low.
  if (row.endpoint === null && row.address === null) return [take]
  const event = { endpoint: account, body: eventBody(balance), attempts: ATTEMPTS }
  const mail = { account, attempts: MAIL_ATTEMPTS, now }
  const low = { balance, threshold: BigInt(row.threshold as bigint | number) }
  return [
    take,
    ...(row.endpoint === null ? [] : [enqueue({ ...event, id: makeEventId(now), now })]),
    ...(row.address === null ? [] : [addLowMail({ ...mail, id: makeEventId(now) }, low)]),
    { sql: SET_EVENT_TIME, values: [now, account] },
  ]
}
