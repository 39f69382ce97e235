/** Finds the operator whose system token a request to the admin listener has. */
import type { HostBase, Operator, PresentedCredential } from '../../engine/plugin.ts'
import { refusal } from '../credentials/faults.ts'
import { shareLookups } from '../credentials/lookups.ts'
import { requireScope } from '../credentials/scopes.ts'
import { claimedKind } from '../credentials/secret.ts'
import { accountOf, KIND_NAMES } from './admission.ts'

const KIND = 'system-token'

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
