/** Budgets over gateways that share a store: no window passes its amount, in any kind of call. */
import t from 'tap'
import { parse } from 'yaml'
import { configuredCurrency } from '../../../../plugins/billing/currency.ts'
import { freeze } from '../../../../plugins/billing/rule.ts'
import { audit } from '../../../../plugins/ledger/audit.ts'
import { Budgets } from '../../../../plugins/ledger/budgets/budgets.ts'
import {
  checkpointCharge,
  settleCheckpoints,
} from '../../../../plugins/ledger/crash/crash-settlement.ts'
import {
  keepHold,
  keptHoldOf,
  releaseKept,
  settleKept,
} from '../../../../plugins/ledger/kept-hold.ts'
import { addCredit, openCharge } from '../../../../plugins/ledger/statements.ts'
import { chargeLate } from '../../../../plugins/ledger/views/task-charges.ts'
import meter from '../../../../plugins/meter.ts'
import { SILENT_LOG } from '../../../helpers/gateway/test-server.ts'
import { ruleIn } from '../../../helpers/money/billing.ts'
import { arrangeBudgets, BODY, COST, EVENTS, STREAM } from '../../../helpers/money/budgets.ts'
import { HELD_CALL, openBooks, payerOf } from '../../../helpers/money/ledger.ts'
import { LONG } from '../../../helpers/run-settings.ts'
import { reapAll } from '../../../helpers/store/membership.ts'
import { ENGINES, sql } from '../../../helpers/store/store.ts'

