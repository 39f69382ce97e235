/** The owner of accepted work: the account, and the credential, of a batch line, a waiting task, a
 *  background response or a copy. None of them begins after the key expired or was revoked, the
 *  member of a session left the team, or the account was suspended or deleted. `auth` brings the
 *  lookup: without it no owner can lose access. */
import type { Fault, Host, HostBase, Json } from '../../engine/plugin.ts'
import { ACCOUNT, type Account } from '../slots.ts'
import { refusal } from './faults.ts'
import { FIND_OWNER } from './statements.ts'

interface OwnerLookup {
  find?(account: Account): Promise<Fault | undefined>
}
const lookupOf = (host: Pick<HostBase, 'share'>): OwnerLookup =>
  host.share<OwnerLookup>('accounts/work-owner', '1', () => ({}))

/** Lets the plugins that accept work ask about its owner. */
export const offerOwnerLookup = (host: Pick<Host, 'share' | 'database'>): void => {
  lookupOf(host).find = async ({ id, key, session, token, member }) => {
    // A key may pass to another member, so it stands for itself.
    const person = key ? undefined : member?.id
    const credential = [session, key?.id, token, person].map(each => each ?? null)
    const [row] = await host.database.read(FIND_OWNER, [...credential, id])
    if (!row) return undefined
    const { suspended, revoked, expires } = row
    if (suspended !== null) return refusal('AUTH_SUSPENDED')
    if (revoked !== null) return refusal('AUTH_REVOKED')
    const hasExpired = expires !== null && Number(expires) <= Date.now()
    return hasExpired ? refusal('AUTH_EXPIRED') : undefined
  }
}

/** Why work of this owner may not begin: AUTH_REVOKED, AUTH_EXPIRED or AUTH_SUSPENDED. Undefined:
 *  it may begin. `slots`: as the work stores them. */
export const refusalOfOwner = async (
  host: Pick<HostBase, 'share'>,
  slots: Readonly<Record<string, Json>>,
): Promise<Fault | undefined> => {
  const account = slots[ACCOUNT.name] as Account | undefined
  return account && lookupOf(host).find?.(account)
}

/** ms between two looks at the owner of a session that stays open. */
const LOOK_INTERVAL = 500
/** Looks at the owner of an open session. Rejects with the refusal; undefined: the last look is
 *  recent. */
export const createOwnerWatch = (
  host: Pick<HostBase, 'share'>,
  slots: Readonly<Record<string, Json>>,
): (() => Promise<void> | undefined) => {
  let lookedAt = performance.now()
  return () => {
    const now = performance.now()
    if (now - lookedAt < LOOK_INTERVAL) return undefined
    lookedAt = now
    return refusalOfOwner(host, slots).then(refusal => {
      if (refusal) throw refusal
    })
  }
}
