/** The list of budgets: rows of the store and those of `budgets:`, with their use, for operators,
 *  customers and members; budgets of tags. */
import t from 'tap'
import { commands } from '../../../plugins/account/command.ts'
import { migrations as actionTables } from '../../../plugins/action-log/tables.ts'
import { sendBudgetAlerts } from '../../../plugins/alerts/budgets.ts'
import { migrations as alertTables } from '../../../plugins/alerts/tables.ts'
import { giveToMember } from '../../../plugins/credentials/members.ts'
import { makeSecret } from '../../../plugins/credentials/secret.ts'
import { addKey, createAccount } from '../../../plugins/credentials/statements.ts'
import { migrations as accountMigrations } from '../../../plugins/credentials/tables.ts'
import { audit } from '../../../plugins/ledger/audit.ts'
import { runOperation } from '../../../plugins/operator/operation.ts'
import { OPERATIONS } from '../../../plugins/operator/table.ts'
import type { Member } from '../../../plugins/slots.ts'
import type { BudgetView } from '../../../plugins/views.ts'
import { runCommand } from '../../helpers/gateway/command-line.ts'
import { arrangeBudgets, BODY, TAGS } from '../../helpers/money/budgets.ts'
import { hostOver } from '../../helpers/store/accounts.ts'
import { ENGINES, sql } from '../../helpers/store/store.ts'

const BUDGETS = {
  monthly: { of: 'account', amount: 1, per: 'month', zone: 'Europe/Berlin' },
  seat: { of: 'member', amount: 0.5, per: 'week' },
  each: { of: 'key', amount: 0.1, per: 'life' },
  project: { of: { tag: 'project' }, amount: 0.01, per: 'day', alert_at: ['50%'] },
  watch: { of: 'account', amount: 9, per: 'year', shadow: true },
}

