/** Finds the operator whose system token a request to the admin listener has. */
import type { HostBase, Operator, PresentedCredential } from '../../engine/plugin.ts'
import { Credentials } from '../credentials/credentials.ts'
import { FailedAuthLimiter } from '../credentials/failed-auth-limiter.ts'
import { refusal } from '../credentials/faults.ts'
import { requireScope } from '../credentials/scopes.ts'
import { claimedKind } from '../credentials/secret.ts'
import { offerOwnerLookup } from '../credentials/work-owner.ts'
import { accountOf, KIND_NAMES } from './admission.ts'

const KIND = 'system-token'

/** The lookups of this process, shared by all routes and the admin listener; other plugins can ask
 *  about the owner of accepted work from now on. */
export const shareLookups = (host: Pick<HostBase, 'share' | 'database'>) => {
  offerOwnerLookup(host)
  return {
    credentials: host.share('accounts/credentials', '1', () => new Credentials(host.database)),
    limiter: host.share('accounts/failed-auth-limiter', '1', () => new FailedAuthLimiter()),
  }
}

/** Throws AUTH_… for any credential but a system token of an account with the role admin. */
export const authorizeOperator = async (
  { authorization, address }: PresentedCredential,
  host: HostBase,
): Promise<Operator> => {
  const [, token = ''] = /^Bearer +([^ ]+) *$/i.exec(authorization) ?? []
  const kind = claimedKind(token)
  if (kind && kind !== KIND) throw refusal('AUTH_KIND', [KIND_NAMES[KIND], KIND_NAMES[kind]])
  const { credentials, limiter } = shareLookups(host)
  const entry =
    credentials.findCached(token) ??
    (await limiter.lookUp(address, isSuspect => credentials.find(token, KIND, isSuspect)))
  const account = accountOf(entry, { limiter, address, role: 'admin' })
  requireScope(account, { isRead: false, isOfKeys: false })
  const { id, name } = account
  return { id, name }
}
