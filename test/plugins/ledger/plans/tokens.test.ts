/** Plans in tokens over gateways that share a store: the plan pays the share of a call's tokens
 *  that it holds, the wallet pays the rest of the cost, and no window passes its tokens. */
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { HostBase } from '../../../../engine/plugin.ts'
import { MEMBERSHIP_TABLES } from '../../../../engine/store/membership.ts'
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
import { heldPlanOf, settledPart } from '../../../../plugins/ledger/plans/part.ts'
import { Plans } from '../../../../plugins/ledger/plans/plans.ts'
import { buyPlan, renewDuePlans } from '../../../../plugins/ledger/plans/purchase.ts'
import { assignPlan, findPlan } from '../../../../plugins/ledger/plans/rows.ts'
import { plansIn } from '../../../../plugins/ledger/plans/section.ts'
import { openPlanWindow } from '../../../../plugins/ledger/plans/tables.ts'
import { takeInOrder } from '../../../../plugins/ledger/plans/take.ts'
import {
  addCredit,
  openCharge,
  openWallet,
  releaseCharge,
  settleCharge,
} from '../../../../plugins/ledger/statements.ts'
import { migrations } from '../../../../plugins/ledger/tables.ts'
import { chargeLate } from '../../../../plugins/ledger/views/task-charges.ts'
import { walletOf, windowWallet } from '../../../../plugins/ledger/wallet.ts'
import { viewOf } from '../../../../plugins/operator/operations/plans/view.ts'
import { eventually } from '../../../helpers/gateway/primary.ts'
import { SILENT_LOG } from '../../../helpers/gateway/test-server.ts'
import { ruleIn } from '../../../helpers/money/billing.ts'
import { ANSWER, arrangeBudgets } from '../../../helpers/money/budgets.ts'
import { HELD_CALL, openBooks, payerOf } from '../../../helpers/money/ledger.ts'
import { createChance } from '../../../helpers/run-settings.ts'
import { ledgerOn, makeLedger, reapAll } from '../../../helpers/store/membership.ts'
import { ENGINES, type Engine, sql, startAnyStore } from '../../../helpers/store/store.ts'

const messages = [{ role: 'user', content: 'Count to ten, in words.' }]
const ask = (more: object): string => JSON.stringify({ model: 'm', messages, ...more })
const BODY = ask({ max_tokens: 60 })
const STREAM = ask({ max_tokens: 60, stream: true })
/** A token has at least one byte. */
const MOST = BODY.length + 60
const usage = { prompt_tokens: 40, completion_tokens: 60 }
const USED = 100
/** 40 at 2.00 / 1M and 60 at 8.00 / 1M: nanos. */
const COST = 560_000
const CREDIT = 10 ** 12

/** Account 1 has the plan `pro`; both accounts have 1000 units. Each call uses 100 tokens. */
const arrange = async (t: Test, engine: Engine, plan: object, workers = 1, budgets = {}) => {
  const parts = await arrangeBudgets(t, engine, budgets, workers, { pro: plan })
  const { database, installation, urls } = parts
  await database.write(assignPlan({ account: 1, plan: 'pro', since: 1, until: undefined }))
  installation.script = (_, response, _call, body) => {
    if (JSON.parse(body ?? '{}').stream !== true)
      return void response
        .setHeader('content-type', 'application/json')
        .end(JSON.stringify({ ...ANSWER, usage }))
    const choices = [{ index: 0, delta: { content: 'Hi' }, finish_reason: 'stop' }]
    response
      .setHeader('content-type', 'text/event-stream')
      .end(`data: ${JSON.stringify({ choices, usage })}\n\ndata: [DONE]\n\n`)
  }
  const rows = (text: string) => database.read(sql(text, text), [])
  const of = (text: string) => async () => (await rows(text))[0]
  const reserved = of('SELECT sum(reserved) AS sum FROM wallets')
  return {
    ...parts,
    rows,
    url: urls[0] ?? '',
    call: (url: string, body = BODY, account = 1) => parts.call(url, body, account),
    plan: of(
      `SELECT w.used, w.balance, w.reserved FROM plan_windows l JOIN wallets w ON w.id = l.wallet
       ORDER BY l.start DESC LIMIT 1`,
    ),
    account: of('SELECT used, balance, reserved FROM wallets WHERE id = 2'),
    /** Once all leases have returned. */
    books: async () => {
      await eventually(async () => Number((await reserved())?.sum) === 0 || undefined)
      t.same(await audit(database), [])
    },
  }
}

