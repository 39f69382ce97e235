/** The budgets that a quoted call must fit into, with what they have used in the store. */
import { textOf, UsageError } from '../../../engine/cli/kit.ts'
import type { CommandArguments, HostBase, Row } from '../../../engine/plugin.ts'
import { configuredCurrency } from '../../billing/currency.ts'
import { findAccount } from '../../credentials/find.ts'
import { findMember } from '../../credentials/members.ts'
import { OWNER_OF_KEY } from '../../credentials/owners.ts'
import { TAG_LIST, type Tags } from '../../slots.ts'
import { listBudgets } from '../budgets/list.ts'
import { type OwnerKind, tagIn, tagOf, windowOwner } from '../budgets/owner.ts'
import { type Budget, budgetsIn, parseBudget } from '../budgets/section.ts'
import { nameOfUnit, printIn } from '../budgets/tokens.ts'
import { printInstant, windowOf } from '../budgets/window.ts'
import { nanosOf } from '../statements.ts'
import type { Unit } from '../wallet.ts'

export const CALLER_OPTIONS = {
  account: { type: 'string', value: 'NAME', summary: 'shows the budgets of this account' },
  member: { type: 'string', value: 'NAME', summary: 'and of this member of the account' },
  key: { type: 'string', value: 'NUMBER', summary: 'shows those of this key and its account' },
  tags: { type: 'string', value: 'TAGS', summary: 'and those of tags such as project=alpha' },
} as const

/** The effect of a budget on a call that it does not cover. `limits`: it covers a part, to which
 *  the output is limited. */
type Effect = 'none' | 'limits' | 'refuses' | 'warns' | 'changes' | 'counts'
export interface QuotedBudget {
  readonly name: string
  readonly owner: string
  readonly used: string
  readonly amount: string
  readonly unit: Unit
  /** ISO 8601; null: never. */
  readonly resets: string | null
  readonly effect: Effect
}
export interface QuotedCost {
  /** Nanos: the most that the call may cost. */
  readonly nanos: bigint
  /** The most that it may use. */
  readonly tokens: bigint
  /** The same of a plan in tokens; 0: it does not pay the call. */
  readonly planTokens: bigint
  /** Whether these nanos or tokens cover a part of the output that is worth a call. */
  coversPart(rest: bigint, unit: Unit): boolean
}
interface Caller {
  readonly account: number
  readonly key: number | undefined
  readonly member: number | undefined
  readonly tags: Tags
}
type Values = CommandArguments['values']

/** Undefined: no option names a caller. Throws a UsageError, ACCOUNT_UNKNOWN. */
export const callerIn = async (values: Values, host: HostBase): Promise<Caller | undefined> => {
  const [name, key, memberName, tags] = (['account', 'key', 'member', 'tags'] as const).map(each =>
    textOf(values[each]),
  )
  if (name === undefined && key === undefined) {
    if (memberName === undefined && tags === undefined) return undefined
    throw new UsageError('--member and --tags need --account or --key')
  }
  if (name !== undefined && key !== undefined)
    throw new UsageError('--account and --key exclude each other: a key has an account')
  if (memberName !== undefined && key !== undefined)
    throw new UsageError('--member and --key exclude each other: a key has a member or none')
  const account =
    key === undefined
      ? { ...(await memberOf(name ?? '', memberName, host)), key: undefined }
      : await ownerOfKey(key, host)
  return { ...account, tags: tagsIn(tags) }
}
const tagsIn = (text: string | undefined): Tags => {
  if (text === undefined) return {}
  if (!new RegExp(TAG_LIST).test(text))
    throw new UsageError('--tags must be tags such as project=alpha, feature=search')
  return Object.fromEntries(text.split(/, ?/).map(each => each.split('=', 2)))
}
const memberOf = async (name: string, memberName: string | undefined, { database }: HostBase) => {
  const { id: account } = await findAccount(database, name)
  if (memberName === undefined) return { account, member: undefined }
  const { id: member } = await findMember(database, account, memberName)
  return { account, member: Number(member) }
}
const ownerOfKey = async (key: string, { database }: HostBase) => {
  const id = /^[1-9]\d{0,14}$/.test(key) ? Number(key) : 0
  const [row] = await database.read(OWNER_OF_KEY, [id])
  if (!row)
    throw new UsageError(`there is no API key ${key}; tollgate keys list shows their numbers`)
  const member = row.member === null ? undefined : Number(row.member)
  return { account: Number(row.account), key: id, member }
}

