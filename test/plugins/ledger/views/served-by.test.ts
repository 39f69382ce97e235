/** The column `served` of charges on both stores: every way in which a charge is written. */
import t from 'tap'
import { usagePage } from '../../../../plugins/account/usage-pages.ts'
import {
  checkpointCharge,
  settleCheckpoints,
} from '../../../../plugins/ledger/crash/crash-settlement.ts'
import { singleRowCharge } from '../../../../plugins/ledger/single-row-charge.ts'
import { settleCharge } from '../../../../plugins/ledger/statements.ts'
import {
  servedByTask,
  servedFacts,
  servedView,
} from '../../../../plugins/ledger/views/served-by.ts'
import { chargeLate, linkCharge } from '../../../../plugins/ledger/views/task-charges.ts'
import { servedAtEnd } from '../../../../plugins/task/results/closed-hold.ts'
import { reportedUsage } from '../../../../plugins/task/upstream-answer.ts'
import { SILENT_LOG } from '../../../helpers/gateway/test-server.ts'
import { call, openBooks, payerOf } from '../../../helpers/money/ledger.ts'
import { ENGINES } from '../../../helpers/store/store.ts'

const UNIT = 10n ** 9n
const TARGET = { upstream: 'up', name: 'model-1', pin: { key: 'ab12' } }

const UPSTREAMS = { up: { options: { zone: ['eu', 'de'] } } }
for (const engine of ENGINES) {
  t.test(
    `served by on ${engine}: stored with a hold's charge, and with one in one row`,
    async t => {
      const books = await openBooks(t, engine)
      const { database } = books
      await books.credit(1, 10n * UNIT)
      const ledger = await books.ledger()
      const how = {
        amount: 1n,
        uncollected: 0n,
        isEstimated: false,
        usage: '{}',
        lines: '[]',
        closedAt: 9,
        wallets: [],
      }
      await call(books, ledger, 'held', payerOf(1), UNIT)
      await database.write([settleCharge({ ...how, request: 'held', served: '{"upstream":"a"}' })])
      const process = await ledger.process()
      t.equal(await ledger.take(payerOf(1), UNIT), undefined)
      const hold = {
        request: 'one',
        account: 1,
        key: undefined,
        holdsKeyQuota: false,
        process,
        route: 'chat',
        model: 'm',
        version: 1,
        rule: '{}',
        heldAmount: UNIT,
        openedAt: 7,
      }
      await database.write(singleRowCharge(hold, { ...how, served: '{"upstream":"b"}' }, {}))
      t.equal(await ledger.take(payerOf(1), UNIT), undefined)
      await database.write(singleRowCharge({ ...hold, request: 'none' }, how, {}))
      t.same(
        (await books.rows('SELECT request, served FROM charges ORDER BY request')).map(row => ({
          ...row,
        })),
        [
          { request: 'held', served: '{"upstream":"a"}' },
          { request: 'none', served: null },
          { request: 'one', served: '{"upstream":"b"}' },
        ],
      )
      const change = "UPDATE charges SET served = '{}'"
      const statement = { sql: { name: change, text: change }, values: [] }
      await t.rejects(database.write([statement]), { code: /^STORE_/ })
    },
  )

  t.test(`served by on ${engine}: a crash settles with what its checkpoint knew`, async t => {
    const books = await openBooks(t, engine)
    const { database } = books
    await books.credit(1, 10n * UNIT)
    const ledger = await books.ledger()
    await call(books, ledger, 'a', payerOf(1), UNIT)
    const rule = 'UPDATE charges SET rule = \'{"price":{"calls":"1 / 1k"}}\''
    await database.write([{ sql: { name: rule, text: rule }, values: [] }])
    const checkpoint = { request: 'a', output: 3, usage: '{"input":5}', attributes: null }
    await database.write([checkpointCharge(checkpoint)])
    await database.write([checkpointCharge({ ...checkpoint, served: '{"upstream":"a"}' })])
    await database.write([checkpointCharge({ ...checkpoint, output: 4 })])
    await settleCheckpoints(database, SILENT_LOG, Date.now())
    t.match(await books.rows('SELECT state, served FROM charges'), [
      { state: 'settled', served: '{"upstream":"a"}' },
    ])
  })

  t.test(`served by on ${engine}: lists of calls by a tag and by a rule`, async t => {
    const books = await openBooks(t, engine)
    await books.credit(1, 10n * UNIT)
    const ledger = await books.ledger()
    const rowOf = { amount: 1n, uncollected: 0n, isEstimated: false, usage: '{}', lines: '[]' }
    for (const [request, served] of [
      ['a', { upstream: 'up', tags: { project: 'alpha', 'sub-team': 'x.y' } }],
      ['b', { upstream: 'up', tags: { project: 'beta' } }],
      ['c', { upstream: 'up', rule: 'canary' }],
      ['d', undefined],
    ] as const) {
      await call(books, ledger, request, payerOf(1), UNIT)
      const text = served && JSON.stringify(served)
      const settlement = { ...rowOf, closedAt: 9, wallets: [], request, served: text }
      await books.database.write([settleCharge(settlement)])
    }
    const query = { account: 1, by: 'call', limit: 9, from: 0, to: Date.now() + 1_000 } as const
    const filters = { model: null, key: null, state: null }
    const listed = async (name: string, value: string) => {
      const tag = { name, value }
      const page = await usagePage(books.database, { ...query, filters: { ...filters, tag } })
      return page.rows.map(({ request_id }) => request_id)
    }
    t.same(await listed('project', 'alpha'), ['a'])
    t.same(await listed('sub-team', 'x.y'), ['a'])
    t.same(await listed('project', 'gamma'), [])
    t.same(await listed('none', 'alpha'), [])
    for (const [rule, requests] of [
      ['canary', ['c']],
      ['none', []],
    ] as const) {
      const page = await usagePage(books.database, { ...query, filters: { ...filters, rule } })
      t.same(
        page.rows.map(({ request_id }) => request_id),
        requests,
      )
    }
    t.equal((await usagePage(books.database, query)).rows.length, 4)
  })

  t.test(`served by on ${engine}: a task names where it was sent, also late`, async t => {
    const books = await openBooks(t, engine)
    const { database } = books
    await books.credit(1, 10n * UNIT)
    const ledger = await books.ledger()
    const { release } = await call(books, ledger, 'a', payerOf(1), UNIT)
    const task = {
      target: TARGET,
      created: 1_000,
      slots: { tags: { project: 'alpha' }, rule: 'canary' },
    }
    await database.write([linkCharge('task-1', 'a', {}, servedByTask(task, UPSTREAMS))])
    const served = async (request: string) =>
      servedView(
        (await books.rows(`SELECT served FROM charges WHERE request = '${request}'`))[0] as never,
      )
    t.match(await served('a'), {
      zone: 'eu, de',
      tags: 'project=alpha',
      rule: 'canary',
      upstream: 'up',
      target: 'model-1',
      upstream_key: 'ab12',
      ms: null,
    })
    await release?.()
    const hold = {
      request: 'a',
      account: 1,
      key: null,
      held: String(UNIT),
      opened: 1,
      rule: '{"price":{"calls":"1 / 1k"}}',
      attributes: {},
    }
    const late = servedByTask(task, UPSTREAMS, { id: 'up-1', endedAt: 5_000 })
    await database.write(chargeLate(hold, { meters: {}, estimated: false }, 5_000, late))
    t.match(await served('a_late'), {
      upstream: 'up',
      response_id: 'up-1',
      ms: 4_000,
      tags: 'project=alpha',
    })
  })
}

