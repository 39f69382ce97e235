/** Decides whether a credential that was looked up admits its account. */
import type { Entry } from '../credentials/credentials.ts'
import type { FailedAuthLimiter } from '../credentials/failed-auth-limiter.ts'
import { refusal } from '../credentials/faults.ts'
import type { Kind } from '../credentials/secret.ts'
import type { Account } from '../slots.ts'

export const KIND_NAMES: Readonly<Record<Kind, string>> = {
  key: 'an API key (sk-…)',
  'system-token': 'a system token (st-…)',
  session: 'a session of the console',
  'sign-in-link': 'a sign-in link',
}

export const requireRole = (role: Account['role'], account: Account | undefined): void => {
  if (role === 'admin' && account?.role !== 'admin') throw refusal('AUTH_ROLE', [role])
}

interface Caller {
  readonly limiter: FailedAuthLimiter
  readonly address: string
  readonly role: Account['role']
}
/** Throws AUTH_… unless the credential is valid and its account has the role. */
export const accountOf = (
  { account, refusalCode, expires }: Entry,
  { limiter, address, role }: Caller,
): Account => {
  if (refusalCode === 'AUTH_UNKNOWN' || !account) throw unknownOr(refusalCode, limiter, address)
  if (expires <= Date.now()) throw refusal('AUTH_EXPIRED')
  requireRole(role, account)
  return account
}
const unknownOr = (code: Entry['refusalCode'], limiter: FailedAuthLimiter, address: string) =>
  code === undefined || code === 'AUTH_UNKNOWN' ? limiter.countFailure(address) : refusal(code)
