/** Errors of this format: in error replies and answers, and in streams as exceptions or damaged
 *  frames. */
import type { Json } from '../../../engine/plugin.ts'
import { type Fields, isFields, lenientObject, lenientObjects, lenientText } from '../fields.ts'
import { type AnswerFacts, eventFields, type ReportedError } from '../format.ts'
import type { UpstreamError } from '../hub/codec.ts'
import { DAMAGED, EXCEPTION } from '../stream/aws-event-stream.ts'
import type { SseEvent } from '../stream/sse.ts'
import { hasAny, isEmpty, NO_CONTENT, UNKNOWN_STATUS } from '../unanswered.ts'
import { isFailedReason } from './response.ts'

/** Name of an exception, in lower case, -> HTTP status. */
const STATUS: Readonly<Record<string, number>> = {
  validationexception: 400,
  accessdeniedexception: 403,
  resourcenotfoundexception: 404,
  throttlingexception: 429,
  servicequotaexceededexception: 429,
  modelnotreadyexception: 429,
  internalserverexception: 500,
  modelerrorexception: 502,
  modelstreamerrorexception: 502,
  serviceunavailableexception: 503,
  modeltimeoutexception: 504,
}

export const errorOf = (event: SseEvent): ReportedError | undefined => {
  const { name } = event
  if (name === DAMAGED)
    return { status: 502, body: { message: 'The upstream sent a damaged stream.' } }
  if (!name.startsWith(EXCEPTION)) return undefined
  const type = name.slice(EXCEPTION.length)
  return {
    status: statusOf(type),
    body: { message: `The upstream reported ${type || 'an error'}.`, ...eventFields(event) },
  }
}
const statusOf = (type: string): number => STATUS[type.toLowerCase()] ?? UNKNOWN_STATUS

export const carriesContent = (event: SseEvent): boolean => {
  const fields = eventFields(event) ?? {}
  if (event.name === 'contentBlockStart') return !isEmpty(fields.start)
  if (event.name === 'messageStop') return !isFailedReason(fields.stopReason)
  if (event.name !== 'contentBlockDelta') return false
  const { text, ...delta } = lenientObject(fields, 'delta')
  const { toolUse, reasoningContent, ...other } = delta
  const nested = { ...lenientObject(delta, 'toolUse'), ...lenientObject(delta, 'reasoningContent') }
  return !isEmpty(text) || !isEmpty(other) || hasAny(nested, Object.keys(nested))
}

/** A stop reason in place of an answer. */
export const failedEnd = (event: SseEvent): ReportedError | undefined =>
  event.name === 'messageStop' ? failureOf(eventFields(event) ?? {}) : undefined
const failureOf = ({ stopReason: reason }: Fields): ReportedError | undefined => {
  if (!isFailedReason(reason)) return undefined
  return { status: UNKNOWN_STATUS, body: { message: `The model failed to answer (${reason}).` } }
}

export const answers: AnswerFacts = {
  marks: ['"stopReason":"end_turn', '"stopReason": "end_turn', '"stopReason":"tool_use'],
  failure: body => {
    const message = lenientObject(lenientObject(body, 'output'), 'message')
    if (lenientObjects(message, 'content').length > 0) return undefined
    if (!isEmpty(body.stopReason)) return failureOf(body)
    // `com.amazon.coral.service#ThrottlingException`, also inside of `Output`.
    const error = isFields(body.Output) ? body.Output : body
    const type = lenientText(error, '__type')?.split('#').at(-1) ?? ''
    const text = lenientText(error, 'message') ?? lenientText(error, 'Message')
    return { status: statusOf(type), body: { message: text || NO_CONTENT } }
  },
}

export const decodeError = (status: number, body: Json | undefined): UpstreamError => {
  const fields = isFields(body) ? body : {}
  const message = lenientText(fields, 'message') ?? lenientText(fields, 'Message')
  return { status, message: message || `The upstream answered ${status}.` }
}
