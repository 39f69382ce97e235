/** Extracts the credential of a request: one reader per source, one list of sources per mode. */
import type { Exchange, Headers, HostBase, Request, Route } from '../../engine/plugin.ts'
import type { Account } from '../slots.ts'
import { AUTH, type AuthOptions } from './auth-option.ts'
import { hasSecureUrl, sessionCookie } from './session-cookie.ts'

export type Mode = 'key' | 'query-key' | 'system-token' | 'session' | 'none'
export interface AuthRequirement {
  readonly modes: readonly Mode[]
  /** Plugins whose stages may have set the account. */
  readonly plugins: readonly string[]
  /** An admin has all rights of a customer. */
  readonly role: Account['role']
}
export const authRequirementOf = (options: AuthOptions): AuthRequirement => {
  const read = AUTH.read(options)
  const { by, role } = 'role' in read ? read : ({ by: read, role: 'customer' } as const)
  return { modes: by.filter(isMode), plugins: by.filter(name => !isMode(name)), role }
}
const isMode = (name: string): name is Mode => Object.hasOwn(SOURCES, name)
export const modeNames = (): readonly string[] => Object.keys(SOURCES)
/** Whether an API key in a header, of any role, may call the route. */
export const takesAnyKey = (route: Pick<Route, 'option'> | undefined): boolean => {
  const options = route?.option('auth') as AuthOptions | undefined
  const { modes, role } = options === undefined ? NO_REQUIREMENT : authRequirementOf(options)
  return role === 'customer' && modes.includes('key')
}
/** Whether no credential is read on the route: `auth: none`. */
export const isOpen = (route: Pick<Route, 'option'>): boolean => {
  const { modes, plugins } = authRequirementOf((route.option('auth') ?? 'key') as AuthOptions)
  return plugins.length === 0 && modes.every(mode => mode === 'none')
}
/** Whether tokens of the identity provider may call the route. */
export const takesTokens = (route: Pick<Route, 'option'>): boolean => {
  const options = route.option('auth') as AuthOptions | undefined
  return options !== undefined && authRequirementOf(options).plugins.includes('jwt')
}
const NO_REQUIREMENT: AuthRequirement = { modes: [], plugins: [], role: 'customer' }

/** Reads the credential that a request of this route carries, as `auth` reads it. */
export const routeCredentialReader = (host: {
  readonly route: Pick<Route, 'option'>
  readonly url: HostBase['url']
}): CredentialReader => {
  const options = (host.route.option('auth') ?? 'key') as AuthOptions
  return readerOf(authRequirementOf(options).modes, hasSecureUrl(host))
}

/** `null`: two different credentials; undefined: none. */
type ExtractedCredential = string | undefined | null
type CredentialReader = (exchange: Exchange) => ExtractedCredential

/** Creates the reader for all modes of a route. `isSecure`: browsers reach the gateway by TLS. */
export const readerOf = (modes: readonly Mode[], isSecure: boolean): CredentialReader => {
  const sources = [...new Set(modes.flatMap(mode => SOURCES[mode]))]
  const inHeaders: CredentialReader = exchange => {
    let credential: string | undefined
    for (const source of sources) {
      const candidate = source(exchange.request, exchange.kind)
      if (candidate === undefined || candidate === credential) continue
      // Two credentials do not determine which account pays.
      if (credential !== undefined) return null
      credential = candidate
    }
    return credential
  }
  // The query has priority over the headers, and the cookie, which a browser adds, comes last.
  const readers = [
    ...(modes.includes('query-key') ? [fromQuery] : []),
    inHeaders,
    ...(modes.includes('session') ? [fromCookie(isSecure)] : []),
  ]
  return readers.length === 1 ? inHeaders : exchange => firstCredential(readers, exchange)
}
const firstCredential = (
  readers: readonly CredentialReader[],
  exchange: Exchange,
): ExtractedCredential => {
  for (const read of readers) {
    const credential = read(exchange)
    if (credential !== undefined) return credential
  }
  return undefined
}
const fromQuery: CredentialReader = ({ request }) => queryCredential(request)
const fromCookie =
  (isSecure: boolean): CredentialReader =>
  ({ request }) =>
    sessionCookie(request, isSecure)

const queryCredential = ({ query }: Request): ExtractedCredential => {
  const [key, ...more] = new Set(query.getAll('key').filter(Boolean))
  return more.length > 0 ? null : key
}

type CredentialSource = (request: Request, kind: Exchange['kind']) => string | undefined
// RFC 9110 §11.1: the case of the scheme does not matter. SDKs write `Bearer x`, which needs no
// pattern.
const authorizationSource =
  (pattern: RegExp): CredentialSource =>
  ({ headers: { authorization } }) => {
    if (authorization === undefined) return undefined
    const isPlainBearer = authorization.startsWith('Bearer ') && authorization.indexOf(' ', 7) < 0
    const token = isPlainBearer ? authorization.slice(7) : pattern.exec(authorization)?.[1]
    return token || undefined
  }
const headerSource =
  (name: string): CredentialSource =>
  ({ headers }) =>
    headers[name] || undefined
const PROTOCOL = 'openai-insecure-api-key.'
export const isKeyProtocol = (protocol: string): boolean => protocol.startsWith(PROTOCOL)
/** Browsers cannot set a header on a WebSocket, so clients send the key as a subprotocol. */
const subprotocolSource: CredentialSource = ({ headers }, kind) =>
  kind !== 'websocket'
    ? undefined
    : headers['sec-websocket-protocol']
        ?.split(/\s*,\s*/)
        .find(each => each.startsWith(PROTOCOL))
        ?.slice(PROTOCOL.length)

/** The headers, beside Authorization, in which SDKs send an API key. */
export const CREDENTIAL_HEADERS = ['x-api-key', 'x-goog-api-key', 'api-key', 'mj-api-secret']

const SOURCES: Readonly<Record<Mode, readonly CredentialSource[]>> = {
  key: [
    authorizationSource(/^(?:Bearer|Token) +([^ ]+) *$/i),
    ...CREDENTIAL_HEADERS.map(headerSource),
    subprotocolSource,
  ],
  'query-key': [],
  'system-token': [authorizationSource(/^(?:Bearer +)?([^ ]+) *$/i)],
  session: [],
  none: [],
}

/** Removes the `key` parameters of a path; the rest stays byte for byte. */
export const removeQueryKey = (path: string): string => {
  const at = path.indexOf('?')
  if (at < 0) return path
  const pairs = path
    .slice(at + 1)
    .split('&')
    // Decode as the query parser does: `k%65y` is a key too.
    .filter(pair => !new URLSearchParams(pair).has('key'))
  return path.slice(0, at) + (pairs.length > 0 ? `?${pairs.join('&')}` : '')
}

/** Removes the API key from the subprotocols. */
export const removeSubprotocolKey = (headers: Headers): void => {
  const protocolHeader = headers['sec-websocket-protocol']
  if (protocolHeader === undefined) return
  const protocols = String(protocolHeader)
    .split(/\s*,\s*/)
    .filter(each => !each.startsWith(PROTOCOL))
  if (protocols.length > 0) headers['sec-websocket-protocol'] = protocols.join(', ')
  else delete headers['sec-websocket-protocol']
}
