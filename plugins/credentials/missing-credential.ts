/** Says why a request has no credential, and how to send one. Pure. */
import type { Request } from '../../engine/plugin.ts'
import type { Mode } from './credential-extraction.ts'
import { claimedKind } from './secret.ts'

export const missingCredentialText = (
  { headers: { authorization }, query }: Pick<Request, 'headers' | 'query'>,
  modes: readonly Mode[],
): string => {
  const takesQuery = modes.includes('query-key')
  const example = modes.includes('system-token') && !modes.includes('key') ? 'st-…' : 'sk-…'
  const header = `"Authorization: Bearer ${example}"`
  const mistake = authorization === undefined ? undefined : mistakeIn(authorization)
  if (mistake && (modes.includes('key') || !takesQuery)) return `${mistake}; send ${header}`
  if (takesQuery)
    return 'No API key found; send it as "?key=sk-…" in the URL, or in the header x-goog-api-key'
  if (query.has('key')) return `This route reads no key from the URL; send it as ${header}`
  return `No API key or token found; send it as ${header}`
}

/** The defect of the header, without any part of a key. */
const mistakeIn = (authorization: string): string | undefined => {
  const [scheme = '', ...rest] = authorization.trim().split(/\s+/)
  if (scheme === '') return 'The Authorization header is empty'
  const isScheme = /^[A-Za-z]{1,20}$/.test(scheme) && claimedKind(scheme) === undefined
  if (!isScheme) return 'The Authorization header has a key without "Bearer" before it'
  if (rest.length === 0 || rest[0] === '')
    return `The Authorization header has no key behind "${scheme}" (is a variable empty?)`
  if (rest.length > 1) return `The Authorization header has spaces in the key behind "${scheme}"`
  return `The Authorization header has the scheme "${scheme}"`
}
