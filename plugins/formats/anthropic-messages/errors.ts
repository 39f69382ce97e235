/** Errors of this format in streams, in answers and in error replies. */
import type { Json } from '../../../engine/plugin.ts'
import { type Fields, isFields, lenientObject, lookUp } from '../fields.ts'
import { type AnswerFacts, eventFields, eventType, type ReportedError } from '../format.ts'
import type { UpstreamError } from '../hub/codec.ts'
import type { SseEvent } from '../stream/sse.ts'
import { hasAny, isEmpty, NO_CONTENT, statusIn, UNKNOWN_STATUS } from '../unanswered.ts'

/** Error type -> HTTP status. */
const STATUS: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
}

export const errorOf = (event: SseEvent): ReportedError | undefined => {
  const type = eventType(event)
  const body = eventFields(event)
  return body && (type === 'error' || (type === '' && !isEmpty(body.error)))
    ? reportedIn(body)
    : undefined
}
const reportedIn = (body: Fields): ReportedError => {
  const { type, code } = lenientObject(body, 'error')
  const status = typeof type === 'string' ? lookUp(STATUS, type) : undefined
  return { status: status ?? statusIn(code) ?? UNKNOWN_STATUS, body }
}

export const carriesContent = (event: SseEvent): boolean => {
  const fields = eventFields(event) ?? {}
  const type = eventType(event)
  if (type === 'content_block_start') return hasContent(lenientObject(fields, 'content_block'))
  if (type === 'content_block_delta') return hasContent(lenientObject(fields, 'delta'))
  if (type === 'message_delta') return !isEmpty(lenientObject(fields, 'delta').stop_reason)
  return !EMPTY_EVENTS.has(type)
}
const EMPTY_EVENTS: ReadonlySet<string> = new Set([
  '',
  'message_start',
  'ping',
  'content_block_stop',
  'message_stop',
])
/** Blocks and deltas of text hold nothing yet while the text is empty. */
const TEXTS: Readonly<Record<string, string>> = {
  text: 'text',
  text_delta: 'text',
  thinking: 'thinking',
  thinking_delta: 'thinking',
  input_json_delta: 'partial_json',
  signature_delta: 'signature',
}
const hasContent = (block: Fields): boolean => {
  const text = lookUp(TEXTS, String(block.type))
  const names = text === undefined ? Object.keys(block).filter(name => name !== 'type') : [text]
  return hasAny(block, names)
}

/** The beginning of a turn that ends without a text is an answer. */
export const answers: AnswerFacts = {
  marks: ['"stop_reason":"', '"stop_reason": "'],
  failure: body => {
    if (!isEmpty(body.content)) return undefined
    if (body.type === 'error' || !isEmpty(body.error)) return reportedIn(body)
    if (!isEmpty(body.stop_reason)) return undefined
    const error = { type: 'api_error', message: NO_CONTENT }
    return { status: UNKNOWN_STATUS, body: { type: 'error', error } }
  },
}

/** Messages for which other formats have an error code. */
const CODES: readonly (readonly [pattern: RegExp, code: string])[] = [
  [/prompt is too long|exceeds? (?:the )?context (?:limit|window)/i, 'context_length_exceeded'],
]
/** `messages.0.content: Input should be …` names the invalid field. */
const FIELD = /^([a-z_]+(?:\.[a-z0-9_]+)*): /i

export const decodeError = (status: number, body: Json | undefined): UpstreamError => {
  const fields = isFields(body) ? body : {}
  const error = isFields(fields.error) ? fields.error : fields
  const message =
    firstText(error.message, fields.error, fields.detail, body) ?? defaultMessage(status)
  const type = typeof error.type === 'string' && error.type !== 'error' ? error.type : undefined
  const code = CODES.find(([pattern]) => pattern.test(message))?.[1]
  const param = status === 400 ? FIELD.exec(message)?.[1] : undefined
  return {
    status,
    message,
    ...(type !== undefined && { type }),
    ...(code !== undefined && { code }),
    ...(param !== undefined && { param }),
  }
}
const firstText = (...candidates: readonly (Json | undefined)[]): string | undefined =>
  candidates.find((value): value is string => typeof value === 'string' && value !== '')
const defaultMessage = (status: number): string => `The upstream refused with status ${status}.`
