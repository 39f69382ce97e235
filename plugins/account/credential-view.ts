/** Credentials as their account sees them, without the secret. */
import type { Json, Row } from '../../engine/plugin.ts'
import { quotasOf } from '../billing/money.ts'
import { quotaSettingOf } from '../credentials/quota.ts'
import { nanosOf } from '../ledger/statements.ts'
import { keyFunds, maskKey } from './funds.ts'
import { exactNumber, isoTime } from './response.ts'
import type { OwnKind } from './statements.ts'

type Fields = { readonly [name: string]: Json }

/** The member that names a credential. */
export const MEMBERS: Readonly<Record<OwnKind, string>> = {
  key: 'key',
  'system-token': 'token',
  session: 'session',
}

export const viewOf = (kind: OwnKind, row: Row, now: number): Fields => ({
  id: Number(row.id),
  name: String(row.name),
  [MEMBERS[kind]]: maskKey(row),
  state: stateOf(row, now),
  created: isoTime(row.created),
  expires: row.expires === null ? null : isoTime(row.expires),
  ...(kind === 'key' && keyMembers(row)),
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
    models: jsonOf(row.models),
    limits: jsonOf(row.limits),
    quota,
    quota_period,
    remaining_quota: hasQuota ? exactNumber(amounts.remaining) : null,
    used_quota: exactNumber(quota_period === null ? amounts.used : ofPeriod),
  }
}
const jsonOf = (text: unknown): Json => (typeof text === 'string' ? JSON.parse(text) : null)
