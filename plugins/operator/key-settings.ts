/** The settings of API keys and system tokens, as arguments of operations and options of
 *  commands. */
import { instantIn, textOf, UsageError } from '../../engine/cli/kit.ts'
import { nearest } from '../../engine/config/nearest.ts'
import {
  integer,
  list,
  object,
  ofTypes,
  oneOf,
  orElse,
  reading,
  required,
  text,
} from '../../engine/config/shape.ts'
import { amountIn, DURATIONS } from '../../engine/kit.ts'
import type { CommandArguments, HostBase } from '../../engine/plugin.ts'
import { modelsOf as configuredModels, unknownModelIn } from '../catalogue/configured.ts'
import { expiryOf, modelsOf, nameOf, numberOf, quotaOf } from '../credentials/input.ts'
import type { Rotated } from '../credentials/statements.ts'
import { SCOPES } from '../rows/accounts.ts'
import { ACCOUNT_NAME, nullable } from './arguments.ts'
import { fault } from './faults.ts'
import { NOUNS } from './keys.ts'
import { LIMIT_CHANGES, LIMIT_OPTIONS, LIMITS, limitChanges, limitsIn } from './limits.ts'
import type { Actor } from './operation.ts'
import { isoTime } from './rows.ts'

const instantOf = (expires: string): number => {
  const at = instantIn(expires)
  if (Number.isNaN(at)) throw fault('EXPIRES_TIME')
  return at
}
/** null removes a setting. */
const SETTINGS = {
  name: ACCOUNT_NAME,
  expires: nullable(
    reading(
      text('A date, or a time with its offset; null: never.', { minLength: 10, maxLength: 40 }),
      instantOf,
    ),
  ),
  models: nullable(
    list(
      'Only these models; null: all.',
      text('A model.', { maxLength: 256, pattern: '^\\S{1,256}$' }),
      { minItems: 1, maxItems: 1_000, uniqueItems: true },
    ),
  ),
  limits: LIMITS,
  quota: nullable(
    integer('Quota units that it may spend in its life, or in each period; null: no quota.', {
      minimum: 1,
      maximum: 500_000_000_000_000,
    }),
  ),
  quota_period: nullable(
    oneOf('The quota is for each day or month, by UTC; null: for life.', ['day', 'month'], {
      errorMessage: "Invalid 'quota_period': expected day, month or null, beside a quota.",
    }),
  ),
}
export const EXPIRES = SETTINGS.expires
const { name: _, ...others } = SETTINGS
/** Settings of API keys beside their name. */
export const KEY_SETTINGS = others
const TOGETHER = { dependentRequired: { quota_period: ['quota'] } }
/** Settings that a system token has not. */
export const OF_KEYS = ['models', 'limits', 'quota', 'quota_period'] as const
export const settingsWith = <const F extends Parameters<typeof object>[1]>(fields: F) =>
  object(undefined, { ...fields, ...SETTINGS }, TOGETHER)
/** Settings that are absent stay. */
export const changesWith = <const F extends Parameters<typeof object>[1]>(fields: F) =>
  object(undefined, { ...fields, ...SETTINGS, limits: LIMIT_CHANGES }, TOGETHER)