for (const engine of ENGINES)
  t.test(`budgets on ${engine}`, async t => {
    t.test('budget: refuses the call that does not fit, with its window', async t => {
      const budgets = {
        daily: { of: 'account', amount: 0.0145, per: 'day', zone: 'Europe/Berlin' },
      }
      const {
        urls: [url = ''],
        call,
        windows,
        books,
      } = await arrangeBudgets(t, engine, budgets)
      t.equal((await call(url)).status, 200)
      t.equal((await call(url)).status, 200)
      await books()
      const refusal = await call(url)
      t.equal(refusal.status, 429)
      t.match(
        refusal.text,
        /budget \\"daily\\" of this account .* 0\.012 of 0\.0145 CNY is used\. It begins anew at 20/,
      )
      t.match(
        refusal.headers.get('x-tollgate-budget'),
        /^daily; used=0\.012; limit=0\.0145; resets=20\d\d-\d\d-\d\dT00:00:00\+0[12]:00$/,
      )
      t.equal(refusal.headers.get('x-should-retry'), 'false')
      const wait = Number(refusal.headers.get('retry-after'))
      t.ok(wait >= 1 && wait <= 25 * 3_600)
      t.equal((await call(url, BODY, 2)).status, 200, 'another account has its own window')
      t.equal((await call(url, JSON.stringify({ model: 'free', messages: [] }))).status, 200)
      await books()
      t.match(await windows(), [
        { budget: 'daily', kind: 'account', owner: 1, used: 12_000_000 },
        { owner: 2, used: 6_000_000 },
      ])
    })

    t.test('budgets: many calls at once on two gateways never pass the last unit', async t => {
      // Ten calls fit; each costs more than it holds, and the eleventh gets what is left.
      const budgets = {
        tight: { of: 'account', amount: 0.0649, per: 'month' },
        wide: { of: 'account', amount: 10, per: 'life' },
      }
      const { urls, call, windows, books } = await arrangeBudgets(t, engine, budgets, 2)
      const calls = Array.from({ length: LONG ? 500 : 100 }, (_, at) =>
        call(urls[at % 2] ?? '', at % 5 === 0 ? STREAM : BODY),
      )
      const statuses = (await Promise.all(calls)).map(({ status }) => status)
      t.same([...new Set(statuses)].toSorted(), [200, 429])
      await books()
      while ((await call(urls[0] ?? '')).status === 200);
      await books()
      t.match(await windows(), [{ used: 64_900_000 }, { used: 64_900_000 }], 'to the last unit')
    })

    t.test('budget: a part is not less while another budget gets its lease back', async t => {
      const narrow = { narrow: { of: 'account', amount: 0.1, per: 'life' } }
      // It covers the whole call, and once: so its lease returns at once.
      const wide = { broad: { of: 'account', amount: 0.6, per: 'life' }, ...narrow }
      const { urls, gateway, call, books } = await arrangeBudgets(t, engine, wide)
      const body = JSON.stringify({ model: 'm', messages: [] })
      const limitOf = async (url: string, account: number) =>
        Number((await call(url, body, account)).headers.get('x-tollgate-output-limit'))
      const limit = await limitOf(await gateway(narrow), 1)
      t.ok(limit > 12_000)
      t.equal(await limitOf(urls[0] ?? '', 2), limit)
      await books()
    })

    t.test('budget of keys: each key has its own window, a call without a key none', async t => {
      const budgets = { weekly: { of: 'key', amount: 0.007, per: 'week' } }
      const {
        urls: [url = ''],
        call,
        books,
        windows,
      } = await arrangeBudgets(t, engine, budgets)
      for (const key of ['7', '8']) {
        t.equal((await call(url, BODY, 1, { key })).status, 200)
        await books()
        t.equal((await call(url, BODY, 1, { key })).status, 429)
      }
      t.equal((await call(url)).status, 200)
      await books()
      t.match(await windows(), [{ owner: 7, kind: 'key' }, { owner: 8 }])
    })

    t.test('budget: a failed call and a refunded one leave it as it was', async t => {
      const budgets = { life: { of: 'account', amount: 0.007, per: 'life' } }
      const {
        installation,
        database,
        urls: [url = ''],
        call,
        books,
        windows,
      } = await arrangeBudgets(t, engine, budgets)
      const { script } = installation
      installation.script = (_, response) => void response.writeHead(500).end()
      t.ok((await call(url)).status >= 500)
      installation.script = script
      const charged = await call(url)
      t.equal(charged.status, 200)
      await books()
      const request = String(charged.headers.get('x-request-id'))
      await database.write([
        addCredit({ account: 1, kind: 'refund', amount: COST, request, note: 'test', at: 1 }),
      ])
      await books()
      t.match(await windows(), [{ used: 0, balance: 7_000_000 }])
      t.equal((await call(url)).status, 200)
    })

    t.test('budget: a changed amount applies to the next call', async t => {
      const of = (amount: number) => ({ month: { of: 'account', amount, per: 'month' } })
      const {
        urls: [url = ''],
        gateway,
        call,
        books,
        windows,
      } = await arrangeBudgets(t, engine, of(5))
      t.equal((await call(url)).status, 200)
      const lower = await gateway(of(0.01))
      t.equal((await call(lower)).status, 429)
      t.match(await windows(), [{ used: 6_000_000, balance: 4_000_000 }])
      const higher = await gateway(of(0.02))
      t.equal((await call(higher)).status, 200)
      await books()
    })

    t.test('budget: a stream without a hold left is charged to the window once', async t => {
      const budgets = { hour: { of: 'account', amount: 1, per: 'hour' } }
      const {
        installation,
        database,
        urls: [url = ''],
        call,
        books,
        windows,
      } = await arrangeBudgets(t, engine, budgets)
      installation.script = async (_, response) => {
        response.setHeader('content-type', 'text/event-stream').end(EVENTS)
      }
      t.match((await call(url, STREAM)).text, /DONE/)
      await books()
      t.match(await windows(), [{ used: Number(COST) }])
      await reapAll(database)
      t.match(await windows(), [{ used: Number(COST), reserved: 0 }])
      t.same(await audit(database), [])
    })
  })

