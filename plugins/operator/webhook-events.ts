/** Events of webhooks as an operator sees them. */
import { object, oneOf, type ValueOf } from '../../engine/config/shape.ts'
import type { Database, Sql } from '../../engine/plugin.ts'
import { withAccountNames } from '../credentials/statements.ts'
import { EVENT_COLUMNS } from '../rows/work.ts'
import type { DeliveryRow } from '../views.ts'
import { hostOf } from '../webhooks/address.ts'
import { EVENTS } from '../webhooks/statements.ts'
import { ANY_ACCOUNT, CURSOR } from './arguments.ts'
import { isoTime, pageOf, rowReader } from './rows.ts'

const PAGE = 100
export const EVENT_STATES = ['pending', 'delivered', 'failed'] as const

const events = (name: string, filter: string): Sql => ({
  name: `operator: ${name}`,
  text: `${withAccountNames(`${EVENTS} WHERE ${filter}`, 'endpoint')} ORDER BY r.id DESC`,
})
/** Parameters: state, account and the last event of the page before, twice each, null for all;
 *  row count. */
const LIST = events(
  'events',
  `(CAST(? AS TEXT) IS NULL OR e.state = ?) AND (CAST(? AS BIGINT) IS NULL OR e.endpoint = ?)
   AND (CAST(? AS TEXT) IS NULL OR e.id < ?) ORDER BY e.id DESC LIMIT ?`,
)
const FIND = events('event', 'e.id = ?')

export const EVENT_QUERY = object(undefined, {
  account: ANY_ACCOUNT,
  state: oneOf(`${EVENT_STATES.join(', ')}.`, EVENT_STATES),
  cursor: CURSOR,
})
/** Newest first. `account`: its number; null: all. */
export const eventsPage = async (
  database: Pick<Database, 'read'>,
  account: number | null,
  query: ValueOf<typeof EVENT_QUERY>,
): Promise<{ readonly data: readonly DeliveryRow[]; readonly next: string | null }> => {
  const [state, cursor] = [query.state ?? null, query.cursor ?? null]
  const values = [state, state, account, account, cursor, cursor, PAGE + 1]
  const rows = await database.read(LIST, values)
  return pageOf(rows, PAGE, rowOf)
}
export const findEvent = async (
  database: Pick<Database, 'read'>,
  id: string,
): Promise<DeliveryRow | undefined> => {
  const [row] = await database.read(FIND, [id])
  return row && rowOf(row)
}

const timeOf = (value: unknown): string | null => (value == null ? null : isoTime(value))
/** Without the path and the query of the URL, which may contain secrets. */
const rowOf = rowReader(EVENT_COLUMNS, ({ endpoint, url, at, state, due }) => ({
  account: Number(endpoint),
  receiver: hostOf(String(url ?? '')),
  last: timeOf(at),
  next: state === 'pending' ? timeOf(due) : null,
}))
