/** Decodes error replies of upstreams of this format. */
import type { Json } from '../../../engine/plugin.ts'
import { type Fields, isFields, lenientText } from '../fields.ts'
import type { UpstreamError } from '../hub/codec.ts'

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
