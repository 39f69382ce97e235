/** The budgets of an account, its members and its API keys in the file, and the steps that set and
 *  remove them. */
import { map, object, orElse, type ValueOf } from '../../engine/config/shape.ts'
import type { Fault, HostBase, Json } from '../../engine/plugin.ts'
import { TERMS } from '../ledger/budgets/section.ts'
import { NAME_PATTERN } from '../ledger/budgets/terms.ts'
import { checkTerms, fullTerms, rawOf } from '../operator/operations/budgets/view.ts'
import type { BudgetView } from '../views.ts'
import { Mistake, type Path } from './source.ts'
import type { Step } from './step.ts'

export const BUDGETS = orElse(
  map('Budgets by their names.', object('A budget.', TERMS), {
    propertyNames: { pattern: NAME_PATTERN },
    maxProperties: 100,
  }),
  {},
)
type Owner = { readonly of: 'account' } | { readonly of: 'member' | 'key'; readonly owner: string }
type Terms = { readonly [name: string]: Json }
export type DeclaredBudget = Owner & {
  readonly name: string
  /** As the operation `budgets set` takes them. */
  readonly terms: Terms
  /** The same with every default and the amount in the currency of accounts: equal budgets are
   *  equal texts. Undefined: the row of the store cannot be read. */
  readonly full: Terms | undefined
}

/** Throws a Mistake. */
export const readBudgets = (
  budgets: ValueOf<typeof BUDGETS>,
  owner: Owner,
  path: Path,
  host: HostBase,
): readonly DeclaredBudget[] =>
  Object.entries(budgets).map(([name, value]) => {
    const terms = rawOf(value)
    try {
      checkTerms(host, terms)
    } catch (error) {
      const { param, message } = error as Fault
      throw new Mistake([...path, 'budgets', name, String(param)], message)
    }
    return { ...owner, name, terms: terms as Terms, full: fullTerms(host, terms) as Terms }
  })

/** The budgets of the store. `numbers`: of the keys of the account, by name. */
export const storedBudgets = (
  budgets: readonly BudgetView[],
  numbers: ReadonlyMap<string, number>,
): readonly DeclaredBudget[] => {
  const keys = new Map([...numbers].map(([name, number]) => [number, name]))
  return budgets.flatMap((budget): readonly DeclaredBudget[] => {
    const { source, of, name, owner, owner_name, problem } = budget
    if (source !== 'store' || of === 'tag') return []
    const { amount, tokens, per, zone, at_limit, shadow, alert_at } = budget
    const terms = { amount, tokens, per, zone, at_limit, shadow, alert_at } as Terms
    const stored = { name, terms, full: problem === null ? terms : undefined }
    if (of === 'account') return [{ ...stored, of }]
    const ownerName = of === 'key' ? keys.get(owner ?? 0) : owner_name
    // Of a key that another key of its name hides, or of an identity provider.
    return ownerName == null ? [] : [{ ...stored, of, owner: ownerName }]
  })
}

interface Account {
  readonly name: string
  /** As operations name it. */
  readonly account: string
  readonly numbers: ReadonlyMap<string, number>
}
const ownerArguments = (budget: DeclaredBudget, { account, numbers }: Account): Partial<Step> => {
  if (budget.of === 'account') return { args: { account } }
  if (budget.of === 'member') return { args: { account, member: budget.owner } }
  const key = numbers.get(budget.owner)
  return key === undefined ? { args: {}, newKey: `${account}/${budget.owner}` } : { args: { key } }
}
const idOf = (budget: DeclaredBudget): string =>
  JSON.stringify([budget.of, budget.of === 'account' ? '' : budget.owner, budget.name])

/** `stays`: whether a member or a key of the store is in the file. */
export const budgetSteps = (
  account: Account,
  declared: readonly DeclaredBudget[],
  stored: readonly DeclaredBudget[],
  { prunes, stays }: { readonly prunes: boolean; stays(budget: DeclaredBudget): boolean },
): readonly Step[] => {
  const before = new Map(stored.map(budget => [idOf(budget), budget]))
  const named = new Set(declared.map(idOf))
  const step = (operation: string, budget: DeclaredBudget, from: string, to: string): Step => {
    const owner = ownerArguments(budget, account)
    const subject = budget.of === 'account' ? account.name : `${budget.owner} of ${account.name}`
    const terms = operation === 'budgets set' ? budget.terms : {}
    return {
      ...owner,
      operation,
      args: { ...owner.args, ...terms, name: budget.name },
      object: `budget ${budget.name} of ${budget.of} ${subject}`,
      before: from,
      after: to,
    }
  }
  const surplus = stored.filter(each => prunes && stays(each) && !named.has(idOf(each)))
  return [
    ...declared.flatMap(budget => {
      const earlier = before.get(idOf(budget))
      const [from, to] = [textOf(earlier), textOf(budget)]
      return from === to ? [] : [step('budgets set', budget, from, to)]
    }),
    ...surplus.map(budget => step('budgets remove', budget, textOf(budget), 'removed')),
  ]
}
const textOf = (budget: DeclaredBudget | undefined): string => {
  if (!budget) return 'none'
  return budget.full ? JSON.stringify(shortTerms(budget.full)) : 'cannot be read'
}

/** Without terms that have their default. */
const shortTerms = (terms: Terms): object =>
  Object.fromEntries(
    Object.entries(terms).filter(
      ([name, value]) =>
        value !== null &&
        JSON.stringify(value) !== JSON.stringify(TERMS[name as keyof typeof TERMS].fallback),
    ),
  )
/** The `budgets:` of an owner in the file; nothing if it has none. One that cannot be read is left
 *  out. */
export const budgetsEntry = (
  budgets: readonly DeclaredBudget[],
  of: Owner['of'],
  owner?: string,
): { readonly budgets?: object } => {
  const own = budgets.filter(
    each => each.of === of && (each.of === 'account' || each.owner === owner),
  )
  const entries = own.flatMap(({ name, full }) => (full ? [[name, shortTerms(full)]] : []))
  return entries.length > 0 ? { budgets: Object.fromEntries(entries) } : {}
}
