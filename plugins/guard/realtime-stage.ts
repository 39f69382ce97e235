/** Guards of a route of realtime sessions. A message of the client that is refused is answered with
 *  an error event, and the session goes on; a text of the upstream that is refused ends it. */
import { asFault } from '../../engine/errors.ts'
import type { Exchange, Fault, Message, Next, Slot, Stage } from '../../engine/plugin.ts'
import { CLOSE_MESSAGE } from '../slots.ts'
import type { RouteGuard } from './guard.ts'
import type { RealtimeSession } from './realtime-session.ts'

type Send = (message: Message) => void
interface Sessions {
  readonly list: readonly RealtimeSession[]
  /** Sends to the client; known from the upstream's first message on. */
  toClient?: Send
}
const SESSIONS: Slot<Sessions> = { name: 'guard sessions' }

export class RealtimeStage implements Stage {
  readonly #guards: readonly RouteGuard[]
  constructor(guards: readonly RouteGuard[]) {
    this.#guards = guards
  }
  handle(exchange: Exchange, next: Next): Promise<void> {
    exchange.slots.set(SESSIONS, { list: this.#guards.map(guard => guard.openSession(exchange)) })
    return next()
  }
  message(message: Message, out: Send, exchange: Exchange): void | Promise<void> {
    const sessions = exchange.slots.get(SESSIONS)
    if (!sessions) return out(message)
    if (message.from === 'client') return this.#onClient(message, out, exchange, sessions)
    sessions.toClient = out
    try {
      passUpstream(sessions.list, message, out)
    } catch (error) {
      const reason = asFault(error)
      out(eventOf(reason, exchange))
      exchange.cut(reason)
    }
  }
  async #onClient(
    message: Message,
    out: Send,
    exchange: Exchange,
    sessions: Sessions,
  ): Promise<void> {
    let current = message
    try {
      for (const session of sessions.list) current = await session.onClient(current)
    } catch (error) {
      const reason = asFault(error)
      // A client that writes before it has heard anything cannot be answered.
      if (!sessions.toClient || reason.status === 500) throw reason
      return sessions.toClient(eventOf(reason, exchange))
    }
    out(current)
  }
}

const passUpstream = (
  [session, ...others]: readonly RealtimeSession[],
  message: Message,
  out: Send,
): void => {
  if (session) session.onUpstream(message, each => passUpstream(others, each, out))
  else out(message)
}
const eventOf = (reason: Fault, { slots }: Exchange): Message => ({
  from: 'upstream',
  text: true,
  payload: slots.need(CLOSE_MESSAGE)(reason),
})
