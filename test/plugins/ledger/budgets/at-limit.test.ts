/** Calls that do not fit into a budget: a warning, another model, or nothing. */
import t from 'tap'
import {
  ANSWER,
  arrangeBudgets,
  BODY,
  COST,
  EVENTS,
  STREAM,
} from '../../../helpers/money/budgets.ts'
import { ENGINES, sql } from '../../../helpers/store/store.ts'

const WARNING = 'x-tollgate-budget-warning'
/** Two calls fit. */
const AMOUNT = 0.0125

for (const engine of ENGINES)
  t.test(`at_limit on ${engine}`, async t => {
    t.test('at_limit warn: calls pass with a header, and the window counts them', async t => {
      const budgets = { soft: { of: 'account', amount: AMOUNT, per: 'year', at_limit: 'warn' } }
      const { urls, call, windows, books, installation } = await arrangeBudgets(
        t,
        engine,
        budgets,
        2,
      )
      const [url = '', other = ''] = urls
      for (let count = 0; count < 2; count++) t.notOk((await call(url)).headers.get(WARNING))
      await books()
      for (const each of [url, other, url]) {
        const reply = await call(each)
        t.equal(reply.status, 200)
        t.match(reply.headers.get(WARNING), /^soft; limit=0\.0125; resets=20\d\d-01-01T00:00:00/)
      }
      installation.script = (_, response) =>
        void response.setHeader('content-type', 'text/event-stream').end(EVENTS)
      const stream = await call(url, STREAM)
      t.match(stream.text, /DONE/)
      t.ok(stream.headers.get(WARNING))
      await books()
      t.match(await windows(), [{ used: Number(6n * COST) }])
    })

    t.test('at_limit warn: a call that costs more than it held is collected in full', async t => {
      // The hold fits, the cost does not.
      const budgets = {
        soft: { of: 'account', amount: 0.0075, per: 'life', at_limit: 'warn' },
        hard: { of: 'account', amount: 1, per: 'life' },
      }
      const { urls, call, windows, books, installation, database } = await arrangeBudgets(
        t,
        engine,
        budgets,
      )
      const usage = { prompt_tokens: 1_000, completion_tokens: 1_000 }
      for (const [at, stream] of [false, true].entries()) {
        const choices = [{ index: 0, delta: {}, finish_reason: 'stop' }]
        const answer = JSON.stringify({ ...ANSWER, usage, ...(stream && { choices }) })
        installation.script = (_, response) =>
          void response
            .setHeader('content-type', stream ? 'text/event-stream' : 'application/json')
            .end(stream ? `data: ${answer}\n\ndata: [DONE]\n\n` : answer)
        const reply = await call(urls[0] ?? '', stream ? STREAM : BODY, at + 1)
        t.equal(reply.status, 200)
        await books()
        const used = { used: 10_000_000, reserved: 0 }
        t.match(
          (await windows()).filter(({ owner }) => owner === at + 1),
          [used, used],
        )
      }
      const rows = await database.read(sql('u', 'SELECT uncollected FROM charges'), [])
      t.match(rows, [{ uncollected: 0 }, { uncollected: 0 }])
    })

    t.test('shadow: nothing changes for calls, and the window counts', async t => {
      const budgets = { trial: { of: 'member', amount: AMOUNT, per: 'day', shadow: true } }
      const { urls, call, windows, books } = await arrangeBudgets(t, engine, budgets)
      for (let count = 0; count < 4; count++) {
        const reply = await call(urls[0] ?? '', BODY, 1, { member: '5' })
        t.equal(reply.status, 200)
        t.notOk(reply.headers.get(WARNING))
        await books()
      }
      t.equal((await call(urls[0] ?? '')).status, 200)
      await books()
      t.match(await windows(), [{ kind: 'member', owner: 5, used: Number(4n * COST) }])
      t.equal((await windows()).length, 1, 'a call without a member has no budget of members')
    })

    t.test('at_limit use: calls go to the other model at its price', async t => {
      const budgets = {
        main: { of: 'account', amount: AMOUNT, per: 'life', at_limit: { use: 'small' } },
      }
      const { urls, call, windows, books, database } = await arrangeBudgets(t, engine, budgets)
      const [url = ''] = urls
      for (let count = 0; count < 2; count++) t.equal((await call(url)).status, 200)
      await books()
      for (let count = 0; count < 2; count++) {
        const reply = await call(url, BODY, 1, { key: '3' })
        t.equal(reply.status, 200)
        t.equal(reply.headers.get(WARNING), 'main; limit=0.0125')
      }
      const refused = await call(url, BODY, 1, { key: '3', models: 'm' })
      t.equal(refused.status, 429, 'a key that may not use the other model')
      t.match(refused.headers.get('x-tollgate-budget'), /^main; used=/)
      await books()
      t.match(await windows(), [{ used: Number(2n * COST + (2n * COST) / 10n) }])
      const charges = await database.read(
        sql('c', 'SELECT model, amount, served FROM charges ORDER BY opened, request'),
        [],
      )
      t.same(charges.map(({ model, amount }) => `${model} ${amount}`).toSorted(), [
        'm 6000000',
        'm 6000000',
        'small 600000',
        'small 600000',
      ])
      t.match(charges.findLast(({ model }) => model === 'small')?.served, /"s"|main\/s/)
    })

    t.test('at_limit use: the upstream gets the name of the model that is charged', async t => {
      const budgets = {
        main: { of: 'account', amount: AMOUNT, per: 'life', at_limit: { use: 'plain' } },
      }
      const { urls, call, books, installation } = await arrangeBudgets(t, engine, budgets)
      const names: string[] = []
      installation.script = (_request, response, _call, body) => {
        names.push(JSON.parse(body ?? '').model)
        response.setHeader('content-type', 'application/json').end(JSON.stringify(ANSWER))
      }
      for (let count = 0; count < 3; count++) {
        const reply = await call(urls[0] ?? '')
        t.equal(JSON.parse(reply.text).model ?? 'm', 'm', 'the client sees the name that it asked')
        await books()
      }
      t.same(names, ['m', 'm', 'plain'])
    })

    t.test('at_limit use: refuses what the other model may not get', async t => {
      const use = (model: string) => ({
        main: { of: 'account', amount: AMOUNT, per: 'life', at_limit: { use: model } },
      })
      const { urls, gateway, call, books } = await arrangeBudgets(t, engine, use('small'))
      for (let count = 0; count < 2; count++) await call(urls[0] ?? '')
      await books()
      for (const model of ['far', 'picky', 'pictures']) {
        const reply = await call(await gateway(use(model)))
        t.equal(reply.status, 429, model)
        t.match(reply.headers.get('x-tollgate-budget'), /^main; used=0.012; limit=0.0125/)
        t.equal(reply.headers.get('x-should-retry'), 'false')
      }
      const picky = await gateway(use('picky'))
      const user = { ...JSON.parse(BODY), user: 'u' }
      t.equal((await call(picky, JSON.stringify(user))).status, 200)
      await books()
    })

    t.test('at_limit use: a call that fits keeps its model after one that did not', async t => {
      const budgets = {
        main: { of: 'account', amount: AMOUNT, per: 'life', at_limit: { use: 'small' } },
      }
      const { urls, call, windows, books } = await arrangeBudgets(t, engine, budgets)
      const big = JSON.stringify({ ...JSON.parse(BODY), max_tokens: 2_000 })
      t.ok((await call(urls[0] ?? '', big)).headers.get(WARNING), 'the most it can cost')
      t.notOk((await call(urls[0] ?? '')).headers.get(WARNING))
      await books()
      t.match(await windows(), [{ used: Number(COST + COST / 10n) }])
    })

    t.test('at_limit use: two budgets that switch to each other do not loop', async t => {
      const terms = { of: 'account', amount: 0.001, per: 'life' }
      const budgets = {
        one: { ...terms, at_limit: { use: 'plain' } },
        two: { ...terms, at_limit: { use: 'small' } },
      }
      const { urls, call, windows, books } = await arrangeBudgets(t, engine, budgets)
      const reply = await call(urls[0] ?? '')
      t.equal(reply.status, 200)
      await books()
      const used = { used: Number(COST / 10n), reserved: 0 }
      t.match(await windows(), [used, used])
    })

    t.test('at_limit use: a free model costs nothing, a hard budget still refuses', async t => {
      const budgets = {
        free: { of: 'account', amount: AMOUNT, per: 'life', at_limit: { use: 'free' } },
        seat: { of: 'key', amount: 0.001, per: 'life' },
      }
      const { urls, call, windows, books } = await arrangeBudgets(t, engine, budgets)
      const [url = ''] = urls
      t.equal((await call(url, BODY, 1, { key: '3' })).status, 429)
      for (let count = 0; count < 2; count++) t.equal((await call(url)).status, 200)
      await books()
      const reply = await call(url, BODY, 1, { key: '3' })
      t.equal(reply.status, 200, 'a free call needs no budget')
      t.equal(reply.headers.get(WARNING), 'free; limit=0.0125')
      await books()
      t.match(await windows(), [{ used: Number(2n * COST) }, { used: 0 }])
    })
  })
