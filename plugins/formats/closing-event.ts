/** Streams of OpenAI's endpoints for sound: one event, known by its type, ends them and carries their usage. */
import { type Fields, isFields } from './fields.ts'
import { type Format, fieldsOf } from './format.ts'
import { openaiErrorIn } from './openai-error.ts'
import type { SseEvent } from './sse.ts'

/** What the event holds of usage, if it is the one of this `type`. */
export const usageWith =
  (type: string) =>
  (event: Fields): Fields | undefined =>
    event.type === type && isFields(event.usage) ? event.usage : undefined

export const endedBy = (type: string): Format['stream'] => {
  const ends = (event: SseEvent): boolean => fieldsOf(event)?.type === type
  return {
    usageMark: type,
    cumulative: false,
    endMarks: [type],
    ends,
    afterEnd: 'dropped',
    suffices: ends,
    error: openaiErrorIn,
  }
}
