/** Errors of this format: in error replies, and in streams as exceptions or damaged frames. */
import type { Json } from '../../../engine/plugin.ts'
import { type Fields, isFields, lenientText } from '../fields.ts'
import { eventFields } from '../format.ts'
import type { UpstreamError } from '../hub/codec.ts'
import { DAMAGED, EXCEPTION } from '../stream/aws-event-stream.ts'
import type { SseEvent } from '../stream/sse.ts'

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

export const errorOf = (
  event: SseEvent,
): { readonly status: number; readonly body: Fields } | undefined => {
  const { name } = event
  if (name === DAMAGED)
    return { status: 502, body: { message: 'The upstream sent a damaged stream.' } }
  if (!name.startsWith(EXCEPTION)) return undefined
  const type = name.slice(EXCEPTION.length)
  return {
    status: STATUS[type.toLowerCase()] ?? 502,
    body: { message: `The upstream reported ${type || 'an error'}.`, ...eventFields(event) },
  }
}

export const decodeError = (status: number, body: Json | undefined): UpstreamError => {
  const fields = isFields(body) ? body : {}
  const message = lenientText(fields, 'message') ?? lenientText(fields, 'Message')
  return { status, message: message || `The upstream answered ${status}.` }
}
