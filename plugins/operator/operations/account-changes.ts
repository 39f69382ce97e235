/** Operations that make and change accounts. */
import { textOf } from '../../../engine/cli/kit.ts'
import { object, oneOf, required } from '../../../engine/config/shape.ts'
import { fault as storeFault } from '../../credentials/faults.ts'
import { findAccount } from '../../credentials/find.ts'
import { nameOf, roleOf } from '../../credentials/input.ts'
import {
  createAccount,
  limitAccount,
  renameAccount,
  requireLimits,
} from '../../credentials/statements.ts'
import { ACCOUNT_COLUMNS } from '../../rows/accounts.ts'
import { object as row } from '../../shapes.ts'
import { accountRowById } from '../accounts.ts'
import { ACCOUNT, ACCOUNT_NAME, objectOf, refuseNumber } from '../arguments.ts'
import {
  LIMIT_CHANGES,
  LIMIT_OPTIONS,
  limitChanges,
  limitsAfter,
  retryLimitsChange,
} from '../limits.ts'
import { operation } from '../operation.ts'
import { singleRow, whenCode } from '../rows.ts'

export const accountsCreate = operation({
  name: 'accounts create',
  summary: 'Creates an account.',
  scope: 'operator',
  arguments: object(undefined, {
    name: required(ACCOUNT_NAME),
    role: oneOf('customer by default.', ['customer', 'admin']),
  }),
  result: row(ACCOUNT_COLUMNS),
  command: {
    arguments: 'NAME',
    example: 'tollgate accounts create ann',
    options: { role: { type: 'string', value: 'ROLE', summary: 'customer (default) or admin' } },
    read: ({ positionals: [name], values: { role } }) => ({
      name: nameOf(name, 'An account'),
      role: roleOf(textOf(role)),
    }),
    print: ({ id, name, role }) => singleRow({ id, name, role }),
  },
  async run({ store, now }, { name, role = 'customer' }) {
    refuseNumber(name)
    const after = { name, role }
    const rows = await store
      .change(createAccount(after, now), { object: `account ${name}`, before: null, after })
      .catch(whenCode('ACCOUNT_EXISTS', () => storeFault('ACCOUNT_EXISTS', [name])))
    return { data: await accountRowById(store, Number(rows.at(-1)?.[0]?.id)) }
  },
})

export const accountsLimit = operation({
  name: 'accounts limit',
  summary:
    'Sets the limits of an account over all its keys; those that are not named stay. Without options the command removes all.',
  scope: 'operator',
  earlier: 'POST accounts/limits',
  arguments: object(undefined, { account: ACCOUNT, limits: required(LIMIT_CHANGES) }),
  result: row(ACCOUNT_COLUMNS),
  command: {
    arguments: 'NAME',
    example: 'tollgate accounts limit ann --requests 600/min --concurrency 20',
    options: LIMIT_OPTIONS,
    read: ({ positionals: [account = ''], values }) => {
      return { account, limits: null, ...limitChanges(values) }
    },
    print: ({ name, limits }) => ({
      rows: [{ account: name, ...limits }],
      json: { account: name, limits },
    }),
  },
  async run({ store }, { account, limits: changes }) {
    const { id } = await findAccount(store, account)
    await retryLimitsChange('account', id, async () => {
      const before = await accountRowById(store, id)
      const limits = limitsAfter(before.limits, changes)
      const text = before.limits && JSON.stringify(before.limits)
      await store.change(
        [...(changes ? requireLimits('accounts', id, text) : []), ...limitAccount(id, limits)],
        { object: objectOf(before), before: { limits: before.limits }, after: { limits } },
      )
    })
    return { data: await accountRowById(store, id) }
  },
})

export const accountsRename = operation({
  name: 'accounts rename',
  summary: 'Renames an account; its keys, money and number stay.',
  scope: 'operator',
  arguments: object(undefined, { account: ACCOUNT, name: required(ACCOUNT_NAME) }),
  result: row(ACCOUNT_COLUMNS),
  command: {
    arguments: 'NAME NEW-NAME',
    example: 'tollgate accounts rename ann ann-smith',
    read: ({ positionals: [account = '', name] }) => ({
      account,
      name: nameOf(name, 'An account'),
    }),
    print: ({ id, name }) => singleRow({ id, name }),
  },
  async run({ store }, { account, name }) {
    refuseNumber(name)
    const before = await findAccount(store, account)
    await store
      .change(renameAccount(before.id, name), {
        object: objectOf(before),
        before: { name: before.name },
        after: { name },
      })
      .catch(whenCode('ACCOUNT_EXISTS', () => storeFault('ACCOUNT_EXISTS', [name])))
    return { data: await accountRowById(store, before.id) }
  },
})
