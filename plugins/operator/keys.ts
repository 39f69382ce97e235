/** API keys, system tokens and sessions: rows and views, for operators and for their account. */
import type { Database, Row, Sql } from '../../engine/plugin.ts'
import { printMoney, quotaOf } from '../billing/money.ts'
import { fault as storeFault } from '../credentials/faults.ts'
import { onlyMember, onlySelf } from '../credentials/members.ts'
import { quotaSettingOf } from '../credentials/quota.ts'
import { maskSecret } from '../credentials/secret.ts'
import {
  FIND_BY_ID,
  keyRows,
  LIST_CREDENTIALS,
  LIST_CREDENTIALS_OF,
  LIST_CREDENTIALS_OF_MEMBER,
} from '../credentials/statements.ts'
import { nanosOf } from '../ledger/statements.ts'
import { withFunds } from '../ledger/views/wallets.ts'
import type { KeyView, Limits } from '../views.ts'
import { fault } from './faults.ts'
import type { Context } from './operation.ts'
import { keyFunds, type OwnKind, ownView } from './own-keys.ts'
import { isoTime, jsonOf } from './rows.ts'

type Reads = Pick<Database, 'read'>

export const NOUNS: Readonly<Record<OwnKind, string>> = {
  key: 'API key',
  'system-token': 'system token',
  session: 'session',
}

const PAGE = 'k.id > ? ORDER BY k.id LIMIT ?'
const FUNDS: Sql = { name: 'operator: key funds', text: withFunds(keyRows(PAGE)) }
export const FUNDS_OF: Sql = {
  name: 'operator: key funds of',
  text: withFunds(keyRows(`k.account = ? AND ${PAGE}`)),
}
const FUNDS_OF_MEMBER: Sql = {
  name: 'operator: key funds of member',
  text: withFunds(keyRows(`k.account = ? AND k.member = ? AND ${PAGE}`)),
}
/** `row`: with the name of its account; `funds`: undefined for other kinds than keys. */
export interface FoundKey {
  readonly row: Row
  readonly funds: Row | undefined
}
interface KeyQuery {
  readonly kind: OwnKind
  readonly account?: number | undefined
  /** Of this member of the account only. */
  readonly member?: number | undefined
  /** The number to start after. */
  readonly after?: number
  readonly limit: number
}
/** By number. */
export const keysPage = async (
  database: Reads,
  { kind, account, member, after = 0, limit }: KeyQuery,
): Promise<{ readonly keys: readonly FoundKey[]; readonly next: number | null }> => {
  const list = listFor(account, member)
  const values = [...[account, member].filter(each => each !== undefined), after, limit + 1]
  const [rows, funds] = await Promise.all([
    database.read(list.rows[kind], values),
    kind === 'key' ? database.read(list.funds, values) : [],
  ])
  const fundsById = new Map(funds.map(row => [Number(row.id), row]))
  const page = rows.slice(0, limit)
  return {
    keys: page.map(row => ({ row, funds: fundsById.get(Number(row.id)) })),
    next: rows.length > limit ? Number(page.at(-1)?.id) : null,
  }
}
const listFor = (account: number | undefined, member: number | undefined) => {
  if (account === undefined) return { rows: LIST_CREDENTIALS, funds: FUNDS }
  return member === undefined
    ? { rows: LIST_CREDENTIALS_OF, funds: FUNDS_OF }
    : { rows: LIST_CREDENTIALS_OF_MEMBER, funds: FUNDS_OF_MEMBER }
}
const MOST = 1_000
/** All API keys of an account. */
export const keysOf = async (database: Reads, account: number, now: number) => {
  const views: KeyView[] = []
  for (let after: number | undefined = 0; after !== undefined; ) {
    const { keys, next } = await keysPage(database, { kind: 'key', account, after, limit: MOST })
    views.push(...keys.map(key => keyView(key, now)))
    after = next ?? undefined
  }
  return views
}

const findRow = async (
  database: Reads,
  kind: OwnKind,
  id: number,
): Promise<FoundKey | undefined> => {
  const [row] = await database.read(FIND_BY_ID[kind], [id])
  if (!row) return undefined
  const [funds] = kind === 'key' ? await database.read(FUNDS, [id - 1, 1]) : []
  return { row, funds }
}
/** The member whose credentials are all that the caller sees. */
export const onlyOf = (kind: OwnKind, member: Context['member']): number | undefined =>
  (kind === 'key' ? onlyMember : onlySelf)(member)
/** Throws KEY_UNKNOWN, or CREDENTIAL_UNKNOWN for a customer. */
export const findKey = async (
  { store, own, member }: Context,
  kind: OwnKind,
  id: number,
): Promise<FoundKey> => {
  const credential = await findRow(store, kind, id)
  const only = onlyOf(kind, member)
  const isVisible = ({ row }: FoundKey): boolean =>
    (own === undefined || Number(row.account) === own) &&
    (only === undefined || row.member === only)
  if (credential && isVisible(credential)) return credential
  throw own === undefined
    ? storeFault('KEY_UNKNOWN', [NOUNS[kind], id])
    : fault('CREDENTIAL_UNKNOWN', [NOUNS[kind]])
}

const keyView = ({ row, funds }: FoundKey, now: number): KeyView => ({
  id: Number(row.id),
  account: String(row.account_name),
  member: row.member_name == null ? null : String(row.member_name),
  name: String(row.name),
  key: maskSecret(String(row.prefix), String(row.last_four)),
  state: stateOf(row, now),
  created: isoTime(row.created),
  expires: row.expires === null ? null : isoTime(row.expires),
  models: jsonOf<readonly string[]>(row.models),
  limits: jsonOf<Limits>(row.limits),
  ...quotaSettingOf(row),
  remaining: funds && row.quota !== null ? Number(quotaOf(keyFunds(funds).remaining)) : null,
  used: funds ? printMoney(nanosOf(funds.own_used)) : null,
})
const stateOf = ({ revoked, expires, suspended }: Row, now: number): KeyView['state'] => {
  if (revoked !== null) return 'revoked'
  if (expires !== null && Number(expires) <= now) return 'expired'
  return suspended === null ? 'active' : 'suspended'
}
/** As the caller sees it. Commands get a KeyView. */
export const viewFor = ({ own, now }: Context, kind: OwnKind, credential: FoundKey): KeyView =>
  own === undefined
    ? keyView(credential, now)
    : (ownView(kind, { ...credential.row, ...credential.funds }, now) as unknown as KeyView)