export const KIND = orElse<Rotated, Rotated>(
  oneOf('An API key, or a system token; an API key by default.', ['key', 'system-token']),
  'key',
)
/** The number of a credential. */
export const KEY_NUMBER = required(
  integer('Its number.', { minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
)

/** Throws KEY_MODEL for a model that no entry of `models:` offers: such a key could not call it.
 *  Without that section every name passes. */
export const checkModels = (
  host: HostBase,
  models: readonly string[],
  { via }: Pick<Actor, 'via'>,
): void => {
  const name = unknownModelIn(models, host)
  if (name === undefined) return
  const suggestion = nearest(name, Object.keys(configuredModels(host)))
  const list = via === 'command line' ? 'tollgate models lists them' : '`/api/models` lists all'
  throw fault('KEY_MODEL', [
    name,
    suggestion === undefined ? list : `did you mean "${suggestion}"?`,
  ])
}

const OVERLAP_PATTERN = '^[1-9][0-9]{0,5}[mhd]$'
/** Reads ms. */
export const OVERLAP = reading(
  ofTypes(
    'How long the old secret is valid too: a time such as 30m, 24h or 7d, or seconds; by default it ends at once.',
    ['string', 'integer'],
    {
      minimum: 1,
      maximum: 31_536_000,
      maxLength: 7,
      pattern: OVERLAP_PATTERN,
      errorMessage: "Invalid 'overlap': expected a time such as 30m, 24h or 7d, or seconds.",
    },
  ),
  overlap => (typeof overlap === 'number' ? overlap * 1_000 : amountIn(overlap, DURATIONS)),
)

export const SCOPE = oneOf(
  'What a system token may do: read changes nothing, keys changes API keys too, all everything; all by default.',
  SCOPES,
)

// ---------------------------------------------------------------- command line

type Values = CommandArguments['values']

export const SYSTEM = { type: 'boolean', summary: 'a system token instead of an API key' } as const
export const kindOf = ({ system }: Values): Rotated => (system === true ? 'system-token' : 'key')
export const idOf = ([word]: readonly string[], kind: Rotated): number =>
  numberOf(word, `The number of the ${NOUNS[kind]}`)

/** Undefined without the option. */
export const overlapIn = ({ overlap }: Values): string | undefined => {
  const time = textOf(overlap)
  if (time === undefined || new RegExp(OVERLAP_PATTERN).test(time)) return time
  throw new UsageError('--overlap must be a time such as 30m, 24h or 7d')
}

export const CREATE_OPTIONS = {
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
  member: { type: 'string', value: 'NAME', summary: 'the member of the team that it is for' },
  system: SYSTEM,
  scope: { type: 'string', value: 'WORD', summary: 'of a system token: read, keys or all' },
} as const
/** Nothing without the option. */
export const scopeOption = ({ scope }: Values) => {
  const word = textOf(scope)
  return word === undefined ? {} : { scope: word as (typeof SCOPES)[number] }
}

/** The options that `keys create` has. */
export const settingsIn = (values: Values, now: number) => {
  const [name, expires, models, quota] = [
    textOf(values.name),
    expiryOf(textOf(values.expires), now),
    modelsOf(textOf(values.models)),
    textOf(values.quota),
  ]
  const limits = limitsIn(values)
  return {
    name: nameOf(name ?? 'unnamed', '--name'),
    ...(expires !== undefined && { expires: isoTime(expires) }),
    ...(models && { models }),
    ...(limits && { limits }),
    ...(quota !== undefined && quotaOf(quota)),
  }
}

export const UPDATE_OPTIONS = {
  name: { type: 'string', value: 'NAME', summary: 'another name' },
  expires: { type: 'string', value: 'TIME', summary: 'expiry: 30d, 12h, a date, or never' },
  models: { type: 'string', value: 'NAMES', summary: 'only these models, comma-separated, or all' },
  quota: { type: 'string', value: 'UNITS', summary: '500000, 500000/day, 500000/month, or none' },
  requests: { type: 'string', value: 'RATE', summary: "60/min, or none: the route's limit counts" },
  tokens: { type: 'string', value: 'RATE', summary: '100000/min, or none' },
  concurrency: { type: 'string', value: 'NUMBER', summary: '5, or none' },
  zone: { type: 'string', value: 'NAME', summary: 'only upstreams of this zone, or any' },
  retention: { type: 'string', value: 'none', summary: 'only upstreams that keep nothing, or any' },
  tags: { type: 'string', value: 'TAGS', summary: 'tags such as project=alpha, or none' },
  member: { type: 'string', value: 'NAME', summary: 'another member of the team, or none' },
  system: SYSTEM,
} as const
/** The options that `keys update` has. The options of one limit keep the others. `hasOther`: an
 *  option that is not read here changes something. */
export const changesIn = (values: Values, now: number, hasOther: boolean) => {
  /** `word` removes the setting. */
  const change = <T>(
    name: keyof typeof UPDATE_OPTIONS,
    word: string,
    read: (text: string) => T,
  ) => {
    const value = textOf(values[name])
    if (value === undefined) return {}
    return { [name]: value === word ? null : read(value) }
  }
  const quota = textOf(values.quota)
  const changes = {
    ...change('name', '', name => nameOf(name, '--name')),
    ...change('expires', 'never', expires => isoTime(expiryOf(expires, now))),
    ...change('models', 'all', modelsOf),
    ...(quota !== undefined && (quota === 'none' ? { quota: null } : quotaOf(quota))),
    ...limitChanges(values),
  }
  if (Object.keys(changes).length === 0 && !hasOther)
    throw new UsageError('Nothing to change; see tollgate keys update --help')
  return changes
}
