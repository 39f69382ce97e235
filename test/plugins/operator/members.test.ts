/** The statements of members on both stores. */
import t from 'tap'
import type { HostBase } from '../../../engine/plugin.ts'
import { commands } from '../../../plugins/account/command.ts'
import { Credentials } from '../../../plugins/credentials/credentials.ts'
import type { Actor } from '../../../plugins/operator/operation.ts'
import { runCommand } from '../../helpers/gateway/command-line.ts'
import { hostOver, openAccountsIn } from '../../helpers/store/accounts.ts'
import { makeLedger } from '../../helpers/store/membership.ts'
import { runAs } from '../../helpers/store/operations.ts'
import { startBoth } from '../../helpers/store/store.ts'

const actor: Actor = { via: 'command line', name: 'root' }
const run = (host: HostBase, name: string, args: object) =>
  runAs<{ readonly [name: string]: unknown }>({ host, actor }, name, args)

for (const { engine, database } of await startBoth(t, []))
  t.test(`members on ${engine}: roles, keys, and an end`, async t => {
    const { account } = await openAccountsIn(database)
    await makeLedger(database)
    await account('root', 'admin')
    await account('acme')
    const host = hostOver(database)
    const bob = await run(host, 'members invite', { account: 'acme', name: 'bob', role: 'member' })
    t.match(bob, { id: 1, account: 'acme', name: 'bob', role: 'member', keys: 0, url: /#link=sl-/ })
    await t.rejects(run(host, 'members invite', { account: 'acme', name: 'bob', role: 'viewer' }), {
      code: 'MEMBER_EXISTS',
      status: 409,
    })
    await t.rejects(run(host, 'members invite', { account: 'acme', name: '5', role: 'viewer' }), {
      code: 'ADMIN_NUMBER',
      status: 400,
    })
    await t.rejects(run(host, 'members update', { account: 'acme', member: 'eve' }), {
      code: 'MEMBER_UNKNOWN',
    })
    const key = await run(host, 'keys create', { account: 'acme', member: 'bob' })
    t.match(key, { member: 'bob' })
    const credentials = new Credentials(database)
    const find = () => credentials.find(String(key.key), 'key')
    t.match(await find(), { account: { member: { id: 1, name: 'bob', role: 'member' } } })
    await run(host, 'members update', { account: 'acme', member: 1, role: 'admin', name: 'rob' })
    const other = new Credentials(database)
    t.match(await other.find(String(key.key), 'key'), {
      account: { member: { name: 'rob', role: 'admin' } },
    })
    t.match(await run(host, 'members list', { account: 'acme' }), [{ name: 'rob', keys: 1 }])
    const tags = 'project=alpha, feature=search'
    const tagged = await run(host, 'members update', { account: 'acme', member: 'rob', tags })
    t.match(tagged, { name: 'rob', role: 'admin', tags })
    t.match(await new Credentials(database).find(String(key.key), 'key'), {
      account: { member: { name: 'rob', tags } },
    })
    await run(host, 'members update', { account: 'acme', member: 'rob', role: 'owner' })
    t.match(await run(host, 'members list', { account: 'acme' }), [{ role: 'owner', tags }])
    const words = ['update', 'acme', 'rob', '--role', 'admin', '--tags', 'none']
    t.equal((await runCommand(t, 'members', commands, host, words)).exit, 0)
    t.match(await run(host, 'members list', { account: 'acme' }), [{ role: 'admin', tags: null }])
    t.match(
      await run(host, 'members invite', { account: 'acme', name: 'kim', role: 'member', tags }),
      { name: 'kim', tags },
    )
    await run(host, 'members remove', { account: 'acme', member: 'kim' })
    const wrong = async (...words: string[]) =>
      (await runCommand(t, 'members', commands, host, words)).err
    t.match(
      await wrong('invite', 'acme', 'eve', '--role', 'king'),
      /--role must be one of owner, admin/,
    )
    t.match(
      await wrong('update', 'acme', 'rob', '--role', 'king'),
      /--role must be one of owner, admin/,
    )
    t.match(await wrong('invite', 'acme', 'a:b'), /The name of the member/)
    t.match(await wrong('update', 'acme', 'rob', '--tags', 'project'), /--tags must be tags such/)
    const both = await Promise.allSettled(
      [1, 2].map(() => run(host, 'members remove', { account: 'acme', member: 'rob' })),
    )
    t.ok(both.some(({ status }) => status === 'fulfilled'))
    t.same(await run(host, 'members list', { account: 'acme' }), [])
    t.match(await new Credentials(database).find(String(key.key), 'key'), {
      refusalCode: 'AUTH_REVOKED',
    })
    t.match(await run(host, 'keys show', { key: key.id }), { member: /rob/, state: 'revoked' })
  })
