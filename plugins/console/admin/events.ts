/** Server-sent events of endpoints for operators: a heartbeat, an end with the session of the
 *  viewer, and a bound on views per process. */
import type { Bytes, Exchange, Host, Json } from '../../../engine/plugin.ts'
import { FIND_BY_ID } from '../../credentials/statements.ts'
import { ACCOUNT, type Account } from '../../slots.ts'
import { fault } from '../faults.ts'
import type { EventEndpoint } from './endpoint.ts'

/** ms between two heartbeats, at which the session is looked up. */
const HEARTBEAT = 5_000
/** ms after which the browser connects again, so that a view does not hold an old version. */
const LONGEST = 300_000
const MOST_VIEWS = 20
/** The engine holds the last chunk back, since it may be the tail: this one, not the event. */
const COMMENT = Buffer.from(':\n\n')

class Views {
  open = 0
}

export const answerEvents = (exchange: Exchange, endpoint: EventEndpoint, host: Host): void => {
  const views = host.share('console/views', '1', () => new Views())
  if (views.open >= MOST_VIEWS) throw fault('ADMIN_STREAMS')
  const stop = new AbortController()
  const events = endpoint.follow(exchange.request.query, host, stop.signal)
  const viewer = exchange.slots.need(ACCOUNT)
  views.open++
  exchange.onEnd(() => {
    views.open--
    stop.abort()
  })
  exchange.signal.addEventListener('abort', () => stop.abort())
  exchange.answer(
    200,
    encode(events, stop, () => isSignedIn(viewer, host)),
    {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    },
  )
}

/** Whether the credential of the viewer is still valid. */
const isSignedIn = async ({ session, token }: Account, { database }: Host): Promise<boolean> => {
  const kind = session === undefined ? 'system-token' : 'session'
  const [[row], now] = await Promise.all([
    database.read(FIND_BY_ID[kind], [session ?? token ?? 0]),
    database.now(),
  ])
  if (!row || row.revoked !== null || row.suspended !== null) return false
  return row.expires === null || Number(row.expires) > now
}

async function* encode(
  events: AsyncGenerator<Json>,
  stop: AbortController,
  isValid: () => Promise<boolean>,
): AsyncGenerator<Bytes> {
  const ends = Date.now() + LONGEST
  let next = events.next()
  try {
    // The browser knows at once that the view is open.
    yield Buffer.from('retry: 1000\n\n: open\n\n')
    yield COMMENT
    let checkedAt = Date.now()
    while (!stop.signal.aborted && Date.now() < ends) {
      const beat = Promise.withResolvers<undefined>()
      const timer = setTimeout(() => beat.resolve(undefined), HEARTBEAT)
      const result = await Promise.race([next, beat.promise])
      clearTimeout(timer)
      if (result?.done) return
      if (!result || Date.now() - checkedAt >= HEARTBEAT) {
        checkedAt = Date.now()
        if (!(await isValid())) {
          yield Buffer.from('event: signed-out\ndata: {}\n\n')
          return
        }
        yield Buffer.from(': heartbeat\n\n')
      }
      if (!result) continue
      yield Buffer.from(`data: ${JSON.stringify(result.value)}\n\n`)
      yield COMMENT
      next = events.next()
    }
  } finally {
    stop.abort()
  }
}
