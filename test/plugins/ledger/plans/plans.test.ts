/** Plans over gateways that share a store: the plan pays first, the wallet the rest, and no window
 *  passes its amount, in any kind of call. */
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { freeze } from '../../../../plugins/billing/rule.ts'
import { audit } from '../../../../plugins/ledger/audit.ts'
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
import { heldPlanOf } from '../../../../plugins/ledger/plans/part.ts'
import { Plans } from '../../../../plugins/ledger/plans/plans.ts'
import { assignPlan, cancelPlan, findPlan } from '../../../../plugins/ledger/plans/rows.ts'
import { plansIn } from '../../../../plugins/ledger/plans/section.ts'
import { takeInOrder } from '../../../../plugins/ledger/plans/take.ts'
import { addCredit, extendCharge, openCharge } from '../../../../plugins/ledger/statements.ts'
import { chargeLate } from '../../../../plugins/ledger/views/task-charges.ts'
import meter from '../../../../plugins/meter.ts'
import { eventually } from '../../../helpers/gateway/primary.ts'
import { SILENT_LOG } from '../../../helpers/gateway/test-server.ts'
import { ruleIn } from '../../../helpers/money/billing.ts'
import { arrangeBudgets, BODY, COST, EVENTS, STREAM } from '../../../helpers/money/budgets.ts'
import { HELD_CALL, openBooks, payerOf } from '../../../helpers/money/ledger.ts'
import { LONG } from '../../../helpers/run-settings.ts'
import { reapAll } from '../../../helpers/store/membership.ts'
import { ENGINES, type Engine, sql } from '../../../helpers/store/store.ts'

/** Account 1 has the plan `pro`; both accounts have 1000 units. */
const arrange = async (t: Test, engine: Engine, plan: object, workers = 1, budgets = {}) => {
  const parts = await arrangeBudgets(t, engine, budgets, workers, { pro: plan })
  const { database, urls } = parts
  await database.write(assignPlan({ account: 1, plan: 'pro', since: 1, until: undefined }))
  const of = (text: string) => async () => (await database.read(sql(text, text), []))[0]
  const reserved = of('SELECT sum(reserved) AS sum FROM wallets')
  /** Once all leases have returned. */
  const books = async () => {
    await eventually(async () => Number((await reserved())?.sum) === 0 || undefined)
    t.same(await audit(database), [])
  }
  return {
    ...parts,
    url: urls[0] ?? '',
    /** The wallet of the last window. */
    plan: of(
      `SELECT w.used, w.balance, w.reserved FROM plan_windows l JOIN wallets w ON w.id = l.wallet
       ORDER BY l.start DESC LIMIT 1`,
    ),
    account: of('SELECT used, balance, reserved FROM wallets WHERE id = 2'),
    books,
  }
}
const CREDIT = 10n ** 12n
const afterwards = (spent: bigint) => Number(CREDIT - spent)

