/** Names of users and caches, whose length providers limit. Pure. */
import { createHash } from 'node:crypto'
import type { Prompt } from './hub/prompt.ts'

const USER_NAMES: readonly string[] = ['user', 'safety_identifier']
/** The client's name for the user, if it is one of OpenAI's two. */
export const userName = ({ clientNames }: Pick<Prompt, 'clientNames'>): { user?: string } => {
  const name = clientNames?.user
  return name !== undefined && USER_NAMES.includes(name) ? { user: name } : {}
}

/** A name only has to be stable across requests, so a digest of a longer one suffices. */
export const shorten = (value: string, most: number): string =>
  value.length <= most ? value : createHash('sha256').update(value).digest('base64url')
/** OpenAI's names have at most 64 characters. */
export const shortenForOpenai = <Value>(value: Value): Value | string =>
  typeof value === 'string' ? shorten(value, 64) : value
