/** The statements of alerts and of their messages. */
import type { Row, Sql, Statement } from '../../engine/plugin.ts'
import type { Attempt } from '../webhooks/delivery.ts'
import { makeEventId } from '../webhooks/statements.ts'
import type { AlertState } from './transition.ts'

const sql = (name: string, text: string): Sql => ({ name: `alerts: ${name}`, text })

// ---------------------------------------------------------------- alerts

export interface Alert extends AlertState {
  readonly rule: string
  readonly object: string
  readonly text: string
}
export const ALERTS = sql(
  'all',
  "SELECT rule, object, state, since, clear_since, text FROM alerts ORDER BY state = 'resolved', since DESC, rule, object LIMIT 1000",
)
export const alertOf = (row: Row): Alert => ({
  rule: String(row.rule),
  object: String(row.object),
  state: row.state as Alert['state'],
  since: Number(row.since),
  clearSince: row.clear_since === null ? null : Number(row.clear_since),
  text: String(row.text),
})

const START = sql(
  'start',
  `INSERT INTO alerts (rule, object, state, since, text) VALUES (?, ?, 'pending', ?, ?)
   ON CONFLICT (rule, object) DO UPDATE SET state = excluded.state, since = excluded.since,
     text = excluded.text, clear_since = NULL WHERE alerts.state = 'resolved'`,
)
const CHANGE = sql(
  'change',
  `UPDATE alerts SET state = ?, since = ?, clear_since = ?, text = ?
   WHERE rule = ? AND object = ? AND state = ? AND since = ? AND coalesce(clear_since, 0) = ?`,
)
const REMOVE = sql(
  'remove',
  "DELETE FROM alerts WHERE rule = ? AND object = ? AND state = 'pending' AND since = ?",
)
type Place = Pick<Alert, 'rule' | 'object' | 'text'>
/** Compare and set: rejects with ALERT_MOVED if another process changed the alert meanwhile. */
export const changeAlert = (
  { rule, object, text }: Place,
  before: AlertState | undefined,
  next: AlertState | null,
): Statement => {
  const expectation = { rows: 1, otherwise: 'ALERT_MOVED' } as const
  if (next === null)
    return { sql: REMOVE, values: [rule, object, before?.since ?? 0], ...expectation }
  if (before === undefined || before.state === 'resolved')
    return { sql: START, values: [rule, object, next.since, text], ...expectation }
  const { state, since, clearSince } = before
  const values = [
    next.state,
    next.since,
    next.clearSince,
    text,
    rule,
    object,
    state,
    since,
    clearSince ?? 0,
  ]
  return { sql: CHANGE, values, ...expectation }
}

// ---------------------------------------------------------------- messages

const ADD = sql(
  'add message',
  `INSERT INTO alert_messages (id, receiver, kind, rule, object, text, state, last, due, created)
   VALUES (?, ?, ?, ?, ?, ?, 'pending', ?, ?, ?)`,
)
export interface NewMessage extends Place {
  readonly receiver: string
  readonly kind: 'firing' | 'resolved' | 'test'
  /** The number of attempts. */
  readonly attempts: number
  /** When it is sent, and when it was made. */
  readonly due: number
  readonly now: number
}
export const addMessage = (message: NewMessage, id = makeEventId(message.now)): Statement => {
  const { receiver, kind, rule, object, text, attempts, due, now } = message
  return { sql: ADD, values: [id, receiver, kind, rule, object, text, attempts, due, now] }
}

/** An earlier message of the same alert that waits: a recovery never comes before its alert. */
const IN_TURN = `NOT EXISTS (SELECT 1 FROM alert_messages f WHERE f.receiver = m.receiver
  AND f.rule = m.rule AND f.object = m.object AND f.state = 'pending' AND f.id < m.id)`
export const DUE = sql(
  'due',
  `SELECT m.receiver, CASE WHEN max(m.attempts) > 0 THEN 1 ELSE 0 END AS failing
   FROM alert_messages m WHERE m.state = 'pending' AND m.due <= ? AND m.due <= ? AND ${IN_TURN}
   GROUP BY m.receiver ORDER BY failing, min(m.due) LIMIT ?`,
)
export const NEXT = sql(
  'next',
  `SELECT m.id, m.receiver, m.kind, m.rule, m.object, m.text, m.attempts, m.last, m.created
   FROM alert_messages m WHERE m.receiver = ? AND m.state = 'pending' AND m.due <= ? AND m.due <= ?
     AND ${IN_TURN} ORDER BY m.due, m.id LIMIT 1`,
)
export const PENDING = sql(
  'pending',
  "SELECT count(*) AS number, min(due) AS oldest FROM alert_messages WHERE state = 'pending'",
)
/** The time of the last message of each rule and kind. */
export const LAST = sql(
  'last messages',
  "SELECT rule, kind, max(created) AS at FROM alert_messages WHERE kind <> 'test' GROUP BY rule, kind",
)
const FINISH = sql(
  'finish attempt',
  `UPDATE alert_messages SET state = ?, attempts = attempts + 1, due = ?, outcome = ?, status = ?,
     detail = ? WHERE id = ? AND attempts = ? AND state = 'pending'`,
)
export const recordAttempt = ({ row, at, result, next }: Attempt): readonly Statement[] => {
  const { outcome, status = null, detail = null } = result
  const state = outcome === 'delivered' ? outcome : next === undefined ? 'failed' : 'pending'
  const values = [state, next ?? at, outcome, status, detail, String(row.id), Number(row.attempts)]
  return [{ sql: FINISH, values, rows: 1, otherwise: 'EVENT_MOVED' }]
}
export const FIND = sql(
  'find message',
  'SELECT id, state, outcome, status, detail FROM alert_messages WHERE id = ?',
)

const OLD_ALERTS = sql('old alerts', "DELETE FROM alerts WHERE state = 'resolved' AND since < ?")
const OLD_MESSAGES = sql(
  'old messages',
  `DELETE FROM alert_messages WHERE id IN (SELECT id FROM alert_messages
     WHERE state <> 'pending' AND created < ? ORDER BY created LIMIT 500) RETURNING id`,
)
export const deleteOld = (before: number): readonly Statement[] => [
  { sql: OLD_ALERTS, values: [before] },
  { sql: OLD_MESSAGES, values: [before] },
]
