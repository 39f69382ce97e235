/** Stores a whole answer in the transaction of the charge of its call. */
import type { Attempt, Statement } from '../../engine/plugin.ts'
import type { Fields } from '../formats/fields.ts'
import { isEventStream } from '../formats/stream/sse.ts'
import { EventRecorder, PlainRecorder } from './recorder.ts'
import { PLAIN_STATEMENTS } from './store-with-charge.ts'

/** Puts the events of a stream together. */
export interface Assembler {
  add(event: Fields): void
  /** The whole answer; undefined before the stream has ended. */
  readonly answer: Fields | undefined
}
interface AnswerStorage {
  /** Bytes of the largest plain answer that is stored. */
  readonly largest: number
  newAssembler(): Assembler
  /** They store the answer. */
  statementsOf(answer: Fields): readonly Statement[]
}

/** Call it after `next()` of a `forward` whose reply is a success. */
export const recordAnswer = (
  { exchange, reply }: Attempt,
  { largest, newAssembler, statementsOf }: AnswerStorage,
): void => {
  if (isEventStream(reply)) {
    const assembler = newAssembler()
    const onEnd = (): void => {
      if (assembler.answer) exchange.writes.add(...statementsOf(assembler.answer))
    }
    reply.through(new EventRecorder({ onEvent: event => assembler.add(event), onEnd }))
    return
  }
  const onAnswer = (answer: Fields): boolean => {
    exchange.slots.set(PLAIN_STATEMENTS, statementsOf(answer))
    return true
  }
  reply.through(new PlainRecorder(largest, onAnswer, null))
}
