/** Endpoints of operators for webhooks: the last events, and a replay. */
import type { HostBase, Json, Row } from '../../../engine/plugin.ts'
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
import { hostOf } from '../../webhooks/address.ts'
import { ATTEMPTS } from '../../webhooks/schedule.ts'
import { FIND, LIST, replay } from '../../webhooks/statements.ts'
import { fault } from '../faults.ts'
import {
  type AdminCall,
  type AdminEndpoints,
  type AdminResult,
  bodyOf,
  textIn,
} from './endpoint.ts'

const MOST = 200
const STATES: readonly string[] = ['pending', 'delivered', 'failed']

const timeOf = (value: unknown): string | null =>
  value === null || value === undefined ? null : new Date(Number(value)).toISOString()
/** Without the path and the query of the URL, which may contain secrets. */
const rowOf = (row: Row): { readonly [name: string]: Json } => ({
  id: String(row.id),
  account: Number(row.endpoint),
  receiver: hostOf(String(row.url ?? '')),
  state: String(row.state),
  attempts: Number(row.attempts),
  created: timeOf(row.created),
  last: timeOf(row.at),
  next: row.state === 'pending' ? timeOf(row.due) : null,
  outcome: row.outcome === null ? null : String(row.outcome),
  status: row.status === null ? null : Number(row.status),
})

const list = async ({ query }: AdminCall, { database }: HostBase): Promise<AdminResult> => {
  const state = textIn(query, 'state') ?? null
  if (state !== null && !STATES.includes(state))
    throw fault('ADMIN_QUERY', ['state', STATES.join(', ')], { param: 'state' })
  return { data: (await database.read(LIST, [state, state, MOST])).map(rowOf) }
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
    summary: 'Lists the last events of webhooks with their last attempts, newest first.',
    query: { state: STATES.join(', ') },
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
