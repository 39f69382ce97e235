/** A test delivery: the same event by the same way, tried once, and its outcome waited for a little. */
import { errors } from '../../engine/errors.ts'
import type { Database, Row } from '../../engine/plugin.ts'
import { enqueue, FIND, makeEventId } from '../webhooks/statements.ts'
import { eventBody } from './event.ts'
import { readSettings } from './settings.ts'

const fault = errors({
  NO_WEBHOOK: [409, 'There is no webhook URL to test: save one first.'],
  WEBHOOK_DISABLED: [409, 'The receiver answered 410 and is sent nothing: save its URL again.'],
})

/** ms: as long as an answer may take, and somebody else's turn. */
const TIMEOUT = 5_000
const POLL_INTERVAL = 100

type Store = Pick<Database, 'read' | 'write' | 'now'>
/** The event as it stands at the end: pending, if whoever sends is busy or away. */
export const tryDelivery = async (
  database: Store,
  account: number,
  patience = TIMEOUT,
): Promise<Row> => {
  const { url, disabled, balance } = await readSettings(database, account)
  if (disabled !== undefined) throw fault('WEBHOOK_DISABLED')
  if (url === undefined) throw fault('NO_WEBHOOK')
  const now = await database.now()
  const event = { id: makeEventId(now), endpoint: account, body: eventBody(balance) }
  await database.write([enqueue({ ...event, attempts: 1, now })]).catch(thrown => {
    throw thrown.code === 'NO_ENDPOINT' ? fault('NO_WEBHOOK') : thrown
  })
  const deadline = performance.now() + patience
  for (;;) {
    const [row] = await database.read(FIND, [event.id])
    if (row && (row.state !== 'pending' || performance.now() >= deadline)) return row
    await new Promise(resolve => setTimeout(resolve, POLL_INTERVAL))
  }
}
