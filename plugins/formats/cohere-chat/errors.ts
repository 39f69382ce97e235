/** Errors of this format in streams and in answers: finish reasons, and messages in their place. */
import { type Fields, isFields, lenientObject, lenientText, lookUp } from '../fields.ts'
import { type AnswerFacts, eventFields, type ReportedError } from '../format.ts'
import type { SseEvent } from '../stream/sse.ts'
import { hasAny, isEmpty, NO_CONTENT, statusIn, UNKNOWN_STATUS } from '../unanswered.ts'

/** Finish reasons of answers that failed. */
const STATUS: Readonly<Record<string, number>> = {
  ERROR: UNKNOWN_STATUS,
  TIMEOUT: 504,
  CANCELLED: UNKNOWN_STATUS,
  USER_CANCEL: UNKNOWN_STATUS,
}

export const errorOf = (event: SseEvent): ReportedError | undefined => {
  const fields = eventFields(event) ?? {}
  if (fields.type === 'message-end') return failureOf(lenientObject(fields, 'delta'))
  return fields.type === undefined && !isEmpty(fields.message) ? replyIn(fields) : undefined
}
const failureOf = ({ finish_reason: reason, error }: Fields): ReportedError | undefined => {
  const status = lookUp(STATUS, String(reason))
  const message = typeof error === 'string' ? error : 'The upstream reported an error.'
  return status === undefined ? undefined : { status, body: { message } }
}
/** An error reply with status 200. */
const replyIn = (body: Fields): ReportedError => {
  const message = lenientText(body, 'message') ?? lenientText(body, 'error') ?? NO_CONTENT
  const status = statusIn(body.code) ?? statusIn(body.status_code) ?? UNKNOWN_STATUS
  return { status, body: { message } }
}

export const carriesContent = (event: SseEvent): boolean => {
  const fields = eventFields(event) ?? {}
  const message = lenientObject(lenientObject(fields, 'delta'), 'message')
  if (fields.type === 'content-start' || fields.type === 'content-delta')
    return hasAny(lenientObject(message, 'content'), ['text', 'thinking'])
  if (fields.type === 'tool-plan-delta') return !isEmpty(message.tool_plan)
  return !EMPTY_EVENTS.has(String(fields.type))
}
const EMPTY_EVENTS: ReadonlySet<string> = new Set(['undefined', 'message-start', 'content-end'])

export const answers: AnswerFacts = {
  marks: ['"finish_reason":"COMPLETE"', '"finish_reason": "COMPLETE"'],
  failure: body => {
    const { message, finish_reason: reason } = body
    if (isFields(message) && hasAny(message, ['content', 'tool_calls', 'tool_plan']))
      return undefined
    return failureOf(body) ?? (isEmpty(reason) ? replyIn(body) : undefined)
  },
}
