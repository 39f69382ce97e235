/** The steps that make the accounts of the store those of a file. Pure. */
import { nearest } from '../../engine/config/nearest.ts'
import type { Json } from '../../engine/plugin.ts'
import { canonicalJson } from '../formats/fields.ts'
import { ACCOUNT_NAME } from '../operator/arguments.ts'
import { replacementOf } from '../operator/limits.ts'
import type { Limits } from '../views.ts'
import { budgetSteps } from './budgets.ts'
import type { Declared, DeclaredAccount, KeySettings, MemberSettings } from './document.ts'
import { Mistake, type Path } from './source.ts'
import type { Step } from './step.ts'
import type { Stored, StoredAccount } from './stored.ts'

const NONE: StoredAccount = {
  id: 0,
  reasonsToKeep: [],
  role: 'customer',
  suspended: false,
  overdraft: '0',
  limits: null,
  plan: null,
  planLimit: undefined,
  members: new Map(),
  keys: new Map(),
  budgets: [],
  numbers: new Map(),
  ambiguous: [],
}

/** Names of the configuration. `zones` undefined: it has no upstreams, and every name is good. */
export interface KnownNames {
  /** The first of these models that is not known, with the nearest one. */
  unknownModel(
    names: readonly string[],
  ): { readonly name: string; readonly nearest?: string } | undefined
  readonly zones: readonly string[] | undefined
  readonly plans: readonly string[]
}
interface Options {
  /** Surplus of the store ends, too: keys and members of its accounts, and accounts of
   *  customers. */
  readonly prunes: boolean
  /** A file without customers may delete all. */
  readonly allowsEmpty: boolean
  readonly names: KnownNames
}
/** Throws a Mistake for what no operation can do. */
export const planOf = (declared: Declared, stored: Stored, options: Options): readonly Step[] => {
  const { prunes, allowsEmpty } = options
  const surplus = [...stored].filter(
    ([name, { role }]) => prunes && role === 'customer' && !declared.has(name),
  )
  const isEmpty = ![...declared.values()].some(({ role }) => role === 'customer')
  // A file that was cut off, or made from an empty list.
  if (isEmpty && surplus.length > 0 && !allowsEmpty)
    throw new Mistake(
      ['accounts'],
      `the file names no customer, so --prune would delete all (${surplus.length}); add --allow-empty if that is meant. Nothing was changed`,
    )
  return [
    ...[...declared].flatMap(([name, account]) =>
      accountSteps(name, account, stored.get(name), options),
    ),
    ...surplus.map(([name, account]) => deletionOf(name, account)),
  ]
}
const deletionOf = (name: string, { id, suspended, reasonsToKeep }: StoredAccount): Step => {
  const refusal =
    reasonsToKeep.length > 0 ? `kept: it has ${reasonsToKeep.join(' and ')}` : undefined
  const change = [suspended ? 'suspended' : 'active', refusal ?? 'deleted'] as const
  return {
    ...stepOf('accounts delete', { account: `${id}` }, `account ${name}`, change),
    isRefused: refusal !== undefined,
  }
}

const accountSteps = (
  name: string,
  declared: DeclaredAccount,
  stored: StoredAccount | undefined,
  { prunes, names }: Options,
): readonly Step[] => {
  const before = stored ?? NONE
  const path = ['accounts', name]
  if (stored && stored.role !== declared.role)
    throw new Mistake(
      [...path, 'role'],
      `the role of the account is ${stored.role} and cannot change; correct the file, or delete the account`,
    )
  checkNewNames(path, stored ? [] : [name])
  for (const kind of ['members', 'keys'] as const)
    checkNewNames(
      [...path, kind],
      [...declared[kind].keys()].filter(each => !before[kind].has(each)),
    )
  checkKeys(path, declared, before, prunes)
  checkKnown(path, declared, before, names)
  const object = `account ${name}`
  // Operations take a number in place of a name of any length.
  const account = stored ? `${stored.id}` : name
  const { role, limits, overdraft, suspended, plan } = declared
  const change = (operation: string, args: Step['args'], from: unknown, to: unknown) =>
    isSame(from, to)
      ? []
      : [stepOf(operation, { account, ...args }, object, [textOf(from), textOf(to)])]
  return [
    ...(stored ? [] : [stepOf('accounts create', { name, role }, object, ['none', role])]),
    ...change(
      'accounts limit',
      { limits: replacementOf(before.limits, limits) },
      before.limits,
      limits,
    ),
    ...change('accounts overdraft', { amount: overdraft }, before.overdraft, overdraft),
    ...change(
      suspended ? 'accounts suspend' : 'accounts resume',
      {},
      stateOf(before),
      stateOf(declared),
    ),
    ...(plan === undefined ? [] : change(...operationFor(plan), planIn(before), plan)),
    ...memberSteps({ name, account }, declared, before, prunes),
    ...keySteps({ name, account }, declared, before, prunes),
    ...budgetSteps({ name, account, numbers: before.numbers }, declared.budgets, before.budgets, {
      prunes,
      stays: budget =>
        budget.of === 'account' ||
        declared[budget.of === 'key' ? 'keys' : 'members'].has(budget.owner),
    }),
  ]
}
const operationFor = (plan: string | null): readonly [string, Step['args']] =>
  plan === null ? ['plans cancel', {}] : ['plans assign', { plan }]
/** A plan with a limit is not the one of a file, which has none. */
const planIn = ({ plan, planLimit }: StoredAccount): string | null =>
  plan !== null && planLimit !== undefined ? `${plan} ${planLimit}` : plan
