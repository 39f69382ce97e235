/** Sums of calls over sockets and both stores: latencies for customers, of their own calls only,
 *  and traffic for operators; each reading finds its rows by a key of the table. */
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import type { Database, Exchange, Plugin, Row } from '../../../engine/plugin.ts'
import { CallSums, type EndedCall } from '../../../plugins/calls/call-sums.ts'
import { addTime, emptyHistogram, quantileOf } from '../../../plugins/calls/histogram.ts'
import { addUpHours, latenciesBy, sumsOfAll } from '../../../plugins/calls/sum-reads.ts'
import { NEXT_HOUR, SUMS_BY_HOUR, sumsBy, timesBy } from '../../../plugins/calls/sum-statements.ts'
import { migrations } from '../../../plugins/calls/tables.ts'
import { migrations as credentials } from '../../../plugins/credentials/tables.ts'
import meter from '../../../plugins/meter.ts'
import { partsOf } from '../../../plugins/observe/call-parts.ts'
import { argumentsIn, type Schema } from '../../../plugins/operator/http-arguments.ts'
import type { TrafficRow, UsageSum } from '../../../plugins/views.ts'
import { fakeHost } from '../../helpers/gateway/fake-exchange.ts'
import { startMetered } from '../../helpers/gateway/metered.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { SILENT_LOG } from '../../helpers/gateway/test-server.ts'
import { shortOrLong } from '../../helpers/run-settings.ts'
import { hostOver } from '../../helpers/store/accounts.ts'
import { operationNamed, runAs } from '../../helpers/store/operations.ts'
import { ENGINES, sql, startBoth } from '../../helpers/store/store.ts'

const DAY = 86_400_000
const NOW = Date.now()
const call = (more: Partial<EndedCall> = {}): EndedCall => ({
  at: NOW,
  account: 1,
  key: 0,
  model: 'm',
  entry: 'm',
  upstream: 'up',
  isFailed: false,
  amount: 5n,
  input: 10,
  cached: 2,
  output: 3,
  times: { first: 100, whole: 1_000 },
  ...more,
})

t.test('histogram: a quantile is within its bucket, at both ends too', t => {
  t.equal(quantileOf(emptyHistogram(), 0.5), null)
  for (const ms of [0, 1, 7.5, 8, 9, 100, 1_234, 60_000, 4_000_000]) {
    const counts = emptyHistogram()
    for (let count = 0; count < 100; count++) addTime(counts, ms)
    const [p50 = 0, p99 = 0] = [quantileOf(counts, 0.5) ?? 0, quantileOf(counts, 0.99) ?? 0]
    t.ok(p50 <= p99)
    if (ms > 8) t.ok(Math.abs(Math.log2(p50 / ms)) <= 0.51, `${ms}: ${p50}`)
    else t.ok(p99 <= 8, `${ms}: ${p99}`)
  }
  const counts = emptyHistogram()
  for (let count = 0; count < 98; count++) addTime(counts, 100)
  for (const ms of [9e4, 9e9]) addTime(counts, ms)
  t.ok((quantileOf(counts, 0.5) ?? 0) < 150)
  t.ok((quantileOf(counts, 0.99) ?? 0) > 6e4)
  t.end()
})

for (const engine of ENGINES)
  t.test(`latencies and traffic: of calls through a gateway (${engine})`, async t => {
    const gateway = await startMetered(t, engine, {
      routes: [
        {
          path: 'POST /v1/chat/completions',
          name: 'chat',
          model: 'body',
          translate: 'openai-chat',
        },
        { path: 'GET /api/usage', name: 'usage', account: 'usage' },
      ],
      more: { meter: meter as Plugin },
    })
    const body = { model: 'talk', max_tokens: 20, messages: [{ role: 'user', content: 'Hi' }] }
    for (let count = 0; count < 3; count++)
      t.equal((await gateway.send('POST', '/v1/chat/completions', {}, body)).status, 200)
    gateway.upstream.script = () => ({ status: 500, json: { error: { message: 'no' } } })
    await gateway.send('POST', '/v1/chat/completions', {}, body)
    const own = async (by: string, account = '1'): Promise<readonly UsageSum[]> =>
      JSON.parse((await gateway.send('GET', `/api/usage?by=${by}`, { account })).text).data
    await eventually(async () => ((await own('model'))[0]?.p50_ms ?? 0) > 0)
    for (const by of ['model', 'day', 'key']) {
      const [row, more] = await own(by)
      t.equal(more, undefined)
      t.match(row, { calls: 3, input_tokens: 30, cached_tokens: 0, output_tokens: 15 }, by)
      for (const name of ['first_content_p50_ms', 'first_content_p99_ms', 'p50_ms', 'p99_ms'])
        t.ok(Number(row?.[name as 'p50_ms']) > 0, `${by}: ${name}`)
    }
    t.same(await own('model', '2'), [], 'another account')
    const csv = (await gateway.send('GET', '/api/usage?by=model&format=csv')).text
    t.match(
      csv,
      /^model,calls,input_tokens,cached_tokens,output_tokens,first_content_p50_ms,first_content_p99_ms,p50_ms,p99_ms,cost/,
    )
    const [sums] = await gateway.rows(
      `SELECT calls, failed, input, output, upstream FROM call_sums WHERE span = ${DAY}`,
    )
    t.match(sums, { calls: 4, failed: 1, input: 30, output: 15, upstream: 'up' })
  })

