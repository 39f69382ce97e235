/** Endpoints of operators for webhooks: the last events, and a replay. */
import type { HostBase, Row, Sql } from '../../../engine/plugin.ts'
import { findAccount } from '../../credentials/find.ts'
import { withAccountNames } from '../../credentials/statements.ts'
import {
  described,
  integer,
  list as listOf,
  nullable,
  object,
  oneOf,
  text,
  time,
} from '../../shapes.ts'
import type { DeliveryRow } from '../../views.ts'
import { hostOf } from '../../webhooks/address.ts'
import { ATTEMPTS } from '../../webhooks/schedule.ts'
import { EVENTS, replay } from '../../webhooks/statements.ts'
import { fault } from '../faults.ts'
import {
  type AdminCall,
  type AdminEndpoints,
  type AdminResult,
  bodyOf,
  choiceIn,
  textIn,
} from './endpoint.ts'

const PAGE = 100
const STATES: readonly string[] = ['pending', 'delivered', 'failed']

const events = (name: string, filter: string): Sql => ({
  name: `console: ${name}`,
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

const timeOf = (value: unknown): string | null =>
  value === null || value === undefined ? null : new Date(Number(value)).toISOString()
/** Without the path and the query of the URL, which may contain secrets. */
const rowOf = (row: Row): DeliveryRow => ({
  id: String(row.id),
  account: Number(row.endpoint),
  account_name: row.account_name === null ? null : String(row.account_name),
  receiver: hostOf(String(row.url ?? '')),
  state: String(row.state),
  attempts: Number(row.attempts),
  created: timeOf(row.created),
  last: timeOf(row.at),
  next: row.state === 'pending' ? timeOf(row.due) : null,
  outcome: row.outcome === null ? null : String(row.outcome),
  status: row.status === null ? null : Number(row.status),
})

const list = async ({ query }: AdminCall, host: HostBase): Promise<AdminResult> => {
  const name = textIn(query, 'account')
  const account = name === undefined ? null : (await findAccount(host.database, name)).id
  const cursor = textIn(query, 'cursor') ?? null
  const state = choiceIn(query, 'state', STATES, null)
  const values = [state, state, account, account, cursor, cursor, PAGE + 1]
  const rows = await host.database.read(LIST, values)
  const page = rows.slice(0, PAGE)
  return { data: page.map(rowOf), next: rows.length > PAGE ? String(page.at(-1)?.id) : null }
}

const sendAgain = async ({ body }: AdminCall, { database }: HostBase): Promise<AdminResult> => {
  const id = String(body.event)
  const [row] = await database.read(FIND, [id])
  if (!row) throw fault('ADMIN_EVENT', [id.slice(0, 64)])
  await database.write([replay(id, ATTEMPTS, await database.now())]).catch(error => {
    throw error.code === 'NO_ENDPOINT' ? fault('ADMIN_NO_RECEIVER', [id]) : error
  })
  const [after = row] = await database.read(FIND, [id])
  return { data: rowOf(after), change: { before: rowOf(row), after: rowOf(after) } }
}

const DELIVERY = object({
  id: text,
  account: integer,
  account_name: nullable(text),
  receiver: described('The host of its URL.', text),
  state: oneOf(...STATES),
  attempts: integer,
  created: nullable(time),
  last: nullable(time),
  next: nullable(time),
  outcome: nullable(text),
  status: nullable(integer),
})

export const deliveryEndpoints: AdminEndpoints = {
  'GET deliveries': {
    summary:
      'Lists the events of webhooks with their last attempts, newest first, a hundred a page.',
    query: {
      state: STATES.join(', '),
      account: 'name or number of an account',
      cursor: '`next` of the page before',
    },
    data: listOf(DELIVERY),
    run: list,
  },
  'POST deliveries/replay': {
    summary: 'Sends an event again, from the start of the schedule.',
    body: bodyOf({ event: { type: 'string', maxLength: 128 } }, ['event']),
    data: DELIVERY,
    run: sendAgain,
  },
}
