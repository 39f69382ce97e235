/** Operations on plans of accounts. */
import { textOf } from '../../../../engine/cli/kit.ts'
import { flag, object } from '../../../../engine/config/shape.ts'
import { findAccount } from '../../../credentials/find.ts'
import { expiryOf } from '../../../credentials/input.ts'
import { beginPlan } from '../../../ledger/plans/plans.ts'
import { cancelPlan, findPlan } from '../../../ledger/plans/rows.ts'
import { plansIn } from '../../../ledger/plans/section.ts'
import { PLAN_COLUMNS } from '../../../rows/money.ts'
import { list as listOf, object as row } from '../../../shapes.ts'
import { ACCOUNT, ANY_ACCOUNT, CURSOR, LIMIT, objectOf, PLAN } from '../../arguments.ts'
import { fault, queryFault } from '../../faults.ts'
import { EXPIRES } from '../../key-settings.ts'
import { type Operation, operation } from '../../operation.ts'
import { isoTime, pageOf, whenCode } from '../../rows.ts'
import { buy, endWithWindow, plansOwn } from './purchase.ts'
import { factsOf, find, LIST, planNamed, print, printAll, viewOf } from './view.ts'

const assign = operation({
  name: 'plans assign',
  summary: 'Gives an account a plan in place of the one it has, within a second.',
  scope: 'operator',
  arguments: object(undefined, {
    account: ACCOUNT,
    plan: PLAN,
    expires: EXPIRES,
  }),
  result: row(PLAN_COLUMNS),
  command: {
    arguments: 'ACCOUNT PLAN',
    example: 'tollgate plans assign acme pro --expires 365d',
    options: {
      expires: { type: 'string', value: 'TIME', summary: 'end of the plan: 30d, or a date' },
    },
    async read({ positionals: [account = '', plan = ''], values, host }) {
      const expires = expiryOf(textOf(values.expires), await host.database.now())
      return { account, plan, ...(expires !== undefined && { expires: isoTime(expires) }) }
    },
    print,
  },
  async run(context, { account: nameOrId, plan: name, expires }) {
    const { store, host, now } = context
    const plan = planNamed(host, name)
    if (expires != null && expires <= now) throw fault('PLAN_EXPIRY')
    const account = await findAccount(store, nameOrId)
    const before = await findPlan(store, account.id)
    const until = expires ?? undefined
    const list = beginPlan(plan, { account: account.id, since: now, until })
    await store.change(list, {
      object: objectOf(account),
      before: before ? factsOf(before) : null,
      after: { plan: name, expires: until === undefined ? null : isoTime(until), paid: false },
    })
    return { data: await find(context, account.id, account.name) }
  },
})

const cancel = operation({
  name: 'plans cancel',
  summary:
    'Ends the plan of an account within a second, and what is left of its amount is lost; or at the end of the window that was paid for.',
  scope: 'both',
  arguments: object(undefined, {
    account: ACCOUNT,
    at_end: flag('It ends with its window; until then it pays.', { default: false }),
  }),
  result: row(PLAN_COLUMNS),
  command: {
    arguments: 'ACCOUNT',
    example: 'tollgate plans cancel acme',
    options: {
      'at-end': { type: 'boolean', summary: 'a bought plan ends with the window it has paid for' },
    },
    print,
  },
  own: [
    {
      view: 'cancel-plan',
      summary: 'Ends the plan of the account with the window that it has paid for.',
      fixed: { at_end: true },
    },
  ],
  async run(context, { account: nameOrId, at_end: isAtEnd }) {
    const { store, host, own, now } = context
    const account = await findAccount(store, own === undefined ? nameOrId : String(own))
    const stored = await findPlan(store, account.id)
    if (!stored) throw fault('PLAN_MISSING', [account.name])
    const before = viewOf(plansIn(host), stored, account.name, now)
    if (isAtEnd && before.state !== 'unpaid') return endWithWindow(context, account, stored)
    // A plan that the account buys meanwhile stays: it has paid for it.
    await store
      .change(cancelPlan(account.id, Number(stored.change)), {
        object: objectOf(account),
        before: factsOf(stored),
        after: null,
      })
      .catch(whenCode('PLAN_CHANGED', () => fault('PLAN_CHANGED')))
    return { data: before }
  },
})

export const plansList = operation({
  name: 'plans list',
  summary: 'Lists the plans of accounts, and what they have used in the window of now.',
  scope: 'operator',
  reads: true,
  arguments: object(undefined, { account: ANY_ACCOUNT, limit: LIMIT, cursor: CURSOR }),
  result: listOf(row(PLAN_COLUMNS)),
  command: {
    arguments: '[ACCOUNT]',
    example: 'tollgate plans list',
    read: ({ positionals: [account] }) => ({ limit: 1_000, ...(account && { account }) }),
    print: printAll,
  },
  async run({ store, host, now }, { account: nameOrId, limit = 100, cursor = '0' }) {
    if (!/^\d{1,15}$/.test(cursor)) throw queryFault('cursor', '`next` of the page before')
    const account = nameOrId === undefined ? null : (await findAccount(store, nameOrId)).id
    const rows = await store.read(LIST, [account, account, Number(cursor), limit + 1])
    const plans = plansIn(host)
    return pageOf(
      rows,
      limit,
      each => viewOf(plans, each, String(each.account_name), now),
      ({ account }) => account,
    )
  },
})

export const planOperations: readonly Operation[] = [plansList, plansOwn, buy, assign, cancel]
