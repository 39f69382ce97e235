/** Errors of this format in streams, in answers and in error replies: `{error: {code, message,
 *  status, details}}`, inside an array for streams without `alt=sse`. */
import {
  type Fields,
  isFields,
  lenientObject,
  lenientObjects,
  lenientText,
  lookUp,
} from '../fields.ts'
import { type AnswerFacts, eventFields, type ReportedError } from '../format.ts'
import type { SseEvent } from '../stream/sse.ts'
import { hasAny, isEmpty, NO_CONTENT, statusIn, UNKNOWN_STATUS } from '../unanswered.ts'
import { isFailedReason, isReason } from './stops.ts'

/** Names of statuses, for errors without a code. */
const NAMED: Readonly<Record<string, number>> = {
  INVALID_ARGUMENT: 400,
  UNAUTHENTICATED: 401,
  PERMISSION_DENIED: 403,
  NOT_FOUND: 404,
  RESOURCE_EXHAUSTED: 429,
  INTERNAL: 500,
  UNAVAILABLE: 503,
  DEADLINE_EXCEEDED: 504,
}

export const errorOf = (event: SseEvent): ReportedError | undefined =>
  errorIn(eventFields(event) ?? {})
const errorIn = (body: Fields): ReportedError | undefined => {
  const { error } = body
  if (isEmpty(error)) return undefined
  const { code, status } = isFields(error) ? error : {}
  const known = statusIn(code) ?? lookUp(NAMED, String(status))
  return { status: known ?? UNKNOWN_STATUS, body }
}

export const carriesContent = (event: SseEvent): boolean => isAnswer(eventFields(event) ?? {})
/** A refused prompt is an answer. */
const isAnswer = (body: Fields): boolean =>
  !isEmpty(lenientObject(body, 'promptFeedback').blockReason) ||
  candidatesIn(body).some(each => hasEnded(each) || hasContent(each))
const candidatesIn = (body: Fields): readonly Fields[] => lenientObjects(body, 'candidates')
const hasEnded = ({ finishReason: reason }: Fields): boolean =>
  isReason(reason) && !isFailedReason(reason)
const hasContent = (candidate: Fields): boolean =>
  lenientObjects(lenientObject(candidate, 'content'), 'parts').some(part =>
    hasAny(
      part,
      Object.keys(part).filter(key => key !== 'thought'),
    ),
  )

/** A finish reason in place of an answer. */
export const failedEnd = (event: SseEvent): ReportedError | undefined =>
  failureOf(eventFields(event) ?? {})
const failureOf = (body: Fields): ReportedError | undefined => {
  const [first] = candidatesIn(body)
  if (!first || candidatesIn(body).some(each => !isFailedReason(each.finishReason)))
    return undefined
  const text = lenientText(first, 'finishMessage')
  const about = text === undefined ? '' : ` ${text}`
  return failure(`The model failed to answer (${first.finishReason}).${about}`)
}
const failure = (message: string): ReportedError => ({
  status: UNKNOWN_STATUS,
  body: { error: { code: UNKNOWN_STATUS, message } },
})

export const answers: AnswerFacts = {
  marks: ['"finishReason":"STOP"', '"finishReason": "STOP"'],
  failure: body => {
    if (candidatesIn(body).some(hasContent)) return undefined
    const error = errorIn(body)
    if (error || isAnswer(body)) return error
    return failureOf(body) ?? failure(NO_CONTENT)
  },
}