for (const { engine, database } of await startBoth(t, migrations))
  t.test(`sums of calls on ${engine}: by account, member, model, upstream and time`, async t => {
    await database.migrate('auth', credentials)
    const sums = new CallSums({ database, log: SILENT_LOG, metrics: { count() {} } })
    for (let count = 0; count < 99; count++) sums.add(call())
    sums.add(call({ times: { first: 5_000, whole: 90_000 } }))
    sums.add(call({ account: 2, model: 'x', entry: '*', upstream: 'other' }))
    sums.add(call({ at: NOW - 2 * DAY, upstream: '', isFailed: true, times: undefined }))
    sums.add(call({ account: 0, isFailed: true, times: undefined }))
    await Promise.all([sums.flush(), sums.flush()])
    sums.add(call({ key: 7 }))
    await sums.close()
    const period = { from: NOW - DAY, to: NOW + 1 }
    const own = await latenciesBy(database, NOW, { account: 1, by: 'model', ...period })
    t.same([...own.keys()], ['m'])
    const { p50_ms: p50 = 0, p99_ms: p99 = 0 } = own.get('m') ?? {}
    t.ok(Number(p50) > 700 && Number(p50) < 1_450, `p50 ${p50}`)
    t.ok(Number(p99) < 1_450, `p99 ${p99}`)
    const member = { account: 1, by: 'key', member: 3, ...period } as const
    t.equal((await latenciesBy(database, NOW, member)).size, 0, 'calls of others')
    for (const by of [3, 4]) sums.add(call({ key: 7, member: by }))
    sums.add(call({ member: 3 }))
    await sums.flush()
    const ofMember = await latenciesBy(database, NOW, member)
    t.same([...ofMember.keys()].sort(), ['0', '7'], 'also without a key')
    const byKey = await latenciesBy(database, NOW, { ...member, member: undefined })
    t.same([...byKey.keys()].sort(), ['0', '7'], 'a key that has moved has one row')
    const latencies = async (query: object) => {
      const rows = await latenciesBy(database, NOW, { ...member, ...query })
      return [...rows].map(([name, { p50_ms: ms }]) => [name, Number(ms) > 2_000]).sort()
    }
    sums.add(call({ member: 4, tags: { project: 'a', feature: 'x' } }))
    const slow = { tags: { project: 'b' }, times: { first: 2_500, whole: 9_000 } }
    sums.add(call({ key: 7, member: 3, ...slow }))
    sums.add(call({ isFailed: true, tags: { project: 'c' }, times: undefined }))
    sums.add(call({ account: 2, tags: { project: 'd' } }))
    await sums.flush()
    const everyone = { member: undefined }
    t.same(await latencies({ by: 'member', ...everyone }), [
      ['0', false],
      ['3', false],
      ['4', false],
    ])
    t.same(await latencies({ by: 'member' }), [['3', false]])
    t.same(await latencies({ by: 'tag', ...everyone }), [
      ['feature=x', false],
      ['project=a', false],
      ['project=b', true],
    ])
    t.same(await latencies({ by: 'tag' }), [['project=b', true]], 'those of a member')
    const before = { account: 1, by: 'day', from: NOW - 9 * DAY, to: NOW - 8 * DAY } as const
    t.equal((await latenciesBy(database, NOW, before)).size, 0)

    const host = hostOver(database)
    const actor = { via: 'admin API', name: 'root', account: 1 } as const
    const traffic = (args: object) => runAs<TrafficRow[]>({ host, actor }, 'traffic list', args)
    t.match(await traffic({}), [
      { name: 'm', calls: 109, failed: 2, input_tokens: 1_308, cost: '0.000000545' },
      { name: '*', calls: 1, failed: 0 },
    ])
    t.match(await traffic({ by: 'upstream', since: '30d' }), [
      { name: 'up', calls: 109, failed: 2 },
      { name: '', calls: 1, failed: 1, p50_ms: null },
      { name: 'other', calls: 1 },
    ])
    t.match(await traffic({ by: 'day', since: '3d' }), [
      { name: new Date(NOW).toISOString().slice(0, 10), calls: 110 },
      { name: new Date(NOW - 2 * DAY).toISOString().slice(0, 10), failed: 1 },
    ])
    t.equal((await traffic({ by: 'hour', top: 1 })).length, 1)
    const schema = operationNamed('traffic list').arguments.schema as Schema
    for (const query of ['by=region', 'since=1y', 'since=0d', 'top=0', 'top=5000'])
      t.throws(
        () => argumentsIn(new URLSearchParams(query), schema, 'traffic', fakeHost()),
        { message: /^Invalid/ },
        query,
      )

    await sums.remove(NOW + 500 * DAY)
    t.equal((await sumsOfAll(database, 'day', { from: 0, to: NOW }, 10)).length, 0, 'removed')
    t.same(await latencies({ by: 'tag', ...everyone }), [])
  })

