/** Sends the events of one queue, in one process of the installation. Receivers do not delay each
 *  other. */
import type { Database, HostBase, Row } from '../../engine/plugin.ts'
import { isDeletedName } from '../credentials/statements.ts'
import { type Attempt, type DeliveryResult, deliver, logFieldsOf } from './delivery.ts'
import { type DeliveryQueue, webhookQueue } from './queue.ts'
import { delayBefore } from './schedule.ts'

export interface OutboxOptions extends Pick<HostBase, 'log' | 'metrics' | 'send'> {
  readonly database: Pick<Database, 'read' | 'write' | 'now'>
  /** Defaults to webhook events. */
  readonly queue?: DeliveryQueue
  /** Adds events to the outbox, before each read. */
  refill?(): Promise<void>
  /** In [0, 1). */
  readonly random?: () => number
  /** ms between two reads of the outbox; a finished endpoint triggers one at once. */
  readonly interval?: number
}

/** Limits of concurrently served endpoints: healthy ones, failing ones (the last response failed or
 *  was slow), and all. Failing endpoints have a separate limit because each may take the whole
 *  timeout. */
const MAX_ENDPOINTS = { healthy: 100, failing: 200, all: 500 } as const
/** ms for the events of one endpoint. They are sent one after another, so that a crash repeats at
 *  most one. An endpoint that takes longer stops counting against the limit of healthy
 *  endpoints. */
const TIME_SLICE = 500
const POLL_INTERVAL = 250
/** ms until a failed write of a result is retried. */
const RETRY_INTERVAL = 500
/** Nobody gets a delivery of an account that was deleted. */
const REMOVED: DeliveryResult = { outcome: 'removed' }
const [GAUGE_INTERVAL, DELETE_INTERVAL, RETENTION] = [10_000, 3_600_000, 30 * 86_400_000]

type Outbox = OutboxOptions & { readonly queue: DeliveryQueue }
/** The number of an endpoint, or another name of a receiver. */
type Receiver = number | string

/** Resolves after `signal` aborts, when the results of all running attempts are written. */
export const emptyOutbox = async (input: OutboxOptions, signal: AbortSignal): Promise<void> => {
  const options: Outbox = { queue: webhookQueue, ...input }
  const { queue, metrics } = options
  const { noun } = queue
  const running = new Map<Receiver, RunningEndpoint>()
  const wakeUp = createWakeUp(signal)
  const begin = (endpoint: Receiver, isFailing: boolean): void => {
    const completion = serveEndpoint(options, endpoint, signal)
      .catch(error => options.log.warn({ error }, `the delivery of a ${noun} was interrupted`))
      .finally(() => {
        running.delete(endpoint)
        wakeUp.ring()
      })
    running.set(endpoint, { isFailing, completion, startedAt: performance.now() })
  }
  const startDue = async (): Promise<void> => {
    await options.refill?.()
    const now = await options.database.now()
    const due = await options.database.read(queue.due, [now, now, MAX_ENDPOINTS.all * 2])
    const free = freeSlots(running)
    for (const row of due) {
      const [endpoint, isFailing] = [row.receiver as Receiver, Number(row.failing) > 0]
      const lane = isFailing ? 'failing' : 'healthy'
      if (running.has(endpoint) || free[lane] <= 0 || running.size >= MAX_ENDPOINTS.all) continue
      free[lane]--
      begin(endpoint, isFailing)
    }
  }
  const maintain = createMaintenance(options)
  while (!signal.aborted) {
    try {
      await startDue()
      await maintain()
    } catch (error) {
      options.log.warn({ error }, `the outbox of ${noun}s could not be read`)
    }
    await wakeUp.wait(options.interval ?? POLL_INTERVAL)
  }
  await Promise.all([...running.values()].map(({ completion }) => completion))
  queue.measure(metrics, 0, 0)
}
interface RunningEndpoint {
  readonly isFailing: boolean
  readonly startedAt: number
  readonly completion: Promise<void>
}
const freeSlots = (
  running: ReadonlyMap<Receiver, RunningEndpoint>,
): { healthy: number; failing: number } => {
  const all = [...running.values()]
  const since = performance.now() - TIME_SLICE
  return {
    healthy:
      MAX_ENDPOINTS.healthy -
      all.filter(({ isFailing, startedAt }) => !isFailing && startedAt > since).length,
    failing: MAX_ENDPOINTS.failing - all.filter(({ isFailing }) => isFailing).length,
  }
}

