/** Endpoints of operators for the API keys of an account: list, limits, revoke. */
import type { HostBase, Json } from '../../../engine/plugin.ts'
import { findAccount } from '../../credentials/find.ts'
import { revoke } from '../../credentials/statements.ts'
import { writeWithRetry } from '../../ledger/write-with-retry.ts'
import { changeKey, keyDetails, listKeys, rotateKey } from '../../operator/keys.ts'
import {
  described,
  integer,
  list as listOf,
  nullable,
  object,
  oneOf,
  text,
  time,
} from '../../shapes.ts'
import type { KeyView } from '../../views.ts'
import { fault } from '../faults.ts'
import {
  type AdminCall,
  type AdminEndpoints,
  type AdminResult,
  bodyOf,
  LIMITS,
} from './endpoint.ts'

const rowOf = (key: KeyView): { readonly [name: string]: Json } => ({
  ...key,
  limits: key.limits ? { ...key.limits } : null,
})

const list = async ({ query }: AdminCall, host: HostBase): Promise<AdminResult> => {
  const account = (await findAccount(host.database, query.get('account') ?? '')).id
  const keys = await listKeys(host.database, { account, now: await host.database.now() })
  return { data: keys.map(rowOf) }
}

const change = async ({ body }: AdminCall, host: HostBase): Promise<AdminResult> => {
  const { database } = host
  const { key, ...changes } = body
  const id = Number(key)
  const now = await database.now()
  const before = rowOf(await keyDetails(database, 'key', id, now))
  await changeKey(database, 'key', id, changes as Parameters<typeof changeKey>[3])
  const after = rowOf(await keyDetails(database, 'key', id, now))
  return { data: after, change: { before, after } }
}

const end = async ({ body }: AdminCall, host: HostBase): Promise<AdminResult> => {
  const { database } = host
  const id = Number(body.key)
  const now = await database.now()
  const before = rowOf(await keyDetails(database, 'key', id, now))
  await writeWithRetry(database, revoke('key', id, now)).catch(error => {
    throw error.code === 'KEY_UNKNOWN' ? fault('ADMIN_KEY', [id]) : error
  })
  const after = rowOf(await keyDetails(database, 'key', id, now))
  return { data: after, change: { before, after } }
}

const rotate = async ({ body }: AdminCall, host: HostBase): Promise<AdminResult> => {
  const { database } = host
  const id = Number(body.key)
  const now = await database.now()
  const until = body.overlap === undefined ? undefined : now + Number(body.overlap) * 1_000
  const before = rowOf(await keyDetails(database, 'key', id, now))
  const { secret, earlier } = await rotateKey(database, 'key', id, { now, until })
  const after = rowOf(await keyDetails(database, 'key', id, now))
  return { data: { ...after, key: secret, earlier: { ...earlier } }, change: { before, after } }
}

const MEMBERS = {
  id: integer,
  account: text,
  name: text,
  key: described('Its beginning and its end.', text),
  state: oneOf('active', 'expired', 'revoked', 'suspended'),
  created: time,
  expires: nullable(time),
  models: nullable(listOf(text)),
  limits: nullable(object({}, { requests: text, tokens: text, concurrency: integer })),
  quota: described('Quota units that it may spend.', nullable(integer)),
  quota_period: described('null: the quota is for life.', nullable(oneOf('day', 'month'))),
  remaining: nullable(integer),
  used: described('Units of the currency.', nullable(text)),
}
const VIEW = object(MEMBERS)
const EARLIER = object({ key: text, expires: nullable(time) })
const ROTATED = object({ ...MEMBERS, earlier: EARLIER })
const KEY = { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER }
export const keyEndpoints: AdminEndpoints = {
  'GET keys': {
    summary: 'Lists the API keys of an account with their limits and use.',
    query: { account: 'its name or number' },
    data: listOf(VIEW),
    run: list,
  },
  'POST keys/limits': {
    summary: 'Changes the limits and the quota of an API key; null removes them.',
    body: bodyOf(
      {
        key: KEY,
        quota: {
          type: ['integer', 'null'],
          minimum: 1,
          maximum: 500_000_000_000_000,
          description: 'The most it may spend in its life, or in each period, in quota units.',
        },
        quota_period: { enum: ['day', 'month', null], description: 'null: for life.' },
        limits: LIMITS,
      },
      ['key'],
    ),
    data: VIEW,
    run: change,
  },
  'POST keys/rotate': {
    summary: 'Gives an API key a new secret, shown once; its number, limits and use stay.',
    body: bodyOf(
      {
        key: KEY,
        overlap: {
          type: 'integer',
          minimum: 1,
          maximum: 31_536_000,
          description: 'Seconds for which the old secret is valid too; absent: it ends at once.',
        },
      },
      ['key'],
    ),
    data: ROTATED,
    run: rotate,
  },
  'POST keys/revoke': {
    summary: 'Revokes an API key.',
    body: bodyOf({ key: KEY }, ['key']),
    data: VIEW,
    run: end,
  },
}