t.test('served by: a finished task names what its upstream reports', async t => {
  const answer = {
    json: { id: 'up-1', status: 'done', model: 'video-2', service_tier: 'flex' },
    results: undefined,
  } as unknown as Parameters<typeof reportedUsage>[0]
  const poll = { usage: [['service_tier', '/service_tier']] } as never
  const reported = reportedUsage(answer, { poll })
  const task = { target: TARGET, created: 1_000, slots: {}, upstreamId: 'up-1' }
  const served = servedAtEnd({ ...task, reported }, 3_000, UPSTREAMS)
  t.match(servedView({ served }), {
    upstream: 'up',
    upstream_key: 'ab12',
    served_model: 'video-2',
    response_id: 'up-1',
    tier: 'flex',
    ms: 2_000,
  })
  const signed = { up: { key: 'cd34', options: {} } }
  const unpinned = { ...task, target: { upstream: 'up' }, reported: undefined }
  t.match(servedView({ served: servedAtEnd(unpinned, 3_000, signed) }), {
    upstream_key: 'cd34',
    served_model: null,
    tier: null,
  })
})

t.test('served by: a customer sees nothing that names the provider', async t => {
  const served = JSON.stringify({
    upstream: 'up',
    target: 'model-1',
    key: 'ab12',
    model: 'model-1-2026',
    id: 'resp-1',
    attributes: { service_tier: 'flex', speed: 'fast', inference_geo: 'eu', size: '1x1' },
    first: 12,
    rule: 'canary',
    guard: 'pii=masked(1)',
    ms: 40,
  })
  const facts = {
    tier: 'flex',
    speed: 'fast',
    geography: 'eu',
    zone: null,
    tags: null,
    rule: 'canary',
    guard: 'pii=masked(1)',
    first_content_ms: 12,
    ms: 40,
  }
  t.same(servedFacts({ served }), facts)
  t.same(servedView({ served }), {
    upstream: 'up',
    target: 'model-1',
    upstream_key: 'ab12',
    served_model: 'model-1-2026',
    response_id: 'resp-1',
    cache: null,
    ...facts,
  })
  t.same(new Set(Object.values(servedView({ served: null }))), new Set([null]))
})
