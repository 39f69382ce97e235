/** How long a provider keeps a cache, and the token-hours that it bills. Pure. */
import type { Fields } from '../formats/fields.ts'
import { count, lenientObject, lenientText } from '../formats/fields.ts'
import { fault } from './faults.ts'

const HOUR = 3_600_000
/** The provider's lifetime of a cache whose request names none, and of a file, ms. */
const DEFAULT_LIFETIME = HOUR
export const FILE_LIFETIME = 48 * HOUR
const DURATION = /^(\d{1,10}(?:\.\d{1,9})?)s$/

/** ms from `now` until the end of the cache that a request asks for; undefined: it names none.
 *  Throws RESOURCE_TTL. */
export const requestedLifetime = (body: Fields, now: number): number | undefined => {
  const ttl = body.ttl ?? undefined
  const expireTime = body.expireTime ?? body.expire_time ?? undefined
  if (ttl !== undefined) {
    const seconds = typeof ttl === 'string' ? DURATION.exec(ttl)?.[1] : undefined
    if (seconds === undefined)
      throw fault('RESOURCE_TTL', ['ttl', 'a number of seconds such as "3600s"'])
    return Number(seconds) * 1_000
  }
  if (expireTime === undefined) return undefined
  const time = typeof expireTime === 'string' ? Date.parse(expireTime) : Number.NaN
  if (Number.isNaN(time))
    throw fault('RESOURCE_TTL', ['expireTime', 'a time such as "2030-01-02T03:04:05Z"'])
  return Math.max(0, time - now)
}
export const createdLifetime = (body: Fields, now: number): number =>
  requestedLifetime(body, now) ?? DEFAULT_LIFETIME

export const expiryOf = (details: Fields): number | undefined => {
  const time = Date.parse(
    lenientText(details, 'expireTime') ?? lenientText(details, 'expirationTime') ?? '',
  )
  return Number.isNaN(time) ? undefined : time
}
export const tokensOf = (details: Fields): number =>
  count(lenientObject(details, 'usageMetadata').totalTokenCount)
export const hoursOf = (ms: number): number => Math.max(0, ms) / HOUR
/** Token-hours are whole: a part of one counts as one. */
export const tokenHours = (tokens: number, ms: number): number => Math.ceil(tokens * hoursOf(ms))
