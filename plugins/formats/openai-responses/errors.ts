/** Errors of this format in streams, in answers and in error replies. */
import type { Json } from '../../../engine/plugin.ts'
import {
  type Fields,
  isFields,
  lenientObject,
  lenientObjects,
  lenientText,
  lookUp,
} from '../fields.ts'
import { type AnswerFacts, eventFields, eventType, type ReportedError } from '../format.ts'
import type { UpstreamError } from '../hub/codec.ts'
import { openaiError } from '../openai-error.ts'
import type { SseEvent } from '../stream/sse.ts'
import { hasAny, isEmpty, openaiErrorInAnswer, openaiFailure } from '../unanswered.ts'

export const decodeError = (status: number, body: Json | undefined): UpstreamError => {
  const object = Array.isArray(body) ? body[0] : body
  if (!isFields(object)) return { status, message: textOf(object) ?? defaultMessage(status) }
  const error = isFields(object.error) ? object.error : object
  const type = lenientText(error, 'type')
  const param = lenientText(error, 'param')
  return {
    status,
    message: messageOf(error) ?? defaultMessage(status),
    ...(type && { type }),
    ...codeOf(error.code),
    ...(param && { param }),
  }
}
const textOf = (value: Json | undefined): string | undefined =>
  typeof value === 'string' && value.trim() !== '' ? value : undefined

/** Compatible upstreams use other members for the message. */
const messageOf = (error: Fields): string | undefined =>
  textOf(error.message) ?? textOf(error.error) ?? textOf(error.detail)

const codeOf = (code: Json | undefined): { readonly code?: string } =>
  typeof code === 'number' || (typeof code === 'string' && code !== '') ? { code: `${code}` } : {}

const defaultMessage = (status: number): string =>
  `The upstream refused the request with ${status}.`

/** The error is flat as specified, nested as some upstreams send it, or only inside the failed
 *  response. */
export const errorOf = (event: SseEvent): ReportedError | undefined => {
  const type = eventType(event)
  if (type !== 'error' && type !== 'response.failed' && type !== '') return undefined
  const fields = eventFields(event)
  if (!fields) return undefined
  // An error reply with status 200: neither an event nor a response.
  if (type === '') return fields.output === undefined ? openaiErrorInAnswer(fields) : undefined
  if (type === 'response.failed')
    return openaiError(lenientObject(fields, 'response').error) ?? openaiFailure(FAILED)
  return openaiError(isFields(fields.error) ? fields.error : { ...fields, type: null })
}
const FAILED: Fields = { message: 'The response failed.' }
const ENDED: Readonly<Record<string, Fields>> = {
  failed: FAILED,
  cancelled: { message: 'The upstream cancelled the response.' },
}
/** Nobody here cancels a response that its client waits for. An incomplete one has its reason. */
const isWithoutAnswer = (response: Fields): boolean =>
  lookUp(ENDED, String(response.status)) !== undefined &&
  !lenientObjects(response, 'output').some(hasContent)

export const carriesContent = (event: SseEvent): boolean => {
  const type = eventType(event)
  if (EMPTY_EVENTS.has(type)) return false
  const fields = eventFields(event) ?? {}
  if (isFields(fields.response)) return !isWithoutAnswer(fields.response)
  if (type === 'response.output_item.added') return hasContent(lenientObject(fields, 'item'))
  if (type === 'response.output_item.done') return hasContent(lenientObject(fields, 'item'))
  if (type.endsWith('_part.added') || type.endsWith('_part.done'))
    return hasAny(lenientObject(fields, 'part'), ['text', 'refusal'])
  if (type.endsWith('.done')) return hasAny(fields, WHOLE_MEMBERS)
  return !type.endsWith('.delta') || !isEmpty(fields.delta)
}
/** A `.done` event repeats here, as a whole, what its delta events have sent in parts. */
const WHOLE_MEMBERS = ['text', 'refusal', 'arguments', 'input', 'code', 'annotation']
/** A response that ends cancelled or failed, although its event has another name. */
export const failedEnd = (event: SseEvent): ReportedError | undefined => {
  const { response } = eventFields(event) ?? {}
  if (!isFields(response) || !isWithoutAnswer(response)) return undefined
  return (
    openaiError(response.error) ?? openaiFailure(lookUp(ENDED, String(response.status)) ?? FAILED)
  )
}
const EMPTY_EVENTS: ReadonlySet<string> = new Set([
  '',
  'ping',
  'keepalive',
  'response.created',
  'response.queued',
  'response.in_progress',
])
/** Messages and thoughts are empty at first; a call is content. */
const hasContent = (item: Fields): boolean => {
  const parts = [...lenientObjects(item, 'content'), ...lenientObjects(item, 'summary')]
  if (item.type !== 'message' && item.type !== 'reasoning') return !isEmpty(item)
  return parts.some(part => hasAny(part, ['text', 'refusal'])) || !isEmpty(item.encrypted_content)
}

export const answers: AnswerFacts = {
  marks: ['"status":"completed"', '"status": "completed"'],
  failure: body => {
    if (lenientObjects(body, 'output').some(hasContent)) return undefined
    const error = openaiErrorInAnswer(body)
    if (error) return error
    if (isEmpty(body.status)) return openaiFailure(body)
    const ended = lookUp(ENDED, String(body.status))
    return ended && openaiFailure(ended)
  },
}
