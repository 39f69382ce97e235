/** Names of users and caches, which OpenAI limits to 64 characters. Pure. */
import { createHash } from 'node:crypto'
import type { Json } from '../../engine/plugin.ts'

const MAX_NAME = 64
/** A name only has to be stable across requests, so a digest of a longer one suffices. */
export const shorten = (value: Json): Json => {
  if (typeof value !== 'string' || value.length <= MAX_NAME) return value
  return createHash('sha256').update(value).digest('base64url')
}