for (const engine of ENGINES)
  t.test(`plans in tokens on ${engine}`, async t => {
    t.test('plan: pays calls that it covers, and the wallet nothing', async t => {
      const parts = await arrange(t, engine, { tokens: 1_000, per: 'month' })
      const { url, call, plan, account, rows } = parts
      for (const body of [BODY, STREAM, BODY]) {
        const { status, headers } = await call(url, body)
        t.equal(status, 200)
        const balance = body === BODY ? String(CREDIT / 1e9) : null
        t.equal(headers.get('x-tollgate-balance'), balance, 'the receipt has the balance')
      }
      await parts.books()
      t.match(await plan(), { used: 3 * USED, balance: 1_000 - 3 * USED, reserved: 0 })
      t.match(await account(), { used: 3 * COST, balance: CREDIT, reserved: 0 })
      const charge = { amount: COST, plan_held: COST, plan_tokens: USED, tokens: USED }
      const columns = 'amount, plan_held, plan_tokens, tokens, tokens_held'
      t.match(await rows(`SELECT ${columns} FROM charges ORDER BY opened`), [
        { ...charge, tokens_held: MOST },
        { ...charge, tokens_held: STREAM.length + 60 },
        charge,
      ])
    })

    t.test('plan: of a call that crosses its end it pays the share of the tokens', async t => {
      const parts = await arrange(t, engine, { tokens: USED + 30, per: 'month' })
      const { url, call, plan, account } = parts
      const balances: (string | null)[] = []
      for (let count = 0; count < 3; count++) {
        const reply = await call(url)
        t.equal(reply.status, 200)
        t.equal(reply.headers.get('x-tollgate-charge'), '0.00056')
        balances.push(reply.headers.get('x-tollgate-balance'))
        await parts.books()
      }
      t.match(await plan(), { used: USED + 30, balance: 0 })
      const own = COST - Math.floor((COST * 30) / USED)
      t.match(await account(), { used: 3 * COST, balance: CREDIT - own - COST })
      t.same(balances.at(-1), String((CREDIT - own - COST) / 1e9))
      t.equal((await call(url, BODY, 2)).status, 200, 'another account has no plan')
      await parts.books()
      t.match(await plan(), { used: USED + 30 })
    })

    t.test('plan with `after: refuse`: nothing else pays', async t => {
      const limit = MOST + USED + 20
      const parts = await arrange(t, engine, {
        tokens: limit,
        per: 'day',
        zone: 'Europe/Berlin',
        after: 'refuse',
      })
      const { url, call, plan, account } = parts
      for (const body of [BODY, STREAM]) {
        t.equal((await call(url, body)).status, 200)
        await parts.books()
      }
      const refusal = await call(url)
      t.equal(refusal.status, 429)
      t.match(
        refusal.text,
        new RegExp(
          `plan \\\\"pro\\\\" of this account .* may use up to ${MOST} tokens: 200 of ${limit} tokens is used\\. It begins anew at 20`,
        ),
      )
      t.match(
        refusal.headers.get('x-tollgate-plan'),
        new RegExp(`^pro; used=200; limit=${limit}; unit=tokens; resets=20.*T00:00:00\\+0[12]:00$`),
      )
      t.equal(refusal.headers.get('x-should-retry'), 'false')
      await parts.books()
      t.match(await plan(), { used: 200 })
      t.match(await account(), { balance: CREDIT })
    })

    t.test('a call without an output limit gets what the rest covers', async t => {
      const plan = { tokens: 1_000, per: 'life', after: 'refuse' }
      const parts = await arrange(t, engine, plan)
      const reply = await parts.call(parts.url, ask({}))
      t.equal(reply.status, 200)
      t.equal(reply.headers.get('x-tollgate-output-limit'), String(1_000 - ask({}).length))
      await parts.books()
      t.match(await parts.plan(), { used: USED })
    })

    t.test('a small balance: the plan alone, or the balance alone, covers a part', async t => {
      const parts = await arrange(t, engine, { tokens: 1_000, per: 'life' })
      const { url, call, database, plan, account } = parts
      const debit = { account: 1, kind: 'debit', note: 'test', at: 1 } as const
      await database.write([addCredit({ ...debit, amount: 1n - BigInt(CREDIT) })])
      const reply = await call(url, ask({}))
      t.equal(reply.status, 200, reply.text)
      t.equal(reply.headers.get('x-tollgate-output-limit'), String(1_000 - ask({}).length))
      await parts.books()
      t.match(await plan(), { used: USED })
      t.match(await account(), { balance: 1 })
    })

    for (const after of ['wallet', 'refuse'])
      t.test(`50 calls at once on two gateways never pass the last tokens: ${after}`, async t => {
        const parts = await arrange(t, engine, { tokens: '1_010', per: 'month', after }, 2)
        const { urls, call, plan, account, rows } = parts
        const replies = await Promise.all(
          Array.from({ length: 50 }, (_, at) => call(urls[at % 2] ?? '', at % 3 ? BODY : STREAM)),
        )
        const statuses = [...new Set(replies.map(({ status }) => status))].toSorted()
        t.same(statuses, after === 'wallet' ? [200] : [200, 429])
        await parts.books()
        t.ok(Number((await plan())?.used) <= 1_010)
        // Tokens that calls have held and not used pay the next ones.
        for (let count = 0; count < 12; count++) {
          await call(urls[count % 2] ?? '')
          await parts.books()
        }
        const used = after === 'wallet' ? 1_010 : (Math.floor((1_010 - MOST) / USED) + 1) * USED
        t.match(await plan(), { used, balance: 1_010 - used })
        const [sums] = await rows(
          'SELECT sum(amount) AS cost, sum(plan_held) AS planned, sum(plan_tokens) AS tokens FROM charges',
        )
        t.equal(Number(sums?.tokens), used)
        const { balance } = (await account()) ?? {}
        t.equal(CREDIT - Number(balance), Number(sums?.cost) - Number(sums?.planned))
      })

    t.test('plan: a failed call is free, and a refund returns to both', async t => {
      const parts = await arrange(t, engine, { tokens: 30, per: 'life' })
      const { url, call, plan, account, installation, database } = parts
      const { script } = installation
      installation.script = (_, response) => void response.writeHead(500).end()
      t.ok((await call(url)).status >= 500)
      installation.script = script
      await parts.books()
      t.match(await plan(), { used: 0, balance: 30 })
      const charged = await call(url)
      await parts.books()
      t.match(await plan(), { used: 30, balance: 0, reserved: 0 })
      const request = String(charged.headers.get('x-request-id'))
      const amount = BigInt(COST)
      await database.write([
        addCredit({ account: 1, kind: 'refund', amount, request, note: 'test', at: 1 }),
      ])
      await parts.books()
      t.match(await plan(), { used: 0, balance: 30 })
      t.match(await account(), { used: 0, balance: CREDIT })
    })

    t.test('plan: budgets in tokens and in money count all of a call', async t => {
      const budgets = {
        money: { of: 'account', amount: 1, per: 'life' },
        words: { of: 'account', tokens: MOST + USED, per: 'life' },
      }
      const parts = await arrange(t, engine, { tokens: 30, per: 'hour' }, 1, budgets)
      const { url, call, plan, account, windows } = parts
      for (const body of [BODY, STREAM]) {
        t.equal((await call(url, body)).status, body === BODY ? 200 : 429)
        await parts.books()
      }
      t.match(await plan(), { used: 30 })
      t.match(await account(), { balance: CREDIT - COST + Math.floor((COST * 30) / USED) })
      t.match(await windows(), [{ used: COST }, { used: USED }])
    })

    t.test('plan of models: the wallet pays calls of others', async t => {
      const parts = await arrange(t, engine, { tokens: 5_000, per: 'life', models: ['small'] })
      const { url, call, plan, account } = parts
      t.equal((await call(url)).status, 200)
      t.equal((await call(url, BODY.replace('"m"', '"small"'))).status, 200)
      await parts.books()
      t.match(await plan(), { used: USED })
      t.match(await account(), { balance: CREDIT - COST })
    })

    t.test('plan: the balance pays a call whose price counts no token', async t => {
      const parts = await arrange(t, engine, { tokens: 5_000, per: 'life', after: 'refuse' })
      const { url, call, plan, account } = parts
      for (const body of [BODY, STREAM])
        t.equal((await call(url, body.replace('"m"', '"flat"'))).status, 200)
      t.equal((await call(url)).status, 200)
      await parts.books()
      t.match(await plan(), { used: USED })
      t.match(await account(), { balance: CREDIT - 2 * 10 ** 6 })
    })

    t.test('a stream that runs past its hold takes more tokens, or is cut', async t => {
      const parts = await arrange(t, engine, { tokens: 2_000, per: 'life', after: 'refuse' })
      const { installation, url, call, plan, account, rows } = parts
      const choices = [{ index: 0, delta: { content: 'word ' } }]
      installation.script = async (_, response) => {
        response.setHeader('content-type', 'text/event-stream')
        while (!response.closed) {
          response.write(`data: ${JSON.stringify({ choices })}\n\n`)
          await setTimeout(1)
        }
      }
      t.match((await call(url, STREAM)).text, /plan \\"pro\\" of this account/)
      await parts.books()
      const { used } = (await plan()) ?? {}
      t.ok(Number(used) > STREAM.length + 60 && Number(used) <= 2_000, String(used))
      t.match(await account(), { balance: CREDIT })
      t.match(await rows('SELECT plan_tokens FROM charges'), [{ plan_tokens: used }])
    })

    t.test('tokens beyond the hold: the plan counts what it held', async t => {
      const parts = await arrange(t, engine, { tokens: 5_000, per: 'life' })
      const { installation, url, call, plan, account, rows } = parts
      installation.script = (_, response) =>
        void response.setHeader('content-type', 'application/json').end(JSON.stringify(ANSWER))
      t.equal((await call(url)).status, 200)
      await parts.books()
      t.match(await plan(), { used: MOST, balance: 5_000 - MOST })
      const [charge] = await rows('SELECT amount, plan_held, tokens FROM charges')
      t.equal(charge?.tokens, 1_500)
      t.equal(charge?.plan_held, charge?.amount)
      t.match(await account(), { balance: CREDIT })
    })
  })

