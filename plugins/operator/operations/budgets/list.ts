/** The list of budgets and their use, for operators and for their owners. */

import { object } from '../../../../engine/config/shape.ts'
import { findAccount } from '../../../credentials/find.ts'
import { onlyMember } from '../../../credentials/members.ts'
import { listBudgets } from '../../../ledger/budgets/list.ts'
import { BUDGET_COLUMNS } from '../../../rows/money.ts'
import { list as listOf, object as row } from '../../../shapes.ts'
import type { BudgetView } from '../../../views.ts'
import { ANY_ACCOUNT, CURSOR, LIMIT } from '../../arguments.ts'
import { queryFault } from '../../faults.ts'
import { operation } from '../../operation.ts'
import { printed, sourcesOf, viewOf } from './view.ts'

export const budgetsList = operation({
  name: 'budgets list',
  summary: 'Lists budgets of accounts, API keys, members and tags, and what they have used.',
  scope: 'both',
  reads: true,
  arguments: object(undefined, { account: ANY_ACCOUNT, limit: LIMIT, cursor: CURSOR }),
  result: listOf(row(BUDGET_COLUMNS)),
  own: [
    { view: 'list-budgets', summary: 'Lists the budgets of the account, its keys and members.' },
  ],
  command: {
    arguments: '[ACCOUNT]',
    example: 'tollgate budgets list acme',
    read: ({ positionals: [account] }) => ({ limit: 1_000, ...(account && { account }) }),
    print: (budgets: readonly BudgetView[], currency) => ({
      rows: budgets.map(budget => printed(budget, currency)),
      json: budgets,
    }),
  },
  async run({ store, host, now, own, member }, { account: nameOrId, limit = 100, cursor }) {
    const account =
      own ?? (nameOrId === undefined ? undefined : (await findAccount(store, nameOrId)).id)
    const rows = await listBudgets(store, host, {
      account,
      member: onlyMember(member),
      after: rowAt(cursor),
      limit: limit + 1,
      now,
    })
    const page = rows.slice(0, limit)
    const last = page.at(-1)
    const next = rows.length > limit && last ? `${last.kind}:${last.owner}:${last.name}` : null
    const sources = sourcesOf(host)
    const views = page.map(each => viewOf(each, now, sources))
    // A budget that only counts has no effect that its owner could see.
    return { data: own === undefined ? views : views.filter(({ shadow }) => shadow !== true), next }
  },
})
/** The row that a cursor names. Without one: before every row, since no kind is empty. */
const rowAt = (cursor: string | undefined): Parameters<typeof listBudgets>[2]['after'] => {
  if (cursor === undefined) return { kind: '', owner: 0, name: '' }
  const [, kind, owner, name] = /^([^:]+):(\d{1,15}):([^:]+)$/.exec(cursor) ?? []
  if (kind === undefined || name === undefined)
    throw queryFault('cursor', '`next` of the page before')
  return { kind, owner: Number(owner), name }
}
