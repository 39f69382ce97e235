/** Stores a plain response in the transaction of its charge: a response that is read whole before
 *  the meter would else be stored without one. */
import type { Exchange, Slot, Statement } from '../../engine/plugin.ts'
import { isEventStream } from '../formats/stream/sse.ts'

/** The writer of an exchange's response. */
export const PLAIN_STATEMENTS: Slot<readonly Statement[]> = { name: 'plain response' }

/** Call it after `next()`, so that its filter is behind that of the meter. */
export const storeWithCharge = ({ reply, slots, writes }: Exchange): void => {
  if (isEventStream(reply)) return
  reply.through({
    end(tail, out) {
      writes.add(...(slots.get(PLAIN_STATEMENTS) ?? []))
      out.end(tail)
    },
  })
}
