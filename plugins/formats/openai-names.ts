/** Names of users and caches, which OpenAI limits to 64 characters. Pure. */
import { createHash } from 'node:crypto'
import type { Json } from '../../engine/plugin.ts'
import type { Prompt } from './hub/prompt.ts'

const USER_NAMES: readonly string[] = ['user', 'safety_identifier']
/** The client's name for the user, if it is one of OpenAI's two. */
export const userName = ({ clientNames }: Pick<Prompt, 'clientNames'>): { user?: string } => {
  const name = clientNames?.user
  return name !== undefined && USER_NAMES.includes(name) ? { user: name } : {}
}

const MAX_NAME = 64
/** A name only has to be stable across requests, so a digest of a longer one suffices. */
export const shorten = (value: Json): Json => {
  if (typeof value !== 'string' || value.length <= MAX_NAME) return value
  return createHash('sha256').update(value).digest('base64url')
}
