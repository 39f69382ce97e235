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

/** Endpoints served at once: in good health, ill (their last answer failed, or took longer than a turn), and altogether.
 *  Each of the ill may take as long as an answer may, so they have places of their own. */
const PLACES = { well: 100, ill: 200, all: 500 } as const
/** ms that an endpoint has for its events, one after another: so a process that dies repeats one of them at most. Whoever
 *  takes longer keeps its answer and not its place: nobody knows beforehand who will be slow. */
const TURN = 500
const LOOK = 250
/** ms until the store is asked again that could not write down how an attempt went. */
const AGAIN = 500
const [MEASURE, FORGET, KEPT] = [10_000, 3_600_000, 30 * 86_400_000]

/** Resolves when `signal` aborts and every attempt under way was written down. */
export const emptyOutbox = async (options: OutboxOptions, signal: AbortSignal): Promise<void> => {
  const turns = new Map<number, Turn>()
  const bell = createBell(signal)
  const begin = (endpoint: number, ill: boolean): void => {
    const over = takeTurn(options, endpoint, signal)
      .catch(error => options.log.warn({ error }, 'the turn of a webhook ended early'))
      .finally(() => {
        turns.delete(endpoint)
        bell.ring()
      })
    turns.set(endpoint, { ill, over, begun: performance.now() })
  }
  const look = async (): Promise<void> => {
    await options.refill?.()
    const now = await options.database.now()
    const due = await options.database.read(DUE, [now, now, PLACES.all * 2])
    const free = freePlaces(turns)
    for (const row of due) {
      const [endpoint, ill] = [Number(row.endpoint), Number(row.ill) > 0]
      const lane = ill ? 'ill' : 'well'
      if (turns.has(endpoint) || free[lane] <= 0 || turns.size >= PLACES.all) continue
      free[lane]--
      begin(endpoint, ill)
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
interface Turn {
  readonly ill: boolean
  readonly begun: number
  readonly over: Promise<void>
}
const freePlaces = (turns: ReadonlyMap<number, Turn>): { well: number; ill: number } => {
  const all = [...turns.values()]
  const since = performance.now() - TURN
  return {
    well: PLACES.well - all.filter(({ ill, begun }) => !ill && begun > since).length,
    ill: PLACES.ill - all.filter(({ ill }) => ill).length,
  }
}

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

/** Until there is nothing more for it, it fails, or its time is over. */
const takeTurn = async (
  options: OutboxOptions,
  endpoint: number,
  signal: AbortSignal,
): Promise<void> => {
  const { database } = options
  const end = performance.now() + TURN
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
  const [before, slow] = [Number(row.attempts), ms > TURN]
  await record(options, { event: parcel.id, endpoint, before, at, ms, slow, verdict, next }, signal)
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