for (const engine of ENGINES)
  t.test(
    `holds of budgets on ${engine}: a task, a crash and a late charge keep the books`,
    async t => {
      const { database, ledger: open, credit } = await openBooks(t, engine)
      await credit(1, 10n ** 12n)
      const ledger = await open()
      const budget = {
        name: 'b',
        of: 'account',
        amount: 10_000n,
        unit: 'money',
        per: 'life',
        zone: 'UTC',
        atLimit: 'refuse',
        isShadow: false,
        alertAt: [],
      } as const
      const windows =
        (await new Budgets([budget], {
          database,
          ledger,
          log: SILENT_LOG,
          currency: configuredCurrency({ section: () => ({}) as never }),
        }).windowsOf({ id: 1, name: 'ann', role: 'customer' }, 1)) ?? []
      const payer = { ...payerOf(1), budgets: windows }
      const budgets = windows.map(({ wallet }) => wallet)
      const rule = freeze(ruleIn('price: { output: 1 / 1k }'))
      const hold = async (request: string, heldAmount: bigint) => {
        t.equal(await ledger.take(payer, heldAmount), undefined)
        return { ...HELD_CALL, request, budgets, rule, heldAmount, process: await ledger.process() }
      }
      const room = async () => {
        t.same(await audit(database), [])
        return database.read(sql('room', 'SELECT used, reserved FROM wallets WHERE id < 0'), [])
      }
      const tasks = await Promise.all(['settled', 'released'].map(each => hold(each, 4_000n)))
      await database.write(tasks.flatMap(each => keepHold(each, false)))
      for (const each of tasks) ledger.keep(payer, each.heldAmount, each.process)(true)
      t.equal(await ledger.take(payer, 2_001n), payer.budgets[0])
      // The process crashes: a stream is charged at its checkpoint, the tasks keep their holds.
      const stream = await hold('stream', 1_500n)
      const checkpoint = { request: 'stream', output: 1, usage: '{}', attributes: null }
      await database.write([openCharge(stream), checkpointCharge(checkpoint)])
      await settleCheckpoints(database, SILENT_LOG, Date.now())
      await reapAll(database)
      t.match(await room(), [{ used: 1_500, reserved: 8_000 }])
      const [settled, released] = tasks.map(each => keptHoldOf(each, null))
      if (!settled || !released) return
      const used = { meters: { output: 1 }, estimated: false }
      await database.write([settleKept(settled, used, 9), releaseKept(released, 9)])
      t.match(await room(), [{ used: 5_500, reserved: 0 }])
      await database.write([...chargeLate(released, used, 10)])
      t.match(await room(), [{ used: 9_500, reserved: 0 }])
    },
  )

t.test('budgets: mistakes are problems at their lines', async t => {
  const check = (
    budgets: string,
    model = '{ to: main/m, price: { input: 1 } }',
    pipeline = '[meter]',
    route = '{ model: body }',
  ) => {
    const tags = '{ known: { project: [alpha], feature: any } }'
    const document = parse(
      `{ pipeline: ${pipeline}, models: { m: ${model} }, routes: [${route}], tags: ${tags}, budgets: ${budgets} }`,
    )
    const problems: string[] = []
    const report = (where: readonly unknown[], code: string) =>
      void problems.push(`${code} ${where.join('.')}`)
    meter.check(document, report, { before: undefined } as never)
    return problems
  }
  const of = (more: string) => `{ b: { of: account, ${more} } }`
  t.same(check(of('amount: 5, per: month')), [])
  t.same(check(of('amount: 5 GBP, per: month')), ['PRICE_CURRENCY budgets.b.amount'])
  t.same(check(of('tokens: 5, per: month')), [])
  for (const limits of ['tokens: 5, amount: 5', 'zone: UTC'])
    t.same(check(of(`${limits}, per: month`)), ['BUDGET_AMOUNT budgets.b.amount'], limits)
  t.same(check(of('amount: 0, per: month')), ['BUDGET_AMOUNT budgets.b.amount'])
  t.same(check(of('amount: 0.0000000001, per: month')), ['PRICE_AMOUNT budgets.b.amount'])
  t.same(check(of('amount: 1000000001, per: day')), ['PRICE_AMOUNT budgets.b.amount'])
  t.same(check(of('amount: 5, per: day, zone: Europe/Berlln')), ['BUDGET_ZONE budgets.b.zone'])
  t.same(check(of('amount: 5, per: day, at_limit: { use: m }')), [])
  t.same(check(of('amount: 5, per: day, at_limit: { use: n }')), [
    'BUDGET_MODEL budgets.b.at_limit.use',
  ])
  t.same(check(of('amount: 5, per: day'), '{ to: main/m, free: true }'), [
    'BUDGET_UNREACHABLE budgets.b',
  ])
  const model = '{ to: main/m, price: { input: 1 } }'
  t.same(check(of('amount: 5, per: day'), model, '[auth]'), ['BUDGET_UNREACHABLE budgets'])
  t.same(check('{}', model, '[auth]'), [])
  for (const route of ['', '{ path: GET /x }', '{ model: body, meter: { free: true } }'])
    t.same(check(of('amount: 5, per: day'), model, '[meter]', route), [
      'BUDGET_UNREACHABLE budgets.b',
    ])
  const priced = '{ model: body, meter: { price: { calls: 1 } } }'
  t.same(check(of('amount: 5, per: day'), '{ to: main/m, free: true }', '[meter]', priced), [])
  const ofTag = (tag: string) => check(`{ b: { of: { tag: ${tag} }, amount: 5, per: day } }`)
  t.same(ofTag('project'), [])
  for (const tag of ['projct', 'feature', 'constructor'])
    t.same(ofTag(tag), ['BUDGET_TAG budgets.b.of.tag'])
})
