/** The accounts of the store in the form of a declared account, with the numbers of their keys. */
import type { HostBase, Json } from '../../engine/plugin.ts'
import { configuredCurrency } from '../billing/currency.ts'
import { TOKEN_PREFIX } from '../credentials/secret.ts'
import { runWhole } from '../operator/command-line.ts'
import { reasonsToKeep } from '../operator/money.ts'
import { accountsList } from '../operator/operations/account-reads.ts'
import { budgetsList } from '../operator/operations/budgets/list.ts'
import { keysList } from '../operator/operations/key-reads.ts'
import { membersList } from '../operator/operations/members.ts'
import { plansList } from '../operator/operations/plans/operations.ts'
import type { AccountRow, BudgetView, KeyView, MemberView, PlanView } from '../views.ts'
import { storedBudgets } from './budgets.ts'
import type { DeclaredAccount } from './document.ts'

export interface StoredAccount extends DeclaredAccount {
  readonly id: number
  /** Null: none, or it has ended. */
  readonly plan: string | null
  /** `unpaid` or `until …`: the plan has an end, as one that the account bought. The plan of a file
   *  has none. */
  readonly planLimit: string | undefined
  /** Why it cannot be deleted; read where that is asked. */
  readonly reasonsToKeep: readonly string[]
  /** The numbers of the keys that are not revoked, by name. */
  readonly numbers: ReadonlyMap<string, number>
  /** Names that several of its keys have. */
  readonly ambiguous: readonly string[]
}
export type Stored = ReadonlyMap<string, StoredAccount>

/** All accounts that are not deleted; keys and members of those that `includes` takes, and with
 *  `mayDelete` the reasons to keep the others. */
export const readStored = async (
  host: HostBase,
  includes: (name: string) => boolean,
  mayDelete = false,
): Promise<Stored> => {
  const list = async <Row>(operation: Parameters<typeof runWhole>[0], args: Json) =>
    (await runWhole(operation, args, host)) as readonly Row[]
  const [accounts, plans, keys] = [
    await list<AccountRow>(accountsList, {}),
    await list<PlanView>(plansList, {}),
    await list<KeyView>(keysList, { kind: 'key', limit: 1_000 }),
  ]
  const keysByAccount = Map.groupBy(
    // Keys of access tokens have no secret, and their names are not the operator's.
    keys.filter(({ state, key }) => state !== 'revoked' && !key.startsWith(TOKEN_PREFIX)),
    ({ account }) => account,
  )
  const currentPlans = new Map(
    plans.filter(({ state }) => state !== 'expired').map(each => [each.account, each]),
  )
  const stored = new Map<string, StoredAccount>()
  for (const account of accounts) {
    const { name } = account
    const isIncluded = includes(name)
    const members = isIncluded
      ? await list<MemberView>(membersList, { account: account.id, limit: 1_000 })
      : []
    const reasons =
      mayDelete && !isIncluded
        ? await reasonsToKeep(host.database, account.id, configuredCurrency(host).name)
        : []
    const keys = keysByAccount.get(name) ?? []
    const budgets = isIncluded
      ? await list<BudgetView>(budgetsList, { account: `${account.id}`, limit: 1_000 })
      : []
    const entry = storedAccount(account, members, keys)
    const plan = currentPlans.get(name)
    stored.set(name, {
      ...entry,
      budgets: storedBudgets(budgets, entry.numbers),
      plan: plan?.plan ?? null,
      planLimit: plan && planLimitOf(plan),
      reasonsToKeep: reasons,
    })
  }
  return stored
}

const planLimitOf = ({ state, expires }: PlanView): string | undefined => {
  if (state === 'unpaid') return 'unpaid'
  return expires === null ? undefined : `until ${expires}`
}
const storedAccount = (
  { id, role, state, overdraft, limits }: AccountRow,
  members: readonly MemberView[],
  keys: readonly KeyView[],
): Omit<StoredAccount, 'plan' | 'planLimit' | 'budgets' | 'reasonsToKeep'> => ({
  id,
  role: role === 'admin' ? 'admin' : 'customer',
  suspended: state === 'suspended',
  overdraft,
  limits,
  members: new Map(members.map(({ name, role, tags }) => [name, { role, tags }])),
  keys: new Map(
    keys.map(({ name, member, expires, models, limits: own, quota, quota_period }) => [
      name,
      {
        member,
        expires,
        models: models ? models.toSorted() : null,
        limits: own,
        quota,
        quota_period,
      },
    ]),
  ),
  numbers: new Map(keys.map(({ name, id }) => [name, id])),
  ambiguous: [...Map.groupBy(keys, ({ name }) => name)].flatMap(([name, list]) =>
    list.length > 1 ? [name] : [],
  ),
})
