/** Endpoints for the API keys and system tokens of the calling account: list, create, change, revoke. */
import type { Database, Exchange, Host, Json, Row, Statement, Value } from '../../engine/plugin.ts'
import { parseQuota, quotasOf } from '../billing/money.ts'
import { type Kind, makeSecret } from '../credentials/secret.ts'
import { addKey, addToken, changeCredential, revoke } from '../credentials/statements.ts'
import { nanosOf } from '../ledger/statements.ts'
import { changeQuota } from '../ledger/views/wallets.ts'
import { writeWithRetry } from '../ledger/write-with-retry.ts'
import { ACCOUNT, type AccountKey } from '../slots.ts'
import { fault } from './faults.ts'
import { keyFunds, masked } from './funds.ts'
import { cursorOf, instantOf, limitOf, markOf, singleParameter } from './input.ts'
import { exact, instant, succeed, type ViewFactory } from './response.ts'
import { CREDENTIAL, CREDENTIALS } from './statements.ts'

/** A body that schemas/api-key.json or schemas/system-token.json accepts. */
interface CredentialRequest {
  readonly name?: string
  readonly expires?: string | null
  readonly models?: readonly string[] | null
  readonly limits?: AccountKey['limits'] | null
  readonly quota?: number | null
}
type Fields = { readonly [name: string]: Json }

const NOUNS: Readonly<Record<Kind, string>> = { key: 'API key', 'system-token': 'system token' }
const MEMBERS: Readonly<Record<Kind, string>> = { key: 'key', 'system-token': 'token' }

const list =
  (kind: Kind): ViewFactory<Host> =>
  ({ database }) =>
  async exchange => {
    const { query } = exchange.request
    const limit = limitOf(singleParameter(query, 'limit'))
    const mark = markOf(kind, [0], singleParameter(query, 'cursor'))
    const { id } = exchange.slots.need(ACCOUNT)
    const rows = await database.read(CREDENTIALS[kind], [id, ...mark, limit + 1])
    const shown = rows.slice(0, limit)
    const last = shown.at(-1)
    const next = rows.length > limit && last ? cursorOf(kind, [Number(last.id)]) : null
    const now = Date.now()
    succeed(exchange, { data: shown.map(row => viewOf(kind, row, now)), next })
  }

const show =
  (kind: Kind): ViewFactory<Host> =>
  ({ database }) =>
  async exchange => {
    const row = await ownCredential(database, kind, exchange)
    succeed(exchange, { data: viewOf(kind, row, Date.now()) })
  }

const create =
  (kind: Kind): ViewFactory<Host> =>
  ({ database }) =>
  async exchange => {
    const asked = (await exchange.request.json()) as CredentialRequest
    const { id: account } = exchange.slots.need(ACCOUNT)
    const now = Date.now()
    const secret = makeSecret(kind)
    const { name = 'unnamed', models, limits, quota } = asked
    const credential = {
      ...{ account, name, secret, expires: expiryOf(asked.expires, now) ?? undefined },
      ...(models && { models }),
      ...(limits && { limits }),
      ...(quota && { quota }),
    }
    const add = kind === 'key' ? addKey : addToken
    const rows = await writeWithRetry(database, add(credential, now))
    const row = await find(database, kind, account, Number(rows.at(-1)?.[0]?.id))
    // The only response with the secret: the store has only its digest.
    const shown = { ...viewOf(kind, row, now), [MEMBERS[kind]]: secret.text }
    succeed(exchange, { data: shown }, 201)
  }

const update =
  (kind: Kind): ViewFactory<Host> =>
  ({ database }) =>
  async exchange => {
    const asked = (await exchange.request.json()) as CredentialRequest
    const before = await ownCredential(database, kind, exchange)
    const [id, account] = [Number(before.id), Number(before.account)]
    const now = Date.now()
    if (before.revoked !== null) throw fault('CREDENTIAL_REVOKED')
    const changes = { ...asked, expires: expiryOf(asked.expires, now) }
    const list = [
      ...changeCredential(kind, id, account, changes),
      ...quotaStatements(kind, before, asked.quota),
    ]
    await writeWithRetry(database, list).catch(mapStoreError)
    succeed(exchange, { data: viewOf(kind, await find(database, kind, account, id), now) })
  }