for (const { engine, database } of await startBoth(t, migrations))
  t.test(`traffic on ${engine}: the rules, cache and guards of each model`, async t => {
    const sums = new CallSums({ database, log: SILENT_LOG, metrics: { count() {} } })
    const rule = (part: string, more: Partial<EndedCall> = {}) =>
      sums.add(call({ parts: [{ kind: 'rule', part }], ...more }))
    for (let count = 0; count < 18; count++) rule('')
    rule('canary', { times: { first: 3_000, whole: 9_000 } })
    rule('canary', { isFailed: true, amount: 0n, times: undefined })
    rule('night', { entry: 'other' })
    const guards = ['', 'pii masked', 'words blocked'].map(
      part => ({ kind: 'guard', part }) as const,
    )
    sums.add(call({ parts: guards }))
    for (let count = 0; count < 3; count++) sums.add(call({ parts: guards.slice(0, 1) }))
    for (const part of ['hit', 'hit', 'miss'])
      sums.add(call({ amount: part === 'hit' ? 1n : 9n, parts: [{ kind: 'cache', part }] }))
    sums.add(call({ at: NOW - 3 * DAY, parts: [{ kind: 'cache', part: 'bypass' }] }))
    await sums.flush()
    const host = hostOver(database)
    const actor = { via: 'admin API', name: 'root', account: 1 } as const
    const traffic = (args: object) => runAs<TrafficRow[]>({ host, actor }, 'traffic list', args)
    const rules = await traffic({ by: 'rule' })
    t.match(rules, [
      { model: 'm', name: '', calls: 18, failed: 0, share: 0.9, cost: '0.00000009' },
      { model: 'm', name: 'canary', calls: 2, failed: 1, share: 0.1, cost: '0.000000005' },
      { model: 'other', name: 'night', calls: 1, share: 1 },
    ])
    const [parent, canary] = rules
    t.ok(Number(parent?.first_content_p99_ms) < 150 && Number(canary?.first_content_p50_ms) > 2_000)
    t.match(await traffic({ by: 'guard' }), [
      { model: 'm', name: '', calls: 4, share: 1 },
      { name: 'pii masked', calls: 1, share: 0.25 },
      { name: 'words blocked', calls: 1, share: 0.25 },
    ])
    const cache = [
      { model: 'm', name: 'hit', calls: 2, share: 0.6667, cost: '0.000000002' },
      { model: 'm', name: 'miss', calls: 1, share: 0.3333 },
    ]
    t.match(await traffic({ by: 'cache' }), cache)
    t.equal((await traffic({ by: 'cache', since: '30d' })).length, 3)
    t.match(await traffic({ by: 'model' }), [{ name: 'm', calls: 27 }, { name: 'other' }])
    await sums.remove(NOW + 500 * DAY)
    t.same(await traffic({ by: 'cache', since: '30d' }), [], 'removed')
  })

