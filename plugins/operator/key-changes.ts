/** Changes of API keys, system tokens and sessions. */
import { isCode } from '../../engine/kit.ts'
import type { Json, Row, Value } from '../../engine/plugin.ts'
import { fault as storeFault } from '../credentials/faults.ts'
import { giveToMember, memberIn, requireOwner } from '../credentials/members.ts'
import { type QuotaChange, quotaSettingOf, storedQuotaOf } from '../credentials/quota.ts'
import {
  importedSecret,
  isImportable,
  makeSecret,
  maskSecret,
  type Secret,
  TOKEN_PREFIX,
} from '../credentials/secret.ts'
import {
  addKey,
  addToken,
  type CredentialChanges,
  changeCredential,
  type NewCredential,
  type Rotated,
  readmitIdentity,
  replaceSecret,
  requireLimits,
  revoke,
} from '../credentials/statements.ts'
import { changeKeyQuota } from '../ledger/views/key-quotas.ts'
import { fault } from './faults.ts'
import { checkModels } from './key-settings.ts'
import { type FoundKey, findKey, NOUNS } from './keys.ts'
import { type LimitChanges, limitsAfter, retryLimitsChange } from './limits.ts'
import type { Context } from './operation.ts'
import type { OwnKind } from './own-keys.ts'
import { isoTime, jsonOf, whenCode } from './rows.ts'

/** The settings that the owner of a key, or an operator, makes. `expires`: ms since 1970. */
interface KeySettings extends CredentialChanges, QuotaChange {}

const objectOf = (kind: OwnKind, id: unknown): string => `${NOUNS[kind]} ${id}`

/** Throws for settings that this kind has not, and for unknown models. */
const checkSettings = ({ host, actor, now }: Context, kind: Rotated, settings: KeySettings) => {
  const { models, limits, quota, expires } = settings
  if (kind === 'system-token' && (models ?? limits ?? quota) != null) throw fault('TOKEN_LIMITS')
  if (expires != null && expires <= now) throw fault('EXPIRES_PAST')
  checkModels(host, models ?? [], actor)
}

export interface NewKey {
  readonly account: number
  readonly kind: Rotated
  readonly settings: KeySettings
  /** The number of the member that it is for; undefined: the caller, or the account itself. */
  readonly member?: number | null | undefined
  /** Of a system token. */
  readonly scope?: NewCredential['scope']
  /** The text of a secret that was made elsewhere; of an API key. */
  readonly secret?: string | undefined
}
/** Throws KEY_MODEL, TOKEN_LIMITS, EXPIRES_PAST, SECRET_INVALID or SECRET_EXISTS. */
export const createKey = async (
  context: Context,
  { account, kind, settings, member, scope, secret: text }: NewKey,
): Promise<{ readonly id: number; readonly secret: Secret }> => {
  checkSettings(context, kind, settings)
  if (kind === 'key' && scope !== undefined) throw fault('KEY_SCOPE')
  const secret = text === undefined ? makeSecret(kind) : chosenSecret(kind, text)
  const { store, now } = context
  const { name = 'unnamed', models, limits, expires } = settings
  const credential = {
    account,
    member: (member === undefined ? context.member?.id : member) ?? undefined,
    name,
    secret,
    expires: expires ?? undefined,
    ...(models && { models }),
    ...(limits && { limits }),
    quota: storedQuotaOf(settings, 0, now),
    isImported: text !== undefined,
    scope,
  }
  const { member: owner = null } = credential
  const after = {
    account,
    member: owner,
    ...changedOf({ name, ...settings }),
    ...(scope !== undefined && { scope }),
    digest: secret.digest,
  }
  const list = (kind === 'key' ? addKey : addToken)(credential, now)
  const rows = await store
    .change(list, { object: `${NOUNS[kind]} of account ${account}`, before: null, after })
    .catch(whenCode('SECRET_EXISTS', () => storeFault('SECRET_EXISTS')))
  return { id: Number(rows.at(-1)?.[0]?.id), secret }
}
const chosenSecret = (kind: Rotated, text: string): Secret => {
  if (kind === 'key' && isImportable(text)) return importedSecret(text)
  throw fault('SECRET_INVALID')
}
/** As records of changes have it. */
const changedOf = (
  settings: KeySettings & Pick<NewKey, 'member'>,
): { readonly [name: string]: Json } => JSON.parse(JSON.stringify(settings))

/** Settings that are undefined stay; null removes. */
interface KeyChanges extends Omit<KeySettings, 'limits'>, Pick<NewKey, 'member'> {
  readonly limits?: LimitChanges | null | undefined
}
/** Limits that are undefined stay too. Throws KEY_UNKNOWN, KEY_REVOKED, QUOTA_IN_USE, KEY_CHANGED,
 *  or like `createKey`. */
export const changeKey = (
  context: Context,
  kind: Rotated,
  id: number,
  changes: KeyChanges,
): Promise<void> =>
  retryLimitsChange(NOUNS[kind], id, () => changeKeyOnce(context, kind, id, changes))

