/** Converts ids of tool calls so that they satisfy every format's rules. The conversion is
 *  deterministic, so a call and its result keep matching ids within a request and across
 *  requests. */
import { createHash } from 'node:crypto'

/** The ids that a format accepts. */
export interface IdRule {
  readonly pattern: RegExp
  readonly maxLength: number
}
/** At most 64 letters, digits, `_` and `-`: accepted by all four conversation formats. */
export const PORTABLE_ID: IdRule = { pattern: /^[A-Za-z0-9_-]+$/, maxLength: 64 }

/** Prefixes of converted ids: the original id in base64url follows, or its SHA-256 digest if the id
 *  would be too long. */
const ENCODED_PREFIX = 'call_x'
const DIGEST_PREFIX = 'call_h'

export const encodeCallId = (id: string, rule: IdRule): string => {
  if (id !== '' && id.length <= rule.maxLength && rule.pattern.test(id)) return id
  const encodedId = ENCODED_PREFIX + Buffer.from(id).toString('base64url')
  if (id !== '' && encodedId.length <= rule.maxLength) return encodedId
  return DIGEST_PREFIX + createHash('sha256').update(id).digest('base64url')
}

/** Restores an id that was encoded in full; returns any other id unchanged. */
export const decodeCallId = (id: string): string => {
  if (!id.startsWith(ENCODED_PREFIX)) return id
  const text = Buffer.from(id.slice(ENCODED_PREFIX.length), 'base64url').toString()
  return encodeCallId(text, PORTABLE_ID) === id ? text : id
}

/** An id of exactly so many letters and digits: the id itself, or a digest. */
export const fixedLengthId = (id: string, length: number): string =>
  id.length === length && /^[A-Za-z0-9]+$/.test(id)
    ? id
    : createHash('sha512').update(id).digest('base64').replace(/[+/=]/g, '').slice(0, length)
