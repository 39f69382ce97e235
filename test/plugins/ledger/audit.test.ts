/** The audit finds every broken invariant, and nothing in a correct ledger. A job runs it every
 *  hour and reports to a metric and the log. */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import type { Plugin } from '../../../engine/plugin.ts'
import { createExposition } from '../../../engine/processes/metrics-exposition.ts'
import type { Jobs } from '../../../engine/store/jobs.ts'
import { audit } from '../../../plugins/ledger/audit.ts'
import meter from '../../../plugins/meter.ts'
import model from '../../../plugins/model/index.ts'
import { fillLedger } from '../../bench/ledger-fixture.ts'
import { SILENT_LOG, startTestServer } from '../../helpers/gateway/test-server.ts'
import { call, openBooks, payerOf } from '../../helpers/money/ledger.ts'
import { cachedCommand, operatorEnv } from '../../helpers/operator.ts'
import { cpuTimeDuring } from '../../helpers/process-tree.ts'
import { LONG } from '../../helpers/run-settings.ts'
import { makeLedger, membershipOn } from '../../helpers/store/membership.ts'
import { planOn, runOn, seriesOn } from '../../helpers/store/query-plan.ts'
import { ENGINES, startAnyStore, startStore } from '../../helpers/store/store.ts'
import { openMemory } from './model/memory.ts'

const books = await openBooks(t)
const ledger = await books.ledger()
await books.credit(1, 1_000n)
const settledCall = await call(books, ledger, 'a', payerOf(1, 11, 900n), 100n)
await settledCall.settle?.(60n)
await call(books, ledger, 'b', payerOf(1, 11, 900n), 100n)
const write = (text: string) => books.database.write([{ sql: { name: text, text }, values: [] }])

t.test('audit: finds nothing in a correct ledger', async t => {
  t.same(await audit(books.database), [])
})

t.test('audit: computes each sum once, not once per wallet', async t => {
  const memory = openMemory()
  const queries: string[] = []
  await audit({
    async read({ text }) {
      queries.push(text)
      return []
    },
  })
  for (const text of queries) {
    const plan = memory.rows(`EXPLAIN QUERY PLAN ${text}`)
    t.ok(plan.length > 0)
    for (const { detail } of plan) t.notMatch(detail, /^SCAN .*LEFT-JOIN/, text)
  }
})

const CORRUPTIONS: readonly (readonly [rule: string, corrupt: string, repair: string])[] = [
  [
    'balance = sum of entries',
    'UPDATE wallets SET balance = balance + 1 WHERE id = 2',
    'UPDATE wallets SET balance = balance - 1 WHERE id = 2',
  ],
  [
    'used = sum of charges less refunds',
    'UPDATE wallets SET used = used + 1 WHERE id = 2',
    'UPDATE wallets SET used = used - 1 WHERE id = 2',
  ],
  [
    'reserved = sum of leases and kept holds',
    'UPDATE wallets SET reserved = reserved + 1 WHERE id = 2',
    'UPDATE wallets SET reserved = reserved - 1 WHERE id = 2',
  ],
  [
    'open holds are within leases',
    "UPDATE charges SET held = held + 5000 WHERE request = 'b'",
    "UPDATE charges SET held = held - 5000 WHERE request = 'b'",
  ],
  [
    'every open charge has a registered process',
    "UPDATE charges SET process = 'gone' WHERE request = 'b'",
    `UPDATE charges SET process = '${await ledger.process()}' WHERE request = 'b'`,
  ],
  [
    'a task is held or charged once',
    `INSERT INTO charges (request, account, process, route, model, version, rule, state, held, opened, task)
     SELECT n, account, process, route, model, version, rule, 'open', 0, opened, 'twice'
     FROM charges, (SELECT 'b1' AS n UNION ALL SELECT 'b2') WHERE request = 'b'`,
    "DELETE FROM charges WHERE task = 'twice'",
  ],
  [
    // The sums of the day stay right.
    'statements end at the balance',
    'UPDATE usage_days SET account = 7 WHERE account = 1',
    'UPDATE usage_days SET account = 1 WHERE account = 7',
  ],
  [
    'balance never below the overdraft',
    'UPDATE credits SET id = id + 1000',
    'UPDATE credits SET id = id - 1000',
  ],
]
for (const [rule, corrupt, repair] of CORRUPTIONS)
  t.test(`audit: finds a broken invariant: ${rule}`, async t => {
    await write(corrupt)
    t.ok((await audit(books.database)).some(finding => finding.rule === rule))
    await write(repair)
    t.same(await audit(books.database), [])
  })