const stateOf = ({ suspended }: DeclaredAccount): string => (suspended ? 'suspended' : 'active')

/** `account`: as operations name it. */
interface Owner {
  readonly name: string
  readonly account: string
}
const memberSteps = (
  { name: owner, account }: Owner,
  declared: DeclaredAccount,
  stored: StoredAccount,
  prunes: boolean,
): readonly Step[] => [
  ...[...declared.members].flatMap(([name, settings]) => {
    const before = stored.members.get(name)
    const object = `member ${name} of ${owner}`
    const after = memberText(settings)
    if (!before)
      return [stepOf('members invite', { account, name, ...settings }, object, ['none', after])]
    const change = [memberText(before), after] as const
    return isSame(before, settings)
      ? []
      : [stepOf('members update', { account, member: name, ...settings }, object, change)]
  }),
  ...(prunes
    ? [...stored.members].flatMap(([name, settings]) =>
        declared.members.has(name)
          ? []
          : [
              stepOf('members remove', { account, member: name }, `member ${name} of ${owner}`, [
                memberText(settings),
                'removed',
              ]),
            ],
      )
    : []),
]

const memberText = ({ role, tags }: MemberSettings): string =>
  tags === null ? role : `${role} (${tags})`

const keySteps = (
  { name: owner, account }: Owner,
  declared: DeclaredAccount,
  stored: StoredAccount,
  prunes: boolean,
): readonly Step[] => [
  ...[...declared.keys].flatMap(([name, settings]) => {
    const before = stored.keys.get(name)
    const object = `key ${name} of ${owner}`
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
          stepOf(
            'keys update',
            {
              key: stored.numbers.get(name) ?? 0,
              ...changes,
              ...('limits' in changes && { limits: replacementOf(before.limits, settings.limits) }),
            },
            object,
            [textOf(pick(before, changes)), textOf(changes)],
          ),
        ]
  }),
  ...(prunes
    ? [...stored.numbers].flatMap(([name, key]) =>
        declared.keys.has(name)
          ? []
          : [stepOf('keys revoke', { key }, `key ${name} of ${owner}`, ['active', 'revoked'])],
      )
    : []),
]

const NAME = new RegExp(String(ACCOUNT_NAME.schema.pattern), 'u')
/** Throws a Mistake for a name that nothing can be created with. */
const checkNewNames = (path: Path, names: readonly string[]): void => {
  const wrong = names.find(name => !NAME.test(name) || /^\d+$/.test(name))
  if (wrong !== undefined)
    throw new Mistake(
      path.at(-1) === wrong ? path : [...path, wrong],
      'a new name has 1 to 64 letters, digits, spaces and . _ @ + -, and is not a number',
    )
}
/** Throws a Mistake for a changed setting with a model, a zone or a plan that the configuration has
 *  not. */
const checkKnown = (
  path: Path,
  declared: DeclaredAccount,
  stored: StoredAccount,
  { unknownModel, zones, plans }: KnownNames,
): void => {
  const { plan } = declared
  if (plan && plan !== stored.plan && !plans.includes(plan))
    throw new Mistake(
      [...path, 'plan'],
      `\`plans:\` has no plan "${plan}"; it has ${plans.join(', ') || 'none'}`,
      nearest(plan, plans),
    )
  const checkZone = (at: Path, after: Limits | null, before: Limits | null | undefined) => {
    const zone = after?.zone
    if (zone === undefined || zone === before?.zone || !zones || zones.includes(zone)) return
    const list = zones.length > 0 ? `; the known ones are ${zones.join(', ')}` : ''
    const suggestion = nearest(zone, zones)
    const message = `no upstream is in the zone "${zone}"${suggestion === undefined ? list : ''}`
    throw new Mistake([...at, 'limits', 'zone'], message, suggestion)
  }
  checkZone(path, declared.limits, stored.limits)
  for (const [name, { limits, models }] of declared.keys) {
    const before = stored.keys.get(name)
    const at = [...path, 'keys', name]
    checkZone(at, limits, before?.limits)
    const added = models?.filter(each => !before?.models?.includes(each)) ?? []
    const unknown = unknownModel(added)
    if (unknown)
      throw new Mistake(
        [...at, 'models'],
        `no model is named "${unknown.name}"; tollgate models lists them`,
        unknown.nearest,
      )
  }
}
/** Throws a Mistake for a name that several keys have, and for a member that is not there. */
const checkKeys = (
  path: Path,
  declared: DeclaredAccount,
  stored: StoredAccount,
  prunes: boolean,
): void => {
  const twice = stored.ambiguous.find(name => prunes || declared.keys.has(name))
  if (twice !== undefined)
    throw new Mistake(
      [...path, 'keys', twice],
      `several keys are named "${twice}"; rename all but one with tollgate keys update ID --name NAME`,
    )
  const members = new Set([...declared.members.keys(), ...(prunes ? [] : stored.members.keys())])
  for (const [name, { member }] of declared.keys)
    if (member !== null && !members.has(member))
      throw new Mistake(
        [...path, 'keys', name, 'member'],
        `the account has no member "${member}"`,
        nearest(member, members),
      )
}

type Change = readonly [before: string, after: string]
const stepOf = (
  operation: string,
  args: Step['args'],
  object: string,
  [before, after]: Change,
): Step => ({ operation, args, object, before, after })

const isSame = (a: unknown, b: unknown): boolean => canonicalJson(a) === canonicalJson(b)
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
