/** Errors of this format in streams, in answers and in error replies. */
import type { Json } from '../../../engine/plugin.ts'
import { type Fields, isFields, lenientObject, lenientObjects } from '../fields.ts'
import { type AnswerFacts, eventFields, type ReportedError } from '../format.ts'
import { openaiError } from '../openai-error.ts'
import type { SseEvent } from '../stream/sse.ts'
import { hasAny, isEmpty, openaiErrorInAnswer, openaiFailure } from '../unanswered.ts'
import { isFailure } from './stops.ts'

export { decodeErrorReply as decodeError } from '../openai-error-reply.ts'

export const errorOf = (event: SseEvent): ReportedError | undefined => {
  const fields = eventFields(event)
  if (!fields) return undefined
  return event.name === 'error' && isEmpty(fields.error)
    ? openaiError(fields)
    : openaiErrorInAnswer(fields)
}

/** Counts of output alone make no answer: the customer would pay for nothing. */
export const carriesContent = (event: SseEvent): boolean =>
  choicesIn(eventFields(event) ?? {}).some(isAnswer)
const isAnswer = (choice: Fields): boolean => hasContent(choice) || hasEnded(choice)

/** A finish reason that some upstreams send in place of an error reply. */
export const failedEnd = (event: SseEvent): ReportedError | undefined =>
  failureOf(choicesIn(eventFields(event) ?? {}))

export const answers: AnswerFacts = {
  marks: ['"finish_reason":"stop"', '"finish_reason": "stop"', '"tool_calls":[{'],
  failure: body => {
    const choices = choicesIn(body)
    if (choices.some(hasContent)) return undefined
    const error = openaiErrorInAnswer(body)
    if (error || choices.some(isAnswer)) return error
    return failureOf(choices) ?? openaiFailure(body)
  },
}

const choicesIn = (body: Fields): readonly Fields[] => lenientObjects(body, 'choices')
const failureOf = (choices: readonly Fields[]): ReportedError | undefined => {
  const [first] = choices
  if (!first || !choices.every(hasFailed)) return undefined
  return openaiError(first.error) ?? openaiFailure({ message: 'The model failed to answer.' })
}
/** OpenRouter names the error in the choice. */
const hasFailed = (choice: Fields): boolean =>
  isFailure(choice.finish_reason) || (!isEmpty(choice.error) && !hasEnded(choice))
const hasEnded = ({ finish_reason: reason }: Fields): boolean =>
  typeof reason === 'string' && reason !== '' && !isFailure(reason)
const hasContent = ({ delta, message, text }: Fields): boolean =>
  holdsContent(delta) || holdsContent(message) || !isEmpty(text)
const holdsContent = (message: Json | undefined): boolean =>
  isFields(message) &&
  Object.keys(message).some(key =>
    key === 'audio'
      ? hasAny(lenientObject(message, key), ['data', 'transcript'])
      : key !== 'role' && !isEmpty(message[key]),
  )
