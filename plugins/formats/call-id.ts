/** Ids of tool calls within the limits of every format: the same id always becomes the same one, so that a call and its
 *  result still meet, in this request and in the next. */
import { createHash } from 'node:crypto'

/** What a format allows. */
export interface IdRule {
  readonly allowed: RegExp
  readonly longest: number
}
/** 64 letters, digits, `_` and `-`: what every one of the four takes. */
export const NARROW: IdRule = { allowed: /^[A-Za-z0-9_-]+$/, longest: 64 }

/** Ours begin so. What follows is the id itself in base64url, or its digest where that is too long. */
const SPELT = 'call_x'
const DIGEST = 'call_h'

export const fitted = (id: string, rule: IdRule): string => {
  if (id !== '' && id.length <= rule.longest && rule.allowed.test(id)) return id
  const spelt = SPELT + Buffer.from(id).toString('base64url')
  if (id !== '' && spelt.length <= rule.longest) return spelt
  return DIGEST + createHash('sha256').update(id).digest('base64url')
}

/** The id that was spelt out; any other as it is. */
export const original = (id: string): string => {
  if (!id.startsWith(SPELT)) return id
  const text = Buffer.from(id.slice(SPELT.length), 'base64url').toString()
  return fitted(text, NARROW) === id ? text : id
}
