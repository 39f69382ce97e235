/** Operations on budgets of one account, key or member. */
import { textOf } from '../../../../engine/cli/kit.ts'
import { object, required, text } from '../../../../engine/config/shape.ts'
import type { Json, Row } from '../../../../engine/plugin.ts'
import { findBudgetRow } from '../../../ledger/budgets/list.ts'
import { type BudgetRowKey, removeBudgetRow, setBudgetRow } from '../../../ledger/budgets/rows.ts'
import { TERMS } from '../../../ledger/budgets/section.ts'
import { NAME_PATTERN } from '../../../ledger/budgets/terms.ts'
import { BUDGET_COLUMNS } from '../../../rows/money.ts'
import { object as row } from '../../../shapes.ts'
import { fault } from '../../faults.ts'
import { type Context, type Operation, operation } from '../../operation.ts'
import { whenCode } from '../../rows.ts'
import { budgetsList } from './list.ts'
import { OWNER, OWNER_OPTIONS, ownerIn, ownerOf } from './owner.ts'
import { checkTerms, print, rawOf, sourcesOf, viewOf } from './view.ts'

const NAME = required(text('The name of the budget.', { pattern: NAME_PATTERN }))
const find = async ({ host, store, now }: Context, key: BudgetRowKey) => {
  const stored = await findBudgetRow(store, key)
  if (!stored) throw fault('BUDGET_MISSING', [key.name])
  return viewOf(stored, now, sourcesOf(host))
}
/** As they are stored. Text: they cannot be read. */
const termsOf = ({ settings }: Row): Json => {
  try {
    return JSON.parse(String(settings))
  } catch {
    return String(settings)
  }
}
const ONE = object(undefined, { name: NAME, ...OWNER })

/** `1000000 tokens`, or an amount of money. */
const limitOf = (text: string): { readonly amount: string } | { readonly tokens: string } => {
  const [, tokens] = /^([0-9_]+) tokens$/.exec(text) ?? []
  return tokens === undefined ? { amount: text } : { tokens }
}

const set = operation({
  name: 'budgets set',
  summary: 'Gives an account, an API key or a member a budget, or changes it, within a second.',
  scope: 'operator',
  arguments: object(undefined, { name: NAME, ...OWNER, ...TERMS }),
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
        ...limitOf(amount),
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
    return { data: await find(context, { ...owner, name }) }
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
    const { account: _, ...owner } = await ownerIn(context, named)
    const before = await find(context, { ...owner, name })
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

export const budgetOperations: readonly Operation[] = [budgetsList, set, remove]
