/** Decodes an upstream's stream event by event. */
import { eventFields } from '../format.ts'
import type { StreamDecoder } from '../hub/codec.ts'
import type { SseEvent } from '../stream/sse.ts'
import { AnswerReader } from './answer/reader.ts'

/** A stream ends where its connection ends: after a finish reason more content may come. */
export const decodeStream = (): StreamDecoder => {
  const reader = new AnswerReader()
  return {
    push(event: SseEvent, emit) {
      const answer = eventFields(event)
      if (answer) reader.add(answer, emit)
    },
    get mayHaveEnded() {
      return reader.hasStopped
    },
    close(emit) {
      if (reader.hasStopped) reader.finish(emit)
      return reader.hasStopped
    },
  }
}
