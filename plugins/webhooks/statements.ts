/** The statements of the outbox. Pure: callers combine them with their own in one list. */
import { randomBytes } from 'node:crypto'
import type { Sql, Statement } from '../../engine/plugin.ts'
import { withAccountNames } from '../credentials/statements.ts'
import type { Attempt } from './delivery.ts'

const sql = (name: string, text: string): Sql => ({ name: `webhooks: ${name}`, text })

// ---------------------------------------------------------------- endpoints

const OPEN = sql(
  'open endpoint',
  `INSERT INTO webhook_endpoints (id, url, secret) VALUES (?, ?, ?)
   ON CONFLICT (id) DO UPDATE SET url = excluded.url, disabled = NULL, paused = 0, failures = 0, slow = 0`,
)
const SECRET = sql('secret', 'UPDATE webhook_endpoints SET secret = ? WHERE id = ?')
const CLOSE = sql('close endpoint', 'DELETE FROM webhook_endpoints WHERE id = ?')
const DROP = sql(
  'drop pending',
  "UPDATE webhook_events SET state = 'failed' WHERE endpoint = ? AND state = 'pending'",
)

/** Sets the URL of an endpoint, for pending events too. `secret` applies to a new endpoint only. */
export const openEndpoint = (id: number, url: string, secret: string): Statement => ({
  sql: OPEN,
  values: [id, url, secret],
})
export const changeSecret = (id: number, secret: string): Statement => ({
  sql: SECRET,
  values: [secret, id],
})
/** Deletes an endpoint; its pending events fail. */
export const closeEndpoint = (id: number): readonly Statement[] => [
  { sql: CLOSE, values: [id] },
  { sql: DROP, values: [id] },
]

/** Subqueries: all endpoints, and the endpoints that accept events. An endpoint has the `id` of its
 *  account. */
export const ENDPOINTS = '(SELECT id, url, secret, disabled FROM webhook_endpoints)'
export const OPEN_ENDPOINTS = '(SELECT id FROM webhook_endpoints WHERE disabled IS NULL)'

// ---------------------------------------------------------------- events

const ENQUEUE = sql(
  'enqueue',
  `INSERT INTO webhook_events (id, endpoint, body, state, last, due, created)
   SELECT CAST(? AS TEXT), id, CAST(? AS TEXT), 'pending', CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS BIGINT)
   FROM webhook_endpoints WHERE id = ? AND disabled IS NULL`,
)
const REPLAY = sql(
  'replay',
  `UPDATE webhook_events SET state = 'pending', last = attempts + ?, due = ? WHERE id = ?
     AND endpoint IN (SELECT id FROM webhook_endpoints WHERE disabled IS NULL)`,
)

export interface NewEvent {
  readonly id: string
  readonly endpoint: number
  readonly body: string
  /** The number of attempts. */
  readonly attempts: number
  readonly now: number
}
/** Sorts by time; unique by 96 random bits. */
export const makeEventId = (now: number): string =>
  `msg_${now.toString(36).padStart(9, '0')}${randomBytes(12).toString('hex')}`
/** Rejects with NO_ENDPOINT if the endpoint is missing or disabled. */
export const enqueue = ({ id, endpoint, body, attempts, now }: NewEvent): Statement => ({
  sql: ENQUEUE,
  values: [id, body, attempts, now, now, endpoint],
  rows: 1,
  otherwise: 'NO_ENDPOINT',
})
/** Sends an event again, from the start of the schedule. Rejects with NO_ENDPOINT. */
export const replay = (id: string, attempts: number, now: number): Statement => ({
  sql: REPLAY,
  values: [attempts, now, id],
  rows: 1,
  otherwise: 'NO_ENDPOINT',
})

// ---------------------------------------------------------------- attempts

const FINISH = sql(
  'finish attempt',
  `UPDATE webhook_events SET state = ?, attempts = attempts + 1, due = ?
   WHERE id = ? AND attempts = ? AND state = 'pending'`,
)
const INSERT_ATTEMPT = sql(
  'insert attempt',
  'INSERT INTO webhook_attempts (event, number, at, ms, outcome, status) VALUES (?, ?, ?, ?, ?, ?)',
)
const MARK_HEALTHY = sql(
  'mark healthy',
  `UPDATE webhook_endpoints SET failures = 0, paused = 0, slow = ?
   WHERE id = ? AND (failures > 0 OR slow <> ?)`,
)
const MARK_FAILING = sql(
  'mark failing',
  'UPDATE webhook_endpoints SET failures = failures + 1, paused = ? WHERE id = ?',
)
const DISABLE = sql('disable', 'UPDATE webhook_endpoints SET disabled = ? WHERE id = ?')