const HOUR = 3_600_000
for (const { engine, database } of await startBoth(t, migrations))
  t.test(`traffic by hour on ${engine}: an hour that has ended becomes one row`, async t => {
    const sums = new CallSums({ database, log: SILENT_LOG, metrics: { count() {} } })
    const begin = Math.floor(NOW / HOUR) * HOUR + HOUR / 2
    const addAt = (at: number) => {
      for (const [model, upstream] of [
        ['m', 'up'],
        ['m', 'other'],
        ['x', ''],
      ] as const)
        sums.add(call({ at, entry: model, upstream, isFailed: upstream === '' }))
    }
    // Thirteen hours without calls are among them.
    for (const hours of [40, 39, 25, 24, 23, 3, 2, 1, 0]) addAt(begin - hours * HOUR)
    await sums.flush()
    const byHour = () => sumsOfAll(database, 'hour', { from: NOW - 60 * HOUR, to: NOW + HOUR }, 100)
    const rowsOf = async (condition: string) =>
      (await database.read(sql(condition, `SELECT 1 AS one FROM call_sums WHERE ${condition}`), []))
        .length
    const before = await byHour()
    t.match(before[0], { calls: 3, failed: 1, first8: 3 })
    t.equal(before.length, 9)
    await addUpHours(database, begin)
    t.same(await byHour(), before)
    t.equal(await rowsOf('span < 0'), 8, 'all but the present one')
    await addUpHours(database, begin)
    addAt(begin)
    await sums.flush()
    t.match((await byHour())[0], { calls: 6 })
    t.same((await byHour()).slice(1), before.slice(1))
    const old = `span = ${HOUR} AND at < ${begin - HOUR}`
    t.ok((await rowsOf(old)) > 0)
    await database.write([{ sql: sql('rows', `DELETE FROM call_sums WHERE ${old}`), values: [] }])
    t.same((await byHour()).slice(1), before.slice(1), 'the rows of ended hours are not read')

    await addUpHours(database, begin + HOUR / 2 + 5_000)
    t.equal(await rowsOf('span < 0'), 8, 'sums of the last seconds may still come')
    await addUpHours(database, begin + HOUR)
    t.equal(await rowsOf('span < 0'), 9)
    t.match((await byHour())[0], { calls: 6 })
    await sums.remove(NOW + 9 * DAY)
    t.equal(await rowsOf('span < 0'), 0, 'removed with age')
  })

t.test('parts of a call: its rule, the result of the cache, actions of guards', async t => {
  const partsIn = (slots: Readonly<Record<string, unknown>>, cache?: string) => {
    const headers = cache === undefined ? {} : { 'x-tollgate-cache': cache }
    const exchange = {
      slots: { get: ({ name }: { readonly name: string }) => slots[name] },
      hasReply: true,
      reply: { headers },
    } as unknown as Exchange
    return partsOf(exchange)?.map(({ kind, part }) => `${kind} ${part}`)
  }
  t.equal(partsIn({}), undefined, 'most calls have none')
  t.same(partsIn({ 'has rules': true }), ['rule '])
  t.same(partsIn({ 'has rules': true, rule: 'canary' }, 'miss'), ['rule canary', 'cache miss'])
  t.same(partsIn({}, 'hit; age=12; kind=exact'), ['cache hit'])
  t.same(partsIn({}, 'hit; age=12; kind=semantic; similarity=0.97'), ['cache similar'])
  const guarded = 'pii=masked(2), topics/advice=blocked(1), topics/threat=blocked(1)'
  t.same(partsIn({ 'guard-version': 'v', guarded }), [
    'guard ',
    'guard pii masked',
    'guard topics blocked',
  ])
})

t.test('sums of calls: rows beyond the most, and those of a failed write, are counted', async t => {
  let omitted = 0
  const count = (_: string, __: object, rows = 1) => {
    omitted += rows
  }
  const write = () => Promise.reject(new Error('away'))
  const sums = new CallSums({ database: { write }, log: SILENT_LOG, metrics: { count } })
  for (let account = 1; account <= 2_003; account++) sums.add(call({ account }))
  t.equal(omitted, 3)
  await sums.flush()
  t.equal(omitted, 3 + 2_000 + 2)
})

const ROWS = shortOrLong(20_000, 1_000_000)
t.test(`sums of calls: ${ROWS} rows of others are not read`, async t => {
  const store = new DatabaseSync(':memory:')
  for (const { text } of [...credentials, ...migrations]) store.exec(text)
  const today = Math.floor(NOW / DAY)
  store.exec(
    `WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${ROWS} - 1)
     INSERT INTO call_times (day, account, key, model, whole9)
     SELECT ${today} - i % 90, 1 + i / 900, 0, 'm' || (i / 90 % 10), 1 FROM n`,
  )
  for (const { name, text } of [
    ...(['day', 'model', 'key', 'member', 'tag'] as const).map(timesBy),
    ...(['model', 'upstream', 'day'] as const).map(sumsBy),
    SUMS_BY_HOUR,
    NEXT_HOUR,
  ]) {
    const plan = store.prepare(`EXPLAIN QUERY PLAN ${text}`).all()
    t.same(
      plan.map(({ detail }) => String(detail)).filter(each => /^SCAN c\b/.test(each)),
      [],
      name,
    )
  }
  const read: Database['read'] = async ({ text }, values) =>
    store.prepare(text).all(...(values as number[])) as Row[]
  const period = { from: NOW - 89 * DAY, to: NOW + 1 }
  const begin = performance.now()
  const own = await latenciesBy({ read }, NOW, { account: 5, by: 'model', ...period })
  t.comment(`read in ${Math.round(performance.now() - begin)} ms`)
  t.equal(own.size, 10)
})
