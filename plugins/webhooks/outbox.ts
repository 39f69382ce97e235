/** Sends the events of the outbox, in one process of the installation. Endpoints do not delay each other. */
import type { Database, HostBase, Row } from '../../engine/plugin.ts'
import { type DeliveryResult, deliver, logFieldsOf } from './delivery.ts'
import { delayBefore } from './schedule.ts'
import { type Attempt, DUE, deleteOld, NEXT, recordAttempt, WAITING } from './statements.ts'

export interface OutboxOptions extends Pick<HostBase, 'log' | 'metrics' | 'send'> {
  readonly database: Pick<Database, 'read' | 'write' | 'now'>
  /** Adds events to the outbox, before each read. */
  refill?(): Promise<void>
  /** In [0, 1). */
  readonly random?: () => number
  /** ms between two reads of the outbox; a finished endpoint triggers one at once. */
  readonly interval?: number
}

/** Endpoints served at once: healthy, failing (the last response failed or was slow), and in all. Failing
 *  ones may take the whole timeout, so that they have a limit of their own. */
const MAX_ENDPOINTS = { well: 100, ill: 200, all: 500 } as const
/** ms for the events of one endpoint, sent one after another, so that a crash repeats one of them at most.
 *  An endpoint that takes longer no longer counts against the limit of healthy ones. */
const TURN_TIME = 500
const POLL_INTERVAL = 250
/** ms until a failed write of a result is retried. */
const RETRY_INTERVAL = 500
const [MEASURE, FORGET, KEPT] = [10_000, 3_600_000, 30 * 86_400_000]

/** Resolves after `signal` aborts, when the results of all running attempts are written. */
export const emptyOutbox = async (options: OutboxOptions, signal: AbortSignal): Promise<void> => {
  const turns = new Map<number, Turn>()
  const wakeUp = createWakeUp(signal)
  const begin = (endpoint: number, isFailing: boolean): void => {
    const done = serveEndpoint(options, endpoint, signal)
      .catch(error => options.log.warn({ error }, 'sending to a webhook endpoint was interrupted'))
      .finally(() => {
        turns.delete(endpoint)
        wakeUp.ring()
      })
    turns.set(endpoint, { isFailing, done, startedAt: performance.now() })
  }
  const startDue = async (): Promise<void> => {
    await options.refill?.()
    const now = await options.database.now()
    const due = await options.database.read(DUE, [now, now, MAX_ENDPOINTS.all * 2])
    const free = freeSlots(turns)
    for (const row of due) {
      const [endpoint, ill] = [Number(row.endpoint), Number(row.ill) > 0]
      const lane = ill ? 'ill' : 'well'
      if (turns.has(endpoint) || free[lane] <= 0 || turns.size >= MAX_ENDPOINTS.all) continue
      free[lane]--
      begin(endpoint, ill)
    }
  }
  const runChores = createChores(options)
  while (!signal.aborted) {
    try {
      await startDue()
      await runChores()
    } catch (error) {
      options.log.warn({ error }, 'the webhook outbox could not be read')
    }
    await wakeUp.wait(options.interval ?? POLL_INTERVAL)
  }
  await Promise.all([...turns.values()].map(({ done: over }) => over))
  options.metrics.gauge('webhook_pending', {}, 0)
  options.metrics.gauge('webhook_oldest_seconds', {}, 0)
}
interface Turn {
  readonly isFailing: boolean
  readonly startedAt: number
  readonly done: Promise<void>
}
const freeSlots = (turns: ReadonlyMap<number, Turn>): { well: number; ill: number } => {
  const all = [...turns.values()]
  const since = performance.now() - TURN_TIME
  return {
    well:
      MAX_ENDPOINTS.well -
      all.filter(({ isFailing: ill, startedAt: start }) => !ill && start > since).length,
    ill: MAX_ENDPOINTS.ill - all.filter(({ isFailing: ill }) => ill).length,
  }
}

/** A timer that `ring` ends early. */
const createWakeUp = (signal: AbortSignal) => {
  // A ring before the wait ends the next wait at once.
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

/** Sends events of one endpoint until none is due, one fails, or its time is over. */
const serveEndpoint = async (
  options: OutboxOptions,
  endpoint: number,
  signal: AbortSignal,
): Promise<void> => {
  const { database } = options
  const end = performance.now() + TURN_TIME
  while (performance.now() < end && !signal.aborted) {
    const now = await database.now()
    const [row] = await database.read(NEXT, [endpoint, now, now])
    if (!row) return
    const delivered = await attempt(options, endpoint, row, now, signal)
    if (!delivered) return
  }
}

const attempt = async (
  options: OutboxOptions,
  endpoint: number,
  row: Row,
  at: number,
  signal: AbortSignal,
): Promise<boolean> => {
  const request = {
    ...{ id: String(row.id), body: String(row.body) },
    ...{ url: String(row.url), secret: String(row.secret) },
  }
  const startedAt = performance.now()
  const result = await deliver(request, options, at)
  const ms = Math.round(performance.now() - startedAt)
  const { log, metrics, random = Math.random } = options
  metrics.count('webhook_attempts_total', { outcome: result.outcome })
  log.info({ ...logFieldsOf(request, result), ms }, 'webhook')
  const left = Number(row.last) - Number(row.attempts) - 1
  const next = nextOf(result, at + ms, left, random())
  const [before, slow] = [Number(row.attempts), ms > TURN_TIME]
  await record(options, { event: request.id, endpoint, before, at, ms, slow, result, next }, signal)
  return result.outcome === 'delivered'
}
const nextOf = ({ outcome, wait }: DeliveryResult, now: number, left: number, random: number) => {
  const delay = outcome === 'delivered' ? undefined : delayBefore(left, random, wait)
  return delay === undefined ? undefined : now + delay
}

/** Retries until the result is written: an unrecorded delivery would be repeated. */
const record = async (
  { database, log }: OutboxOptions,
  attempt: Attempt,
  signal: AbortSignal,
): Promise<void> => {
  const list = recordAttempt(attempt)
  for (;;) {
    try {
      await database.write(list)
      return
    } catch (error) {
      if ((error as { code?: unknown }).code === 'EVENT_MOVED') return
      log.warn(
        { event: attempt.event, error },
        'the result of a webhook attempt could not be written yet',
      )
      if (signal.aborted) return
    }
    await new Promise(resolve => setTimeout(resolve, RETRY_INTERVAL))
  }
}

/** Updates the gauges every ten seconds and deletes events older than a month every hour. */
const createChores = ({ database, metrics }: OutboxOptions): (() => Promise<void>) => {
  let [measureAt, forgetAt] = [0, 0]
  return async () => {
    const tick = performance.now()
    if (tick >= measureAt) {
      measureAt = tick + MEASURE
      const [row] = await database.read(WAITING, [])
      const late = row?.oldest == null ? 0 : (await database.now()) - Number(row.oldest)
      metrics.gauge('webhook_pending', {}, Number(row?.number ?? 0))
      metrics.gauge('webhook_oldest_seconds', {}, Math.max(0, late) / 1_000)
    }
    if (tick >= forgetAt) {
      const rows = await database.write(deleteOld((await database.now()) - KEPT))
      // While there are more, delete at every read.
      if (rows.at(-1)?.length === 0) forgetAt = tick + FORGET
    }
  }
}