/** A timer that `ring` ends early. */
const createWakeUp = (signal: AbortSignal) => {
  // If `ring` is called before the wait, the next wait ends at once.
  let isPending = false
  let wake = (): void => {}
  const ring = (): void => {
    isPending = true
    wake()
  }
  signal.addEventListener('abort', ring, { once: true })
  return {
    ring,
    async wait(ms: number): Promise<void> {
      await new Promise<void>(resolve => {
        const timer = setTimeout(resolve, isPending ? 0 : ms)
        wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
      isPending = false
    },
  }
}

/** Sends events of one endpoint until no event is due, a delivery fails, or its time is over. */
const serveEndpoint = async (
  options: Outbox,
  endpoint: Receiver,
  signal: AbortSignal,
): Promise<void> => {
  const { database, queue } = options
  const end = performance.now() + TIME_SLICE
  while (performance.now() < end && !signal.aborted) {
    const now = await database.now()
    const [row] = await database.read(queue.next, [endpoint, now, now])
    if (!row) return
    const isDelivered = await attempt(options, row, now, signal)
    if (!isDelivered) return
  }
}

const attempt = async (
  options: Outbox,
  row: Row,
  at: number,
  signal: AbortSignal,
): Promise<boolean> => {
  const { log, metrics, queue, random = Math.random } = options
  const request = await queue.requestOf(row)
  const startedAt = performance.now()
  const isOfDeleted = isDeletedName(String(row.account_name))
  const result = isOfDeleted ? REMOVED : await deliver(request, options, at)
  const ms = Math.round(performance.now() - startedAt)
  queue.countAttempt(metrics, result.outcome)
  log.info({ ...logFieldsOf(request, result), ms }, queue.noun)
  const remaining = Number(row.last) - Number(row.attempts) - 1
  const next = nextOf(result, at + ms, remaining, random(), queue.delays)
  await record(options, { row, at, ms, slow: ms > TIME_SLICE, result, next }, signal)
  return result.outcome === 'delivered'
}
const nextOf = (
  { outcome, wait }: DeliveryResult,
  now: number,
  remaining: number,
  random: number,
  delays: readonly number[],
) => {
  const isOver = outcome === 'delivered' || outcome === REMOVED.outcome
  const delay = isOver ? undefined : delayBefore(remaining, random, wait, delays)
  return delay === undefined ? undefined : now + delay
}

/** Retries until the result is written: an unrecorded delivery would be repeated. */
const record = async (
  { database, log, queue }: Outbox,
  attempt: Attempt,
  signal: AbortSignal,
): Promise<void> => {
  const list = queue.recordAttempt(attempt)
  for (;;) {
    try {
      await database.write(list)
      return
    } catch (error) {
      if ((error as { code?: unknown }).code === 'EVENT_MOVED') return
      log.warn(
        { event: attempt.row.id, error },
        `the result of an attempt to deliver a ${queue.noun} could not be written yet`,
      )
      if (signal.aborted) return
    }
    await new Promise(resolve => setTimeout(resolve, RETRY_INTERVAL))
  }
}

/** Updates the gauges every ten seconds and deletes events older than a month every hour. */
const createMaintenance = ({ database, metrics, queue }: Outbox): (() => Promise<void>) => {
  let [gaugeAt, deleteAt] = [0, 0]
  return async () => {
    const tick = performance.now()
    if (tick >= gaugeAt) {
      gaugeAt = tick + GAUGE_INTERVAL
      const [row] = await database.read(queue.pending, [])
      const late = row?.oldest == null ? 0 : (await database.now()) - Number(row.oldest)
      queue.measure(metrics, Number(row?.number ?? 0), Math.max(0, late) / 1_000)
    }
    if (queue.deleteOld && tick >= deleteAt) {
      const rows = await database.write(queue.deleteOld((await database.now()) - RETENTION))
      // While more old events exist, delete at every read.
      if (rows.at(-1)?.length === 0) deleteAt = tick + DELETE_INTERVAL
    }
  }
}
