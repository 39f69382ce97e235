/** The stage of a route that requires a credential: extracts it, looks up its account, and refuses
 *  invalid ones. */
import type { Exchange, HostBase, Next, RouteDescription, Stage } from '../../engine/plugin.ts'
import {
  type AuthRequirement,
  CREDENTIAL_HEADERS,
  type Mode,
  readerOf,
  removeQueryKey,
  removeSubprotocolKey,
} from '../credentials/credential-extraction.ts'
import type { Credentials, Entry } from '../credentials/credentials.ts'
import type { FailedAuthLimiter } from '../credentials/failed-auth-limiter.ts'
import { refusal } from '../credentials/faults.ts'
import { type Access, requireAccess } from '../credentials/members.ts'
import { missingCredentialText } from '../credentials/missing-credential.ts'
import { requireScope } from '../credentials/scopes.ts'
import { claimedKind, type Kind } from '../credentials/secret.ts'
import { cookieName, hasSecureUrl, isFromConsole } from '../credentials/session-cookie.ts'
import { ACCOUNT, type Account, SECRET_DIGEST } from '../slots.ts'
import type { PlaceRules } from '../zones/rule.ts'
import { accountOf, KIND_NAMES, requireRole } from './admission.ts'

export interface AuthStageOptions extends AuthRequirement {
  /** The kinds of credentials that the modes accept. */
  readonly kinds: ReadonlySet<Kind>
  readonly credentials: Credentials
  readonly limiter: FailedAuthLimiter
  readonly isWebSocket: boolean
  readonly isRead: boolean
  /** The route changes API keys. */
  readonly isOfKeys: boolean
  /** The role of a member of the team must allow it; undefined: another stage checks that. */
  readonly access: Access | undefined
  readonly url: HostBase['url']
  readonly places: PlaceRules
}

const checkRights = (
  account: Account,
  { request: { method } }: Exchange,
  { access, isWebSocket, isOfKeys }: AuthStageOptions,
): void => {
  if (access) requireAccess(account, access)
  const isRead = !isWebSocket && (method === 'GET' || method === 'HEAD')
  requireScope(account, { isRead, isOfKeys })
}

const setAccount = (
  { slots, request }: Exchange,
  account: Account,
  { digest }: Entry,
  { isWebSocket }: AuthStageOptions,
): void => {
  slots.set(ACCOUNT, account)
  request.setCaller?.(String(account.id))
  if (isWebSocket) slots.set(SECRET_DIGEST, digest)
}

/** Checks the role and the rights of an account that a plugin has set. */
const checkKnown = (account: Account, { role, access }: AuthStageOptions): void => {
  requireRole(role, account)
  if (access) requireAccess(account, access)
}

export const createAuthStage = (options: AuthStageOptions): Stage => {
  const { modes, plugins, role, kinds, credentials, limiter, places } = options
  const read = readerOf(modes, hasSecureUrl(options))
  const isOptional = modes.includes('none')
  const [firstKind = 'key'] = kinds
  /** The credential to look up; undefined: the request has none. Throws AUTH_… if the route does
   *  not accept it. */
  const credentialOf = (exchange: Exchange): string | undefined => {
    const credential = read(exchange)
    if (credential === null) throw refusal('AUTH_AMBIGUOUS')
    if (credential === undefined) {
      if (isOptional) return undefined
      if (firstKind === 'session') throw refusal('AUTH_SIGNED_OUT')
      throw refusal('AUTH_MISSING', [missingCredentialText(exchange.request, modes)])
    }
    const kind = claimedKind(credential)
    if (kind && !kinds.has(kind))
      throw refusal('AUTH_KIND', [KIND_NAMES[firstKind], KIND_NAMES[kind]])
    if (kind === 'session' && !isFromConsole(exchange, credential)) throw refusal('AUTH_CSRF')
    return credential
  }
  const lookUp = async (credential: string, exchange: Exchange, next: Next): Promise<void> => {
    const kind = claimedKind(credential) ?? (kinds.has('key') ? 'key' : firstKind)
    const { address } = exchange.request.client
    const entry = await limiter.lookUp(address, isSuspect =>
      credentials.find(credential, kind, isSuspect),
    )
    admit(exchange, entry)
    await next()
  }
  const admit = (exchange: Exchange, entry: Entry): void => {
    const account = accountOf(entry, { limiter, address: exchange.request.client.address, role })
    checkRights(account, exchange, options)
    setAccount(exchange, account, entry, options)
    places.applyAccount(exchange, account)
  }
  return {
    describe: () => describeCredentials(options),
    handle(exchange, next) {
      const known = plugins.length > 0 ? exchange.slots.get(ACCOUNT) : undefined
      if (known) {
        checkKnown(known, options)
        places.applyAccount(exchange, known)
        return next()
      }
      const credential = credentialOf(exchange)
      if (credential === undefined) return next()
      const entry = credentials.findCached(credential)
      if (!entry) return lookUp(credential, exchange, next)
      admit(exchange, entry)
      return next()
    },
    ...keyRemoval(options),
    explain: exchange => ({
      takes: [...modes, ...plugins],
      ...(role === 'admin' && { role }),
      given: describe(read(exchange)),
    }),
  }
}

const HEADERS = ['authorization', ...CREDENTIAL_HEADERS]
const inHeader = (kind: string) => (name: string) => ({ kind, in: 'header' as const, name })
/** Where each mode looks for a credential. */
const placesOf = (
  isSecure: boolean,
): Readonly<Record<Mode, NonNullable<RouteDescription['credentials']>>> => ({
  key: HEADERS.map(inHeader('API key')),
  'query-key': [{ kind: 'API key', in: 'query', name: 'key' }],
  'system-token': [inHeader('system token')('authorization')],
  session: [{ kind: 'session', in: 'cookie', name: cookieName(isSecure) }],
  none: [],
})
const CSRF = {
  name: 'x-csrf-token',
  in: 'header',
  description: 'With a session: `csrf` of GET /api/session',
  schema: { type: 'string' },
} as const
const describeCredentials = ({ modes, role, isRead, url }: AuthStageOptions): RouteDescription => ({
  credentials: modes.flatMap(mode => placesOf(hasSecureUrl({ url }))[mode]),
  ...(modes.includes('none') && { isOpen: true }),
  ...(role === 'admin' && { role }),
  ...(modes.includes('session') && !isRead && { parameters: [CSRF] }),
  refusals: {
    401: 'No credential, or one that is not valid',
    ...(role === 'admin' && { 403: 'The account has not the role admin' }),
  },
})

/** Removes the client's key from the query and the subprotocols: the upstream has its own key. */
const keyRemoval = ({ modes, isWebSocket }: AuthStageOptions): Pick<Stage, 'forward'> => {
  const inQuery = modes.includes('query-key')
  if (!inQuery && !isWebSocket) return {}
  return {
    async forward({ request }, next) {
      if (inQuery) request.path = removeQueryKey(request.path)
      if (isWebSocket) removeSubprotocolKey(request.headers)
      await next()
    },
  }
}

const describe = (credential: string | null | undefined): string => {
  if (credential === null) return 'two that differ'
  return credential === undefined ? 'none' : KIND_NAMES[claimedKind(credential) ?? 'key']
}