const proOf = (plan: object) =>
  plansIn({
    section: ((name: string) => (name === 'plans' ? { pro: plan } : {})) as HostBase['section'],
  })

for (const engine of ENGINES)
  t.test(`holds of plans in tokens on ${engine}: tasks, a crash, a late charge`, async t => {
    const { database, ledger: open, credit, wallet } = await openBooks(t, engine)
    await credit(1, BigInt(CREDIT))
    const ledger = await open()
    await database.write(assignPlan({ account: 1, plan: 'pro', since: 1, until: undefined }))
    const plans = new Plans(proOf({ tokens: 10_000, per: 'life' }), database)
    const window = await plans.windowOf(1, 'm', 1)
    if (!window) throw new Error('there is a window')
    const rule = freeze(ruleIn('price: { input: 1 / 1M, output: 1 / 1M }'))
    /** Each token costs 1,000 nanos. */
    const hold = async (request: string, tokens: bigint, own = ledger) => {
      const heldAmount = tokens * 1_000n
      // Another process does not know that nothing was left.
      const ofProcess = own === ledger ? window : { ...window, spentUntil: 0 }
      const plan = { window: ofProcess, amount: heldAmount, tokens }
      const { payer, shortage } = await takeInOrder(
        own,
        { ...payerOf(1), tokens, plan },
        heldAmount,
      )
      t.equal(shortage, undefined)
      const process = await own.process()
      const more = { plan: heldPlanOf(payer), tokens, rule, heldAmount, process }
      return { payer, row: { ...HELD_CALL, request, ...more } }
    }
    const room = async () => {
      t.same(await audit(database), [])
      const windows = await database.read(
        sql('room', 'SELECT used, reserved FROM wallets WHERE id < 0'),
        [],
      )
      const { balance, reserved } = await wallet(1)
      return [...windows, { own: BigInt(CREDIT) - (balance ?? 0n), reserved }]
    }
    // The plan has 10,000 tokens: the stream holds 1,000 of it, and 75 % of its cost otherwise.
    const tasks = [await hold('settled', 6_000n), await hold('released', 3_000n)]
    const stream = await hold('stream', 4_000n)
    t.match(stream.row.plan, { amount: 1_000_000n, tokens: 1_000n })
    await database.write(tasks.flatMap(({ row }) => keepHold(row, false)))
    for (const { row, payer } of tasks) ledger.keep(payer, row.heldAmount, row.process)(true)
    const checkpoint = {
      request: 'stream',
      output: 1_900,
      usage: '{"input":100}',
      attributes: null,
    }
    await database.write([openCharge(stream.row), checkpointCharge(checkpoint)])
    const silent = await hold('silent', 300n)
    t.equal(silent.row.plan, undefined, 'nothing is left')
    await database.write([openCharge(silent.row)])
    await settleCheckpoints(database, SILENT_LOG, Date.now())
    await reapAll(database)
    t.match(
      await room(),
      [
        { used: 1_000, reserved: 9_000 },
        { own: 1_000_000n, reserved: 0n },
      ],
      'of 2,000 tokens the plan held 1,000',
    )
    const [settled, released] = tasks.map(({ row }) => keptHoldOf(row, null))
    if (!settled || !released) return
    t.match(JSON.parse(JSON.stringify(settled)).plan, { amount: '6000000', tokens: '6000' })
    const used = { meters: { input: 20, output: 100 }, estimated: false }
    await database.write([settleKept(settled, used, 9), releaseKept(released, 9)])
    t.match(await room(), [
      { used: 1_120, reserved: 0 },
      { own: 1_000_000n, reserved: 0n },
    ])
    await database.write([...chargeLate(released, used, 10)])
    t.match(await room(), [{ used: 1_120 }, { own: 1_120_000n }], 'the account pays late work')

    const late = await open()
    const part = await hold('part', 20_000n, late)
    t.match(part.row.plan, { amount: 8_880_000n, tokens: 8_880n })
    await database.write(keepHold(part.row, false))
    late.keep(part.payer, part.row.heldAmount, part.row.process)(true)
    const whole = { meters: {}, estimated: true, takesHold: true }
    await database.write([settleKept(keptHoldOf(part.row, null), whole, 11)])
    await reapAll(database)
    t.match(
      await room(),
      [
        { used: 10_000, reserved: 0 },
        { own: 1_120_000n + 11_120_000n, reserved: 0n },
      ],
      'a task that is charged whole uses all tokens of its hold',
    )
  })