/** Records an attempt: the state of the event, the state of the endpoint and a log row. Rejects
 *  with EVENT_MOVED when the endpoint was closed or the event replayed meanwhile. */
export const recordAttempt = (attempt: Attempt): readonly Statement[] => {
  const { row, at, ms, result, next } = attempt
  const [event, before] = [String(row.id), Number(row.attempts)]
  const { outcome, status = null } = result
  const state = outcome === 'delivered' ? outcome : next === undefined ? 'failed' : 'pending'
  return [
    {
      sql: FINISH,
      values: [state, next ?? at, event, before],
      rows: 1,
      otherwise: 'EVENT_MOVED',
    },
    { sql: INSERT_ATTEMPT, values: [event, before + 1, at, ms, outcome, status] },
    ...endpointStatements(attempt),
  ]
}
const endpointStatements = ({ row, at, slow, result, next }: Attempt): readonly Statement[] => {
  const { outcome, pause } = result
  const [endpoint, lag] = [Number(row.endpoint), slow ? 1 : 0]
  if (outcome === 'delivered') return [{ sql: MARK_HEALTHY, values: [lag, endpoint, lag] }]
  const failing = { sql: MARK_FAILING, values: [pause && next !== undefined ? next : 0, endpoint] }
  if (outcome !== 'gone') return [failing]
  return [failing, { sql: DISABLE, values: [at, endpoint] }, { sql: DROP, values: [endpoint] }]
}

// ---------------------------------------------------------------- queries

/** Endpoints with due events (parameters: now twice, row count), healthy ones first. `failing`: 1
 *  if the last response failed or was slow. */
export const DUE = sql(
  'due',
  `SELECT e.endpoint AS receiver, CASE WHEN p.failures > 0 OR p.slow > 0 THEN 1 ELSE 0 END AS failing FROM webhook_events e
     JOIN webhook_endpoints p ON p.id = e.endpoint AND p.disabled IS NULL AND p.paused <= ?
   WHERE e.state = 'pending' AND e.due <= ?
   GROUP BY e.endpoint, p.failures, p.slow ORDER BY failing, min(e.due) LIMIT ?`,
)
/** The next event of one endpoint (parameters: endpoint, now twice). */
export const NEXT = sql(
  'next',
  withAccountNames(
    `SELECT e.id, e.endpoint, e.body, e.attempts, e.last, p.url, p.secret FROM webhook_events e
       JOIN webhook_endpoints p ON p.id = e.endpoint AND p.disabled IS NULL
     WHERE e.endpoint = ? AND e.state = 'pending' AND e.due <= ? AND p.paused <= ?
     ORDER BY e.due, e.id LIMIT 1`,
    'endpoint',
  ),
)
export const PENDING = sql(
  'pending',
  "SELECT count(*) AS number, min(due) AS oldest FROM webhook_events WHERE state = 'pending'",
)
/** Events with their last attempts and the URLs of their endpoints. */
export const EVENTS = `SELECT e.id, e.endpoint, e.state, e.attempts, e.created, e.due, a.at, a.outcome, a.status, p.url
   FROM webhook_events e LEFT JOIN webhook_attempts a ON a.event = e.id AND a.number = e.attempts
     LEFT JOIN webhook_endpoints p ON p.id = e.endpoint`
export const LIST_OF = sql('list of', `${EVENTS} WHERE e.endpoint = ? ORDER BY e.id DESC LIMIT ?`)
export const FIND = sql('find', `${EVENTS} WHERE e.id = ?`)

// ---------------------------------------------------------------- deletion

const OLD = `SELECT id FROM webhook_events WHERE state <> 'pending' AND created < ?
   ORDER BY created, id LIMIT 500`
const DELETE_ATTEMPTS = sql(
  'delete attempts',
  `DELETE FROM webhook_attempts WHERE event IN (${OLD})`,
)
const DELETE_EVENTS = sql(
  'delete events',
  `DELETE FROM webhook_events WHERE id IN (${OLD}) RETURNING id`,
)
/** Deletes some old finished events. The last statement returns their ids. */
export const deleteOld = (before: number): readonly Statement[] => [
  { sql: DELETE_ATTEMPTS, values: [before] },
  { sql: DELETE_EVENTS, values: [before] },
]
