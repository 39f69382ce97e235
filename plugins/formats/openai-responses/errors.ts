/** Decodes error replies and error events of upstreams of this format. */
import type { Json } from '../../../engine/plugin.ts'
import { type Fields, isFields, lenientObject, lenientText } from '../fields.ts'
import { eventFields } from '../format.ts'
import type { UpstreamError } from '../hub/codec.ts'
import { openaiError } from '../openai-error.ts'
import type { SseEvent } from '../stream/sse.ts'

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

export const typeOf = (event: SseEvent): string => {
  if (event.name !== '') return event.name
  const type = eventFields(event)?.type
  return typeof type === 'string' ? type : ''
}

/** The error is flat as specified, nested as some upstreams send it, or only inside the failed
 *  response. */
export const errorOf = (event: SseEvent): ReturnType<typeof openaiError> => {
  const type = typeOf(event)
  if (type !== 'error' && type !== 'response.failed' && type !== '') return undefined
  const fields = eventFields(event)
  if (!fields) return undefined
  // An error reply with status 200: neither an event nor a response.
  if (type === '') return fields.output === undefined ? openaiError(fields.error) : undefined
  if (type === 'response.failed') return openaiError(lenientObject(fields, 'response').error)
  return openaiError(isFields(fields.error) ? fields.error : { ...fields, type: null })
}
