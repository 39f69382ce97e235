/** The steps that make the accounts of the store those of a file. Pure. */
import { UsageError } from '../../engine/cli/kit.ts'
import type { Json } from '../../engine/plugin.ts'
import type { Declared, DeclaredAccount, KeySettings } from './document.ts'
import type { Stored, StoredAccount } from './stored.ts'

/** An operation with its arguments. */
export interface Step {
  readonly operation: string
  readonly args: { readonly [name: string]: Json }
  /** The object that changes: `key app of acme`. */
  readonly object: string
  readonly before: string
  readonly after: string
}

const NONE: StoredAccount = {
  role: 'customer',
  suspended: false,
  overdraft: '0',
  limits: null,
  members: new Map(),
  keys: new Map(),
  numbers: new Map(),
  ambiguous: [],
}

/** `prunes`: what the file does not name ends, too: keys and members of its accounts, and accounts
 *  of customers. Throws a UsageError for what no operation can do. */
export const planOf = (declared: Declared, stored: Stored, prunes: boolean): readonly Step[] => [
  ...[...declared].flatMap(([name, account]) =>
    accountSteps(name, account, stored.get(name), prunes),
  ),
  ...(prunes
    ? [...stored].flatMap(([name, { role }]) =>
        declared.has(name) || role === 'admin'
          ? []
          : [
              stepOf('accounts delete', { account: name }, `account ${name}`, [
                'active',
                'deleted',
              ]),
            ],
      )
    : []),
]

const accountSteps = (
  name: string,
  declared: DeclaredAccount,
  stored: StoredAccount | undefined,
  prunes: boolean,
): readonly Step[] => {
  const before = stored ?? NONE
  if (stored && stored.role !== declared.role)
    throw new UsageError(
      `accounts.${name}.role: the role of the account is ${stored.role} and cannot change; correct the file, or delete the account`,
    )
  checkKeys(name, declared, before, prunes)
  const object = `account ${name}`
  const { role, limits, overdraft, suspended } = declared
  const change = (operation: string, args: Step['args'], from: unknown, to: unknown) =>
    isSame(from, to)
      ? []
      : [stepOf(operation, { account: name, ...args }, object, [textOf(from), textOf(to)])]
  return [
    ...(stored ? [] : [stepOf('accounts create', { name, role }, object, ['none', role])]),
    ...change('accounts limit', { limits: limits as Json }, before.limits, limits),
    ...change('accounts overdraft', { amount: overdraft }, before.overdraft, overdraft),
    ...change(
      suspended ? 'accounts suspend' : 'accounts resume',
      {},
      stateOf(before),
      stateOf(declared),
    ),
    ...memberSteps(name, declared, before, prunes),
    ...keySteps(name, declared, before, prunes),
  ]
}
const stateOf = ({ suspended }: DeclaredAccount): string => (suspended ? 'suspended' : 'active')

const memberSteps = (
  account: string,
  declared: DeclaredAccount,
  stored: StoredAccount,
  prunes: boolean,
): readonly Step[] => [
  ...[...declared.members].flatMap(([name, role]) => {
    const before = stored.members.get(name)
    const object = `member ${name} of ${account}`
    if (before === role) return []
    return before === undefined
      ? [stepOf('members invite', { account, name, role }, object, ['none', role])]
      : [stepOf('members update', { account, member: name, role }, object, [before, role])]
  }),
  ...(prunes
    ? [...stored.members].flatMap(([name, role]) =>
        declared.members.has(name)
          ? []
          : [
              stepOf('members remove', { account, member: name }, `member ${name} of ${account}`, [
                role,
                'removed',
              ]),
            ],
      )
    : []),
]

const keySteps = (
  account: string,
  declared: DeclaredAccount,
  stored: StoredAccount,
  prunes: boolean,
): readonly Step[] => [
  ...[...declared.keys].flatMap(([name, settings]) => {
    const before = stored.keys.get(name)
    const object = `key ${name} of ${account}`
    if (!before)
      return [
        stepOf('keys create', { account, name, ...presentIn(settings) }, object, [
          'none',
          textOf(settings),
        ]),
      ]
    const changes = changedIn(before, settings)
    return Object.keys(changes).length === 0
      ? []
      : [
          stepOf('keys update', { key: stored.numbers.get(name) ?? 0, ...changes }, object, [
            textOf(pick(before, changes)),
            textOf(changes),
          ]),
        ]
  }),
  ...(prunes
    ? [...stored.numbers].flatMap(([name, key]) =>
        declared.keys.has(name)
          ? []
          : [stepOf('keys revoke', { key }, `key ${name} of ${account}`, ['active', 'revoked'])],
      )
    : []),
]

/** Throws a UsageError for a name that several keys have, and for a member that is not there. */
const checkKeys = (
  account: string,
  declared: DeclaredAccount,
  stored: StoredAccount,
  prunes: boolean,
): void => {
  const twice = stored.ambiguous.find(name => prunes || declared.keys.has(name))
  if (twice !== undefined)
    throw new UsageError(
      `accounts.${account}.keys: several keys are named "${twice}"; rename all but one with tollgate keys update ID --name NAME`,
    )
  const members = new Set([...declared.members.keys(), ...(prunes ? [] : stored.members.keys())])
  for (const [name, { member }] of declared.keys)
    if (member !== null && !members.has(member))
      throw new UsageError(
        `accounts.${account}.keys.${name}.member: the account has no member "${member}"`,
      )
}

type Change = readonly [before: string, after: string]
const stepOf = (
  operation: string,
  args: Step['args'],
  object: string,
  [before, after]: Change,
): Step => ({ operation, args, object, before, after })

/** Members in one order. */
const canonical = (value: unknown): unknown =>
  value !== null && typeof value === 'object' && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value
const isSame = (a: unknown, b: unknown): boolean =>
  JSON.stringify(canonical(a)) === JSON.stringify(canonical(b))
const textOf = (value: unknown): string =>
  value === null ? 'none' : typeof value === 'string' ? value : JSON.stringify(value)

const entriesOf = (settings: KeySettings) => Object.entries(settings) as [keyof KeySettings, Json][]
const presentIn = (settings: KeySettings): Step['args'] =>
  Object.fromEntries(entriesOf(settings).filter(([, value]) => value !== null))
/** The settings that differ. A quota has its period beside it. */
const changedIn = (before: KeySettings, settings: KeySettings): Step['args'] => {
  const isQuotaSame =
    before.quota === settings.quota && before.quota_period === settings.quota_period
  return Object.fromEntries(
    entriesOf(settings).filter(([name, value]) =>
      name === 'quota' || name === 'quota_period' ? !isQuotaSame : !isSame(before[name], value),
    ),
  )
}
const pick = (settings: KeySettings, changes: object): object =>
  Object.fromEntries(entriesOf(settings).filter(([name]) => name in changes))
