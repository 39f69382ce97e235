/** Plans of accounts: assigned, listed and cancelled while calls go on; receipts and statements. */
import t from 'tap'
import type { HostBase } from '../../../engine/plugin.ts'
import { commands } from '../../../plugins/account/command.ts'
import { migrations as actionTables } from '../../../plugins/action-log/tables.ts'
import { createAccount } from '../../../plugins/credentials/statements.ts'
import { migrations as accountMigrations } from '../../../plugins/credentials/tables.ts'
import { readStatement } from '../../../plugins/ledger/views/account-statements.ts'
import { RECEIPT } from '../../../plugins/ledger/views/usage.ts'
import type { Actor } from '../../../plugins/operator/operation.ts'
import type { OwnPlans, PlanView } from '../../../plugins/views.ts'
import { blockOf, sessionOf } from '../../docs/blocks.ts'
import { runCommand } from '../../helpers/gateway/command-line.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { arrangeBudgets } from '../../helpers/money/budgets.ts'
import { hostOver } from '../../helpers/store/accounts.ts'
import { runAs } from '../../helpers/store/operations.ts'
import { ENGINES } from '../../helpers/store/store.ts'

const actor: Actor = { via: 'command line', name: 'root' }
const run = <T = PlanView>(host: HostBase, name: string, args: object, own?: number) =>
  runAs<T>({ host, actor, own }, name, args)
const PLANS = {
  pro: { amount: 0.01, per: 'month', zone: 'Europe/Berlin' },
  max: { amount: 0.1, per: 'month', price: 60 },
  trial: { amount: 0.001, per: 'life', after: 'refuse' },
  words: { tokens: 5_000, per: 'month', price: 2 },
}

