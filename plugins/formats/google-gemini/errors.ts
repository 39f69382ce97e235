/** Decodes error replies: `{error: {code, message, status, details}}`, inside an array for streams
 *  without `alt=sse`. */
import type { Json } from '../../../engine/plugin.ts'
import type { Refused } from '../codec.ts'
import { entryOf, type Fields, inner, isFields, itemsIn, wordIn } from '../fields.ts'

/** Reasons that are more specific than the HTTP status. */
const STATUSES: Readonly<Record<string, number>> = {
  API_KEY_INVALID: 401,
  API_KEY_EXPIRED: 401,
  API_KEY_SERVICE_BLOCKED: 403,
}
/** Errors that only the message identifies. */
const CODES: readonly (readonly [said: RegExp, code: string])[] = [
  [/exceeds the maximum number of tokens/i, 'context_length_exceeded'],
]

export const decodeError = (status: number, body: Json | undefined): Refused => {
  const object = Array.isArray(body) ? (body[0] as Json | undefined) : body
  const error = isFields(object) && isFields(object.error) ? object.error : {}
  const details = itemsIn(error, 'details')
  const message = wordIn(error, 'message') || `The upstream answered with status ${status}.`
  const type = wordIn(error, 'status') ?? wordIn(error, 'type')
  const code = reasonIn(details) ?? CODES.find(([pattern]) => pattern.test(message))?.[1]
  const param = fieldIn(details)
  const retryAfter = waitIn(details)
  return {
    status: entryOf(STATUSES, code ?? '') ?? status,
    message,
    ...(type !== undefined && { type }),
    ...(code !== undefined && { code }),
    ...(param !== undefined && { param }),
    ...(retryAfter !== undefined && { retryAfter }),
  }
}

const is = (detail: Fields, type: string): boolean =>
  wordIn(detail, '@type')?.endsWith(`.${type}`) === true
const reasonIn = (details: readonly Fields[]): string | undefined =>
  details.map(each => (is(each, 'ErrorInfo') ? wordIn(each, 'reason') : undefined)).find(Boolean)
const fieldIn = (details: readonly Fields[]): string | undefined =>
  details
    .filter(each => is(each, 'BadRequest'))
    .flatMap(each => itemsIn(each, 'fieldViolations'))
    .map(each => wordIn(each, 'field'))
    .find(Boolean)
/** `{retryDelay: '34.4s'}`, rounded up to whole seconds. */
const waitIn = (details: readonly Fields[]): number | undefined => {
  const retry = details.find(each => is(each, 'RetryInfo')) ?? {}
  const retryDelay = retry.retryDelay
  const seconds =
    typeof retryDelay === 'string'
      ? Number(/^([\d.]+)s$/.exec(retryDelay)?.[1])
      : Number(inner(retry, 'retryDelay').seconds)
  return Number.isFinite(seconds) ? Math.ceil(seconds) : undefined
}
