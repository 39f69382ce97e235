/** Errors of this format in streams and error replies. */
import type { Json } from '../../../engine/plugin.ts'
import { type Fields, isFields, lenientObject } from '../fields.ts'
import { eventFields } from '../format.ts'
import type { UpstreamError } from '../hub/codec.ts'
import type { SseEvent } from '../stream/sse.ts'

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

/** The event's name, or else the type in its data. */
export const typeOf = (event: SseEvent): string => {
  if (event.name !== '') return event.name
  const type = eventFields(event)?.type
  return typeof type === 'string' ? type : ''
}

export const errorOf = (
  event: SseEvent,
): { readonly status: number; readonly body: Fields } | undefined => {
  if (typeOf(event) !== 'error') return undefined
  const body = eventFields(event)
  const type = body && lenientObject(body, 'error').type
  return body && { status: (typeof type === 'string' && STATUS[type]) || 502, body }
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