for (const engine of ENGINES)
  t.test(`plans on ${engine}`, async t => {
    t.test('plan: pays calls that it covers, and the wallet nothing', async t => {
      const parts = await arrange(t, engine, { amount: 0.015, per: 'month' })
      const { url, call, plan, account } = parts
      for (let count = 0; count < 2; count++) {
        const answer = await call(url)
        t.equal(answer.status, 200)
        t.equal(answer.headers.get('x-tollgate-charge'), '0.006')
        t.equal(answer.headers.get('x-tollgate-balance'), '1000')
      }
      await parts.books()
      t.match(await plan(), { used: 12_000_000, balance: 3_000_000, reserved: 0 })
      t.match(await account(), { used: 12_000_000, balance: afterwards(0n), reserved: 0 })
    })

    t.test('plan: a call that it covers in part is paid by both', async t => {
      // The hold is larger than the charge: the plan holds what it has.
      const parts = await arrange(t, engine, { amount: 0.01, per: 'month' })
      const { url, call, plan, account } = parts
      t.equal((await call(url)).status, 200)
      t.equal((await call(url)).status, 200)
      await parts.books()
      t.match(await plan(), { used: 10_000_000, balance: 0 })
      t.match(await account(), { used: 12_000_000, balance: afterwards(2_000_000n) })
      t.equal((await call(url)).status, 200)
      t.equal((await call(url, BODY, 2)).status, 200, 'another account has no plan')
      await parts.books()
      t.match(await plan(), { used: 10_000_000 })
      t.match(await account(), { used: 18_000_000, balance: afterwards(8_000_000n) })
    })

    t.test('plan with `after: refuse`: nothing else pays', async t => {
      const parts = await arrange(t, engine, {
        amount: 0.0145,
        per: 'day',
        zone: 'Europe/Berlin',
        after: 'refuse',
      })
      const { url, call, plan, account } = parts
      t.equal((await call(url)).status, 200)
      t.equal((await call(url)).status, 200)
      await parts.books()
      const refusal = await call(url)
      t.equal(refusal.status, 429)
      t.match(
        refusal.text,
        /plan \\"pro\\" of this account .* 0\.012 of 0\.0145 CNY is used\. It begins anew at 20/,
      )
      t.match(
        refusal.headers.get('x-tollgate-plan'),
        /^pro; used=0\.012; limit=0\.0145; resets=20\d\d-\d\d-\d\dT00:00:00\+0[12]:00$/,
      )
      t.equal(refusal.headers.get('x-should-retry'), 'false')
      await parts.books()
      t.match(await plan(), { used: 12_000_000 })
      t.match(await account(), { balance: afterwards(0n) })
    })

    t.test('plan: many calls at once on two gateways never pass its last unit', async t => {
      const parts = await arrange(t, engine, { amount: 0.0649, per: 'month' }, 2)
      const { urls, call, plan, account } = parts
      const count = LONG ? 500 : 60
      const calls = Array.from({ length: count }, (_, at) =>
        call(urls[at % 2] ?? '', at % 5 === 0 ? STREAM : BODY),
      )
      for (const { status } of await Promise.all(calls)) t.equal(status, 200)
      await parts.books()
      const after = await plan()
      t.ok(Number(after?.used) <= 64_900_000)
      t.match(await account(), { used: count * Number(COST) })
    })

    t.test('plan of models: the wallet pays calls of others', async t => {
      const parts = await arrange(t, engine, { amount: 1, per: 'life', models: ['small'] })
      const { url, call, plan, account } = parts
      t.equal((await call(url)).status, 200)
      t.equal((await call(url, BODY.replace('"m"', '"small"'))).status, 200)
      await parts.books()
      t.match(await plan(), { used: 600_000 })
      t.match(await account(), { balance: afterwards(COST) })
    })

    t.test('plan: a failed call is free, and a refund returns to both', async t => {
      const parts = await arrange(t, engine, { amount: 0.004, per: 'life' })
      const { url, call, plan, account, installation, database } = parts
      const { script } = installation
      installation.script = (_, response) => void response.writeHead(500).end()
      t.ok((await call(url)).status >= 500)
      installation.script = script
      const charged = await call(url)
      await parts.books()
      t.match(await plan(), { used: 4_000_000, balance: 0, reserved: 0 })
      t.match(await account(), { balance: afterwards(2_000_000n), reserved: 0 })
      const request = String(charged.headers.get('x-request-id'))
      await database.write([
        addCredit({ account: 1, kind: 'refund', amount: COST, request, note: 'test', at: 1 }),
      ])
      await parts.books()
      t.match(await plan(), { used: 0, balance: 4_000_000 })
      t.match(await account(), { used: 0, balance: afterwards(0n) })
    })

    t.test('plan: a stream is paid once, and budgets count all of it', async t => {
      const budgets = { all: { of: 'account', amount: 1, per: 'life' } }
      const parts = await arrange(t, engine, { amount: 0.004, per: 'hour' }, 1, budgets)
      const { url, call, plan, account, installation, windows } = parts
      installation.script = (_, response) =>
        void response.setHeader('content-type', 'text/event-stream').end(EVENTS)
      t.match((await call(url, STREAM)).text, /DONE/)
      await parts.books()
      t.match(await plan(), { used: 4_000_000 })
      t.match(await account(), { balance: afterwards(2_000_000n) })
      t.match(await windows(), [{ used: Number(COST) }])
    })
  })

