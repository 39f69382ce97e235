/** Budgets of one account, key or member: set, listed and removed while calls go on. */
import t from 'tap'
import type { HostBase } from '../../../engine/plugin.ts'
import { commands } from '../../../plugins/account/command.ts'
import { migrations as actionTables } from '../../../plugins/action-log/tables.ts'
import { makeSecret } from '../../../plugins/credentials/secret.ts'
import { addKey, createAccount } from '../../../plugins/credentials/statements.ts'
import { migrations as accountMigrations } from '../../../plugins/credentials/tables.ts'
import { type Actor, runOperation } from '../../../plugins/operator/operation.ts'
import { OPERATIONS } from '../../../plugins/operator/table.ts'
import type { BudgetView } from '../../../plugins/views.ts'
import { sessionOf } from '../../docs/blocks.ts'
import { runCommand } from '../../helpers/gateway/command-line.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { arrangeBudgets, BODY } from '../../helpers/money/budgets.ts'
import { hostOver } from '../../helpers/store/accounts.ts'
import { ENGINES, sql } from '../../helpers/store/store.ts'

const actor: Actor = { via: 'command line', name: 'root' }
const run = async <T = BudgetView>(host: HostBase, name: string, args: object): Promise<T> => {
  const operation = OPERATIONS.find(each => each.name === name)
  if (!operation) throw new Error(`there is no operation ${name}`)
  return (await runOperation(operation, { ...args }, { host, actor })).data as T
}

