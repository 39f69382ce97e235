/** Endpoints that list, create, change and revoke the API keys, system tokens and sessions of the
 *  calling account. */
import type { Database, Exchange, Host, Row } from '../../engine/plugin.ts'
import { unknownModelIn } from '../catalogue/configured.ts'
import { type QuotaChange, storedQuotaOf } from '../credentials/quota.ts'
import { makeSecret } from '../credentials/secret.ts'
import {
  addKey,
  addToken,
  changeCredential,
  type Rotated,
  revoke,
} from '../credentials/statements.ts'
import { changeKeyQuota } from '../ledger/views/key-quotas.ts'
import { writeWithRetry } from '../ledger/write-with-retry.ts'
import { rotateKey } from '../operator/keys.ts'
import { ACCOUNT, type AccountKey } from '../slots.ts'
import { MEMBERS, viewOf } from './credential-view.ts'
import { fault } from './faults.ts'
import { cursorOf, instantOf, limitOf, markOf, singleParameter } from './input.ts'
import { answerSuccess, type ViewFactory } from './response.ts'
import { CREDENTIAL, CREDENTIALS, type OwnKind } from './statements.ts'

/** A body that schemas/api-key.json or schemas/system-token.json accepts. */
interface CredentialRequest extends QuotaChange {
  readonly name?: string
  readonly expires?: string | null
  readonly models?: readonly string[] | null
  readonly limits?: AccountKey['limits'] | null
}

const NOUNS: Readonly<Record<OwnKind, string>> = {
  key: 'API key',
  'system-token': 'system token',
  session: 'session',
}
const list =
  (kind: OwnKind): ViewFactory<Host> =>
  ({ database }) =>
  async exchange => {
    const { query } = exchange.request
    const limit = limitOf(singleParameter(query, 'limit'))
    const mark = markOf(kind, [0], singleParameter(query, 'cursor'))
    const { id } = exchange.slots.need(ACCOUNT)
    const rows = await database.read(CREDENTIALS[kind], [id, ...mark, limit + 1])
    const page = rows.slice(0, limit)
    const last = page.at(-1)
    const next = rows.length > limit && last ? cursorOf(kind, [Number(last.id)]) : null
    const now = Date.now()
    answerSuccess(exchange, { data: page.map(row => viewOf(kind, row, now)), next })
  }

const show =
  (kind: OwnKind): ViewFactory<Host> =>
  ({ database }) =>
  async exchange => {
    const row = await ownCredential(database, kind, exchange)
    answerSuccess(exchange, { data: viewOf(kind, row, Date.now()) })
  }

/** A key could not call a model that does not exist. */
const refuseUnknownModel = ({ models }: CredentialRequest, host: Host): void => {
  const name = unknownModelIn(models ?? [], host)
  if (name !== undefined) throw fault('KEY_MODEL', [name])
}

const create =
  (kind: OwnKind): ViewFactory<Host> =>
  host =>
  async exchange => {
    const { database } = host
    const body = (await exchange.request.json()) as CredentialRequest
    refuseUnknownModel(body, host)
    const { id: account } = exchange.slots.need(ACCOUNT)
    const now = Date.now()
    const secret = makeSecret(kind)
    const { name = 'unnamed', models, limits } = body
    const credential = {
      account,
      name,
      secret,
      expires: expiryOf(body.expires, now) ?? undefined,
      ...(models && { models }),
      ...(limits && { limits }),
      quota: storedQuotaOf(body, 0, now),
    }
    const add = kind === 'key' ? addKey : addToken
    const rows = await writeWithRetry(database, add(credential, now))
    const row = await find(database, kind, account, Number(rows.at(-1)?.[0]?.id))
    // The only response with the secret: the store has only its digest.
    const view = { ...viewOf(kind, row, now), [MEMBERS[kind]]: secret.text }
    answerSuccess(exchange, { data: view }, 201)
  }

const update =
  (kind: OwnKind): ViewFactory<Host> =>
  host =>
  async exchange => {
    const { database } = host
    const body = (await exchange.request.json()) as CredentialRequest
    refuseUnknownModel(body, host)
    const before = await ownCredential(database, kind, exchange)
    const [id, account] = [Number(before.id), Number(before.account)]
    const now = Date.now()
    if (before.revoked !== null) throw fault('CREDENTIAL_REVOKED')
    const changes = { ...body, expires: expiryOf(body.expires, now) }
    const list = [
      ...changeCredential(kind, id, account, changes),
      ...(kind === 'key' ? changeKeyQuota(before, body, now) : []),
    ]
    await writeWithRetry(database, list).catch(mapStoreError)
    answerSuccess(exchange, { data: viewOf(kind, await find(database, kind, account, id), now) })
  }