for (const engine of ENGINES)
  t.test(
    `holds of plans on ${engine}: tasks, a crash and a late charge keep the books`,
    async t => {
      const { database, ledger: open, credit, wallet } = await openBooks(t, engine)
      await credit(1, 10n ** 12n)
      const ledger = await open()
      const section = () => ({ pro: { amount: 0.00001, per: 'life' } }) as never
      const config = plansIn({
        section: ((name: string) => (name === 'plans' ? section() : {})) as never,
      })
      await database.write(assignPlan({ account: 1, plan: 'pro', since: 1, until: undefined }))
      const window = await new Plans(config, database).windowOf(1, 'm', 1)
      if (!window) throw new Error('there is a window')
      const rule = freeze(ruleIn('price: { output: 1 / 1k }'))
      const hold = async (request: string, heldAmount: bigint) => {
        const planned = { ...payerOf(1), plan: { window, amount: heldAmount } }
        const { payer, shortage } = await takeInOrder(ledger, planned, heldAmount)
        t.equal(shortage, undefined)
        const plan = heldPlanOf(payer)
        const process = await ledger.process()
        return { payer, row: { ...HELD_CALL, request, plan, rule, heldAmount, process } }
      }
      const room = async () => {
        t.same(await audit(database), [])
        const rows = sql('room', 'SELECT used, reserved FROM wallets WHERE id < 0')
        const { balance, reserved } = await wallet(1)
        return [...(await database.read(rows, [])), { own: CREDIT - (balance ?? 0n), reserved }]
      }
      // The plan has 10,000 nanos: the second task holds 2,000 of it, and 4,000 of the account.
      const tasks = [await hold('settled', 8_000n), await hold('released', 6_000n)]
      await database.write(tasks.flatMap(({ row }) => keepHold(row, false)))
      for (const { row, payer } of tasks) ledger.keep(payer, row.heldAmount, row.process)(true)
      const stream = (await hold('stream', 1_500_000n)).row
      t.equal(stream.plan, undefined, 'nothing is left')
      const checkpoint = { request: 'stream', output: 1, usage: '{}', attributes: null }
      await database.write([openCharge(stream), checkpointCharge(checkpoint)])
      await settleCheckpoints(database, SILENT_LOG, Date.now())
      await reapAll(database)
      t.match(await room(), [
        { used: 0, reserved: 10_000 },
        { own: 1_000_000n, reserved: 4_000n },
      ])
      const [settled, released] = tasks.map(({ row }) => keptHoldOf(row, null))
      if (!settled || !released) return
      const used = { meters: { output: 1 }, estimated: false }
      await database.write([settleKept(settled, used, 9), releaseKept(released, 9)])
      t.match(await room(), [
        { used: 8_000, reserved: 0 },
        { own: 1_000_000n, reserved: 0n },
      ])
      await database.write([...chargeLate(released, used, 10)])
      t.match(await room(), [{ used: 8_000 }, { own: 1_006_000n }], 'the account pays late work')
    },
  )

for (const engine of ENGINES)
  t.test(`hold of a plan on ${engine}: an extension takes from the plan`, async t => {
    const { database, ledger: open, credit, wallet } = await openBooks(t, engine)
    await credit(1, 10n ** 9n)
    const ledger = await open()
    const section = () => ({ pro: { amount: 0.00001, per: 'life' } }) as never
    const config = plansIn({
      section: ((name: string) => (name === 'plans' ? section() : {})) as never,
    })
    await database.write(assignPlan({ account: 1, plan: 'pro', since: 1, until: undefined }))
    const window = await new Plans(config, database).windowOf(1, 'm', 1)
    if (!window) throw new Error('there is a window')
    const process = await ledger.process()
    const planned = { ...payerOf(1), plan: { window, amount: 0n } }
    t.equal((await takeInOrder(ledger, payerOf(1), 5_000n)).shortage, undefined)
    await database.write([openCharge({ ...HELD_CALL, heldAmount: 5_000n, process })])
    const { payer } = await takeInOrder(ledger, planned, 4_000n)
    await database.write([extendCharge('r', 4_000n, heldPlanOf(payer))])
    const checkpoint = { request: 'r', output: 1, usage: '{}', attributes: null }
    const rule = freeze(ruleIn('price: { output: 0.000006 }'))
    await database.write([
      { sql: sql('price', 'UPDATE charges SET rule = ?'), values: [rule] },
      checkpointCharge(checkpoint),
    ])
    await settleCheckpoints(database, SILENT_LOG, Date.now())
    await reapAll(database)
    t.same(await audit(database), [])
    t.match(await wallet(1), { balance: 10n ** 9n - 2_000n, used: 6_000n, reserved: 0n })
  })

