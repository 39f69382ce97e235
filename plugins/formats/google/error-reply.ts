/** Error replies of Google: `{error: {code, message, status, details}}`, alone or in an array. */
import type { Json } from '../../../engine/plugin.ts'
import {
  type Fields,
  isFields,
  lenientObject,
  lenientObjects,
  lenientText,
  lookUp,
} from '../fields.ts'
import type { UpstreamError } from '../hub/codec.ts'

/** Reasons that are more specific than the HTTP status. */
const STATUSES: Readonly<Record<string, number>> = {
  API_KEY_INVALID: 401,
  API_KEY_EXPIRED: 401,
  API_KEY_SERVICE_BLOCKED: 403,
}
/** Errors that only the message identifies. */
const CODES: readonly (readonly [pattern: RegExp, code: string])[] = [
  [/exceeds the maximum number of tokens/i, 'context_length_exceeded'],
]

export const decodeErrorReply = (status: number, body: Json | undefined): UpstreamError => {
  const object = Array.isArray(body) ? (body[0] as Json | undefined) : body
  const error = isFields(object) && isFields(object.error) ? object.error : {}
  const details = lenientObjects(error, 'details')
  const message = lenientText(error, 'message') || `The upstream answered with status ${status}.`
  const type = lenientText(error, 'status') ?? lenientText(error, 'type')
  const code = reasonIn(details) ?? CODES.find(([pattern]) => pattern.test(message))?.[1]
  const param = fieldIn(details)
  const retryAfter = waitIn(details)
  return {
    status: lookUp(STATUSES, code ?? '') ?? status,
    message,
    ...(type !== undefined && { type }),
    ...(code !== undefined && { code }),
    ...(param !== undefined && { param }),
    ...(retryAfter !== undefined && { retryAfter }),
  }
}

const hasType = (detail: Fields, type: string): boolean =>
  lenientText(detail, '@type')?.endsWith(`.${type}`) === true
const reasonIn = (details: readonly Fields[]): string | undefined =>
  details
    .map(each => (hasType(each, 'ErrorInfo') ? lenientText(each, 'reason') : undefined))
    .find(Boolean)
const fieldIn = (details: readonly Fields[]): string | undefined =>
  details
    .filter(each => hasType(each, 'BadRequest'))
    .flatMap(each => lenientObjects(each, 'fieldViolations'))
    .map(each => lenientText(each, 'field'))
    .find(Boolean)
/** `{retryDelay: '34.4s'}`, rounded up to whole seconds. */
const waitIn = (details: readonly Fields[]): number | undefined => {
  const retry = details.find(each => hasType(each, 'RetryInfo')) ?? {}
  const retryDelay = retry.retryDelay
  const seconds =
    typeof retryDelay === 'string'
      ? Number(/^([\d.]+)s$/.exec(retryDelay)?.[1])
      : Number(lenientObject(retry, 'retryDelay').seconds)
  return Number.isFinite(seconds) ? Math.ceil(seconds) : undefined
}
