/** Budgets in tokens over gateways that share a store: held with the money of a call, settled to
 *  the tokens that it used. */
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { MEMBERSHIP_TABLES } from '../../../../engine/store/membership.ts'
import { sendBudgetAlerts } from '../../../../plugins/alerts/budgets.ts'
import { migrations as alertTables } from '../../../../plugins/alerts/tables.ts'
import { configuredCurrency } from '../../../../plugins/billing/currency.ts'
import { freeze } from '../../../../plugins/billing/rule.ts'
import { migrations as accountTables } from '../../../../plugins/credentials/tables.ts'
import { audit } from '../../../../plugins/ledger/audit.ts'
import { Budgets } from '../../../../plugins/ledger/budgets/budgets.ts'
import { openWindow } from '../../../../plugins/ledger/budgets/tables.ts'
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
import {
  addCredit,
  openCharge,
  openWallet,
  settleCharge,
} from '../../../../plugins/ledger/statements.ts'
import { migrations } from '../../../../plugins/ledger/tables.ts'
import { chargeLate } from '../../../../plugins/ledger/views/task-charges.ts'
import { walletOf, windowWallet } from '../../../../plugins/ledger/wallet.ts'
import { SILENT_LOG } from '../../../helpers/gateway/test-server.ts'
import { ruleIn } from '../../../helpers/money/billing.ts'
import { ANSWER, arrangeBudgets } from '../../../helpers/money/budgets.ts'
import { HELD_CALL, openBooks, payerOf } from '../../../helpers/money/ledger.ts'
import { ledgerOn, makeLedger, reapAll } from '../../../helpers/store/membership.ts'
import { ENGINES, sql, startAnyStore } from '../../../helpers/store/store.ts'

const WARNING = 'x-tollgate-budget-warning'
const messages = [{ role: 'user', content: 'Count to ten, in words.' }]
const ask = (more: object): string => JSON.stringify({ model: 'm', messages, ...more })
const BODY = ask({ max_tokens: 60 })
const STREAM = ask({ max_tokens: 60, stream: true })
/** A token has at least one byte. */
const MOST = BODY.length + 60
const usage = {
  prompt_tokens: 40,
  completion_tokens: 60,
  prompt_tokens_details: { cached_tokens: 30 },
}
const USED = 100
/** Each call uses 100 tokens. */
const arrange = async (t: Test, engine: (typeof ENGINES)[number], budgets: object, workers = 1) => {
  const arranged = await arrangeBudgets(t, engine, budgets, workers)
  arranged.installation.script = (_, response, _call, body) => {
    if (JSON.parse(body ?? '{}').stream !== true)
      return void response
        .setHeader('content-type', 'application/json')
        .end(JSON.stringify({ ...ANSWER, usage }))
    const choices = [{ index: 0, delta: { content: 'Hi' }, finish_reason: 'stop' }]
    response
      .setHeader('content-type', 'text/event-stream')
      .end(`data: ${JSON.stringify({ choices, usage })}\n\ndata: [DONE]\n\n`)
  }
  const call: typeof arranged.call = (url, body = BODY, account) =>
    arranged.call(url, body, account)
  return { ...arranged, call }
}
const tokens = (amount: number | string, more: object = {}) => ({
  of: 'account',
  tokens: amount,
  per: 'month',
  ...more,
})