/** All budgets that apply to a call of this caller at `at`, ms since 1970. */
export const quoteBudgets = async (
  host: HostBase,
  caller: Caller,
  at: number,
  cost: QuotedCost,
): Promise<readonly QuotedBudget[]> => {
  const currency = configuredCurrency(host)
  const configured = budgetsIn(host)
  const page = { after: { kind: '', owner: 0, name: '' }, limit: MOST, now: at }
  const rows = await listBudgets(host.database, host, { ...page, account: caller.account })
  const owned = rows.flatMap(row => {
    if (!isOwnedBy(caller, row)) return []
    const named = { name: String(row.name), of: row.kind as OwnerKind }
    const budget =
      row.settings === null
        ? configured.find(({ name }) => name === named.name)
        : parseBudget(named, row.settings, currency)
    return budget ? [{ budget, row, owner: `${row.kind} ${row.owner_name}` }] : []
  })
  const windows = await listBudgets(host.database, host, {
    ...page,
    account: undefined,
    after: { kind: AFTER_OWNERS, owner: 0, name: '' },
  })
  const tagged = configured.flatMap(budget => {
    const { of, name } = budget
    const value = typeof of === 'object' ? tagOf(caller.tags, of.tag) : undefined
    if (value === undefined) return []
    const { kind } = windowOwner(of, value)
    const row = windows.find(each => each.kind === kind && each.name === name)
    return [{ budget, row, owner: `tag ${tagIn(kind)}` }]
  })
  return [...owned, ...tagged].map(({ budget, row, owner }) => {
    const { start, end } = windowOf(at, budget.per, budget.zone)
    const used = Number(row?.start) === start ? nanosOf(row?.used) : 0n
    return {
      name: budget.name,
      owner,
      used: printIn(budget.unit, used),
      amount: printIn(budget.unit, budget.amount),
      unit: budget.unit,
      resets: end === undefined ? null : printInstant(end, budget.zone),
      effect: effectOf(budget, budget.amount - used, cost),
    }
  })
}
const MOST = 100_000
/** Sorts after accounts, keys and members, and before tags. */
const AFTER_OWNERS = 'tag'
const isOwnedBy = ({ account, key, member }: Caller, { kind, owner }: Row): boolean =>
  Number(owner) === { account, key, member }[String(kind) as OwnerKind]
const effectOf = (
  { isShadow, atLimit, unit }: Budget,
  rest: bigint,
  { nanos, tokens, coversPart }: QuotedCost,
): Effect => {
  if (rest >= (unit === 'tokens' ? tokens : nanos)) return 'none'
  if (isShadow) return 'counts'
  if (atLimit === 'warn') return 'warns'
  if (typeof atLimit === 'object') return 'changes'
  return rest > 0n && coversPart(rest, unit) ? 'limits' : 'refuses'
}

const EFFECTS: Readonly<Record<Effect, string>> = {
  none: 'covers the call',
  limits: 'covers a part, to which it limits the output',
  refuses: 'refuses the call',
  warns: 'does not cover the call, which passes with a warning',
  changes: 'does not cover the call, which goes to another model',
  counts: 'does not cover the call, and only counts it',
}
/** A line for each budget: `budget monthly of account acme refuses the call: 1999.9 of 2000 …`. */
export const describeBudgets = (budgets: readonly QuotedBudget[], currency: string): string =>
  budgets
    .map(({ name, owner, used, amount, unit, resets, effect }) => {
      const until = resets === null ? '' : ` until ${resets}`
      return `budget ${name} of ${owner} ${EFFECTS[effect]}: ${used} of ${amount} ${nameOfUnit(unit, currency)} used${until}\n`
    })
    .join('')
