/** Streams of OpenAI's audio endpoints: an event of one type ends the stream and carries its
 *  usage. */
import { type Fields, isFields } from '../fields.ts'
import { eventFields, type Format } from '../format.ts'
import { openaiErrorIn } from '../openai-error.ts'
import type { SseEvent } from '../stream/sse.ts'

/** Returns the usage of an event of this `type`, and undefined for other events. */
export const usageInEvent =
  (type: string) =>
  (event: Fields): Fields | undefined =>
    event.type === type && isFields(event.usage) ? event.usage : undefined

/** `isContent`: whether an event has content of the answer. */
export const streamEndingWith = (
  type: string,
  isContent: (fields: Fields) => boolean,
): Format['stream'] => {
  const endsStream = (event: SseEvent): boolean => eventFields(event)?.type === type
  return {
    usageMark: type,
    isCumulative: false,
    endMarks: [type],
    isEnd: endsStream,
    afterEnd: 'dropped',
    completesWithoutTerminator: endsStream,
    error: openaiErrorIn,
    carriesContent: event => isContent(eventFields(event) ?? {}),
  }
}
