/** `tollgate keys list | show | update | rotate`, and the check of model names for new keys. */
import { textOf, UsageError } from '../../engine/cli/kit.ts'
import { nearest } from '../../engine/config/nearest.ts'
import type { CommandArguments, HostBase, SingleCommand } from '../../engine/plugin.ts'
import { modelsOf, unknownModelIn } from '../catalogue/configured.ts'
import { findAccount } from '../credentials/find.ts'
import {
  expiryOf,
  limitsOf,
  modelsOf as modelNamesOf,
  nameOf,
  numberOf,
  quotaOf,
} from '../credentials/input.ts'
import type { QuotaChange } from '../credentials/quota.ts'
import type { CredentialChanges, Rotated } from '../credentials/statements.ts'
import type { KeyView } from '../views.ts'
import { changeKey, keyDetails, listKeys, NOUNS, rotateKey } from './keys.ts'

type Values = CommandArguments['values']
const SYSTEM = { type: 'boolean', summary: 'a system token instead of an API key' } as const
const kindOf = ({ system }: Values): Rotated => (system === true ? 'system-token' : 'key')

/** Throws a UsageError for a model that no entry of `models:` offers: such a key could not call
 *  it. Without that section every name passes. */
export const checkModels = (
  names: readonly string[] | undefined,
  host: Pick<HostBase, 'section'>,
): void => {
  const name = unknownModelIn(names ?? [], host)
  if (name === undefined) return
  const suggestion = nearest(name, Object.keys(modelsOf(host)))
  throw new UsageError(
    `--models: there is no model "${name}"; ${suggestion === undefined ? 'tollgate models lists them' : `did you mean "${suggestion}"?`}`,
  )
}

const changeOptions = {
  name: { type: 'string', value: 'NAME', summary: 'another name' },
  expires: { type: 'string', value: 'TIME', summary: 'expiry: 30d, 12h, a date, or never' },
  models: { type: 'string', value: 'NAMES', summary: 'only these models, comma-separated, or all' },
  quota: { type: 'string', value: 'UNITS', summary: '500000, 500000/day, 500000/month, or none' },
  requests: { type: 'string', value: 'RATE', summary: "60/min, or none: the route's limit counts" },
  tokens: { type: 'string', value: 'RATE', summary: '100000/min, or none' },
  concurrency: { type: 'string', value: 'NUMBER', summary: '5, or none' },
  system: SYSTEM,
} as const

export const keySubcommands: Readonly<Record<string, SingleCommand>> = {
  list: {
    arguments: '[ACCOUNT]',
    summary: 'Lists the API keys of an account, or of all, with their limits and use.',
    example: 'tollgate keys list ann',
    options: { system: SYSTEM },
    async run({ positionals: [nameOrId], values }, { database }) {
      const account =
        nameOrId === undefined ? undefined : (await findAccount(database, nameOrId)).id
      const kind = kindOf(values)
      const keys = await listKeys(database, { account, kind, now: await database.now() })
      return { rows: keys.map(rowOf), json: keys }
    },
  },
  show: {
    arguments: 'ID',
    summary: 'Shows what an API key may do, what it used and how long it is valid.',
    example: 'tollgate keys show 7',
    options: { system: SYSTEM },
    async run({ positionals, values }, { database }) {
      const kind = kindOf(values)
      const id = idOf(positionals, kind)
      return resultOf(await keyDetails(database, kind, id, await database.now()))
    },
  },
  update: {
    arguments: 'ID',
    summary: 'Changes name, expiry, models, limits or quota of an API key, at once.',
    example: 'tollgate keys update 7 --models gp-4.1,gp-4o --requests 60/min',
    options: changeOptions,
    async run({ positionals, values }, host) {
      const { database } = host
      const kind = kindOf(values)
      const id = idOf(positionals, kind)
      const now = await database.now()
      const before = await keyDetails(database, kind, id, now)
      const changes = changesOf(values, kind, before, now)
      checkModels(changes.models ?? undefined, host)
      await changeKey(database, kind, id, changes)
      return resultOf(await keyDetails(database, kind, id, now))
    },
  },
  rotate: {
    arguments: 'ID',
    summary: 'Gives an API key a new secret, shown once; its number, limits and use stay.',
    example: 'tollgate keys rotate 7 --overlap 24h',
    options: {
      overlap: { type: 'string', value: 'TIME', summary: 'how long the old secret is valid: 24h' },
      system: SYSTEM,
    },
    async run({ positionals, values }, { database }) {
      const kind = kindOf(values)
      const id = idOf(positionals, kind)
      const now = await database.now()
      const overlap = textOf(values.overlap)
      if (overlap !== undefined && !/^[1-9]\d{0,5}[mhd]$/.test(overlap))
        throw new UsageError('--overlap must be a time such as 30m, 24h or 7d')
      const until = expiryOf(overlap, now)
      const { secret, earlier } = await rotateKey(database, kind, id, { now, until })
      const { account } = await keyDetails(database, kind, id, now)
      const end = earlier.expires === null ? 'has ended' : `is valid until ${earlier.expires}`
      const row = { id, account, [kind === 'key' ? 'key' : 'token']: secret }
      return {
        rows: [row],
        json: { ...row, earlier },
        after: `Save it now: it is not shown again. The old secret ${earlier.key} ${end}.\n`,
      }
    },
  },
}