/** The body that schemas/rotate-key.json accepts. */
interface RotateRequest {
  readonly overlap?: string
}
const rotate =
  (kind: Rotated): ViewFactory<Host> =>
  ({ database }) =>
  async exchange => {
    const { overlap } = (await exchange.request.json()) as RotateRequest
    const before = await ownCredential(database, kind, exchange)
    if (before.revoked !== null) throw fault('CREDENTIAL_REVOKED')
    const [id, account] = [Number(before.id), Number(before.account)]
    const now = Date.now()
    const until = overlap === undefined ? undefined : now + timeIn(overlap)
    const { secret, earlier } = await rotateKey(database, kind, id, { now, until })
    const view = viewOf(kind, await find(database, kind, account, id), now)
    answerSuccess(exchange, { data: { ...view, [MEMBERS[kind]]: secret, earlier } })
  }
const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }
/** ms of a time such as 30m, 24h or 7d. */
const timeIn = (text: string): number => Number(text.slice(0, -1)) * (UNITS[text.slice(-1)] ?? 0)

const remove =
  (kind: OwnKind): ViewFactory<Host> =>
  ({ database }) =>
  async exchange => {
    const before = await ownCredential(database, kind, exchange)
    const [id, account] = [Number(before.id), Number(before.account)]
    const now = Date.now()
    // Another process may have revoked it meanwhile: the result is the same.
    if (before.revoked === null)
      await writeWithRetry(database, revoke(kind, id, now)).catch(ignoreCode('KEY_UNKNOWN'))
    answerSuccess(exchange, { data: viewOf(kind, await find(database, kind, account, id), now) })
  }

const viewsOf = (kind: OwnKind, word: string): Readonly<Record<string, ViewFactory<Host>>> => ({
  [`list-${word}s`]: list(kind),
  [`create-${word}`]: create(kind),
  [`show-${word}`]: show(kind),
  [`update-${word}`]: update(kind),
  [`revoke-${word}`]: remove(kind),
})
/** The console alone creates sessions. */
export const credentialViews = {
  'rotate-key': rotate('key'),
  'rotate-token': rotate('system-token'),
  ...viewsOf('key', 'key'),
  ...viewsOf('system-token', 'token'),
  'list-sessions': list('session'),
  'revoke-session': remove('session'),
}

// ---------------------------------------------------------------- reading

/** The credential in the path. */
const ownCredential = (
  database: Database,
  kind: OwnKind,
  { params, slots }: Exchange,
): Promise<Row> => {
  const text = Object.values(params)[0] ?? ''
  const id = /^[1-9]\d{0,14}$/.test(text) ? Number(text) : 0
  return find(database, kind, slots.need(ACCOUNT).id, id)
}
const find = async (
  database: Pick<Database, 'read'>,
  kind: OwnKind,
  account: number,
  id: number,
): Promise<Row> => {
  const [row] = await database.read(CREDENTIAL[kind], [account, id])
  if (!row) throw fault('CREDENTIAL_UNKNOWN', [NOUNS[kind]])
  return row
}

/** ms since 1970; undefined: unchanged; null: it never expires. Throws EXPIRES_PAST. */
const expiryOf = (text: CredentialRequest['expires'], now: number): number | null | undefined => {
  if (text === undefined || text === null) return text
  const at = instantOf(text, 'expires')
  if (at <= now) throw fault('EXPIRES_PAST')
  return at
}

// ---------------------------------------------------------------- errors of the store

const ignoreCode = (code: string) => (error: { readonly code?: string }) => {
  if (error.code !== code) throw error
}
/** Maps an error code of the store to a fault. */
const mapStoreError = (error: { readonly code?: string }): never => {
  if (error.code === 'QUOTA_IN_USE') throw fault('QUOTA_IN_USE')
  // Revoked between the read and the change.
  if (error.code === 'KEY_UNKNOWN') throw fault('CREDENTIAL_REVOKED')
  throw error
}