for (const engine of ENGINES)
  t.test(`windows of plans in tokens on ${engine}`, async t => {
    await t.test('bought: renewed once, and the rest moves up to its bound', async t => {
      const { database, credit, rows } = await openBooks(t, engine)
      await credit(1, 10n ** 11n)
      const plans = proOf({ tokens: 1_000, per: 'month', price: 15, rollover: '25%' })
      const pro = plans.get('pro')
      if (!pro?.price) throw new Error('there is a plan')
      t.equal(pro.rollover, 250n)
      const at = Date.UTC(2030, 0, 10)
      await database.write([...buyPlan({ plan: pro, price: pro.price, account: 1, at }, -1)])
      const end = Date.UTC(2030, 1, 1)
      const gateways = [new Plans(plans, database), new Plans(plans, database)]
      const windows = await Promise.all([
        ...Array.from({ length: 6 }, (_, index) => gateways[index % 2]?.windowOf(1, 'm', end)),
        renewDuePlans({ database }, plans, end),
      ])
      t.equal(new Set(windows.slice(0, 6).map(each => each?.wallet)).size, 1)
      t.match(await rows('SELECT amount, carried, moved FROM plan_windows ORDER BY start'), [
        { amount: 1_000, carried: 0, moved: 250 },
        { amount: 1_250, carried: 250, moved: 0 },
      ])
      const payments = await rows('SELECT price, amount FROM plan_payments')
      t.match(payments, Array(2).fill({ price: 15 * 1e9, amount: 1_000 }))
      const stored = await findPlan(database, 1)
      t.match(stored && viewOf(plans, stored, 'acme', end), {
        unit: 'tokens',
        amount: '1250',
        used: '0',
        remaining: '1250',
        renews: '15',
      })
      t.same(await audit(database), [])
    })

    await t.test(
      'a plan that changes its unit begins a window, to which no rest moves',
      async t => {
        const { database, rows } = await openBooks(t, engine)
        const january = Date.UTC(2030, 0, 10)
        await database.write([
          openWallet(walletOf.account(1), 0n),
          ...assignPlan({ account: 1, plan: 'pro', since: january, until: undefined }),
        ])
        const money = proOf({ amount: 20, per: 'month', rollover: '100%' })
        const tokens = proOf({ tokens: 1_000, per: 'month', rollover: '100%' })
        const february = Date.UTC(2030, 1, 10)
        const [first, same] = [
          await new Plans(money, database).windowOf(1, 'm', january),
          await new Plans(tokens, database).windowOf(1, 'm', january),
        ]
        t.not(first?.wallet, same?.wallet)
        const stored = await findPlan(database, 1)
        t.match(stored && viewOf(tokens, stored, 'acme', january), { unit: 'tokens' })
        await new Plans(tokens, database).windowOf(1, 'm', february)
        await new Plans(money, database).windowOf(1, 'm', february)
        const windows = await rows(
          'SELECT period, amount, carried FROM plan_windows ORDER BY start, period',
        )
        t.match(windows, [
          { period: 'month', amount: 20e9, carried: 0 },
          { period: 'month tokens', amount: 1_000, carried: 0 },
          { period: 'month' },
          { period: 'month tokens' },
        ])
        t.ok(windows.every(({ amount, period }) => period === 'month' || Number(amount) <= 2_000))
        t.same(await audit(database), [])
      },
    )
  })

