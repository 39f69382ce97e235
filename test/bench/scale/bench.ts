/** `npm run bench:scale`: fills a store with many charges, keys and accounts, and measures calls,
 *  receipts and usage beside a gateway on an empty store, in turns. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { locate } from '../../../engine/store/database.ts'
import { NAMES } from '../answers.ts'
import { PATH, SCHEMA } from '../gateway.ts'
import { creditBenchAccount } from '../ledger-fixture.ts'
import type { Outcome } from '../load.ts'
import { pin, start } from '../processes.ts'
import { growthTable } from '../report.ts'
import { interleave, jobFor, type Load, loadThrough } from '../rounds.ts'
import { median, type Subject } from '../tables.ts'
import { auditEnd, fillPostgres, fillSqlite } from './fixture.ts'
import { type ScaleSize, SIZE_OPTIONS, sizeIn } from './rows.ts'

const HELP = `npm run bench:scale -- [options]

  --charges N      of the full store; 10000000
  --keys N         1000000
  --accounts N     100000
  --store FOLDER   keeps the data folders there for the next run, which fills none; SQLite only
  --postgres URL   of a server on which databases can be created; SQLite by default
  --rounds N       5
  --seconds N      of one measurement; 3
  --rate N         calls a second; by default each of 64 connections sends its next call at once
  --reads N        of each kind; 100
  --backup         also measures 200 calls a second beside a backup of the full store; SQLite only`

const { values } = parseArgs({
  options: {
    ...SIZE_OPTIONS,
    store: { type: 'string' },
    postgres: { type: 'string' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '3' },
    rate: { type: 'string' },
    reads: { type: 'string', default: '100' },
    backup: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
})

const root = fileURLToPath(new URL('../../..', import.meta.url))
const SUBJECT_CORE = 0
const LOAD_CORE = 1

const configuration = (upstream: number, data: string, database: string | undefined): string =>
  JSON.stringify({
    settings: {
      listen: '127.0.0.1:0',
      admin: '127.0.0.1:0',
      workers: 1,
      data,
      ...(database && { database }),
      plugins: [join(root, 'plugins')],
    },
    pipeline: ['errors', 'auth', 'validate', 'model', 'limit', 'account', 'meter', 'translate'],
    upstreams: {
      up: {
        url: `http://127.0.0.1:${upstream}/v1`,
        key: 'sk-upstream-0123456789abcdef',
        formats: ['openai-chat'],
        connections: 4096,
      },
    },
    models: Object.fromEntries(
      Object.values(NAMES).map(name => [
        name,
        {
          to: `up/${name}`,
          context: 128_000,
          output: 16_384,
          price: { input: '0.15 / 1M', output: '0.60 / 1M' },
        },
      ]),
    ),
    routes: [
      {
        path: `POST ${PATH}`,
        auth: 'key',
        validate: SCHEMA,
        model: 'body',
        translate: 'openai-chat',
        errors: 'openai',
      },
      { path: 'GET /api/usage', auth: 'key', account: 'usage', errors: 'envelope' },
      { path: 'GET /api/usage/overview', auth: 'key', account: 'overview', errors: 'envelope' },
      { path: 'GET /api/usage/{id}', auth: 'key', account: 'receipt', errors: 'envelope' },
    ],
  })

const ends: (() => unknown)[] = []

/** The first start prints the key of account 1. */
const startProgram = async (config: string, log: string, isFirst: boolean) => {
  const output = openSync(log, 'a')
  const child = spawn(
    process.execPath,
    [join(root, 'engine/bin.cjs'), 'start', '--config', config],
    { stdio: ['ignore', output, 'pipe'] },
  )
  closeSync(output)
  const stop = async () => {
    const exit = once(child, 'exit')
    child.kill('SIGTERM')
    await exit
  }
  let text = ''
  for await (const chunk of child.stderr ?? []) {
    text += chunk
    const port = /url +http:.*:(\d+)/.exec(text)?.[1]
    const key = /API key +(\S+)/.exec(text)?.[1]
    if (port && (key !== undefined || !isFirst)) {
      child.stderr?.resume()
      return { pid: child.pid ?? 0, port: Number(port), key: key ?? '', stop }
    }
  }
  throw new Error(`Tollgate did not start:\n${text}`)
}

const report = (step: string, seconds: number): void =>
  console.log(`  ${step}: ${seconds.toFixed(1)} s`)

const newDatabase = async (url: string, name: string): Promise<string> => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const database = `scale_${name}_${process.pid}`
  await client.query(`CREATE DATABASE ${database}`)
  await client.end()
  ends.push(async () => {
    const last = new pg.Client({ connectionString: url })
    await last.connect()
    await last.query(`DROP DATABASE ${database} WITH (FORCE)`)
    await last.end()
  })
  const own = new URL(url)
  own.pathname = `/${database}`
  return own.href
}

const newFolder = (name: string): string => {
  if (values.store) {
    const own = join(values.store, name)
    mkdirSync(join(own, 'config'), { recursive: true })
    return own
  }
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-scale-'))
  ends.push(() => rmSync(folder, { recursive: true, force: true }))
  mkdirSync(join(folder, 'config'))
  return folder
}