for (const engine of ENGINES)
  t.test(`budgets in tokens on ${engine}`, async t => {
    t.test('a call that does not fit is refused with the tokens used and the limit', async t => {
      const budgets = { monthly: tokens(MOST + USED + 20, { zone: 'Europe/Berlin' }) }
      const { urls, call, books, windows, database } = await arrange(t, engine, budgets)
      const [url = ''] = urls
      for (const body of [BODY, STREAM]) {
        t.equal((await call(url, body)).status, 200)
        await books()
      }
      const refusal = await call(url)
      t.equal(refusal.status, 429)
      const limit = MOST + USED + 20
      t.match(
        refusal.text,
        new RegExp(
          `\\\\"monthly\\\\" of this account does .* may use up to ${MOST} tokens: 200 of ${limit} tokens is used\\. It begins anew at 20`,
        ),
      )
      t.match(
        refusal.headers.get('x-tollgate-budget'),
        new RegExp(
          `^monthly; used=200; limit=${limit}; unit=tokens; resets=20.*T00:00:00\\+0[12]:00$`,
        ),
      )
      t.equal(refusal.headers.get('x-should-retry'), 'false')
      t.equal((await call(url, BODY, 2)).status, 200, 'another account has its own window')
      t.equal((await call(url, ask({ model: 'free' }))).status, 200, 'free calls need no budget')
      await books()
      t.match(await windows(), [
        { owner: 1, used: 2 * USED, balance: limit - 2 * USED },
        { owner: 2, used: USED },
      ])
      const charges = await database.read(
        sql('t', 'SELECT tokens_held, tokens FROM charges WHERE account = 1'),
        [],
      )
      const row = { tokens_held: MOST, tokens: USED }
      t.same(charges, [row, { ...row, tokens_held: STREAM.length + 60 }])
    })

    t.test('50 calls at once on two gateways never pass the last tokens', async t => {
      const budgets = { tight: tokens('1_000'), wide: { of: 'account', amount: 10, per: 'life' } }
      const { urls, call, books, windows } = await arrange(t, engine, budgets, 2)
      const replies = await Promise.all(
        Array.from({ length: 50 }, (_, at) => call(urls[at % 2] ?? '', at % 3 ? BODY : STREAM)),
      )
      t.same([...new Set(replies.map(({ status }) => status))].toSorted(), [200, 429])
      await books()
      while ((await call(urls[0] ?? '')).status === 200) await books()
      await books()
      const used = (Math.floor((1_000 - MOST) / USED) + 1) * USED
      t.match(await windows(), [{ used, balance: 1_000 - used }, { budget: 'wide' }])
    })

    t.test('a failed call and a refunded one leave it as it was', async t => {
      const { installation, database, urls, call, books, windows } = await arrange(t, engine, {
        life: tokens(MOST, { per: 'life' }),
      })
      const [url = ''] = urls
      const { script } = installation
      installation.script = (_, response) => void response.writeHead(500).end()
      t.ok((await call(url)).status >= 500)
      installation.script = script
      const charged = await call(url)
      t.equal(charged.status, 200)
      await books()
      t.equal((await call(url)).status, 429)
      const request = String(charged.headers.get('x-request-id'))
      const [charge] = await database.read(
        sql('a', "SELECT amount FROM charges WHERE state = 'settled'"),
        [],
      )
      const amount = BigInt(String(charge?.amount))
      await database.write([
        addCredit({ account: 1, kind: 'refund', amount, request, note: 'test', at: 1 }),
      ])
      await books()
      t.match(await windows(), [{ used: 0, balance: MOST }])
      t.equal((await call(url)).status, 200)
    })

    t.test('a call without an output limit gets what the rest covers', async t => {
      const { urls, call, books, windows } = await arrange(t, engine, {
        life: tokens(1_000, { per: 'life' }),
      })
      const reply = await call(urls[0] ?? '', ask({}))
      t.equal(reply.status, 200)
      t.equal(reply.headers.get('x-tollgate-output-limit'), String(1_000 - ask({}).length))
      await books()
      t.match(await windows(), [{ used: USED }])
    })

    t.test('tokens beyond the hold are counted, and refuse the next call', async t => {
      const { installation, urls, call, books, windows } = await arrange(t, engine, {
        life: tokens(1_000, { per: 'life' }),
      })
      installation.script = (_, response) =>
        void response.setHeader('content-type', 'application/json').end(JSON.stringify(ANSWER))
      t.equal((await call(urls[0] ?? '')).status, 200)
      await books()
      t.match(await windows(), [{ used: 1_500, balance: -500 }])
      t.equal((await call(urls[0] ?? '')).status, 429)
    })

    t.test('a stream that runs past its hold is cut if the window has no more', async t => {
      const { installation, urls, call, books, windows } = await arrange(t, engine, {
        life: tokens(MOST + 50, { per: 'life' }),
      })
      const choices = [{ index: 0, delta: { content: 'word ' } }]
      installation.script = async (_, response) => {
        response.setHeader('content-type', 'text/event-stream')
        while (!response.closed) {
          response.write(`data: ${JSON.stringify({ choices })}\n\n`)
          await setTimeout(1)
        }
      }
      t.match((await call(urls[0] ?? '', STREAM)).text, /budget \\"life\\" of this account/)
      await books()
      const [row] = await windows()
      t.ok(Number(row?.used) > MOST, 'what it was sent is counted')
    })

    t.test('at_limit and shadow: calls go on, and the window counts their tokens', async t => {
      const small = { of: 'account', tokens: MOST, per: 'life' }
      const { urls, call, books, windows, database } = await arrange(t, engine, {
        cheap: { ...small, at_limit: { use: 'small' } },
        soft: { ...small, at_limit: 'warn' },
        watch: { ...small, shadow: true },
      })
      const [url = ''] = urls
      t.notOk((await call(url)).headers.get(WARNING))
      await books()
      for (let count = 0; count < 2; count++) {
        const reply = await call(url)
        t.equal(reply.status, 200)
        const limit = `limit=${MOST}; unit=tokens`
        t.equal(reply.headers.get(WARNING), `cheap; ${limit}, soft; ${limit}`)
        await books()
      }
      const used = { used: 3 * USED, reserved: 0 }
      t.match(await windows(), [used, used, used])
      const models = await database.read(sql('m', 'SELECT model FROM charges ORDER BY opened'), [])
      t.same(models.map(({ model }) => model).toSorted(), ['m', 'small', 'small'])
    })

    t.test('alert_at: the message says tokens', async t => {
      const monthly = tokens(1_000, { alert_at: ['10%', '90%'] })
      const { urls, call, books, database } = await arrange(t, engine, { monthly })
      await database.migrate('auth', accountTables)
      await database.migrate('alerts', alertTables)
      t.equal((await call(urls[0] ?? '')).status, 200)
      await books()
      const section = (name: string) => (name === 'budgets' ? { monthly } : {}) as never
      const metrics = { count: () => {}, gauge: () => {} } as never
      const to = [{ kind: 'slack', url: 'https://a.example' }] as never
      await sendBudgetAlerts({ database, log: SILENT_LOG, metrics, section }, { to })
      t.match(await database.read(sql('m', 'SELECT text FROM alert_messages'), []), [
        { text: 'The budget monthly of account 1 has used 10%: 100 of 1000 tokens.' },
      ])
    })
  })

