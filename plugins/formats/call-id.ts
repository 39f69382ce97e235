/** Converts ids of tool calls so that they satisfy every format's rules. The conversion is
 *  deterministic, so a call and its result keep matching ids within a request and across
 *  requests. */
import { createHash } from 'node:crypto'

/** The ids that a format accepts. */
export interface IdRule {
  readonly allowed: RegExp
  readonly longest: number
}
/** At most 64 letters, digits, `_` and `-`: accepted by all four conversation formats. */
export const NARROW: IdRule = { allowed: /^[A-Za-z0-9_-]+$/, longest: 64 }

/** Prefixes of converted ids: the original id in base64url follows, or its SHA-256 digest if the id
 *  would be too long. */
const ENCODED_PREFIX = 'call_x'
const DIGEST_PREFIX = 'call_h'

export const fitted = (id: string, rule: IdRule): string => {
  if (id !== '' && id.length <= rule.longest && rule.allowed.test(id)) return id
  const encoded = ENCODED_PREFIX + Buffer.from(id).toString('base64url')
  if (id !== '' && encoded.length <= rule.longest) return encoded
  return DIGEST_PREFIX + createHash('sha256').update(id).digest('base64url')
}

/** Restores an id that was encoded in full; returns any other id unchanged. */
export const original = (id: string): string => {
  if (!id.startsWith(ENCODED_PREFIX)) return id
  const text = Buffer.from(id.slice(ENCODED_PREFIX.length), 'base64url').toString()
  return fitted(text, NARROW) === id ? text : id
}
