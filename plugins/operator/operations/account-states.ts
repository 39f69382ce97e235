/** Operations that let accounts in, suspend them and end them. */
import { flag, object } from '../../../engine/config/shape.ts'
import { configuredCurrency } from '../../billing/currency.ts'
import { fault as storeFault } from '../../credentials/faults.ts'
import { findAccount, type NamedAccount } from '../../credentials/find.ts'
import { deleteAccount, suspendAccount } from '../../credentials/statements.ts'
import { ACCOUNT_COLUMNS, SIGN_IN_LINK } from '../../rows/accounts.ts'
import { object as row, text as word } from '../../shapes.ts'
import { accountRow, accountRowById } from '../accounts.ts'
import { ACCOUNT, objectOf } from '../arguments.ts'
import { fault } from '../faults.ts'
import { reasonsToKeep } from '../money.ts'
import { type Context, type Operation, operation } from '../operation.ts'
import { singleRow } from '../rows.ts'
import { issueLink } from './sign-in-links.ts'

const ONLY_ACCOUNT = object(undefined, { account: ACCOUNT })
const refuseSelf = ({ actor }: Context, { id, name }: NamedAccount): void => {
  if (actor.account === id) throw fault('ADMIN_SELF', [name])
}

export const accountsLink = operation({
  name: 'accounts link',
  summary: 'Makes a link that signs an account in to the console once, within 24 hours.',
  scope: 'operator',
  arguments: ONLY_ACCOUNT,
  showsSecret: true,
  result: row({ account: word, ...SIGN_IN_LINK }),
  command: {
    arguments: 'NAME',
    example: 'tollgate accounts link ann',
  },
  async run(context, { account: nameOrId }) {
    const { id, name } = await findAccount(context.store, nameOrId)
    const link = await issueLink(context, { account: id }, { object: objectOf({ id }), link: name })
    return { data: { account: name, ...link } }
  },
})

export const accountsDelete = operation({
  name: 'accounts delete',
  summary: 'Deletes an account: its keys end, its name is free, its ledger stays.',
  scope: 'operator',
  arguments: object(undefined, {
    account: ACCOUNT,
    force: flag('Also with money, debts, running calls or open tasks.'),
  }),
  result: row(ACCOUNT_COLUMNS),
  command: {
    arguments: 'NAME',
    example: 'tollgate accounts delete ann',
    options: {
      force: { type: 'boolean', summary: 'also with money, debts, running calls or open tasks' },
    },
    print: ({ id, name, state }) => singleRow({ id, name, state }),
  },
  async run(context, { account: nameOrId, force = false }) {
    const { host, store, now } = context
    const account = await findAccount(store, nameOrId)
    refuseSelf(context, account)
    const { id, name } = account
    const reasons = await reasonsToKeep(store, id, configuredCurrency(host).name)
    if (reasons.length > 0 && !force)
      throw storeFault('ACCOUNT_IN_USE', [name, reasons.join(' and ')])
    await store.change(deleteAccount(id, name, now), {
      object: objectOf(account),
      before: { name, ...(reasons.length > 0 && { has: reasons }) },
      after: { state: 'deleted' },
    })
    return { data: { ...(await accountRowById(store, id)), name } }
  },
})

export const suspension = (verb: 'suspend' | 'resume', summary: string): Operation =>
  operation({
    name: `accounts ${verb}`,
    summary,
    scope: 'operator',
    arguments: ONLY_ACCOUNT,
    result: row(ACCOUNT_COLUMNS),
    command: {
      arguments: 'NAME',
      example: `tollgate accounts ${verb} ann`,
      print: ({ id, name, state }) => singleRow({ id, name, state }),
    },
    async run(context, { account }) {
      const { store, now } = context
      const before = await accountRow(store, account)
      if (verb === 'suspend') refuseSelf(context, before)
      await store.change(suspendAccount(before.id, verb === 'suspend' ? now : null), {
        object: objectOf(before),
        before: { state: before.state },
        after: { state: verb === 'suspend' ? 'suspended' : 'active' },
      })
      return { data: await accountRowById(store, before.id) }
    },
  })
