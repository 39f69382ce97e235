/** Credentials as their account sees them, and the funds of keys. */
import type { Json, Row } from '../../engine/plugin.ts'
import { parseQuota, quotasOf } from '../billing/money.ts'
import { quotaSettingOf } from '../credentials/quota.ts'
import type { Kind } from '../credentials/secret.ts'
import { nanosOf } from '../ledger/statements.ts'
import { isoTime, jsonOf } from './rows.ts'

/** The kinds of credentials that an account lists. */
export type OwnKind = Exclude<Kind, 'sign-in-link'>
/** The member that names a credential. */
export const MEMBERS: Readonly<Record<OwnKind, string>> = {
  key: 'key',
  'system-token': 'token',
  session: 'session',
}
type Fields = { readonly [name: string]: Json }

/** A key and its funds: the funds of its quota, or else of its account. Nanos. */
export interface KeyFunds {
  readonly row: Row
  readonly hasQuota: boolean
  readonly remaining: bigint
  readonly used: bigint
}
/** The wallet of a key is created by its first call: until then the whole quota remains. */
export const keyFunds = (row: Row): KeyFunds => {
  if (row.quota === null)
    return { row, hasQuota: false, remaining: nanosOf(row.balance), used: nanosOf(row.used) }
  const whole = parseQuota(row.quota)
  const remaining = row.own_balance == null ? whole : nanosOf(row.own_balance)
  return { row, hasQuota: true, remaining, used: nanosOf(row.own_used) }
}
/** The usual mask of such services: the first four characters, ten stars, the last four. */
export const maskKey = ({ prefix, last_four: last }: Row): string =>
  `${String(prefix).slice(0, 4)}**********${last}`

/** `row`: of a credential; of a key with its funds. */
export const ownView = (kind: OwnKind, row: Row, now: number): Fields => ({
  id: Number(row.id),
  member: row.member_name == null ? null : String(row.member_name),
  name: String(row.name),
  [MEMBERS[kind]]: maskKey(row),
  state: stateOf(row, now),
  created: isoTime(row.created),
  expires: row.expires === null ? null : isoTime(row.expires),
  ...(kind === 'key' && keyMembers(row)),
  ...(kind === 'system-token' && { scope: row.scope == null ? 'all' : String(row.scope) }),
})
const stateOf = ({ revoked, expires }: Row, now: number): string => {
  if (revoked !== null) return 'revoked'
  return expires !== null && Number(expires) <= now ? 'expired' : 'active'
}
const keyMembers = (row: Row): Fields => {
  const { hasQuota, remaining } = keyFunds(row)
  const { quota, quota_period } = quotaSettingOf(row)
  // A key without a quota counts its usage too.
  const amounts = quotasOf(hasQuota ? remaining : 0n, nanosOf(row.own_used))
  const ofPeriod = BigInt(quota ?? 0) - amounts.remaining
  return {
    models: jsonOf<Json>(row.models),
    limits: jsonOf<Json>(row.limits),
    quota,
    quota_period,
    remaining_quota: hasQuota ? Number(amounts.remaining) : null,
    used_quota: Number(quota_period === null ? amounts.used : ofPeriod),
  }
}