t.test('plan: begins and ends at the second of its calendar, also for calls at once', async t => {
  const { database } = await openBooks(t)
  const config = plansIn({
    section: ((name: string) =>
      name === 'plans'
        ? {
            pro: { amount: 1, per: 'month', zone: 'Europe/Berlin' },
            daily: { amount: 2, per: 'day', zone: 'America/New_York' },
          }
        : {}) as never,
  })
  const at = (text: string) => Date.parse(text)
  const until = at('2028-04-01T00:00:00+02:00')
  await database.write([
    ...assignPlan({ account: 1, plan: 'pro', since: 1, until }),
    ...assignPlan({ account: 2, plan: 'daily', since: 1, until: undefined }),
  ])
  const gateways = [new Plans(config, database), new Plans(config, database)]
  const startsAt = async (account: number, text: string) => {
    const windows = await Promise.all(
      gateways.flatMap(plans => [1, 2].map(() => plans.windowOf(account, 'm', at(text)))),
    )
    t.equal(new Set(windows.map(each => each?.wallet)).size, 1, 'one window for all')
    return windows[0] && new Date(windows[0].start).toISOString()
  }
  // A leap day, and daylight saving within the month.
  t.equal(await startsAt(1, '2028-02-29T23:59:59.999+01:00'), '2028-01-31T23:00:00.000Z')
  t.equal(await startsAt(1, '2028-03-01T00:00:00+01:00'), '2028-02-29T23:00:00.000Z')
  t.equal(await startsAt(1, '2028-03-31T23:59:59.999+02:00'), '2028-02-29T23:00:00.000Z')
  t.equal(await startsAt(1, '2028-04-01T00:00:00+02:00'), undefined, 'the plan has ended')
  // Days of 23 and 25 hours.
  t.equal(await startsAt(2, '2027-03-14T23:59:59-04:00'), '2027-03-14T05:00:00.000Z')
  t.equal(await startsAt(2, '2027-03-15T00:00:00-04:00'), '2027-03-15T04:00:00.000Z')
  t.equal(await startsAt(2, '2027-11-07T23:59:59-05:00'), '2027-11-07T04:00:00.000Z')
  t.equal(await startsAt(2, '2027-12-31T23:59:59-05:00'), '2027-12-31T05:00:00.000Z')
  t.equal(await startsAt(2, '2028-01-01T00:00:00-05:00'), '2028-01-01T05:00:00.000Z')
  const windows = await database.read(
    sql('w', 'SELECT l.amount, w.balance FROM plan_windows l JOIN wallets w ON w.id = l.wallet'),
    [],
  )
  t.equal(windows.length, 7)
  for (const { amount, balance } of windows) t.equal(amount, balance)
  const change = Number((await findPlan(database, 2))?.change)
  await database.write(cancelPlan(2, change))
  for (const plans of gateways) await plans.follow()
  t.equal(await startsAt(2, '2028-01-01T00:00:01-05:00'), undefined)
  await t.rejects(database.write(cancelPlan(2, change)), { code: 'PLAN_CHANGED' })
  t.same(await audit(database), [])
})

t.test('plans: mistakes are problems at their lines', async t => {
  const check = (plans: string, pipeline = '[meter]') => {
    const models = '{ m: { to: main/m, price: { input: 1 } } }'
    const document = parse(`{ pipeline: ${pipeline}, models: ${models}, plans: ${plans} }`)
    const problems: string[] = []
    const report = (where: readonly unknown[], code: string) =>
      void problems.push(`${code} ${where.join('.')}`)
    meter.check(document, report, { before: undefined } as never)
    return problems
  }
  const of = (more: string) => `{ p: { ${more} } }`
  t.same(check(of('amount: 5, per: month, models: [m]')), [])
  t.same(check(of('amount: 5 GBP, per: month')), ['PRICE_CURRENCY plans.p.amount'])
  t.same(check(of('amount: 0, per: month')), ['PLAN_AMOUNT plans.p.amount'])
  t.same(check(of('amount: 5, per: day, zone: Europe/Berlln')), ['PLAN_ZONE plans.p.zone'])
  t.same(check(of('amount: 5, per: day, models: [m, n]')), ['PLAN_MODEL plans.p.models.1'])
  t.same(check(of('amount: 5, per: day, price: 4, renew: never, rollover: 100%')), [])
  t.same(check(of('amount: 5, per: day, price: 0')), ['PLAN_AMOUNT plans.p.price'])
  t.same(check(of('amount: 5, per: day, renew: auto')), ['PLAN_PRICE plans.p.renew'])
  for (const wrong of ['rollover: 6', 'rollover: 0'])
    t.same(check(of(`amount: 5, per: day, ${wrong}`)), ['PLAN_ROLLOVER plans.p.rollover'])
  t.same(check(of('amount: 5, per: life, rollover: 1')), ['PLAN_ROLLOVER plans.p.rollover'])
  t.same(check(of('amount: 5, per: day'), '[auth]'), ['PLAN_UNREACHABLE plans'])
  t.same(check('{}', '[auth]'), [])
})