for (const engine of ENGINES)
  t.test(`lists of budgets on ${engine}`, async t => {
    const { urls, call, books, database } = await arrangeBudgets(t, engine, BUDGETS, 2)
    const [url = '', other = ''] = urls
    await database.migrate('auth', accountMigrations)
    await database.migrate('actions', actionTables)
    await database.migrate('alerts', alertTables)
    for (const name of ['acme', 'beta'])
      await database.write(createAccount({ name, role: 'customer' }, 1))
    const sections: Readonly<Record<string, object>> = { budgets: BUDGETS, tags: TAGS }
    const host = {
      ...hostOver(database),
      section: <T>(name: string) => (sections[name] ?? {}) as T,
    }
    const run = async <T = readonly BudgetView[]>(name: string, args: object, caller = {}) => {
      const operation = OPERATIONS.find(each => each.name === name)
      if (!operation) throw new Error(`there is no operation ${name}`)
      const actor = { via: 'command line', name: 'root' } as const
      const { data, next } = await runOperation(operation, args as never, {
        host,
        actor,
        ...caller,
      })
      return { data: data as T, next }
    }
    for (const name of ['bob', 'eve'])
      await run('members invite', { account: 'acme', name, role: 'member' })
    for (const member of [null, 1, 2]) {
      await database.write(
        addKey({ account: 1, name: `k${member ?? ''}`, secret: makeSecret('key') }, 1),
      )
      if (member !== null) await database.write(giveToMember('key', member + 1, member))
    }
    const entries = ({ data }: { readonly data: readonly BudgetView[] }) =>
      data.map(({ name, of, owner_name, used }) => [name, of, owner_name, used].join(' '))
    const project = (value: string) => ({ 'x-tollgate-tags': `project=${value}` })

    await t.test('an account without calls: all that it has, unused', async t => {
      t.same(entries(await run('budgets list', { account: 'acme' })), [
        'monthly account acme 0',
        'watch account acme 0',
        'each key k 0',
        'each key k1 0',
        'each key k2 0',
        'seat member bob 0',
        'seat member eve 0',
      ])
      t.same((await run('budgets list', {})).data, [], 'no owner has a window')
    })

    await t.test('use: of the window of now, for each owner that has one', async t => {
      const member = { member: '1', key: '2' }
      t.equal((await call(url, BODY, 1, { ...member, ...project('alpha') })).status, 200)
      t.equal((await call(other, BODY, 2)).status, 200)
      await books()
      const all = await run('budgets list', {})
      t.same(entries(all), [
        'monthly account acme 0.006',
        'watch account acme 0.006',
        'monthly account beta 0.006',
        'watch account beta 0.006',
        'each key k1 0.006',
        'seat member bob 0.006',
        'project tag project=alpha 0.006',
      ])
      t.match(all.data[0], {
        account: 'acme',
        owner: 1,
        source: 'configuration',
        amount: '1',
        zone: 'Europe/Berlin',
        resets: /^20\d\d-\d\d-01T00:00:00\+0[12]:00$/,
        problem: null,
      })
      t.match(all.data.at(-1), { owner: null, account: null, alert_at: ['50%'] })
      t.match(entries(await run('budgets list', { account: 'acme' })), [
        'monthly account acme 0.006',
        'watch account acme 0.006',
        'each key k 0',
        'each key k1 0.006',
      ])
    })

    await t.test('pages: each budget once', async t => {
      const pages: string[] = []
      let cursor: string | null | undefined
      do {
        const page = await run('budgets list', { limit: 2, ...(cursor && { cursor }) })
        pages.push(...entries(page))
        cursor = page.next
      } while (cursor)
      t.same(pages, entries(await run('budgets list', { limit: 100 })))
      await t.rejects(run('budgets list', { cursor: 'x' }), { code: 'ADMIN_QUERY' })
    })

    await t.test('a row of the store takes the place of its namesake', async t => {
      const row = { name: 'monthly', account: 'acme' }
      await run('budgets set', { ...row, amount: 2, per: 'month', zone: 'Europe/Berlin' })
      const { data } = await run('budgets list', { account: 'acme' })
      const own = data.filter(({ name }) => name === 'monthly')
      t.match(own, [{ amount: '2', used: '0.006', source: 'store' }])
      t.equal((await run('budgets list', {})).data.length, 7)
      await run('budgets remove', row)
      const after = await run('budgets list', { account: 'acme' })
      t.match(after.data[0], { name: 'monthly', amount: '1', source: 'configuration' })
    })

    await t.test('a customer: his own, without budgets that only count', async t => {
      const own = async (id: number, member?: Partial<Member>) =>
        entries(await run('budgets list', { limit: 100 }, { own: id, member }))
      t.same(await own(2), ['monthly account beta 0.006'])
      const everything = await own(1)
      t.same(everything.length, 6)
      t.same(await own(1, { id: 1, role: 'owner' }), everything)
      t.same(await own(1, { id: 1, role: 'viewer' }), everything)
      t.same(await own(1, { id: 1, role: 'member' }), [
        'each key k1 0.006',
        'seat member bob 0.006',
      ])
    })

    await t.test('command: prints them with the end of their windows', async t => {
      const { out, exit } = await runCommand(t, 'budgets', commands, host, ['list'])
      t.equal(exit, 0)
      t.match(out, /project +tag +project=alpha .*0\.01 CNY +day +UTC +0\.006 CNY .*configuration/)
      t.match(out, /each +key +2 k1 +acme .*never/)
    })

    await t.test('tag: a window for each value, over all accounts and gateways', async t => {
      t.equal((await call(other, BODY, 2, project('alpha'))).status, 429)
      const refusal = await call(url, BODY, 2, project('alpha'))
      t.equal(refusal.status, 429)
      t.match(refusal.text, /budget \\"project\\" of the tag project=alpha does not cover/)
      t.match(
        refusal.headers.get('x-tollgate-budget'),
        /^project; used=0\.006; limit=0\.01; resets=/,
      )
      t.equal((await call(url, BODY, 1, project('beta'))).status, 200)
      t.equal(
        (await call(url, BODY, 1, project('gamma'))).status,
        200,
        'an unknown value is left out',
      )
      t.equal((await call(url)).status, 200, 'calls without the tag have no such budget')
      const free = JSON.stringify({ model: 'free', messages: [] })
      t.equal((await call(url, free, 1, project('alpha'))).status, 200)
      await books()
      const { data } = await run('budgets list', {})
      const tags = data.filter(({ of }) => of === 'tag')
      t.match(tags, [
        { owner_name: 'project=alpha', used: '0.006' },
        { owner_name: 'project=beta', used: '0.006' },
      ])
    })

    await t.test('tag: an alert names the value, the audit too', async t => {
      const alerted: string[] = []
      const metrics = { count() {} } as never
      const log = { ...host.log, warn: (_: object, text = '') => void alerted.push(text) }
      const section = { quiet: undefined, to: [] } as never
      await sendBudgetAlerts({ ...host, metrics, log }, section)
      t.match(alerted.toSorted(), [
        /The budget project of tag project=alpha has used 50%: 0\.006 of 0\.01/,
        /project=beta/,
      ])
      await sendBudgetAlerts({ ...host, metrics, log }, section)
      t.equal(alerted.length, 2, 'once each')
      const window = `(SELECT wallet FROM budget_windows WHERE kind = 'tag project=beta')`
      const shift = (by: number) =>
        database.write([
          {
            sql: sql('shift', `UPDATE wallets SET used = used + ? WHERE id = ${window}`),
            values: [by],
          },
        ])
      await shift(1)
      t.match(await audit(database), [{ subject: /^budget project of tag project=beta since 20/ }])
      await shift(-1)
      await books()
    })
  })
