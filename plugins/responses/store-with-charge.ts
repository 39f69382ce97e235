/** Stores a plain response in the transaction of its charge: a response that is read whole before
 *  the meter would else be stored without one. */
import type { Attempt, Exchange, Slot, Statement } from '../../engine/plugin.ts'
import { writeAtEnd } from '../conversion/write-at-end.ts'
import { isEventStream } from '../formats/stream/sse.ts'
import { UNANSWERED } from '../slots.ts'

/** The writer of an exchange's response. */
export const PLAIN_STATEMENTS: Slot<readonly Statement[]> = { name: 'plain response' }

/** Call it after `next()`. */
export const storeWithCharge = (exchange: Exchange): void => {
  const { reply, slots } = exchange
  if (!isEventStream(reply)) writeAtEnd(exchange, () => slots.get(PLAIN_STATEMENTS) ?? [])
}

/** For a call in the background, whose answer reaches its client through the store alone: an answer
 *  that is not stored is a failure, and free. Call it behind the recorder of the answer. */
export const failUnstored = ({ exchange: { slots }, reply }: Attempt): void => {
  // The stream of an agent is stored at its end, by its own writes: its meter has to read it.
  if (isEventStream(reply)) return
  const isStored = (): boolean => (slots.get(PLAIN_STATEMENTS) ?? []).length > 0
  reply.through({
    write(chunk, out) {
      if (isStored()) out.write(chunk)
    },
    end(tail, out) {
      if (isStored()) return out.end(tail)
      slots.set(UNANSWERED, true)
      out.end()
    },
  })
}
