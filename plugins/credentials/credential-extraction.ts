/** Where a request carries its credential: one reader per place, one list of places per mode. */
import type { Exchange, Headers, Request, Route } from '../../engine/plugin.ts'
import type { Account } from '../slots.ts'

export type Mode = 'key' | 'query-key' | 'system-token' | 'none'
/** Any of these, for any account. */
type Modes = Mode | readonly Mode[]
/** What a route says under `auth`. */
export type AuthOptions = Modes | { readonly by?: Modes; readonly role: Account['role'] }
export interface AuthRequirement {
  readonly modes: readonly Mode[]
  /** An admin may do what a customer may. */
  readonly role: Account['role']
}
export const authRequirementOf = (options: AuthOptions): AuthRequirement => {
  const plain = typeof options === 'string' || Array.isArray(options)
  const { by = 'key', role } = plain
    ? { by: options as Modes, role: 'customer' as const }
    : (options as Exclude<AuthOptions, Modes>)
  return { modes: typeof by === 'string' ? [by] : by, role }
}
/** Whether whoever has an API key in a header, and no role, may call it. */
export const takesAnyKey = (route: Pick<Route, 'option'> | undefined): boolean => {
  const options = route?.option('auth') as AuthOptions | undefined
  const { modes, role } = options === undefined ? NO_REQUIREMENT : authRequirementOf(options)
  return role === 'customer' && modes.includes('key')
}
const NO_REQUIREMENT: AuthRequirement = { modes: [], role: 'customer' }

/** What was found; `null`: two that differ. */
type ExtractedCredential = string | undefined | null
type CredentialReader = (exchange: Exchange) => ExtractedCredential

/** A reader for all of a route's modes. */
export const readerOf = (modes: readonly Mode[]): CredentialReader => {
  const places = [...new Set(modes.flatMap(mode => SOURCES[mode]))]
  const inHeaders: CredentialReader = exchange => {
    let found: string | undefined
    for (const place of places) {
      const here = place(exchange.request, exchange.kind)
      if (here === undefined || here === found) continue
      // Which of two would pay? Better to ask than to guess.
      if (found !== undefined) return null
      found = here
    }
    return found
  }
  if (!modes.includes('query-key')) return inHeaders
  // The one in the query counts, whatever the headers say.
  return exchange => {
    const found = queryCredential(exchange.request)
    return found === undefined ? inHeaders(exchange) : found
  }
}

const queryCredential = ({ query }: Request): ExtractedCredential => {
  const [key, ...more] = new Set(query.getAll('key').filter(Boolean))
  return more.length > 0 ? null : key
}

type CredentialSource = (request: Request, kind: Exchange['kind']) => string | undefined
// RFC 9110 §11.1: the scheme's case does not matter. All SDKs write `Bearer x`, which needs no pattern.
const authorizationSource =
  (pattern: RegExp): CredentialSource =>
  ({ headers: { authorization } }) => {
    if (authorization === undefined) return undefined
    const plain = authorization.startsWith('Bearer ') && authorization.indexOf(' ', 7) < 0
    const found = plain ? authorization.slice(7) : pattern.exec(authorization)?.[1]
    return found || undefined
  }
const headerSource =
  (name: string): CredentialSource =>
  ({ headers }) =>
    headers[name] || undefined
const PROTOCOL = 'openai-insecure-api-key.'
/** Browsers cannot set a header on a WebSocket, so the key travels among the subprotocols. */
const subprotocolSource: CredentialSource = ({ headers }, kind) =>
  kind !== 'websocket'
    ? undefined
    : headers['sec-websocket-protocol']
        ?.split(/\s*,\s*/)
        .find(each => each.startsWith(PROTOCOL))
        ?.slice(PROTOCOL.length)

/** Beside Authorization: headers that SDKs send an API key in. */
export const CREDENTIAL_HEADERS = ['x-api-key', 'x-goog-api-key', 'api-key', 'mj-api-secret']

const SOURCES: Readonly<Record<Mode, readonly CredentialSource[]>> = {
  key: [
    authorizationSource(/^(?:Bearer|Token) +([^ ]+) *$/i),
    ...CREDENTIAL_HEADERS.map(headerSource),
    subprotocolSource,
  ],
  'query-key': [],
  'system-token': [authorizationSource(/^(?:Bearer +)?([^ ]+) *$/i)],
  none: [],
}

/** The path without its `key` parameters; all else stays byte for byte. */
export const removeQueryKey = (path: string): string => {
  const at = path.indexOf('?')
  if (at < 0) return path
  const pairs = path
    .slice(at + 1)
    .split('&')
    // Decoded as the query was: `k%65y` is a key too.
    .filter(pair => !new URLSearchParams(pair).has('key'))
  return path.slice(0, at) + (pairs.length > 0 ? `?${pairs.join('&')}` : '')
}

/** Leaves only the subprotocols that are subprotocols. */
export const removeSubprotocolKey = (headers: Headers): void => {
  const offered = headers['sec-websocket-protocol']
  if (offered === undefined) return
  const protocols = String(offered)
    .split(/\s*,\s*/)
    .filter(each => !each.startsWith(PROTOCOL))
  if (protocols.length > 0) headers['sec-websocket-protocol'] = protocols.join(', ')
  else delete headers['sec-websocket-protocol']
}
