/** The bench: tables, verdicts, and a short run of every part. No measured figure is asserted. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { FINDER_NAMES } from '../../plugins/finders/index.ts'
import { scaled } from '../helpers/machine-speed.ts'
import { cachedCommand } from '../helpers/operator.ts'
import { LONG, shortOrLong } from '../helpers/run-settings.ts'
import { AGENT_SIZES, agentBody } from './agents/bodies.ts'
import { type AgentRounds, agentsTable } from './agents/report.ts'
import { budgetsTable } from './budgets/report.ts'
import { failuresTable } from './failures/report.ts'
import { findersTable, measureFinders } from './finders/measure.ts'
import { isLinux } from './processes.ts'
import {
  growthTable,
  latencyTable,
  pacedTable,
  peersTable,
  requestsTable,
  verdicts,
} from './report.ts'
import { stagesTable } from './stages/report.ts'
import { joinSlices, median, type Round } from './tables.ts'
import { measureGrowth, type Translation, translationTable } from './translation-report.ts'

const round = (cpu: number, more: Partial<Round> = {}): Round => ({
  requests: 1_000,
  failed: 0,
  events: 0,
  seconds: 1,
  p50: 1,
  p99: 2,
  delay50: Number.NaN,
  delay99: Number.NaN,
  resident: 2_048,
  ...more,
  cpu,
})
const rounds = (rows: Readonly<Record<string, readonly Round[]>>) => new Map(Object.entries(rows))

t.setTimeout(scaled(300_000))
t.test('bench median: the middle value, or the mean of two', async t => {
  t.equal(median([3, 1, 2]), 2)
  t.equal(median([4, 1, 2, 3]), 2.5)
  t.equal(median([7]), 7)
})

t.test('bench finders: a row for each text, a column for each finder', async t => {
  const [head = '', , ...rows] = findersTable(measureFinders(2_000, 1)).split('\n')
  const names = head.split('|').map(each => each.trim())
  t.same(names.slice(1, 4), ['text, ms of CPU', ...FINDER_NAMES.slice(0, 2)])
  for (const text of ['prose', 'digits', '@', 'groups of digits', ':', '-'])
    t.ok(
      rows.some(row => row.startsWith(`| ${text} |`)),
      text,
    )
  for (const row of rows) t.match(row, /( \| \d+\.\d){11} \|$/)
})

t.test('bench tables: print medians, and ratios to the bare proxy', async t => {
  const requests = rounds({
    direct: [round(Number.NaN)],
    bare: [round(0.03), round(0.04), round(0.2)],
    tollgate: [round(0.06), round(0.05), round(0.22)],
  })
  const [, , direct, bare, tollgate] = requestsTable(requests).split('\n')
  t.equal(direct, '| direct | 1000 |  |  |  |  | 1.00 / 2.00 |  | 0 |')
  t.equal(bare, '| bare | 1000 | 40.0 | 30.0–200.0 | 1.00 |  | 1.00 / 2.00 | 2 | 0 |')
  t.match(
    tollgate,
    /^\| tollgate \| 1000 \| 60\.0 \| .* \| 1\.25 \|/,
    'the ratio is of the same round',
  )
  const latency = rounds({
    direct: [round(Number.NaN, { p99: 1 })],
    bare: [round(0.1, { p99: 2 })],
  })
  t.match(
    latencyTable(latency, 500),
    /\| bare \| 1\.000 \| 2\.000 \| 0\.000 \| 1\.000 \| 100\.0 \|/,
  )
  const growth = rounds({ small: [round(0.04)], large: [round(0.05)] })
  t.match(growthTable(growth), /\| large \| 50\.0 \| .* \| 1\.25 \| 2 \|/)
})

t.test('bench rounds: slices are added, and latencies have their median', async t => {
  const slices = [round(0.5, { p99: 4 }), round(0.25, { p99: 2 }), round(1, { p99: 9 })]
  t.match(joinSlices(slices), {
    requests: 3_000,
    seconds: 3,
    cpu: 1.75,
    p50: 1,
    p99: 4,
    resident: 2_048,
  })
})

t.test('bench verdicts: compare each figure with its target', async t => {
  const requests = rounds({ bare: [round(0.04)], tollgate: [round(0.05)] })
  t.same(verdicts({ requests }), ['reached  CPU per request, × bare proxy: 1.25 (≤ 1.25)'])
  const pricedRequests = rounds({ row: [round(0.04)], billed: [round(0.055)] })
  t.same(verdicts({ requests: pricedRequests }), [
    'MISSED   CPU billed, × bare proxy with a row: 1.38 (≤ 1.35)',
  ])
  t.match(verdicts({ ledger: rounds({ none: [round(0.04)], many: [round(0.04)] }) }), [/^reached/])
  const slow = rounds({ bare: [round(0.04)], tollgate: [round(0.051)] })
  t.match(verdicts({ requests: slow }), [/^MISSED/])
  const streamMemory = [{ name: 'tollgate', streams: 10, pss: 31, kernel: 5 }]
  t.same(verdicts({ streamMemory }), ['MISSED   KiB per idle stream: 31.00 (≤ 30.00)'])
  t.same(
    verdicts({ requests: rounds({ bare: [round(0.04)] }) }),
    [],
    'no verdict without both subjects',
  )
})

t.test('bench stages: each stage beside none in use, and that beside no stages', async t => {
  const stages = rounds({
    without: [round(0.1)],
    off: [round(0.11)],
    guards: [round(0.165), round(0.2)],
  })
  const [, , without, off, guards] = stagesTable(stages).split('\n')
  t.equal(without, '| without | 100.0 | 100.0–100.0 |  | 2.00 | 0 |')
  t.equal(off, '| off | 110.0 | 110.0–110.0 | 1.10 of without | 2.00 | 0 |')
  t.equal(guards, '| guards | 182.5 | 165.0–200.0 | 1.50 of off | 2.00 | 0 |')
})

t.test('bench budgets: what they add to a call without any, with the target of two', async t => {
  const budgets = rounds({
    none: [round(0.1), round(0.11)],
    two: [round(0.108), round(0.116)],
    four: [round(0.12), round(0.13)],
  })
  const [, , none, two, four] = budgetsTable(budgets).split('\n')
  t.equal(none, '| none | 105.0 |  |  | 2.00 | 0 |')
  t.equal(two, '| two | 112.0 | 7.0 | 6.0–8.0 | 2.00 | 0 |')
  t.equal(four, '| four | 125.0 | 20.0 | 20.0–20.0 | 2.00 | 0 |')
  t.same(verdicts({ budgets }), ['reached  CPU of two budgets, µs: 7.00 (≤ 10.00)'])
})

t.test('bench failures: what rows of failed calls cost, of calls without rows', async t => {
  const failures = rounds({
    'refused, no rows': [round(0.1), round(0.12)],
    'refused, rows': [round(0.11), round(0.12)],
  })
  const [, , without, rows] = failuresTable(failures).split('\n')
  t.equal(without, '| refused, no rows | 1000 | 110.0 | 100.0–120.0 |  | 1.00 / 2.00 | 0 |')
  t.equal(rows, '| refused, rows | 1000 | 115.0 | 110.0–120.0 | 1.05 | 1.00 / 2.00 | 0 |')
})

t.test('bench peers: one row of the page for each subject', async t => {
  const requests = rounds({ nginx: [round(0.02)], billed: [round(0.1)] })
  const latency = rounds({ direct: [round(Number.NaN)], billed: [round(0.2)] })
  const events = rounds({ billed: [round(0.5, { events: 100_000 })] })
  const subjects = ['direct', 'nginx', 'billed'].map(name => ({
    name,
    port: 0,
    key: '',
    ...(name !== 'direct' && { pid: 1, atRest: 1_024 }),
  }))
  const [, , direct, nginx, billed] = peersTable(
    { requests, latency, events },
    subjects,
    500,
  ).split('\n')
  t.equal(direct, '| direct |  |  |  | 1.00 / 2.00 |  |  |')
  t.equal(nginx, '| nginx | 20.0 | 1.0 |  |  /  |  | 1 / 2 |')
  t.equal(billed, '| billed | 100.0 | 5.0 | 5.00 | 1.00 / 2.00 | 200 | 1 / 2 |')
})

t.test('bench paced streams: the delay of events beside that of the upstream alone', async t => {
  const paced = rounds({
    direct: [round(Number.NaN, { events: 1_000, delay50: 1, delay99: 2 })],
    row: [round(0.01, { events: 1_000, delay50: 1, delay99: 2 })],
    billed: [round(0.02, { events: 1_000, delay50: 2, delay99: 3.5 })],
  })
  const billed = pacedTable(paced, 10).split('\n').at(-1)
  t.equal(billed, '| billed | 1000 | 20.0 | 2.00 | 2.00 / 3.50 | 1.00 / 1.50 |')
  t.same(verdicts({ paced }), ['reached  added p99 of events billed, ms: 1.50 (≤ 2.00)'])
})

const translationOf = (cpu: number, streamCpu: number, growthPerSample: number): Translation => ({
  pairs: [{ passThrough: 'a → a', translation: 'a → b' }],
  plain: rounds({ 'a → a': [round(0.1)], 'a → b': [round(cpu)] }),
  streams: rounds({ 'a → a': [round(0.4)], 'a → b': [round(streamCpu)] }),
  long: new Map([
    ['a → b', [Array.from({ length: 100 }, (_, at) => 1_024 * (90 + at * growthPerSample))]],
  ]),
})

t.test('bench verdicts: a translation is compared with the pass-through of its client', async t => {
  t.same(verdicts({ translation: translationOf(0.2, 2.8, 0) }), [
    'reached  CPU of a → b, × pass-through: 2.00 (≤ 2.00)',
    'reached  µs per event of a → b over pass-through: 12.00 (≤ 12.00)',
    'reached  MiB grown in a long stream of a → b: 0.00 (≤ 4.00)',
  ])
  const misses = verdicts({ translation: translationOf(0.21, 2.9, 0.05) })
  t.equal(misses.length, 3)
  for (const line of misses) t.match(line, /^MISSED/)
  const [, , , row] = translationTable(translationOf(0.2, 2.8, 0.05)).split('\n')
  t.equal(row, '| a → b | 200.0 | 200.0 | 2.00 | 14.00 | 14.00 | 12.00 | 90 | 4.5 |')
  t.equal(measureGrowth([5_120, 1_024, 1_024, 1_024, 1_024, 1_024, 1_024, 1_024, 1_024, 2_048]), -3)
})

const agentsOf = (tollgate: number): AgentRounds => ({
  size: '220 KB',
  plain: rounds({
    bare: [round(0.4)],
    tollgate: [round(tollgate)],
    row: [round(0.5)],
    billed: [round(0.6)],
  }),
  streams: rounds({ bare: [round(0.8)], tollgate: [round(0.9)] }),
  translation: rounds({ 'same format': [round(0.5)], translated: [round(0.75)] }),
})

t.test('bench agents: each gateway beside the proxy that does as much', async t => {
  const [, , whole, streamed] = agentsTable([agentsOf(0.44)]).split('\n')
  t.equal(whole, '| 220 KB | 400 | 440 (1.10) | 500 | 600 (1.20) | 500 | 750 (1.50) |')
  t.equal(streamed, '| 220 KB, streamed | 800 | 900 (1.13) |  |  |  |  |')
  t.same(verdicts({ agents: [agentsOf(0.48)] }), [
    'MISSED   CPU of 220 KB, × bare: 1.20 (≤ 1.15)',
    'reached  CPU of 220 KB billed, × row: 1.20 (≤ 1.25)',
    'reached  CPU of 220 KB translated, × same format: 1.50 (≤ 1.60)',
  ])
})

t.test('bench agents: bodies have their size, and the model within the first bytes', async t => {
  for (const size of AGENT_SIZES) {
    const bytes = Buffer.byteLength(agentBody(size, 'bench-plain', false))
    const [number, unit] = size.split(' ')
    const named = Number(number) * (unit === 'MB' ? 1e6 : 1e3)
    t.ok(bytes > 0.85 * named && bytes < 1.15 * named, `${size}: ${bytes}`)
    t.match(agentBody(size, 'bench-plain', true), /^\{"model":"bench-plain","stream":true,/)
  }
})

const MEASURED = ['requests', 'latency', 'events', 'paced']
/** Each part starts gateways of its own; CI and long runs have all parts. */
const PARTS = [
  'requests',
  'streams',
  ...shortOrLong(
    [],
    'latency events paced ledger translation agents stages budgets failures'.split(' '),
  ),
]

