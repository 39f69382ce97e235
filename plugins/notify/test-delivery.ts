/** A test delivery: enqueues one event with one attempt and waits for its result. */
import { errors } from '../../engine/errors.ts'
import type { Database, Row } from '../../engine/plugin.ts'
import { writeWithRetry } from '../ledger/write-with-retry.ts'
import { awaitDelivery } from '../webhooks/await-delivery.ts'
import { enqueue, FIND, makeEventId } from '../webhooks/statements.ts'
import { eventBody } from './event.ts'
import { readSettings } from './settings.ts'

const fault = errors({
  NO_WEBHOOK: [409, 'No webhook URL is set; save one first.'],
  WEBHOOK_DISABLED: [
    409,
    'The webhook is disabled because its receiver answered 410; save the URL again.',
  ],
})

/** ms: the timeout of one attempt, and time for earlier attempts to the endpoint. */
const TIMEOUT = 5_000

type Store = Pick<Database, 'read' | 'write' | 'now'>
/** The event after the wait. */
export const tryDelivery = async (
  database: Store,
  account: number,
  timeout = TIMEOUT,
): Promise<Row> => {
  const { url, disabledAt, balance } = await readSettings(database, account)
  if (disabledAt !== undefined) throw fault('WEBHOOK_DISABLED')
  if (url === undefined) throw fault('NO_WEBHOOK')
  const now = await database.now()
  const event = { id: makeEventId(now), endpoint: account, body: eventBody(balance) }
  const list = [enqueue({ ...event, attempts: 1, now })]
  await writeWithRetry(database, list).catch(error => {
    throw error.code === 'NO_ENDPOINT' ? fault('NO_WEBHOOK') : error
  })
  return awaitDelivery(database, FIND, event.id, timeout)
}