const quotaStatements = (
  kind: Kind,
  before: Row,
  quota: CredentialRequest['quota'],
): readonly Statement[] => {
  if (kind !== 'key' || quota === undefined) return []
  return changeQuota(Number(before.id), nanosIn(before.quota), nanosIn(quota))
}
const nanosIn = (quota: Value | undefined): bigint | undefined =>
  quota === null ? undefined : parseQuota(quota)

const remove =
  (kind: Kind): ViewFactory<Host> =>
  ({ database }) =>
  async exchange => {
    const before = await ownCredential(database, kind, exchange)
    const [id, account] = [Number(before.id), Number(before.account)]
    const now = Date.now()
    // Revoked by another process at the same time: the goal is reached.
    if (before.revoked === null)
      await writeWithRetry(database, revoke(kind, id, now)).catch(ignoring('KEY_UNKNOWN'))
    succeed(exchange, { data: viewOf(kind, await find(database, kind, account, id), now) })
  }

const viewsOf = (kind: Kind, word: string): Readonly<Record<string, ViewFactory<Host>>> => ({
  [`list-${word}s`]: list(kind),
  [`create-${word}`]: create(kind),
  [`show-${word}`]: show(kind),
  [`update-${word}`]: update(kind),
  [`revoke-${word}`]: remove(kind),
})
export const credentialViews = { ...viewsOf('key', 'key'), ...viewsOf('system-token', 'token') }

// ---------------------------------------------------------------- reading

/** The credential in the path. */
const ownCredential = (
  database: Database,
  kind: Kind,
  { params, slots }: Exchange,
): Promise<Row> => {
  const asked = Object.values(params)[0] ?? ''
  const id = /^[1-9]\d{0,14}$/.test(asked) ? Number(asked) : 0
  return find(database, kind, slots.need(ACCOUNT).id, id)
}
const find = async (
  database: Pick<Database, 'read'>,
  kind: Kind,
  account: number,
  id: number,
): Promise<Row> => {
  const [row] = await database.read(CREDENTIAL[kind], [account, id])
  if (!row) throw fault('CREDENTIAL_UNKNOWN', [NOUNS[kind]])
  return row
}

/** Undefined: unchanged; null: never. */
const expiryOf = (text: CredentialRequest['expires'], now: number): number | null | undefined => {
  if (text === undefined || text === null) return text
  const at = instantOf(text, 'expires')
  if (at <= now) throw fault('EXPIRES_PAST')
  return at
}

const viewOf = (kind: Kind, row: Row, now: number): Fields => ({
  ...{ id: Number(row.id), name: String(row.name), [MEMBERS[kind]]: masked(row) },
  state: stateOf(row, now),
  created: instant(row.created),
  expires: row.expires === null ? null : instant(row.expires),
  ...(kind === 'key' && keyMembers(row)),
})
const stateOf = ({ revoked, expires }: Row, now: number): string => {
  if (revoked !== null) return 'revoked'
  return expires !== null && Number(expires) <= now ? 'expired' : 'active'
}
const keyMembers = (row: Row): Fields => {
  const { limited, remaining } = keyFunds(row)
  // A key without a quota counts its usage too.
  const shown = quotasOf(limited ? remaining : 0n, nanosOf(row.own_used))
  return {
    models: jsonOf(row.models),
    limits: jsonOf(row.limits),
    quota: limited ? Number(row.quota) : null,
    remaining_quota: limited ? exact(shown.remaining) : null,
    used_quota: exact(shown.used),
  }
}
const jsonOf = (text: unknown): Json => (typeof text === 'string' ? JSON.parse(text) : null)

// ---------------------------------------------------------------- what the store says

const ignoring = (code: string) => (thrown: { readonly code?: string }) => {
  if (thrown.code !== code) throw thrown
}
/** Maps an error code of the store to a fault. */
const mapStoreError = (thrown: { readonly code?: string }): never => {
  if (thrown.code === 'QUOTA_IN_USE') throw fault('QUOTA_IN_USE')
  // Revoked between the read and the change.
  if (thrown.code === 'KEY_UNKNOWN') throw fault('CREDENTIAL_REVOKED')
  throw thrown
}
