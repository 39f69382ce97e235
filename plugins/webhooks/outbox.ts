/** Empties the outbox, in one process of the installation: each endpoint in its turn, none waiting for another. */
import type { Database, Lent, Row } from '../../engine/plugin.ts'
import { deliver, traceOf, type Verdict } from './delivery.ts'
import { delayBefore } from './schedule.ts'
import { type Attempt, DUE, forget, NEXT, recordAttempt, WAITING } from './statements.ts'

export interface OutboxOptions extends Pick<Lent, 'log' | 'metrics' | 'send'> {
  readonly database: Pick<Database, 'read' | 'write' | 'now'>
  /** Puts more into the outbox, before each look at it. */
  refill?(): Promise<void>
  /** In [0, 1). */
  readonly random?: () => number
  /** ms from one look to the next, if nothing ends meanwhile. */
  readonly every?: number
}

/** Endpoints served at once, and how many of them may be such as failed last time: each of those may take as long as an
 *  answer may, and the others must not wait for them. */
const TURNS = { all: 100, ill: 50 } as const
/** Events of one endpoint in one turn, one after another: so a process that dies repeats one of them at most. */
const TURN = 50
const LOOK = 250
/** ms until the store is asked again that could not write down how an attempt went. */
const AGAIN = 500
const [MEASURE, FORGET, KEPT] = [10_000, 3_600_000, 30 * 86_400_000]

/** Resolves when `signal` aborts and every attempt under way was written down. */
export const emptyOutbox = async (options: OutboxOptions, signal: AbortSignal): Promise<void> => {
  const turns = new Map<number, { readonly ill: boolean; readonly over: Promise<void> }>()
  const bell = createBell(signal)
  const begin = (endpoint: number, ill: boolean): void => {
    const over = takeTurn(options, endpoint, signal)
      .catch(error => options.log.warn({ error }, 'the turn of a webhook ended early'))
      .finally(() => {
        turns.delete(endpoint)
        bell.ring()
      })
    turns.set(endpoint, { ill, over })
  }
  const look = async (): Promise<void> => {
    await options.refill?.()
    const now = await options.database.now()
    for (const row of await options.database.read(DUE, [now, now, TURNS.all * 4])) {
      const [endpoint, ill] = [Number(row.endpoint), Number(row.failures) > 0]
      const full = turns.size >= TURNS.all || (ill && countIll(turns) >= TURNS.ill)
      if (!full && !turns.has(endpoint)) begin(endpoint, ill)
    }
  }
  const keep = createChores(options)
  while (!signal.aborted) {
    try {
      await look()
      await keep()
    } catch (error) {
      options.log.warn({ error }, 'the outbox of webhooks could not be read')
    }
    await bell.wait(options.every ?? LOOK)
  }
  await Promise.all([...turns.values()].map(({ over }) => over))
  options.metrics.gauge('webhook_pending', {}, 0)
  options.metrics.gauge('webhook_oldest_seconds', {}, 0)
}
const countIll = (turns: ReadonlyMap<number, { readonly ill: boolean }>): number =>
  [...turns.values()].filter(({ ill }) => ill).length

/** Something to wait for: a while, or until somebody rings. */
const createBell = (signal: AbortSignal) => {
  // Whoever rings while nobody waits is heard by the next who does.
  let rung = false
  let wake = (): void => {}
  const ring = (): void => {
    rung = true
    wake()
  }
  signal.addEventListener('abort', ring, { once: true })
  return {
    ring,
    async wait(ms: number): Promise<void> {
      await new Promise<void>(resolve => {
        const timer = setTimeout(resolve, rung ? 0 : ms)
        wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
      rung = false
    },
  }
}

/** Until there is nothing more for it, it fails, or others should have their turn. */
const takeTurn = async (
  options: OutboxOptions,
  endpoint: number,
  signal: AbortSignal,
): Promise<void> => {
  const { database } = options
  for (let sent = 0; sent < TURN && !signal.aborted; sent++) {
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
  const parcel = {
    ...{ id: String(row.id), body: String(row.body) },
    ...{ url: String(row.url), secret: String(row.secret) },
  }
  const begun = performance.now()
  const verdict = await deliver(parcel, options, at)
  const ms = Math.round(performance.now() - begun)
  const { log, metrics, random = Math.random } = options
  metrics.count('webhook_attempts_total', { outcome: verdict.outcome })
  log.info({ ...traceOf(parcel, verdict), ms }, 'webhook')
  const left = Number(row.last) - Number(row.attempts) - 1
  const next = nextOf(verdict, at + ms, left, random())
  const before = Number(row.attempts)
  await record(options, { event: parcel.id, endpoint, before, at, ms, verdict, next }, signal)
  return verdict.outcome === 'delivered'
}
const nextOf = ({ outcome, wait }: Verdict, now: number, left: number, random: number) => {
  const delay = outcome === 'delivered' ? undefined : delayBefore(left, random, wait)
  return delay === undefined ? undefined : now + delay
}

/** Until the store has it: what was delivered and not written down would be delivered again. */
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
      log.warn({ event: attempt.event, error }, 'an attempt at a webhook is not written down yet')
      if (signal.aborted) return
    }
    await new Promise(resolve => setTimeout(resolve, AGAIN))
  }
}

/** Numbers every ten seconds; every hour, what is over since a month goes. */
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
      const rows = await database.write(forget((await database.now()) - KEPT))
      // As long as there is more of it, at every look.
      if (rows.at(-1)?.length === 0) forgetAt = tick + FORGET
    }
  }
}