for (const engine of ENGINES)
  t.test(`plans of accounts on ${engine}`, async t => {
    const { urls, call, books, database } = await arrangeBudgets(t, engine, {}, 2, PLANS)
    const [url = '', other = ''] = urls
    await database.migrate('auth', accountMigrations)
    await database.migrate('actions', actionTables)
    for (const name of ['acme', 'beta'])
      await database.write(createAccount({ name, role: 'customer' }, 1))
    const section = ((name: string) => (name === 'plans' ? PLANS : {})) as HostBase['section']
    const host = { ...hostOver(database), section }
    /** Until both gateways have read it. */
    const becomes = (expected: number) =>
      eventually(async () => {
        const both = [(await call(url)).status, (await call(other)).status]
        return both.every(each => each === expected) || undefined
      })

    await t.test('assign: the plan pays, and a receipt shows both parts', async t => {
      const plan = await run(host, 'plans assign', { account: 'acme', plan: 'pro' })
      t.match(plan, { account: 'acme', plan: 'pro', state: 'active', expires: null })
      t.match(plan, { amount: '0.01', used: '0', remaining: '0.01' })
      t.match(plan.resets, /^20\d\d-\d\d-01T00:00:00\+0[12]:00$/)
      // The gateways read the change within a second.
      const requests: string[] = []
      await eventually(async () => {
        requests.push(String((await call(url)).headers.get('x-request-id')))
        return ((await run(host, 'plans list', { account: 'acme' })) as never as PlanView[])[0]
          ?.remaining === '0'
          ? true
          : undefined
      })
      await books()
      t.match(await run(host, 'plans list', {}), [{ used: '0.01', remaining: '0' }])
      const rows = await Promise.all(requests.map(id => database.read(RECEIPT, [id, 1])))
      const parts = rows.map(([row]) => Number(row?.planned))
      t.equal(
        parts.reduce((sum, part) => sum + part, 0),
        10_000_000,
      )
      t.ok(parts.includes(4_000_000), 'one call has both parts')
      const day = Math.floor(Date.now() / 86_400_000)
      const { charged, planned, closing, credited } = await readStatement(database, 1, {
        first: 0,
        last: day + 2,
      })
      t.equal(planned, 10_000_000n)
      t.equal(closing, credited - charged + planned)
    })

    await t.test(
      'tokens: a plan shows what it has in its unit, and a receipt both parts',
      async t => {
        t.match(await run(host, 'plans buy', { account: 'acme', plan: 'words' }), {
          unit: 'tokens',
          amount: '5000',
          remaining: '5000',
          paid: '2',
        })
        // A call uses 1,500 tokens for 0.006, and holds more.
        const messages = [{ role: 'user', content: 'x'.repeat(1_000) }]
        const long = JSON.stringify({ model: 'm', messages, max_tokens: 600 })
        const requests: string[] = []
        await eventually(async () => {
          requests.push(String((await call(url, long)).headers.get('x-request-id')))
          const [plan] = await run<PlanView[]>(host, 'plans list', { account: 'acme' })
          return plan?.remaining === '0' || undefined
        })
        await books()
        const command = await runCommand(t, 'plans', commands, host, ['list', 'acme'])
        t.match(command.out, /words +active .* 5000 tokens +5000 tokens +0 tokens/)
        const rows = await Promise.all(requests.map(id => database.read(RECEIPT, [id, 1])))
        const parts = rows.map(([row]) => [Number(row?.planned), row?.planned_tokens])
        t.equal(
          parts.reduce((sum, [, tokens]) => sum + Number(tokens), 0),
          5_000,
        )
        t.strictSame(
          parts.filter(([planned]) => planned === 6_000_000),
          Array(3).fill([6_000_000, 1_500]),
        )
        t.ok(parts.some(([planned, tokens]) => planned === 2_000_000 && tokens === 500))
        const { offers } = await run<OwnPlans>(host, 'plans show', {}, 1)
        t.match(offers, [
          { plan: 'max', amount: '0.1', unit: 'money' },
          { plan: 'words', amount: '5000', unit: 'tokens' },
        ])
      },
    )

    await t.test('assign: another plan takes its place, and cancel ends it', async t => {
      await run(host, 'plans assign', { account: 'acme', plan: 'trial' })
      await becomes(429)
      t.equal((await call(url, undefined, 2)).status, 200, 'another account has no plan')
      const cancelled = await run(host, 'plans cancel', { account: 'acme' })
      t.match(cancelled, { plan: 'trial', resets: null })
      await becomes(200)
      t.same(await run(host, 'plans list', { account: 'acme' }), [])
      await books()
    })

    await t.test('assign: ends at the given time, and the same window goes on', async t => {
      const expires = new Date(Date.now() + 86_400_000).toISOString()
      const plan = await run(host, 'plans assign', { account: 'acme', plan: 'pro', expires })
      t.match(plan, { expires, remaining: '0', used: '0.01' }, 'nothing is given twice')
      await run(host, 'plans cancel', { account: 'acme' })
    })

    await t.test('mistakes are named', async t => {
      const assign = (args: object) =>
        run(host, 'plans assign', { account: 'acme', plan: 'pro', ...args })
      await t.rejects(assign({ plan: 'gold' }), {
        code: 'PLAN_UNKNOWN',
        message: /pro, max, trial, words/,
      })
      await t.rejects(assign({ account: 'nobody' }), { code: 'ACCOUNT_UNKNOWN' })
      await t.rejects(assign({ expires: '2020-01-01' }), { code: 'PLAN_EXPIRY' })
      await t.rejects(run(host, 'plans cancel', { account: 'beta' }), { code: 'PLAN_MISSING' })
      await t.rejects(run(host, 'plans list', { cursor: 'x' }), { code: 'ADMIN_QUERY' })
      await run(host, 'plans assign', { account: 'beta', plan: 'pro' })
      const without = { ...host, section: (() => ({})) as HostBase['section'] }
      t.match(await run(without, 'plans list', {}), [{ state: 'unknown', remaining: '0' }])
      await run(host, 'plans cancel', { account: 'beta' })
    })

    await t.test('docs/plans.md: its commands assign, list and cancel', async t => {
      for (const line of sessionOf('docs/plans.md').trim().split('\n')) {
        const [, , ...words] = line.split(' ')
        t.match(await runCommand(t, 'plans', commands, host, words), { exit: 0 }, line)
      }
    })

    await t.test('docs/plans.md: its payment gives a plan', async t => {
      const payment = JSON.parse(blockOf('docs/plans.md', 'json'))
      await database.write(createAccount({ name: payment.account, role: 'customer' }, 1))
      t.match(await run(host, 'credits create', payment), { plan: payment.plan })
      const [plan] = await run<PlanView[]>(host, 'plans list', { account: payment.account })
      t.match(plan, { plan: payment.plan, expires: new RegExp(`^${payment.expires}`) })
    })
  })