const changeKeyOnce = async (
  context: Context,
  kind: Rotated,
  id: number,
  { member, limits: limitChanges, ...others }: KeyChanges,
): Promise<void> => {
  const { store, now } = context
  checkSettings(context, kind, {
    ...others,
    limits: limitChanges && limitsAfter(null, limitChanges),
  })
  const credential = await findUsable(context, kind, id)
  const { row, funds } = credential
  const limits = limitChanges && limitsAfter(jsonOf(row.limits), limitChanges)
  const settings = { ...others, limits }
  const list = [
    ...(limitChanges && kind === 'key' ? requireLimits('api_keys', id, row.limits) : []),
    ...changeCredential(kind, id, Number(row.account), settings),
    ...(funds ? changeKeyQuota(funds, settings, now) : []),
    ...(member === undefined ? [] : giveToMember(kind, id, member)),
  ]
  const after = changedOf({ ...settings, ...(member !== undefined && { member }) })
  const before = Object.fromEntries(
    Object.entries(settingsOf(credential)).filter(([name]) => name in after),
  )
  await store
    .change(list, { object: objectOf(kind, id), before, after })
    .catch(whenCode('QUOTA_IN_USE', () => storeFault('QUOTA_IN_USE', [id], { param: 'quota' })))
    .catch(whenCode('KEY_UNKNOWN', () => storeFault('KEY_REVOKED', [NOUNS[kind], id])))
}
const settingsOf = ({ row }: FoundKey): { readonly [name: string]: Json } => ({
  name: String(row.name),
  member: row.member == null ? null : Number(row.member),
  expires: row.expires === null ? null : Number(row.expires),
  models: jsonOf<Json>(row.models),
  limits: jsonOf<Json>(row.limits),
  ...quotaSettingOf(row),
})
/** A system token acts as its member: a new secret of another's would give his rights. Throws
 *  MEMBER_OWNER. */
const requireReach = ({ member }: Context, kind: OwnKind, { row }: FoundKey): void => {
  if (kind === 'key' || row.member === member?.id) return
  requireOwner(member, memberIn(row).member?.role ?? null)
}
const findUsable = async (context: Context, kind: Rotated, id: number): Promise<FoundKey> => {
  const credential = await findKey(context, kind, id)
  requireReach(context, kind, credential)
  if (credential.row.revoked !== null) throw storeFault('KEY_REVOKED', [NOUNS[kind], id])
  return credential
}

export interface Rotation {
  /** Shown once. */
  readonly secret: string
  /** The secret that it had: its beginning and its end, and how long it is valid; null: it has
   *  ended. */
  readonly earlier: { readonly key: string; readonly expires: string | null }
}
/** Gives a credential a new secret: number, name, models, limits, quota and use stay. `overlap`: ms
 *  for which the earlier secret is one of the same credential. Throws KEY_UNKNOWN, KEY_REVOKED or
 *  KEY_CHANGED. */
export const rotateKey = async (
  context: Context,
  kind: Rotated,
  id: number,
  overlap?: number,
): Promise<Rotation> => {
  const { row } = await findUsable(context, kind, id)
  if (isOfIdentity(row)) throw fault('KEY_OF_IDENTITY', [id, id])
  const { store, now } = context
  const secret = makeSecret(kind)
  const until = overlap === undefined ? undefined : earliest(now + overlap, row.expires)
  const earlier = { digest: String(row.digest), until }
  const expires = until === undefined ? null : isoTime(until)
  await store
    .change(replaceSecret(kind, id, earlier, secret, now), {
      object: objectOf(kind, id),
      before: { digest: earlier.digest },
      after: { digest: secret.digest, earlier: expires },
    })
    .catch(whenCode('KEY_UNKNOWN', () => storeFault('KEY_CHANGED', [NOUNS[kind], id])))
  const key = maskSecret(String(row.prefix), String(row.last_four))
  return { secret: secret.text, earlier: { key, expires } }
}
const earliest = (until: number, expires: Value | undefined): number =>
  expires == null ? until : Math.min(until, Number(expires))

const isOfIdentity = ({ prefix }: Row): boolean => prefix === TOKEN_PREFIX
/** The next token of the identity of a revoked key makes a new key. Throws KEY_NOT_REVOKED, or
 *  KEY_ENDED for a key with a secret. */
export const readmitKey = async (context: Context, id: number): Promise<void> => {
  const { row } = await findKey(context, 'key', id)
  if (!isOfIdentity(row)) throw fault('KEY_ENDED', [id])
  if (row.revoked === null) throw fault('KEY_NOT_REVOKED', [id])
  const change = {
    object: objectOf('key', id),
    before: { state: 'revoked' },
    after: { state: 'revoked', identity: 'admitted' },
  }
  await context.store.change(readmitIdentity(id), change).catch(error => {
    // It was admitted before.
    if (!isCode(error, 'KEY_UNKNOWN')) throw error
  })
}
/** Ends a credential. One that has ended stays so. Throws KEY_UNKNOWN. */
export const revokeKey = async (context: Context, kind: OwnKind, id: number): Promise<void> => {
  const credential = await findKey(context, kind, id)
  const { row } = credential
  if (row.revoked !== null) return
  requireReach(context, kind, credential)
  const change = {
    object: objectOf(kind, id),
    before: { state: 'active' },
    after: { state: 'revoked' },
  }
  await context.store.change(revoke(kind, id, context.now), change).catch(error => {
    // Another process revoked it meanwhile.
    if (!isCode(error, 'KEY_UNKNOWN')) throw error
  })
}
