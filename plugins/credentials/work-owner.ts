/** The owner of accepted work: the account, and the credential, of a batch line, a waiting task, a
 *  background response or a copy. None of them begins after the key expired or was revoked, the
 *  member of a session left the team, or the account was suspended or deleted. `auth` brings the
 *  lookup: without it no owner can lose access. */
import type { Exchange, Fault, Host, HostBase, Json } from '../../engine/plugin.ts'
import { ACCOUNT, type Account, SECRET_DIGEST } from '../slots.ts'
import { refusal } from './faults.ts'
import { FIND_OWNER } from './statements.ts'

interface OwnerLookup {
  find?(account: Account, secretDigest?: string): Promise<Fault | undefined>
}
const lookupOf = (host: Pick<HostBase, 'share'>): OwnerLookup =>
  host.share<OwnerLookup>('accounts/work-owner', '1', () => ({}))

/** Lets the plugins that accept work ask about its owner. */
export const offerOwnerLookup = (host: Pick<Host, 'share' | 'database'>): void => {
  lookupOf(host).find = async ({ id, key, session, token, member }, secretDigest) => {
    // A key may pass to another member, so it stands for itself.
    const person = key ? undefined : member?.id
    const credential = [session, key?.id, token, person].map(each => each ?? null)
    const digest = secretDigest ?? null
    const [row] = await host.database.read(FIND_OWNER, [...credential, digest, digest, id])
    if (!row) return undefined
    const { suspended, revoked, expires, until } = row
    if (suspended !== null) return refusal('AUTH_SUSPENDED')
    if (revoked !== null) return refusal('AUTH_REVOKED')
    const hasEnded = (end: unknown) => end !== null && Number(end) <= Date.now()
    return hasEnded(expires) || hasEnded(until) ? refusal('AUTH_EXPIRED') : undefined
  }
}

/** Why work of this owner may not begin: AUTH_REVOKED, AUTH_EXPIRED or AUTH_SUSPENDED. Undefined:
 *  it may begin. `slots`: as the work stores them. `secretDigest`: of the secret that must still be
 *  valid; by default work belongs to its key, and goes on after a rotation. */
export const refusalOfOwner = async (
  host: Pick<HostBase, 'share'>,
  slots: Readonly<Record<string, Json>>,
  secretDigest?: string,
): Promise<Fault | undefined> => {
  const account = slots[ACCOUNT.name] as Account | undefined
  return account && lookupOf(host).find?.(account, secretDigest)
}

/** ms between two looks at the owner of a session that stays open. */
const LOOK_INTERVAL = 500
/** Looks at the owner of an open session, each message of which is a request with the secret that
 *  opened it. Rejects with the refusal; undefined: the last look is recent. */
export const createOwnerWatch = (
  host: Pick<HostBase, 'share'>,
  slots: Exchange['slots'],
): (() => Promise<void> | undefined) => {
  const owner = slots.toJson()
  const digest = slots.get(SECRET_DIGEST)
  let lookedAt = performance.now()
  return () => {
    const now = performance.now()
    if (now - lookedAt < LOOK_INTERVAL) return undefined
    lookedAt = now
    return refusalOfOwner(host, owner, digest).then(refusal => {
      if (refusal) throw refusal
    })
  }
}
