/** Announces the states of a task at the URL of its customer: one delivery for each state, written
 *  in the transaction that changes the state. */
import type { Bytes, HostBase, Row, Sql, Statement } from '../../engine/plugin.ts'
import { withAccountNames } from '../credentials/statements.ts'
import type { Attempt } from '../webhooks/delivery.ts'
import type { DeliveryQueue } from '../webhooks/queue.ts'
import { makeEventId } from '../webhooks/statements.ts'
import { decryptKey, SECRET_NAME } from './callback-key.ts'
import { creditsOf } from './credits.ts'
import type { TaskDialect } from './dialects/dialect.ts'
import { type TaskDialectName, taskDialects } from './dialects/index.ts'
import { showWhole } from './results/shown.ts'
import { type Callback, isFinal, numberOfTaskId, type State, type Task } from './task.ts'

const sql = (name: string, text: string): Sql => ({ name: `task callbacks: ${name}`, text })

/** ms between the attempts to deliver a final state. Another state has one attempt. */
export const CALLBACK_DELAYS: readonly number[] = [5_000, 300_000, 1_800_000]
/** Deliveries that one receiver gets at a time. All of one task are sent one after another. */
const LANES = 8n

const SUPERSEDE = sql(
  'supersede',
  `UPDATE task_callbacks SET state = 'superseded'
   WHERE task = ? AND topic <> ? AND state = 'pending'`,
)
const ENQUEUE = sql(
  'enqueue',
  `INSERT INTO task_callbacks (id, task, topic, receiver, body, state, last, due, created)
   VALUES (?, ?, ?, ?, ?, 'pending', ?, ?, ?) ON CONFLICT (task, topic) DO NOTHING`,
)

/** The statements that announce a state, if the customer is to see it and was not told before. It
 *  replaces an older state that was not delivered yet. `before`: the state that the task leaves. */
export const announce = async (
  before: State,
  task: Task,
  host: HostBase,
  now: number,
): Promise<readonly Statement[]> => {
  const { id, callback, state } = task
  if (!callback) return []
  const { callback: dialect, query } = dialectOf(callback)
  const topic = dialect?.topicOf(state)
  if (topic === undefined || topic === dialect?.topicOf(before)) return []
  const shownTask = await showWhole(task, host, now)
  const body = JSON.stringify(
    dialect?.body?.(shownTask) ?? query(shownTask, { credits: creditsOf(task, host) }),
  )
  const attempts = isFinal(state) ? CALLBACK_DELAYS.length + 1 : 1
  return [
    { sql: SUPERSEDE, values: [id, topic] },
    {
      sql: ENQUEUE,
      values: [makeEventId(now), id, topic, receiverOf(task, callback), body, attempts, now, now],
    },
  ]
}
const dialectOf = ({ dialect }: Callback): TaskDialect => taskDialects[dialect as TaskDialectName]
/** Deliveries of one receiver wait for each other; see `LANES`. */
const receiverOf = ({ id, account }: Task, { url }: Callback): string =>
  `${account} ${new URL(url).origin} ${numberOfTaskId(id) % LANES}`

// ---------------------------------------------------------------- deliveries

const DUE = sql(
  'due',
  `SELECT receiver, CASE WHEN max(attempts) > 0 THEN 1 ELSE 0 END AS failing FROM task_callbacks
   WHERE state = 'pending' AND due <= ? AND due <= ?
   GROUP BY receiver ORDER BY failing, min(due) LIMIT ?`,
)
const NEXT = sql(
  'next',
  withAccountNames(
    `SELECT c.id, c.task, c.body, c.attempts, c.last, t.account, t.callback, t.callback_key
     FROM task_callbacks c JOIN tasks t ON t.id = c.task
     WHERE c.receiver = ? AND c.state = 'pending' AND c.due <= ? AND c.due <= ?
     ORDER BY c.due, c.id LIMIT 1`,
    'account',
  ),
)
const PENDING = sql(
  'pending',
  "SELECT count(*) AS number, min(due) AS oldest FROM task_callbacks WHERE state = 'pending'",
)
const FINISH = sql(
  'finish attempt',
  `UPDATE task_callbacks SET state = ?, attempts = attempts + 1, due = ?, outcome = ?, status = ?
   WHERE id = ? AND attempts = ? AND state = 'pending'`,
)
/** The key is of no more use once the task and all its deliveries have ended. `''`: no delivery is
 *  ending. */
const ERASE_KEY = sql(
  'erase key',
  `UPDATE tasks SET callback_key = CASE WHEN state IN ('succeeded', 'failed') AND due IS NULL AND copy_due IS NULL
       AND NOT EXISTS (SELECT 1 FROM task_callbacks c
         WHERE c.task = tasks.id AND c.state = 'pending' AND c.id <> ?)
     THEN NULL ELSE callback_key END
   WHERE id = ?`,
)
/** Deliveries of a task, oldest first (task). */
export const CALLBACKS_OF = sql(
  'of a task',
  `SELECT topic, state, attempts, outcome, status, created FROM task_callbacks
   WHERE task = ? ORDER BY created, id`,
)

/** Erases the key of a task that has ended without another delivery. Comes after its last move. */
export const eraseKey = (task: string): Statement => ({ sql: ERASE_KEY, values: ['', task] })

const recordAttempt = ({ row, at, result, next }: Attempt): readonly Statement[] => {
  const { outcome, status = null } = result
  const [id, task] = [String(row.id), String(row.task)]
  const state = outcome === 'delivered' ? outcome : next === undefined ? 'failed' : 'pending'
  return [
    // First, because every move locks the task before its deliveries.
    { sql: ERASE_KEY, values: [state === 'pending' ? '' : id, task] },
    {
      sql: FINISH,
      values: [state, next ?? at, outcome, status, id, Number(row.attempts)],
      rows: 1,
      otherwise: 'EVENT_MOVED',
    },
  ]
}

export const callbackQueue = ({ secret }: Pick<HostBase, 'secret'>): DeliveryQueue => {
  let stored: Promise<Bytes> | undefined
  const readSecret = (): Promise<Bytes> => {
    stored ??= secret(SECRET_NAME).catch(error => {
      stored = undefined
      throw error
    })
    return stored
  }
  return {
    noun: 'task callback',
    due: DUE,
    next: NEXT,
    pending: PENDING,
    delays: CALLBACK_DELAYS,
    async requestOf(row: Row) {
      const installationSecret = await readSecret()
      const callback = JSON.parse(String(row.callback)) as Callback
      const { url } = callback
      const [id, task, encrypted] = [String(row.id), String(row.task), String(row.callback_key)]
      return {
        id,
        url,
        schemes: CALLBACK_SCHEMES,
        body: String(row.body),
        sign(at) {
          const key = decryptKey(installationSecret, task, encrypted)
          return dialectOf(callback).callback?.signatureHeaders({ url, key, at }) ?? {}
        },
      }
    },
    recordAttempt,
    countAttempt: (metrics, outcome) => metrics.count('task_callback_attempts_total', { outcome }),
    measure(metrics, pending, seconds) {
      metrics.gauge('task_callbacks_pending', {}, pending)
      metrics.gauge('task_callbacks_oldest_seconds', {}, seconds)
    },
  }
}
export const CALLBACK_SCHEMES: readonly string[] = ['https', 'http']