const idOf = ([text]: readonly string[], kind: Rotated): number =>
  numberOf(text, `The number of the ${NOUNS[kind]}`)
const resultOf = (key: KeyView) => ({ rows: [rowOf(key)], json: key })
const rowOf = (key: KeyView) => ({
  id: key.id,
  account: key.account,
  name: key.name,
  key: key.key,
  state: key.state,
  created: key.created,
  expires: key.expires ?? 'never',
  models: key.models?.join(',') ?? 'all',
  limits:
    Object.entries(key.limits ?? {})
      .map(([kind, limit]) => `${kind}=${limit}`)
      .join(',') || '-',
  quota: quotaText(key),
  used: key.used ?? '-',
})

const quotaText = ({ quota, quota_period: period, remaining }: KeyView): string => {
  if (quota === null) return '-'
  return `${remaining} of ${quota}${period === null ? '' : `/${period}`}`
}

/** The members to change. The options of one limit keep the others. */
const changesOf = (
  values: Values,
  kind: Rotated,
  before: KeyView,
  now: number,
): CredentialChanges & QuotaChange => {
  const text = (name: keyof typeof changeOptions): string | undefined => textOf(values[name])
  /** `word` removes the member. */
  const change = <T>(name: keyof typeof changeOptions, word: string, read: (text: string) => T) => {
    const value = text(name)
    if (value === undefined) return {}
    return { [name]: value === word ? null : read(value) }
  }
  const limitNames = ['requests', 'tokens', 'concurrency'] as const
  const limitTexts = limitNames.map(name => [name, text(name)] as const)
  const others = Object.entries(before.limits ?? {}).filter(
    ([name]) => text(name as (typeof limitNames)[number]) === undefined,
  )
  const added = Object.fromEntries(
    limitTexts.filter(([, each]) => each !== undefined && each !== 'none'),
  )
  const limits = {
    ...Object.fromEntries(others),
    ...limitsOf({
      requests: added.requests,
      tokens: added.tokens,
      concurrency: added.concurrency,
    }),
  }
  const hasLimits = limitTexts.some(([, each]) => each !== undefined)
  const quota = text('quota')
  const changes: CredentialChanges & QuotaChange = {
    ...change('name', '', name => nameOf(name, '--name')),
    ...change('expires', 'never', expires => expiryOf(expires, now)),
    ...change('models', 'all', modelNamesOf),
    ...(quota !== undefined && (quota === 'none' ? { quota: null } : quotaOf(quota))),
    ...(hasLimits && { limits: Object.keys(limits).length > 0 ? limits : null }),
  }
  if (Object.keys(changes).length === 0)
    throw new UsageError('Nothing to change; see tollgate keys update --help')
  if (kind === 'system-token' && ['models', 'quota', 'limits'].some(each => each in changes))
    throw new UsageError('a system token calls no models: it has no models, quota or limits')
  return changes
}
