/** The owner of a budget: arguments and options of the operations. */
import { textOf, UsageError } from '../../../../engine/cli/kit.ts'
import { integer } from '../../../../engine/config/shape.ts'
import { findAccount } from '../../../credentials/find.ts'
import type { BudgetRowKey } from '../../../ledger/budgets/rows.ts'
import { ANY_ACCOUNT } from '../../arguments.ts'
import { fault } from '../../faults.ts'
import { findKey } from '../../keys.ts'
import type { CommandInput, Context } from '../../operation.ts'
import { MEMBER, memberIn } from '../members.ts'

export const OWNER = {
  account: ANY_ACCOUNT,
  key: integer('The number of the API key that has the budget.', {
    minimum: 1,
    maximum: Number.MAX_SAFE_INTEGER,
  }),
  member: MEMBER,
}
interface OwnerArguments {
  readonly account?: string | undefined
  readonly key?: number | undefined
  readonly member?: string | undefined
}
/** The owner of the budget and its account. Throws BUDGET_OWNER. */
export const ownerIn = async (
  context: Context,
  { account: nameOrId, key, member }: OwnerArguments,
): Promise<Omit<BudgetRowKey, 'name'> & { readonly account: number }> => {
  if (
    (key === undefined) === (nameOrId === undefined) ||
    (member !== undefined && key !== undefined)
  )
    throw fault('BUDGET_OWNER')
  if (key !== undefined) {
    const { row } = await findKey(context, 'key', key)
    return { kind: 'key', owner: key, account: Number(row.account) }
  }
  const account = (await findAccount(context.store, nameOrId ?? '')).id
  if (member === undefined) return { kind: 'account', owner: account, account }
  return { kind: 'member', owner: (await memberIn(context, account, member)).id, account }
}

export const OWNER_OPTIONS = {
  account: { type: 'string', value: 'NAME', summary: 'the account that has the budget' },
  member: {
    type: 'string',
    value: 'NAME',
    summary: 'the member of that account who has the budget',
  },
  key: { type: 'string', value: 'NUMBER', summary: 'the API key that has the budget' },
} as const
export const ownerOf = ({ positionals: [name = ''], values }: CommandInput) => {
  const [account, member, key] = [values.account, values.member, values.key].map(textOf)
  if (key !== undefined && !/^[1-9]\d{0,14}$/.test(key))
    throw new UsageError('--key must be the number of an API key')
  return {
    name,
    ...(account !== undefined && { account }),
    ...(member !== undefined && { member }),
    ...(key !== undefined && { key: Number(key) }),
  }
}