t.test(
  'bench: a short run of each part completes',
  { skip: !isLinux && 'figures come from /proc' },
  async t => {
    const json = join(t.testdir({}), 'out.json')
    const bench = fileURLToPath(new URL('bench.ts', import.meta.url))
    const short = '--rounds 1 --slices 2 --seconds 0.05 --rate 50 --streams 20 --paced 10'.split(
      ' ',
    )
    short.push('--charges', '1000', '--events', '1000', '--rest', '0', '--settle', '0')
    const run = spawnSync(
      ...cachedCommand(bench, ...short, '--only', PARTS.join(), '--json', json),
      {
        encoding: 'utf8',
        timeout: 500_000,
      },
    )
    t.equal(run.error, undefined, 'ends in time')
    t.equal(run.status, 0, run.stderr)
    const findings = JSON.parse(readFileSync(json, 'utf8'))
    for (const part of PARTS.filter(part => MEASURED.includes(part)))
      for (const name of ['direct', 'bare', 'tollgate', 'row', 'billed']) {
        const [only] = findings[part][name]
        t.ok(only.requests > 0, `${part}: ${name} answered`)
        t.equal(only.failed, 0, `${part}: ${name} failed nothing`)
      }
    for (const { events, requests } of findings.events?.tollgate ?? [])
      t.equal(events / requests, 200)
    t.match(findings.streamMemory, [
      { name: 'bare', streams: 20 },
      { name: 'row', streams: 20 },
      { name: 'tollgate', streams: 20 },
      { name: 'billed', streams: 20 },
    ])
    for (const [only] of Object.values(findings.ledger ?? {}) as {
      requests: number
      failed: number
    }[][])
      t.match(only, { failed: 0 })
    for (const name of ['plain', 'streams'])
      for (const [pairName, [only]] of Object.entries(findings.translation?.[name] ?? {}) as [
        string,
        Round[],
      ][])
        t.match(only, { failed: 0 }, `${name}: ${pairName}`)
    for (const [name, [only]] of Object.entries(findings.stages ?? {}) as [string, Round[]][])
      t.match(only, { failed: 0 }, name)
    for (const [name, [only]] of Object.entries(findings.budgets ?? {}) as [string, Round[]][])
      t.match(only, { failed: 0 }, `budgets: ${name}`)
    for (const [name, [only]] of Object.entries(findings.failures ?? {}) as [string, Round[]][]) {
      t.ok(Number(only?.requests) > 0, name)
      t.match(only, { failed: 0 }, name)
    }
    for (const { plain, streams, translation } of findings.agents ?? [])
      for (const measured of [plain, streams, translation])
        for (const [name, [only]] of Object.entries(measured) as [string, Round[]][])
          t.match(only, { failed: 0 }, name)
    // Each delta of the upstream is one event for the client; a few more events frame them.
    for (const [pairName, [only]] of Object.entries(findings.translation?.streams ?? {}) as [
      string,
      Round[],
    ][]) {
      const eventsPerRequest = (only?.events ?? 0) / (only?.requests ?? 1)
      t.ok(
        eventsPerRequest > 200 && eventsPerRequest < 210,
        `${pairName}: ${eventsPerRequest} events`,
      )
    }
    for (const [samples] of Object.values(findings.translation?.long ?? {}) as number[][][])
      t.ok(
        samples?.every(kib => kib > 1_024),
        `${samples?.length} samples of the worker`,
      )
  },
)