for (const engine of ENGINES)
  t.test(
    `holds in tokens on ${engine}: tasks, a crash and a late charge keep the books`,
    async t => {
      const { database, ledger: open, credit } = await openBooks(t, engine)
      await credit(1, 10n ** 12n)
      const ledger = await open()
      const budget = {
        name: 'b',
        of: 'account',
        amount: 10_000n,
        unit: 'tokens',
        per: 'month',
        zone: 'UTC',
        atLimit: 'refuse',
        isShadow: false,
        alertAt: [],
      } as const
      const currency = configuredCurrency({ section: () => ({}) as never })
      const budgets = new Budgets([budget], { database, ledger, log: SILENT_LOG, currency })
      const ann = { id: 1, name: 'ann', role: 'customer' } as const
      const windows = (await budgets.windowsOf(ann, Date.UTC(2030, 0, 31, 23))) ?? []
      const wallets = windows.map(({ wallet }) => wallet)
      const rule = freeze(ruleIn('price: { output: 1 / 1k }'))
      const hold = async (request: string, most: bigint) => {
        t.equal(await ledger.take({ ...payerOf(1), budgets: windows, tokens: most }, 9n), undefined)
        const process = await ledger.process()
        return { ...HELD_CALL, request, budgets: wallets, tokens: most, rule, process }
      }
      const room = async () => {
        t.same(await audit(database), [])
        const rows = await database.read(
          sql('room', 'SELECT used, reserved FROM wallets WHERE id < 0 ORDER BY used DESC'),
          [],
        )
        return rows.map(({ used, reserved }) => [Number(used), Number(reserved)])
      }
      const tasks = await Promise.all(['settled', 'released'].map(each => hold(each, 4_000n)))
      await database.write(tasks.flatMap(each => keepHold(each, false)))
      for (const each of tasks)
        ledger.keep(
          { ...payerOf(1), budgets: windows, tokens: each.tokens },
          9n,
          each.process,
        )(true)
      t.equal(
        await ledger.take({ ...payerOf(1), budgets: windows, tokens: 2_001n }, 1n),
        windows[0],
        'the third does not fit',
      )

      // The process crashes: a stream is charged at its checkpoint, the tasks keep their holds.
      const stream = await hold('stream', 1_500n)
      const checkpoint = {
        request: 'stream',
        output: 1_000,
        usage: '{"input":7}',
        attributes: null,
      }
      await database.write([openCharge(stream), checkpointCharge(checkpoint)])
      const silent = await hold('open', 300n)
      await database.write([openCharge(silent)])
      await settleCheckpoints(database, SILENT_LOG, Date.now())
      await reapAll(database)
      t.same(await room(), [[1_007, 8_000]])

      const [settled, released] = tasks.map(each => keptHoldOf(each, null))
      if (!settled || !released) return
      const used = { meters: { input: 20, cached: 3, output: 100 }, estimated: false }
      await database.write([settleKept(settled, used, 9), releaseKept(released, 9)])
      t.same(await room(), [[1_130, 0]])
      await database.write([...chargeLate(released, used, 10)])
      t.same(await room(), [[1_253, 0]], 'work after the release is counted')

      const [next] = (await budgets.windowsOf(ann, Date.UTC(2030, 1, 1))) ?? []
      t.not(next?.wallet, wallets[0])
      t.same(await room(), [
        [1_253, 0],
        [0, 0],
      ])
    },
  )

