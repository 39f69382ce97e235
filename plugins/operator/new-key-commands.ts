/** `tollgate keys create | revoke`. */
import { textOf, UsageError } from '../../engine/cli/kit.ts'
import type { CommandArguments, HostBase, Row, SingleCommand } from '../../engine/plugin.ts'
import { fault } from '../credentials/faults.ts'
import { findAccount } from '../credentials/find.ts'
import { expiryOf, modelsOf, nameOf, numberOf, quotaOf } from '../credentials/input.ts'
import { quotaSettingOf, storedQuotaOf } from '../credentials/quota.ts'
import { makeSecret, maskSecret } from '../credentials/secret.ts'
import { addKey, addToken, FIND_BY_ID, revoke } from '../credentials/statements.ts'

import { LIMIT_OPTIONS, limitsIn } from './limits.ts'

const NOUNS = { key: 'API key', 'system-token': 'system token' } as const

const SYSTEM = { type: 'boolean', summary: 'a system token instead of an API key' } as const
const KEY_OPTIONS = {
  name: { type: 'string', value: 'NAME', summary: 'a name for the key' },
  expires: {
    type: 'string',
    value: 'TIME',
    summary: 'expiry: 30d, 12h or a date such as 2030-01-31; never by default',
  },
  models: { type: 'string', value: 'NAMES', summary: 'only these models, comma-separated' },
  quota: {
    type: 'string',
    value: 'UNITS',
    summary:
      'what it may spend: 500000 in its life, 500000/day or 500000/month; 500000 units are 1 of the currency',
  },
  ...LIMIT_OPTIONS,
  system: SYSTEM,
} as const

const REVOKE: SingleCommand = {
  arguments: 'ID',
  summary: 'Revokes an API key by its number.',
  example: 'tollgate keys revoke 7',
  options: { system: SYSTEM },
  async run({ positionals, values }, { database }) {
    const kind = kindOf(values)
    const id = numberOf(positionals[0], `The number of the ${NOUNS[kind]}`)
    const [row] = await database.read(FIND_BY_ID[kind], [id])
    if (!row) throw fault('KEY_UNKNOWN', [NOUNS[kind], id])
    const now = await database.now()
    // Another process may have revoked it meanwhile: the result is the same.
    if (row.revoked === null)
      await database.write(revoke(kind, id, now)).catch(ignoreCode('KEY_UNKNOWN'))
    const [after = row] = await database.read(FIND_BY_ID[kind], [id])
    return { rows: [rowOf(after, now)], json: detailOf(after, now) }
  },
}

/** Throws a UsageError for names that no key can use. */
type CheckModels = (names: readonly string[] | undefined, host: HostBase) => void

/** Commands of `tollgate keys` that make and end credentials. `checkModels`: for new keys. */
export const keySubcommands = (
  checkModels: CheckModels,
): Readonly<Record<string, SingleCommand>> => ({
  create: {
    arguments: 'ACCOUNT',
    summary: 'Creates an API key of an account and shows it once.',
    example: 'tollgate keys create ann --name laptop --expires 90d',
    options: KEY_OPTIONS,
    async run({ positionals, values }, host) {
      const { database } = host
      const kind = kindOf(values)
      const now = await database.now()
      const limits = limitsIn(values)
      const models = modelsOf(textOf(values.models))
      checkModels(models, host)
      const quotaText = textOf(values.quota)
      const quota = quotaText === undefined ? undefined : quotaOf(quotaText)
      if (kind === 'system-token' && (limits || models || quota)) {
        throw new UsageError('a system token calls no models: it has no models, quota or limits')
      }
      const expires = expiryOf(textOf(values.expires), now)
      const name = nameOf(textOf(values.name) ?? 'unnamed', '--name')
      const account = await findAccount(database, positionals[0] ?? '')
      const secret = makeSecret(kind)
      const credential = {
        account: account.id,
        name,
        secret,
        expires,
        ...(models && { models }),
        ...(limits && { limits }),
        ...(quota && { quota: storedQuotaOf(quota, 0, now) }),
      }
      const rows = await database.write((kind === 'key' ? addKey : addToken)(credential, now))
      const id = Number(rows.at(-1)?.[0]?.id)
      const time = expires === undefined ? 'never' : timeOf(expires)
      const row = {
        id,
        account: account.name,
        name,
        [kind === 'key' ? 'key' : 'token']: secret.text,
      }
      return {
        rows: [{ ...row, expires: time }],
        json: { ...row, kind, expires: expires === undefined ? null : time },
        after: 'Save it now: it is not shown again. The database stores only its digest.\n',
      }
    },
  },
  revoke: REVOKE,
})

const rowOf = (row: Row, now: number) => ({
  id: Number(row.id),
  account: String(row.account_name),
  name: String(row.name),
  key: maskSecret(String(row.prefix), String(row.last_four)),
  state: stateOf(row, now),
  created: timeOf(row.created),
  expires: row.expires === null ? 'never' : timeOf(row.expires),
})
const detailOf = (row: Row, now: number) => ({
  ...rowOf(row, now),
  expires: row.expires === null ? null : timeOf(row.expires),
  models: jsonOf(row.models),
  limits: jsonOf(row.limits),
  ...quotaSettingOf(row),
})
const stateOf = ({ revoked, expires, suspended }: Row, now: number): string => {
  if (revoked !== null) return 'revoked'
  if (expires !== null && Number(expires) <= now) return 'expired'
  return suspended === null ? 'active' : 'suspended'
}

const kindOf = ({ system }: CommandArguments['values']): keyof typeof NOUNS =>
  system === true ? 'system-token' : 'key'
const timeOf = (at: unknown): string => new Date(Number(at)).toISOString()
const jsonOf = (text: unknown): unknown => (typeof text === 'string' ? JSON.parse(text) : null)

type Code = Parameters<typeof fault>[0]
const ignoreCode = (code: Code) => (error: { readonly code?: string }) => {
  if (error.code !== code) throw error
}
