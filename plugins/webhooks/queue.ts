/** One kind of deliveries, as the outbox knows it: where they are stored, how they are signed, when
 *  they are tried again. */
import type { Metrics, Row, Sql, Statement } from '../../engine/plugin.ts'
import type { Attempt, DeliveryRequest } from './delivery.ts'
import { DELAYS } from './schedule.ts'
import { signatureHeaders } from './signature.ts'
import { DUE, deleteOld, NEXT, PENDING, recordAttempt } from './statements.ts'

export interface DeliveryQueue {
  /** Names a delivery in log lines. */
  readonly noun: string
  /** Receivers with due deliveries, healthy ones first: `receiver`, and `failing`. Parameters: now
   *  twice, row count. */
  readonly due: Sql
  /** The next delivery of a receiver: `id`, `attempts`, `last`, the `account_name` if it is one of
   *  an account, and what the other members read. Parameters: receiver, now twice. */
  readonly next: Sql
  /** `number` of pending deliveries, and the `oldest` due time. */
  readonly pending: Sql
  /** ms between two attempts. */
  readonly delays: readonly number[]
  /** `row`: of `next`. */
  requestOf(row: Row): DeliveryRequest | Promise<DeliveryRequest>
  /** Rejects with EVENT_MOVED if the delivery ended meanwhile. */
  recordAttempt(attempt: Attempt): readonly Statement[]
  /** Deletes some old deliveries. The last statement returns their ids. Absent: they are deleted
   *  with what they belong to. */
  deleteOld?(before: number): readonly Statement[]
  countAttempt(metrics: Metrics, outcome: string): void
  /** `seconds`: how long the oldest one is overdue. */
  measure(metrics: Metrics, pending: number, seconds: number): void
}

/** Webhook events: signed as Standard Webhooks specifies. */
export const webhookQueue: DeliveryQueue = {
  noun: 'webhook',
  due: DUE,
  next: NEXT,
  pending: PENDING,
  delays: DELAYS,
  requestOf(row) {
    const [id, body, secret] = [String(row.id), String(row.body), String(row.secret)]
    const sign = (at: number) => signatureHeaders({ id, body, secret, at })
    return { id, url: String(row.url), schemes: ['https'], body, sign }
  },
  recordAttempt,
  deleteOld,
  countAttempt: (metrics, outcome) => metrics.count('webhook_attempts_total', { outcome }),
  measure(metrics, pending, seconds) {
    metrics.gauge('webhook_pending', {}, pending)
    metrics.gauge('webhook_oldest_seconds', {}, seconds)
  },
}
