/** API keys and system tokens as an operator sees and changes them, for commands and admin
 *  endpoints. */
import type { Database, Row, Sql, Value } from '../../engine/plugin.ts'
import { parseQuota, printMoney, quotaOf } from '../billing/money.ts'
import { fault } from '../credentials/faults.ts'
import { type QuotaChange, quotaSettingOf } from '../credentials/quota.ts'
import { makeSecret, maskSecret } from '../credentials/secret.ts'
import {
  type CredentialChanges,
  changeCredential,
  FIND_BY_ID,
  keyRows,
  LIST_CREDENTIALS,
  LIST_CREDENTIALS_OF,
  type Rotated,
  replaceSecret,
} from '../credentials/statements.ts'
import { nanosOf } from '../ledger/statements.ts'
import { changeKeyQuota } from '../ledger/views/key-quotas.ts'
import { withFunds } from '../ledger/views/wallets.ts'
import { writeWithRetry } from '../ledger/write-with-retry.ts'
import type { KeyView, Limits } from '../views.ts'
import { isoTime, jsonOf, readAll, whenCode } from './rows.ts'

type Reads = Pick<Database, 'read' | 'pages'>
type Writes = Pick<Database, 'read' | 'pages' | 'write' | 'now'>

export const NOUNS: Readonly<Record<Rotated, string>> = {
  key: 'API key',
  'system-token': 'system token',
}

const PAGE = 'k.id > ? ORDER BY k.id LIMIT ?'
const FUNDS: Sql = { name: 'operator: key funds', text: withFunds(keyRows(PAGE)) }
const FUNDS_OF: Sql = {
  name: 'operator: key funds of',
  text: withFunds(keyRows(`k.account = ? AND ${PAGE}`)),
}
/** By number. `account`: of this account only. */
export const listKeys = async (
  database: Reads,
  { account, kind = 'key', now }: { account?: number | undefined; kind?: Rotated; now: number },
): Promise<readonly KeyView[]> => {
  const all = account === undefined
  const values = all ? [0] : [account, 0]
  const [rows, funds] = await Promise.all([
    readAll(database, (all ? LIST_CREDENTIALS : LIST_CREDENTIALS_OF)[kind], values),
    kind === 'key' ? readAll(database, all ? FUNDS : FUNDS_OF, values) : [],
  ])
  const fundsById = new Map(funds.map(row => [Number(row.id), row]))
  return rows.map(row => viewOf(row, fundsById.get(Number(row.id)), now))
}
/** Throws KEY_UNKNOWN. */
export const keyDetails = async (
  database: Reads,
  kind: Rotated,
  id: number,
  now: number,
): Promise<KeyView> => {
  const row = await findKey(database, kind, id)
  return viewOf(row, kind === 'key' ? await fundsOf(database, row) : undefined, now)
}
const fundsOf = async (database: Reads, { id }: Row): Promise<Row | undefined> => {
  const [row] = await database.read(FUNDS, [Number(id) - 1, 1])
  return row
}
const findKey = async (
  database: Pick<Database, 'read'>,
  kind: Rotated,
  id: number,
): Promise<Row> => {
  const [row] = await database.read(FIND_BY_ID[kind], [id])
  if (!row) throw fault('KEY_UNKNOWN', [NOUNS[kind], id])
  return row
}

const viewOf = (row: Row, funds: Row | undefined, now: number): KeyView => ({
  id: Number(row.id),
  account: String(row.account_name),
  name: String(row.name),
  key: maskSecret(String(row.prefix), String(row.last_four)),
  state: stateOf(row, now),
  created: isoTime(row.created),
  expires: row.expires === null ? null : isoTime(row.expires),
  models: jsonOf<readonly string[]>(row.models),
  limits: jsonOf<Limits>(row.limits),
  ...quotaSettingOf(row),
  remaining: row.quota === null ? null : Number(quotaOf(remainingOf(row, funds))),
  used: funds ? printMoney(nanosOf(funds.own_used)) : null,
})
/** Nanos. The first call of a key makes its wallet: until then the whole quota remains. */
const remainingOf = ({ quota }: Row, funds: Row | undefined): bigint =>
  funds?.own_balance == null ? parseQuota(quota) : nanosOf(funds.own_balance)
const stateOf = ({ revoked, expires, suspended }: Row, now: number): KeyView['state'] => {
  if (revoked !== null) return 'revoked'
  if (expires !== null && Number(expires) <= now) return 'expired'
  return suspended === null ? 'active' : 'suspended'
}

// ---------------------------------------------------------------- changes

/** Members that are undefined stay; null removes. Throws KEY_UNKNOWN, KEY_REVOKED or
 *  QUOTA_IN_USE. */
export const changeKey = async (
  database: Writes,
  kind: Rotated,
  id: number,
  changes: CredentialChanges & QuotaChange,
): Promise<void> => {
  const row = await findKey(database, kind, id)
  if (row.revoked !== null) throw fault('KEY_REVOKED', [NOUNS[kind], id])
  const funds = kind === 'key' ? await fundsOf(database, row) : undefined
  const now = await database.now()
  const list = [
    ...changeCredential(kind, id, Number(row.account), changes),
    ...(funds ? changeKeyQuota(funds, changes, now) : []),
  ]
  await writeWithRetry(database, list)
    .catch(whenCode('QUOTA_IN_USE', () => fault('QUOTA_IN_USE', [id])))
    .catch(whenCode('KEY_UNKNOWN', () => fault('KEY_REVOKED', [NOUNS[kind], id])))
}

export interface Rotation {
  /** Shown once. */
  readonly secret: string
  /** The secret that it had: its beginning and its end, and how long it is valid; null: it has
   *  ended. */
  readonly earlier: { readonly key: string; readonly expires: string | null }
}
/** Gives a credential a new secret: number, name, models, limits, quota and use stay. `until`: how
 *  long the earlier secret is one of the same credential, ms since 1970. Throws KEY_UNKNOWN,
 *  KEY_REVOKED or KEY_CHANGED. */
export const rotateKey = async (
  database: Writes,
  kind: Rotated,
  id: number,
  { now, until }: { readonly now: number; readonly until?: number | undefined },
): Promise<Rotation> => {
  const row = await findKey(database, kind, id)
  if (row.revoked !== null) throw fault('KEY_REVOKED', [NOUNS[kind], id])
  const secret = makeSecret(kind)
  const earlier = { digest: String(row.digest), until: earliest(until, row.expires) }
  await writeWithRetry(database, replaceSecret(kind, id, earlier, secret, now)).catch(
    whenCode('KEY_UNKNOWN', () => fault('KEY_CHANGED', [NOUNS[kind], id])),
  )
  const key = maskSecret(String(row.prefix), String(row.last_four))
  const expires = earlier.until === undefined ? null : isoTime(earlier.until)
  return { secret: secret.text, earlier: { key, expires } }
}
const earliest = (until: number | undefined, expires: Value | undefined): number | undefined =>
  until === undefined || expires == null ? until : Math.min(until, Number(expires))