/** A gateway whose store has these charges of other accounts; account 1 has credit. */
const startOn = async (name: string, upstream: number, size: ScaleSize | undefined) => {
  const folder = newFolder(name)
  const dataFolder = join(folder, 'data')
  const config = join(folder, 'config', 'routes.yaml')
  const database = values.postgres && (await newDatabase(values.postgres, name))
  writeFileSync(config, configuration(upstream, dataFolder, database))
  const keyFile = join(folder, 'key')
  if (!existsSync(keyFile)) {
    const first = await startProgram(config, join(folder, 'log'), true)
    await first.stop()
    console.log(`${name}:`)
    if (size && database) await fillPostgres(database, size, report)
    else if (size) fillSqlite(locate('sqlite:', dataFolder).file, size, report)
    writeFileSync(keyFile, first.key)
  }
  const program = await startProgram(config, join(folder, 'log'), false)
  ends.push(program.stop)
  await creditBenchAccount(dataFolder, database)
  await auditEnd(dataFolder)
  pin(program.pid, SUBJECT_CORE)
  return { name, ...program, key: readFileSync(keyFile, 'utf8'), config }
}

/** Medians of reads in turns, ms. */
const measureReads = async (subjects: readonly Subject[], count: number) => {
  const get = async ({ port, key }: Subject, path: string) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      headers: { authorization: `Bearer ${key}` },
    })
    const body = (await response.json()) as { data: readonly { request_id: string }[] }
    if (response.status !== 200) throw new Error(`${path}: ${JSON.stringify(body)}`)
    return body.data
  }
  const receipts = new Map<Subject, string>()
  for (const subject of subjects)
    receipts.set(
      subject,
      `/api/usage/${(await get(subject, '/api/usage?limit=50')).at(-1)?.request_id}`,
    )
  const paths: Readonly<Record<string, (subject: Subject) => string>> = {
    receipt: subject => receipts.get(subject) ?? '',
    'page of calls': () => '/api/usage?limit=100',
    'sums by day': () => '/api/usage?by=day',
    'sums by model': () => '/api/usage?by=model',
    'sums by key': () => '/api/usage?by=key&sort=cost&order=desc',
    overview: () => '/api/usage/overview',
  }
  const medians: Record<string, Record<string, number>> = {}
  for (const [read, path] of Object.entries(paths)) {
    const times = new Map<Subject, number[]>(subjects.map(subject => [subject, []]))
    for (let at = 0; at < count; at++)
      for (const subject of subjects) {
        const begin = performance.now()
        await get(subject, path(subject))
        times.get(subject)?.push(performance.now() - begin)
      }
    medians[read] = Object.fromEntries(
      [...times].map(([{ name }, list]) => [
        name,
        list.sort((a, b) => a - b)[list.length >> 1] ?? 0,
      ]),
    )
  }
  return medians
}

/** Latency of calls at a low rate, without a backup and until one has ended. */
const measureBackup = async (full: Subject & { readonly config: string }, load: Load) => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-scale-'))
  const file = join(folder, 'copy.db')
  const job = jobFor(full, 'plain', { seconds: 5, rate: 200 })
  const alone = [await load(job), await load(job)]
  const began = performance.now()
  const command = [join(root, 'engine/bin.cjs'), 'backup', file, '--config', full.config]
  const child = spawn(process.execPath, command, { stdio: 'inherit' })
  pin(child.pid ?? 0, LOAD_CORE)
  const beside: Outcome[] = []
  while (child.exitCode === null) beside.push(await load(job))
  const seconds = (performance.now() - began) / 1000
  const { size } = statSync(file)
  rmSync(folder, { recursive: true })
  const print = (name: string, list: readonly Outcome[]) => {
    const middle = (of: 'p50' | 'p99') => median(list.map(each => each[of])).toFixed(2)
    const failed = list.reduce((sum, each) => sum + each.failed, 0)
    console.log(`${name}: p50 ${middle('p50')} ms, p99 ${middle('p99')} ms, ${failed} failed`)
  }
  print('200 calls/s', alone)
  print(`beside a backup of ${size} bytes in ${seconds.toFixed(0)} s`, beside)
}

const run = async (): Promise<void> => {
  const upstream = await start('upstream.ts', LOAD_CORE, [])
  const loader = await start('load.ts', LOAD_CORE, [])
  ends.push(
    () => upstream.child.disconnect(),
    () => loader.child.disconnect(),
  )
  const full = await startOn('full', upstream.port, sizeIn(values))
  const subjects = [await startOn('empty', upstream.port, undefined), full]
  const rate = values.rate === undefined ? {} : { rate: Number(values.rate) }
  const job = (subject: Subject) =>
    jobFor(subject, 'plain', { seconds: Number(values.seconds), ...rate })
  const rounds = await interleave(subjects, loadThrough(loader), Number(values.rounds), job, 10)
  console.log(growthTable(rounds))
  for (const [name, list] of rounds) {
    const middle = (of: 'p50' | 'p99') =>
      list.map(each => each[of]).sort((a, b) => a - b)[list.length >> 1]
    const failed = list.reduce((sum, each) => sum + each.failed, 0)
    console.log(
      `${name}: p50 ${middle('p50')?.toFixed(2)} ms, p99 ${middle('p99')?.toFixed(2)} ms, ${failed} failed`,
    )
  }
  for (const [read, { empty = 0, full = 0 }] of Object.entries(
    await measureReads(subjects, Number(values.reads)),
  ))
    console.log(
      `${read}: empty ${empty.toFixed(2)} ms, full ${full.toFixed(2)} ms, x ${(full / empty).toFixed(2)}`,
    )
  if (values.backup) await measureBackup(full, loadThrough(loader))
}

if (values.help) console.log(HELP)
else
  try {
    await run()
  } finally {
    for (const end of ends.reverse()) await end()
  }
