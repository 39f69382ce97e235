/** Every operation on a key or an account leaves the members of `limits` that it does not name
 *  unchanged, on both stores. */
import t from 'tap'
import { commands } from '../../../plugins/account/command.ts'
import { addMember } from '../../../plugins/credentials/members.ts'
import { OPERATIONS } from '../../../plugins/operator/table.ts'
import type { AccountRow, KeyView, Limits } from '../../../plugins/views.ts'
import { runCommand } from '../../helpers/gateway/command-line.ts'
import { hostOver, openAccountsIn } from '../../helpers/store/accounts.ts'
import { run } from '../../helpers/store/actions.ts'
import { makeLedger } from '../../helpers/store/membership.ts'
import { ENGINES, startAnyStore } from '../../helpers/store/store.ts'

const ALL = {
  requests: '60/min',
  tokens: '1000/min',
  concurrency: 5,
  zone: 'eu',
  retention: 'none',
  tags: 'project=alpha',
} as const satisfies Required<Limits>
const OTHERS = { requests: '61/min', tokens: '1001/min', concurrency: 6, zone: 'us' } as const

for (const engine of ENGINES)
  t.test(`limits on ${engine}: a change keeps those that it does not name`, async t => {
    const { database, ...accounts } = await openAccountsIn(
      await (await startAnyStore(t, engine)).open(),
    )
    await makeLedger(database)
    const host = { ...hostOver(database), memo: (_: string, make: () => string) => make() }
    const ann = await accounts.account('ann')
    await database.write(addMember(ann, { name: 'ben', role: 'member' }, Date.now()))
    const create = (limits: Limits) =>
      run<KeyView>(host, 'keys create', { account: 'ann', name: 'k', limits })
    const limitsOf = async (key: number) => (await run<KeyView>(host, 'keys show', { key })).limits
    const command = (group: 'keys' | 'accounts', ...args: string[]) =>
      runCommand(t, group, commands, host as never, args)

    const { id: key } = await create(ALL)
    let expected: Limits = ALL
    for (const [name, value] of Object.entries(OTHERS))
      for (const own of [{}, { own: ann }]) {
        const limits = { [name]: own.own === undefined ? value : ALL[name as keyof Limits] }
        expected = { ...expected, ...limits }
        const view = await run<KeyView>(host, 'keys update', { key, limits }, own)
        t.match(view.limits, expected, `${name} ${own.own ?? 'of an operator'}`)
        t.equal(Object.keys(view.limits ?? {}).length, 6)
      }
    for (const change of [
      { name: 'renamed' },
      { quota: 500, quota_period: 'month' },
      { quota: null },
      { expires: '2100-01-01' },
      { models: ['m'] },
      { member: 'ben' },
    ]) {
      await run(host, 'keys update', { key, ...change })
      t.same(await limitsOf(key), ALL, JSON.stringify(change))
    }
    for (const overlap of [undefined, '1h']) {
      await run(host, 'keys rotate', { key, ...(overlap && { overlap }) })
      t.same(await limitsOf(key), ALL, 'a rotation')
    }
    await command('keys', 'update', String(key), '--requests', '62/min')
    t.same(await limitsOf(key), { ...ALL, requests: '62/min' }, 'the command')
    await command('keys', 'update', String(key), '--tokens', 'none', '--zone', 'any')
    t.same(await limitsOf(key), {
      requests: '62/min',
      concurrency: 5,
      retention: 'none',
      tags: 'project=alpha',
    })

    for (const name of Object.keys(ALL)) {
      const { id } = await create(ALL)
      const view = await run<KeyView>(host, 'keys update', { key: id, limits: { [name]: null } })
      const { [name as keyof Limits]: _, ...rest } = ALL
      t.same(view.limits, rest, `null removes ${name} alone`)
    }
    const { id: last } = await create({ tokens: '5/min' })
    await run(host, 'keys update', { key: last, limits: { tokens: null } })
    t.equal(await limitsOf(last), null, 'the last one')
    await run(host, 'keys update', { key, limits: null })
    t.equal(await limitsOf(key), null, 'null removes all')

    const { id: busy } = await create(ALL)
    const changes = Object.entries(OTHERS).map(([name, value]) =>
      run(host, 'keys update', { key: busy, limits: { [name]: value } }),
    )
    await Promise.all(changes)
    t.same(await limitsOf(busy), { ...ALL, ...OTHERS }, 'changes at once')

    const limit = (limits: object | null) =>
      run<AccountRow>(host, 'accounts limit', { account: 'ann', limits })
    await limit(ALL)
    t.same((await limit({ requests: '7/min' })).limits, { ...ALL, requests: '7/min' })
    await command('accounts', 'limit', 'ann', '--zone', 'us')
    t.same((await limit({ zone: null })).limits, {
      requests: '7/min',
      tokens: ALL.tokens,
      tags: ALL.tags,
      concurrency: 5,
      retention: 'none',
    })
    await run(host, 'accounts rename', { account: 'ann', name: 'amy' })
    const { limits } = await run<AccountRow>(host, 'accounts show', { account: 'amy' })
    t.match(limits, { tokens: ALL.tokens })
    await command('accounts', 'limit', 'amy')
    const after = await run<AccountRow>(host, 'accounts show', { account: 'amy' })
    t.equal(after.limits, null, 'the command without options removes all')
  })

t.test('operations: no other one has limits among its arguments', async t => {
  const names = OPERATIONS.filter(({ arguments: { schema } }) =>
    Object.hasOwn((schema.properties ?? {}) as object, 'limits'),
  ).map(({ name }) => name)
  t.same(names.sort(), ['accounts limit', 'keys create', 'keys update'])
})