t.test(
  'bench: a short run with the installed peers prints the table of the page',
  { skip: !isLinux && 'figures come from /proc' },
  async t => {
    const bench = fileURLToPath(new URL('bench.ts', import.meta.url))
    const short = '--peers --rest 0 --rounds 1 --slices 1 --seconds 0.05 --rate 50'.split(' ')
    const { status, stdout, stderr } = spawnSync(...cachedCommand(bench, ...short), {
      encoding: 'utf8',
      timeout: 250_000,
    })
    t.equal(status, 0, stderr)
    const rows = stdout.trim().split('\n').slice(-6)
    for (const name of ['bare', 'row', 'tollgate', 'billed'])
      t.ok(
        rows.some(row => row.startsWith(`| ${name} |`)),
        name,
      )
  },
)

t.test(
  'bench: a short run with PostgreSQL prints a row for each load',
  { skip: (!isLinux && 'figures come from /proc') || (!LONG && 'run it with npm run test:long') },
  async t => {
    const bench = fileURLToPath(new URL('postgres.ts', import.meta.url))
    const short = '--gateways 2 --rounds 1 --seconds 0.2'.split(' ')
    const { status, stdout, stderr } = spawnSync(...cachedCommand(bench, ...short), {
      encoding: 'utf8',
      timeout: 250_000,
    })
    t.equal(status, 0, stderr)
    t.match(stdout, /^\| 64 connections \| \d+ \|.* \| 0 \|\n\| 500\/s \| \d+ \|.* \| 0 \|$/m)
  },
)