for (const engine of ENGINES)
  t.test(`tables on ${engine}: windows and holds of an earlier version go on`, async t => {
    const database = await (await startAnyStore(t, engine)).open()
    await database.migrate('standing', MEMBERSHIP_TABLES)
    await database.migrate(
      'meter',
      migrations.filter(({ number }) => number < 29),
    )
    await database.write([
      openWallet(walletOf.account(1), 0n),
      addCredit({ account: 1, kind: 'credit', amount: 1_000n, note: 'test', at: 1 }),
    ])
    const ledger = ledgerOn(database)
    t.teardown(() => ledger.close())
    const [wallet, process] = [windowWallet('money'), await ledger.process()]
    const row = { wallet, budget: 'b', kind: 'account', owner: 1, period: 'life', start: 0 }
    await database.write(openWindow(row, { amount: 100n, alertAt: [] }, 0))
    const budgets = [{ wallet }] as never
    t.equal(await ledger.take({ ...payerOf(1), budgets }, 9n), undefined)
    await database.write([openCharge({ ...HELD_CALL, budgets: [wallet], process })])
    await makeLedger(database)
    const settlement = {
      request: HELD_CALL.request,
      amount: 4n,
      uncollected: 0n,
      isEstimated: false,
      usage: '{}',
      lines: '[]',
      closedAt: 9,
      wallets: [walletOf.account(1), wallet],
    }
    await database.write([settleCharge(settlement)])
    t.same(await audit(database), [])
    t.match(await database.read(sql('w', 'SELECT used FROM wallets WHERE id < 0'), []), [
      { used: 4 },
    ])
  })
