/** The stage of a route that requires a credential: extracts it, looks up its account, and refuses
 *  invalid ones. */
import type { Exchange, Next, Stage } from '../../engine/plugin.ts'
import {
  type AuthRequirement,
  readerOf,
  removeQueryKey,
  removeSubprotocolKey,
} from '../credentials/credential-extraction.ts'
import type { Credentials, Entry } from '../credentials/credentials.ts'
import type { FailedAuthLimiter } from '../credentials/failed-auth-limiter.ts'
import { refusal } from '../credentials/faults.ts'
import { claimedKind, type Kind } from '../credentials/secret.ts'
import { ACCOUNT } from '../slots.ts'

const NAMES: Readonly<Record<Kind, string>> = {
  key: 'an API key (sk-…)',
  'system-token': 'a system token (st-…)',
}

export interface AuthStageOptions extends AuthRequirement {
  /** The kinds of credentials that the modes accept. */
  readonly kinds: ReadonlySet<Kind>
  readonly credentials: Credentials
  readonly limiter: FailedAuthLimiter
  readonly isWebSocket: boolean
}

export const createAuthStage = (options: AuthStageOptions): Stage => {
  const { modes, role, kinds, credentials, limiter } = options
  const read = readerOf(modes)
  const isOptional = modes.includes('none')
  const [firstKind = 'key'] = kinds
  /** The credential to look up; undefined: the request has none. Throws AUTH_… if the route does
   *  not accept it. */
  const credentialOf = (exchange: Exchange): string | undefined => {
    const credential = read(exchange)
    if (credential === null) throw refusal('AUTH_AMBIGUOUS')
    if (credential === undefined) {
      if (isOptional) return undefined
      throw refusal('AUTH_MISSING', [firstKind === 'key' ? 'sk-' : 'st-'])
    }
    const kind = claimedKind(credential)
    if (kind && !kinds.has(kind)) throw refusal('AUTH_KIND', [NAMES[firstKind], NAMES[kind]])
    return credential
  }
  const lookUp = async (credential: string, exchange: Exchange, next: Next): Promise<void> => {
    const kind = claimedKind(credential) ?? firstKind
    const { address } = exchange.request.client
    const entry = await limiter.lookUp(address, isSuspect =>
      credentials.find(credential, kind, isSuspect),
    )
    admit(exchange, entry)
    await next()
  }
  const admit = (exchange: Exchange, { account, refusalCode, expires }: Entry): void => {
    if (refusalCode === 'AUTH_UNKNOWN') throw limiter.countFailure(exchange.request.client.address)
    if (refusalCode) throw refusal(refusalCode)
    if (expires <= Date.now()) throw refusal('AUTH_EXPIRED')
    if (role === 'admin' && account?.role !== 'admin') throw refusal('AUTH_ROLE', [role])
    if (account) exchange.slots.set(ACCOUNT, account)
  }
  return {
    handle(exchange, next) {
      const credential = credentialOf(exchange)
      if (credential === undefined) return next()
      const entry = credentials.findCached(credential)
      if (!entry) return lookUp(credential, exchange, next)
      admit(exchange, entry)
      return next()
    },
    ...keyRemoval(options),
    explain: exchange => ({
      takes: modes,
      ...(role === 'admin' && { role }),
      given: describe(read(exchange)),
    }),
  }
}

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
  return credential === undefined ? 'none' : NAMES[claimedKind(credential) ?? 'key']
}
