/** The file of `tollgate apply` and `tollgate export accounts`: accounts with their members and
 *  keys, by name. It has no secrets and no balances. */
import { nearest } from '../../engine/config/nearest.ts'
import {
  anyOf,
  flag,
  map,
  object,
  ofTypes,
  oneOf,
  orElse,
  required,
  text,
  type ValueOf,
} from '../../engine/config/shape.ts'
import type { Fault, HostBase, Json } from '../../engine/plugin.ts'
import { moneyIn, printMoney } from '../billing/money.ts'
import { NAME_PATTERN } from '../ledger/budgets/terms.ts'
import { nullable, tagList } from '../operator/arguments.ts'
import { KEY_SETTINGS } from '../operator/key-settings.ts'
import { LIMITS } from '../operator/limits.ts'
import { MEMBER } from '../operator/operations/members.ts'
import { isoTime } from '../operator/rows.ts'
import { ROLES } from '../rows/accounts.ts'
import { validatorOf } from '../schema/compile.ts'
import type { Limits, MemberView } from '../views.ts'
import { BUDGETS, type DeclaredBudget, readBudgets } from './budgets.ts'
import { Mistake, type Path } from './source.ts'

/** The store may have names that operations do not give, such as those of identity providers: the
 *  plan checks new ones. */
const NAMES = { propertyNames: { minLength: 1, maxLength: 256 } }
const MOST_NAMES = 10_000

const KEY = object(
  'An API key; settings that are left out are removed.',
  { ...KEY_SETTINGS, member: MEMBER, budgets: BUDGETS },
  {
    dependentRequired: { quota_period: ['quota'] },
  },
)
const MEMBER_ENTRY = anyOf('A role, or a role with tags and budgets.', [
  oneOf(undefined, ROLES, { type: 'string' }),
  object('A member; settings that are left out are removed.', {
    role: required(oneOf('A role.', ROLES)),
    tags: nullable(tagList('Its')),
    budgets: BUDGETS,
  }),
])
const ACCOUNT = object('An account; settings that are left out are removed.', {
  role: oneOf('customer by default.', ['customer', 'admin'], { default: 'customer' }),
  suspended: flag('Whether every call is refused.', { default: false }),
  overdraft: orElse(
    ofTypes(
      'The amount by which the balance may be below zero, in units of the currency.',
      ['string', 'number'],
      {
        maxLength: 24,
      },
    ),
    '0',
  ),
  limits: LIMITS,
  plan: nullable(
    text('A name in `plans:`; null: none. Left out: the plan stays.', { pattern: NAME_PATTERN }),
  ),
  members: orElse(
    map('Roles by the names of members.', MEMBER_ENTRY, {
      ...NAMES,
      maxProperties: MOST_NAMES,
    }),
    {},
  ),
  budgets: BUDGETS,
  keys: orElse(map('API keys by their names.', KEY, { ...NAMES, maxProperties: MOST_NAMES }), {}),
})
const DOCUMENT = object(undefined, {
  accounts: required(
    map('Accounts by their names.', ACCOUNT, { ...NAMES, maxProperties: MOST_NAMES }),
  ),
})

/** A key or an account as the file has it and as the store has it: both in one form, so that equal
 *  settings are equal texts. */
export interface KeySettings {
  readonly member: string | null
  /** ISO 8601, or null: never. */
  readonly expires: string | null
  readonly models: readonly string[] | null
  readonly limits: Limits | null
  readonly quota: number | null
  readonly quota_period: 'day' | 'month' | null
}
export type MemberSettings = Pick<MemberView, 'role' | 'tags'>
export interface DeclaredAccount extends Pick<ValueOf<typeof ACCOUNT>, 'role' | 'suspended'> {
  /** Units of the currency as a decimal text. */
  readonly overdraft: string
  readonly limits: Limits | null
  /** Undefined: that of the store stays. */
  readonly plan?: string | null | undefined
  readonly members: ReadonlyMap<string, MemberSettings>
  readonly keys: ReadonlyMap<string, KeySettings>
  /** Of the account, its members and its keys. */
  readonly budgets: readonly DeclaredBudget[]
}
export type Declared = ReadonlyMap<string, DeclaredAccount>