/** In the plan of the read of statements: sums are found by day and account. */
const BY_DAY = {
  sqlite: /SEARCH u USING PRIMARY KEY \(day=\? AND account>\? AND account<\?\)/,
  postgres: /Index Cond: \(.*day = .*account >= .*account <= .*\)/,
} as const
for (const engine of ENGINES)
  t.test(`audit on ${engine}: reads the sums of a part of the accounts once`, async t => {
    const store = await startAnyStore(t, engine)
    await makeLedger(await store.open())
    const [first, count] = [20_000, 40_000]
    await runOn(
      store,
      `INSERT INTO usage_days (day, account, key, model, calls, amount)
       SELECT ${first} + n.at % 100, n.at / 100, 0, 'm', 1, 5 FROM ${seriesOn(store, count)}`,
    )
    await runOn(store, `INSERT INTO wallets (id) SELECT n.at * 2 FROM ${seriesOn(store, 400)}`)
    await runOn(store, 'ANALYZE')
    const queries: Parameters<Parameters<typeof audit>[0]['read']>[] = []
    await audit({
      async read(sql, values) {
        queries.push([sql, values])
        return /: wallets$/.test(sql.name) && values[0] === -1 ? [{ id: 20 }] : []
      },
    })
    const [read, values] = queries.find(([{ name }]) => /: statements$/.test(name)) ?? []
    if (!read || !values) throw new Error('statements are not read')
    const plan = await planOn(store, read, values)
    t.match(plan, BY_DAY[engine])
    t.notMatch(plan, /SCAN u\b|Seq Scan on usage_days/)
  })

const DOCUMENT = {
  upstreams: { main: { url: 'http://127.0.0.1:1' } },
  models: { m: { to: 'main/m', price: { calls: 1 } } },
  routes: [{ path: 'POST /a', upstream: 'main', model: 'body' }],
}
/** A gateway on this store whose jobs run when a test calls them. */
const startMetered = async (t: Test) => {
  const logLines: (readonly [fields: object, text?: string])[] = []
  const log = {
    ...SILENT_LOG,
    error: (...line: (typeof logLines)[number]) => void logLines.push(line),
  }
  const jobs = new Map<string, { readonly every: number; readonly run: Run }>()
  const start: Jobs['start'] = (name, every, run) => {
    jobs.set(name, { every, run })
    return { wake() {}, stop() {} }
  }
  const { database } = books
  const core = await startTestServer(
    t,
    { model: model as Plugin, meter: meter as Plugin },
    DOCUMENT as unknown as Parameters<typeof startTestServer>[2],
    log,
    { database, membership: membershipOn(database), jobs: { start, close: async () => {} } },
  )
  const exposition = createExposition()
  /** Runs the job and returns the metrics that the gateway exposes. */
  const runAuditJob = async () => {
    await jobs.get('ledger audit')?.run(AbortSignal.timeout(10_000))
    exposition.absorb('worker 1', core.resources.metrics.report())
    return exposition.text()
  }
  return { jobs, logLines, runAuditJob }
}
type Run = Parameters<Jobs['start']>[2]

t.test('audit job: sets the metric to the number of findings and logs each', async t => {
  const { jobs, logLines, runAuditJob } = await startMetered(t)
  t.equal(jobs.get('ledger audit')?.every, 3_600_000)
  const right = await runAuditJob()
  t.match(right, /^tollgate_ledger_imbalance 0$/m)
  t.match(right, /^tollgate_ledger_charged 6e-8$/m)
  t.same(logLines, [])
  await write('UPDATE wallets SET balance = balance + 1, used = used + 1 WHERE id = 2')
  t.match(await runAuditJob(), /^tollgate_ledger_imbalance 3$/m)
  t.match(logLines, [
    [{ rule: 'balance = sum of entries', subject: 'account 1' }, 'the ledger does not balance'],
    [{ rule: 'statements end at the balance' }, 'the ledger does not balance'],
    [{ rule: 'used = sum of charges less refunds' }, 'the ledger does not balance'],
  ])
  await write('UPDATE wallets SET balance = balance - 1, used = used - 1 WHERE id = 2')
  t.match(await runAuditJob(), /^tollgate_ledger_imbalance 0$/m)
  const stopped = jobs.get('ledger audit')?.run(AbortSignal.abort()) ?? Promise.resolve()
  await t.rejects(stopped, { name: 'AbortError' }, 'a gateway that stops does not wait for it')
  t.equal(logLines.length, 3)
})

const MANY = { charges: 1_000_000, accounts: 100_000 }
/** ms of processor time. Other processes on the machine can only increase it. */
const MOST = 5_000
const ATTEMPTS = 3

t.test(
  'audit: takes at most five seconds for a million charges of a hundred thousand accounts',
  { skip: !LONG && 'long form only', timeout: 600_000 },
  async t => {
    const store = await startStore(t)
    await makeLedger(await store.open())
    await fillLedger(store.data, MANY)
    const root = fileURLToPath(new URL('../../../', import.meta.url))
    const config = join(store.data, 'routes.yaml')
    const settings = { data: store.data, plugins: [join(root, 'plugins')] }
    writeFileSync(config, JSON.stringify({ settings, pipeline: ['meter'], routes: [] }))
    const [program, args] = cachedCommand(join(root, 'engine/bin.cjs'), 'audit', 'ledger')
    const env = operatorEnv({ TOLLGATE_CONFIG: config, TOLLGATE_DATA: store.data })
    let least = Number.POSITIVE_INFINITY
    for (let attempts = ATTEMPTS; attempts > 0 && least > MOST; attempts--) {
      const start = performance.now()
      const cpuTime = await cpuTimeDuring(async () => {
        const { stdout } = await promisify(execFile)(program, args, { env })
        t.equal(stdout, 'the ledger balances\n')
      })
      least = Math.min(least, cpuTime)
      t.comment(
        `${cpuTime} ms of processor time, ${Math.round(performance.now() - start)} ms in all`,
      )
    }
    t.ok(least <= MOST)
  },
)