for (const engine of ENGINES)
  t.test(`tables on ${engine}: holds of plans of an earlier version go on`, async t => {
    const database = await (await startAnyStore(t, engine)).open()
    await database.migrate('standing', MEMBERSHIP_TABLES)
    await database.migrate(
      'meter',
      migrations.filter(({ number }) => number < 30),
    )
    await database.write([
      openWallet(walletOf.account(1), 0n),
      addCredit({ account: 1, kind: 'credit', amount: 1_000n, note: 'test', at: 1 }),
    ])
    const ledger = ledgerOn(database)
    t.teardown(() => ledger.close())
    const [wallet, process] = [windowWallet('money'), await ledger.process()]
    await database.write(
      openPlanWindow({ wallet, account: 1, plan: 'pro', period: 'life', start: 0 }, 100n),
    )
    const plan = { wallet, amount: 6n }
    const window = { wallet, plan: { after: 'wallet' } } as never
    const payer = { ...payerOf(1), plan: { window, amount: 6n } }
    for (const _ of ['settled', 'released', 'refunded'])
      t.equal(await ledger.take(payer, 9n), undefined)
    for (const request of ['settled', 'released', 'refunded'])
      await database.write([openCharge({ ...HELD_CALL, request, plan, process })])
    await makeLedger(database)
    const settlement = {
      amount: 8n,
      uncollected: 0n,
      isEstimated: false,
      usage: '{}',
      lines: '[]',
      closedAt: 9,
      wallets: [walletOf.account(1), wallet],
    }
    await database.write([
      settleCharge({ ...settlement, request: 'settled' }),
      settleCharge({ ...settlement, request: 'refunded' }),
      releaseCharge('released', 9),
      addCredit({
        account: 1,
        kind: 'refund',
        amount: 8n,
        request: 'refunded',
        note: 'test',
        at: 9,
      }),
    ])
    await reapAll(database)
    t.same(await audit(database), [])
    t.match(await database.read(sql('w', 'SELECT id, used FROM wallets ORDER BY id'), []), [
      { used: 6 },
      { used: 8 },
    ])
  })

t.test('part of a charge: no share is lost, and nobody pays more than was held', t => {
  const chance = createChance(39)
  const below = (most: number) => BigInt(Math.floor(chance() * most))
  for (let round = 0; round < 5_000; round++) {
    const most = 1n + below(1_000)
    const heldAmount = below(1e6)
    const tokens = 1n + (below(1e9) % most)
    const plan = { amount: (heldAmount * tokens) / most, tokens }
    const used = below(1.2 * Number(most))
    const amount = below(Number(heldAmount) + 1)
    const part = settledPart(plan, { heldAmount, amount, used })
    const own = amount - part.amount
    if (own < 0n || part.amount < 0n || own > heldAmount - plan.amount || part.tokens > tokens)
      t.fail(
        `held ${heldAmount} of ${most}, plan ${plan.amount} of ${tokens}: ${amount} for ${used}`,
      )
    if (used > 0n && used <= most && part.amount !== (amount * part.tokens) / used)
      t.fail(`the plan pays ${part.amount} of ${amount} for ${part.tokens} of ${used}`)
  }
  t.end()
})