/** Throws a Mistake. */
export const readDocument = (document: Json, host: HostBase): Declared => {
  const invalid = validatorOf(DOCUMENT.schema as Json, 'accounts', host).validate(document)
  if (invalid) throw mistakeOf(invalid, document)
  const { accounts } = DOCUMENT.read(document as never)
  return new Map(
    Object.entries(accounts).map(([name, account]) => [
      name,
      {
        ...account,
        overdraft: moneyOf(account.overdraft, ['accounts', name, 'overdraft']),
        limits: account.limits ?? null,
        members: new Map(
          Object.entries(account.members).map(([member, entry]) => [member, memberSettings(entry)]),
        ),
        keys: new Map(
          Object.entries(account.keys).map(([key, settings]) => [key, keySettings(settings)]),
        ),
        budgets: budgetsIn(account, ['accounts', name], host),
      },
    ]),
  )
}
type MemberEntry = ValueOf<typeof MEMBER_ENTRY>
const memberSettings = (entry: MemberEntry): MemberSettings =>
  typeof entry === 'object'
    ? { role: entry.role, tags: entry.tags ?? null }
    : { role: entry, tags: null }
const budgetsIn = (
  { budgets, members, keys }: ValueOf<typeof ACCOUNT>,
  path: Path,
  host: HostBase,
): readonly DeclaredBudget[] => [
  ...readBudgets(budgets, { of: 'account' }, path, host),
  ...Object.entries(members).flatMap(([owner, entry]) =>
    typeof entry === 'object'
      ? readBudgets(entry.budgets, { of: 'member', owner }, [...path, 'members', owner], host)
      : [],
  ),
  ...Object.entries(keys).flatMap(([owner, key]) =>
    readBudgets(key.budgets, { of: 'key', owner }, [...path, 'keys', owner], host),
  ),
]
const moneyOf = (value: unknown, place: Path): string => {
  try {
    return printMoney(moneyIn(value, 'overdraft'))
  } catch (error) {
    throw new Mistake(place, (error as Error).message)
  }
}
const mistakeOf = ({ code, message, param = '' }: Fault, document: Json): Mistake => {
  const path = pathOf(String(param), document)
  if (code !== 'UNKNOWN_PARAMETER') return new Mistake(path, message)
  const known = keysAt(DOCUMENT.schema, path.slice(0, -1))
  const suggestion = nearest(path.at(-1) ?? '', known)
  return new Mistake(
    path,
    suggestion === undefined
      ? `this key is not known; the known ones are ${known.join(', ')}`
      : 'this key is not known',
    suggestion,
  )
}
/** The steps of a path in a message, `accounts.acme.keys[7]`: names may have dots. */
const pathOf = (text: string, value: unknown): Path => {
  if (text === '') return []
  const names = Object.keys(Object(value)).sort((one, other) => other.length - one.length)
  for (const name of names)
    for (const step of [name, `.${name}`, `[${name}]`]) {
      const rest = text.slice(step.length)
      if (text.startsWith(step) && /^([.[]|$)/.test(rest))
        return [name, ...pathOf(rest, (value as Readonly<Record<string, unknown>>)[name])]
    }
  return [text.replace(/^\.|^\[|\]$/g, '')]
}
interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema | boolean
}
/** The names of `properties` in the part of a schema for this path of a document. */
const keysAt = (schema: Schema, [step, ...rest]: Path): readonly string[] => {
  const { properties = {}, additionalProperties } = schema
  if (step === undefined) return Object.keys(properties)
  const next = properties[step] ?? additionalProperties
  return typeof next === 'object' ? keysAt(next, rest) : []
}
const keySettings = (key: ValueOf<typeof KEY>): KeySettings => ({
  member: key.member ?? null,
  expires: key.expires == null ? null : isoTime(key.expires),
  models: key.models ? key.models.toSorted() : null,
  limits: key.limits ?? null,
  quota: key.quota ?? null,
  quota_period: key.quota_period ?? null,
})
