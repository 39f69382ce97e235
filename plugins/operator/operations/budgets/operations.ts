/** Operations on budgets of one account, key or member. */
import { textOf } from '../../../../engine/cli/kit.ts'
import { object, required, text } from '../../../../engine/config/shape.ts'
import type { Json, Row } from '../../../../engine/plugin.ts'
import { findAccount } from '../../../credentials/find.ts'
import { withAccountNames } from '../../../credentials/statements.ts'
import {
  type BudgetRowKey,
  findBudgetRow,
  LIST_BUDGETS,
  removeBudgetRow,
  setBudgetRow,
} from '../../../ledger/budgets/rows.ts'
import { TERMS } from '../../../ledger/budgets/section.ts'
import { NAME_PATTERN } from '../../../ledger/budgets/terms.ts'
import { list as listOf, object as row } from '../../../shapes.ts'
import type { BudgetView } from '../../../views.ts'
import { ANY_ACCOUNT, CURSOR, LIMIT } from '../../arguments.ts'
import { BUDGET_COLUMNS } from '../../columns.ts'
import { fault, queryFault } from '../../faults.ts'
import { type Context, type Operation, operation } from '../../operation.ts'
import { whenCode } from '../../rows.ts'
import { OWNER, OWNER_OPTIONS, ownerIn, ownerOf } from './owner.ts'
import { checkTerms, print, printed, rawOf, viewOf } from './view.ts'

const NAME = required(text('The name of the budget.', { pattern: NAME_PATTERN }))
const find = async ({ host, store, now }: Context, key: BudgetRowKey, account: number) => {
  const stored = await findBudgetRow(store, key)
  if (!stored) throw fault('BUDGET_MISSING', [key.name])
  const { name } = await findAccount(store, String(account), { isDeletedToo: true })
  return viewOf(host, stored, name, now)
}
/** As they are stored. Text: they cannot be read. */
const termsOf = ({ settings }: Row): Json => {
  try {
    return JSON.parse(String(settings))
  } catch {
    return String(settings)
  }
}
const ONE = object(undefined, { name: NAME, ...OWNER }, {})

const set = operation({
  name: 'budgets set',
  summary: 'Gives an account, an API key or a member a budget, or changes it, within a second.',
  scope: 'operator',
  arguments: object(undefined, { name: NAME, ...OWNER, ...TERMS }, {}),
  result: row(BUDGET_COLUMNS),
  command: {
    arguments: 'NAME AMOUNT PER',
    example: 'tollgate budgets set monthly 500 month --account acme --member bob',
    options: {
      ...OWNER_OPTIONS,
      zone: { type: 'string', value: 'ZONE', summary: 'the IANA time zone; UTC by default' },
      'at-limit': { type: 'string', value: 'WORD', summary: 'refuse (default) or warn' },
      use: { type: 'string', value: 'MODEL', summary: 'calls that do not fit go to this model' },
      shadow: { type: 'boolean', summary: 'the budget only counts calls' },
      'alert-at': {
        type: 'string',
        value: 'SHARES',
        summary: 'shares of the amount that send an alert, such as 50%,80%,100%',
      },
    },
    read: input => {
      const { positionals, values } = input
      const [, amount = '', per = ''] = positionals
      const [zone, word, use] = [values.zone, values['at-limit'], values.use].map(textOf)
      const atLimit = use === undefined ? word : { use }
      const shares = textOf(values['alert-at'])?.split(',')
      return {
        ...ownerOf(input),
        amount,
        per,
        ...(zone !== undefined && { zone }),
        ...(atLimit !== undefined && { at_limit: atLimit }),
        ...(values.shadow === true && { shadow: true }),
        ...(shares && { alert_at: shares }),
      } as never
    },
    print,
  },
  async run(context, { name, account: nameOrId, key, member, ...terms }) {
    const { account, ...owner } = await ownerIn(context, { account: nameOrId, key, member })
    const raw = rawOf(terms)
    checkTerms(context.host, raw)
    const before = await findBudgetRow(context.store, { ...owner, name })
    await context.store.change(setBudgetRow({ ...owner, name }, account, raw), {
      object: `budget ${name} of ${owner.kind} ${owner.owner}`,
      before: before ? termsOf(before) : null,
      after: raw as never,
    })
    return { data: await find(context, { ...owner, name }, account) }
  },
})

const remove = operation({
  name: 'budgets remove',
  summary: 'Removes a budget of an account, an API key or a member; its charges stay.',
  scope: 'operator',
  arguments: ONE,
  result: row(BUDGET_COLUMNS),
  command: {
    arguments: 'NAME',
    example: 'tollgate budgets remove monthly --account acme',
    options: OWNER_OPTIONS,
    read: ownerOf,
    print,
  },
  async run(context, { name, ...named }) {
    const { account, ...owner } = await ownerIn(context, named)
    const before = await find(context, { ...owner, name }, account)
    await context.store
      .change(removeBudgetRow({ ...owner, name }), {
        object: `budget ${name} of ${owner.kind} ${owner.owner}`,
        before: before as never,
        after: null,
      })
      .catch(whenCode('BUDGET_MISSING', () => fault('BUDGET_MISSING', [name])))
    return { data: before }
  },
})

const LIST = { name: 'budgets: list', text: withAccountNames(LIST_BUDGETS, 'account') }
/** Sorts before every row: no kind is empty. */
const START = ['', 0, ''] as const
const list = operation({
  name: 'budgets list',
  summary: 'Lists the budgets of single accounts, API keys and members, and what they have used.',
  scope: 'operator',
  reads: true,
  arguments: object(undefined, { account: ANY_ACCOUNT, limit: LIMIT, cursor: CURSOR }, {}),
  result: listOf(row(BUDGET_COLUMNS)),
  command: {
    arguments: '[ACCOUNT]',
    example: 'tollgate budgets list acme',
    read: ({ positionals: [account] }) => ({ limit: 1_000, ...(account && { account }) }),
    print: (budgets: readonly BudgetView[]) => ({ rows: budgets.map(printed), json: budgets }),
  },
  async run({ store, host, now }, { account: nameOrId, limit = 100, cursor }) {
    const account = nameOrId === undefined ? null : (await findAccount(store, nameOrId)).id
    const [, kind = '', owner = '', name = ''] =
      /^([a-z]+):(\d{1,15}):(.+)$/.exec(cursor ?? ':') ?? []
    if (cursor !== undefined && name === '') throw queryFault('cursor', '`next` of the page before')
    const after = cursor === undefined ? START : ([kind, Number(owner), name] as const)
    const rows = await store.read(LIST, [account, account, ...after, limit + 1])
    const page = rows.slice(0, limit)
    const last = page.at(-1)
    const next = rows.length > limit && last ? `${last.kind}:${last.owner}:${last.name}` : null
    const views = page.map(each => viewOf(host, each, String(each.account_name), now))
    return { data: views, next }
  },
})

export const budgetOperations: readonly Operation[] = [list, set, remove]
