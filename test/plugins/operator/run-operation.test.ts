/** Running operations on both stores: a write whose result is lost is repeated without a second
 *  effect, and the row of an action is in the transaction of the change. */
import t from 'tap'
import type { HostBase } from '../../../engine/plugin.ts'
import { type Actor, runOperation } from '../../../plugins/operator/operation.ts'
import type { ActionView } from '../../../plugins/views.ts'
import { hostOver, openAccountsIn } from '../../helpers/store/accounts.ts'
import { makeLedger } from '../../helpers/store/membership.ts'
import { operationNamed, runAs } from '../../helpers/store/operations.ts'
import { startBoth } from '../../helpers/store/store.ts'

const actor: Actor = { via: 'admin API', name: 'root', account: 1 }
const run = (host: HostBase, name: string, args: object) =>
  runOperation(operationNamed(name), { ...args }, { host, actor })
const actionsIn = (host: HostBase) =>
  runAs<readonly ActionView[]>({ host, actor }, 'actions list', {})

for (const { engine, database } of await startBoth(t, [])) {
  t.test(`operations on ${engine}: a lost result is asked for again, money moves once`, async t => {
    const { account } = await openAccountsIn(database)
    await makeLedger(database)
    await account('root', 'admin')
    await account('ann')
    const lists: object[] = []
    const losing = {
      ...database,
      read: database.read.bind(database),
      now: database.now.bind(database),
      async write(list: Parameters<typeof database.write>[0]) {
        lists.push(list)
        if (lists.length === 1) throw Object.assign(new Error('lost'), { code: 'STORE_UNKNOWN' })
        return database.write(list)
      },
    }
    const { data, changes } = await run(hostOver(losing as typeof database), 'accounts credit', {
      account: 'ann',
      amount: '90071992.547409931',
      note: 'gift',
    })
    t.match(data, { name: 'ann', balance: '90071992.547409931', credit: 1 })
    t.equal(lists.length, 2)
    t.equal(lists[0], lists[1], 'the store knows a list that it has written by the array')
    t.match(changes, [
      {
        object: 'account 2',
        before: { balance: '0' },
        after: { credited: '90071992.547409931', note: 'gift (by root)' },
      },
    ])
  })

  t.test(
    `operations on ${engine}: the row of an action is written with it, or not at all`,
    async t => {
      const host = hostOver(database)
      const before = await actionsIn(host)
      await run(host, 'accounts rename', { account: 'ann', name: 'anna' })
      await t.rejects(run(host, 'accounts rename', { account: 'anna', name: 'root' }), {
        code: 'ACCOUNT_EXISTS',
      })
      const [added, ...others] = await actionsIn(host)
      t.equal(others.length, before.length, 'a change that is refused leaves no row')
      t.match(added, {
        actor: 'root',
        operation: 'accounts rename',
        object: 'account 2',
        before: { name: 'ann' },
        after: { name: 'anna' },
      })
      await t.rejects(run(host, 'accounts suspend', { account: 'root' }), { code: 'ADMIN_SELF' })
      await t.rejects(run(host, 'accounts delete', { account: 1 }), { code: 'ADMIN_SELF' })
    },
  )
}