for (const engine of ENGINES)
  t.test(`budgets of one owner on ${engine}`, async t => {
    const budgets = { monthly: { of: 'account', amount: 1, per: 'month' } }
    const { urls, call, books, windows, database } = await arrangeBudgets(t, engine, budgets, 2)
    const [url = '', other = ''] = urls
    await database.migrate('auth', accountMigrations)
    await database.migrate('actions', actionTables)
    await database.write(createAccount({ name: 'acme', role: 'customer' }, 1))
    await database.write(createAccount({ name: 'beta', role: 'customer' }, 1))
    await database.write(addKey({ account: 1, name: 'k', secret: makeSecret('key') }, 1))
    const host = hostOver(database)
    await run(host, 'members invite', { account: 'acme', name: 'bob', role: 'member' })

    t.equal((await call(url)).status, 200)
    await books()
    const status = async (gateway: string, headers = {}, account = 1) =>
      (await call(gateway, BODY, account, headers)).status
    const becomes = (expected: number, headers = {}) =>
      eventually(async () => {
        const both = [await status(url, headers), await status(other, headers)]
        return both.every(each => each === expected) || undefined
      })

    await t.test('set: takes the place of the budget of its name, on every gateway', async t => {
      const budget = await run(host, 'budgets set', {
        name: 'monthly',
        account: 'acme',
        amount: 0.008,
        per: 'month',
      })
      t.match(budget, { name: 'monthly', of: 'account', owner: 1, account: 'acme', used: '0.006' })
      t.match(budget, { amount: '0.008', at_limit: 'refuse', shadow: false, alert_at: [] })
      await becomes(429)
      t.equal(await status(url, {}, 2), 200, 'others keep the budget of the configuration')
      await run(host, 'budgets set', { name: 'monthly', account: 1, amount: '5', per: 'month' })
      await becomes(200)
      await books()
      t.equal((await windows()).length, 2, 'one window for each account')
      await run(host, 'budgets remove', { name: 'monthly', account: 'acme' })
      await eventually(async () => {
        for (const gateway of urls) await call(gateway)
        const [own] = (await windows()).filter(({ owner }) => owner === 1)
        return Number(own?.used) + Number(own?.balance) === 1_000_000_000 || undefined
      })
      await run(host, 'budgets set', { name: 'monthly', account: 1, amount: '5', per: 'month' })
      await books()
    })

    await t.test('set: tokens take the place of the amount, in a window of their own', async t => {
      const named = { name: 'monthly', account: 'acme', per: 'month' }
      const budget = await run(host, 'budgets set', { ...named, tokens: '1_000' })
      t.match(budget, { amount: null, tokens: 1_000, used: '0', problem: null })
      await becomes(429)
      const command = (...words: string[]) => runCommand(t, 'budgets', commands, host, words)
      t.match((await command('list', 'acme')).out, /monthly .* 1000 tokens +month/)
      const words = ['set', 'monthly', '1_000_000 tokens', 'month', '--account', 'acme']
      t.match(await command(...words), { exit: 0, err: '' })
      await becomes(200)
      await books()
      const [listed, ...others] = await run<BudgetView[]>(host, 'budgets list', { account: 'acme' })
      t.match(listed, { amount: null, tokens: 1_000_000 })
      t.ok(Number(listed?.used) >= 3_000, 'two calls of 1,500 tokens')
      t.same(others, [])
      for (const limits of [{}, { amount: 1, tokens: 1 }])
        await t.rejects(run(host, 'budgets set', { ...named, ...limits }), {
          code: 'BUDGET_INVALID',
          param: 'amount',
        })
      const before = await run(host, 'budgets set', { ...named, amount: '5' })
      t.match(before, { amount: '5', tokens: null })
      t.ok(Number(before.used) < 1, 'money again, as it was used before')
      await books()
    })

    await t.test('set: a member and a key have their own', async t => {
      const member = { name: 'cap', account: 'acme', member: 'bob' }
      await run(host, 'budgets set', { ...member, amount: 0.001, per: 'week' })
      await run(host, 'budgets set', { name: 'cap', key: 1, amount: 0.001, per: 'life' })
      await becomes(429, { member: '1' })
      await becomes(429, { key: '1' })
      t.equal(await status(url, { member: '2', key: '2' }), 200)
      const list = await run<BudgetView[]>(host, 'budgets list', { account: 'acme' })
      t.same(
        list.map(({ of, owner, name, account }) => [of, owner, name, account]),
        [
          ['account', 1, 'monthly', 'acme'],
          ['key', 1, 'cap', 'acme'],
          ['member', 1, 'cap', 'acme'],
        ],
      )
      t.same(await run(host, 'budgets list', { account: 'beta' }), [])
      const page = await run<BudgetView[]>(host, 'budgets list', {
        limit: 1,
        cursor: 'account:1:monthly',
      })
      t.match(page, [{ of: 'key' }])
      await run(host, 'budgets remove', member)
      await becomes(200, { member: '1' })
      await run(host, 'budgets remove', { name: 'cap', key: 1 })
      await becomes(200, { key: '1' })
      await t.rejects(run(host, 'budgets remove', { name: 'cap', key: 1 }), {
        code: 'BUDGET_MISSING',
        status: 404,
      })
      await books()
    })

    await t.test('rows of another version: listed with the reason, set and removed', async t => {
      const terms = { name: 'torn', account: 'beta', amount: 1, per: 'day' }
      const tear = sql('tear', "UPDATE budget_rows SET settings = ? WHERE name = 'torn'")
      const command = (...words: string[]) => runCommand(t, 'budgets', commands, host, words)
      for (const [settings, problem] of [
        ['{"amount":', /^cannot be read \(.*JSON.*set it again, or remove it$/],
        ['{"amount":1,"per":"decade"}', /^cannot be read \(per "decade"\)/],
      ] as const) {
        await run(host, 'budgets set', terms)
        await database.write([{ sql: tear, values: [settings] }])
        const torn = { name: 'torn', of: 'account', owner: 2, account: 'beta', amount: null }
        t.match(await run(host, 'budgets list', {}), [{ name: 'monthly' }, { ...torn, problem }])
        t.match((await command('list')).out, /torn +account +2 +beta +cannot be read/)
        t.match(await run(host, 'budgets set', terms), { ...torn, amount: '1', problem: null })
        await database.write([{ sql: tear, values: [settings] }])
        const { exit, out } = await command('remove', 'torn', '--account', 'beta')
        t.match({ exit, out }, { exit: 0, out: /torn.*cannot be read/ })
        t.match(await run(host, 'budgets list', {}), [{ name: 'monthly', problem: null }])
      }
    })

    await t.test('set: mistakes are named', async t => {
      const set = (more: object) =>
        run(host, 'budgets set', { name: 'b', account: 'acme', amount: 1, per: 'day', ...more })
      await t.rejects(set({ amount: 0 }), { code: 'BUDGET_INVALID', param: 'amount' })
      await t.rejects(set({ amount: '5 XXX' }), { code: 'BUDGET_INVALID', param: 'amount' })
      await t.rejects(set({ zone: 'Berlin' }), { code: 'BUDGET_INVALID', param: 'zone' })
      await t.rejects(set({ key: 1 }), { code: 'BUDGET_OWNER', status: 400 })
      await t.rejects(set({ account: 'nobody' }), { code: 'ACCOUNT_UNKNOWN' })
      await t.rejects(set({ member: 'eve' }), { code: 'MEMBER_UNKNOWN' })
      await t.rejects(run(host, 'budgets set', { name: 'b', key: 99, amount: 1, per: 'day' }), {
        code: 'KEY_UNKNOWN',
      })
      const command = (...words: string[]) => runCommand(t, 'budgets', commands, host, words)
      t.match((await command('remove', 'b', '--key', 'x')).err, /--key must be the number/)
      const wrong = async (...words: string[]) => {
        const { exit, err } = await command('set', ...words, '--account', 'acme')
        t.equal(exit, 2)
        return err
      }
      t.match(await wrong('b', '5', 'fortnight'), /value for PER: 'fortnight'.*'hour', 'day'/)
      t.match(await wrong('b', '5', 'day', '--at-limit', 'block'), /--at-limit/)
      t.match(await wrong('b', '5', 'day', '--alert-at', '50'), /--alert-at\[0\]/)
      t.match(await wrong('No', '5', 'day'), /Invalid NAME/)
      t.notMatch((await command('list')).out, /\bb\b/)
      const set2 = [
        'set',
        'soft',
        '3',
        'day',
        '--account',
        'acme',
        '--use',
        'small',
        '--alert-at',
        '50%',
      ]
      t.match((await command(...set2)).out, /soft +account +1 +acme +3 CNY.*use small +no +50%/s)
      t.match((await command('list', 'acme')).out, /monthly[\s\S]*soft/)
      t.match((await command('remove', 'soft', '--account', 'acme')).out, /soft/)
    })

    await t.test('docs/budgets.md: its commands set and remove budgets', async t => {
      for (const line of sessionOf('docs/budgets.md').trim().split('\n')) {
        // The key of this test.
        const parts = line.replace('--key 7', '--key 1').match(/'[^']*'|\S+/g) ?? []
        const words = parts.slice(2).map(each => each.replaceAll("'", ''))
        t.match(await runCommand(t, 'budgets', commands, host, words), { exit: 0 }, line)
      }
    })
  })
