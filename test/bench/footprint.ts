/** `npm run bench:footprint`: memory of the process tree at rest and under load, and the times of
 *  starts, reloads and commands, with the shipped routes. */
import '../helpers/environment.ts'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { copyFileSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { findRunning, requestAdmin } from '../../engine/processes/running-gateway.ts'
import { NAMES, requestBody } from './answers.ts'
import { PATH, readBanner } from './gateway.ts'
import { creditBenchAccount } from './ledger-fixture.ts'
import { memoryOf, type ProcessMemory, start } from './processes.ts'
import { loadThrough, requestOf } from './rounds.ts'
import { figure, median, table } from './tables.ts'

const HELP = `npm run bench:footprint -- [options]

  --only PARTS   of rest,load,start,reload,commands,mixed; all but mixed by default
  --rounds N     of which medians are printed; 5
  --seconds N    of full load before memory is read; 60
  --minutes N    of the part mixed: load, and 100 reloads over that time; 60`

const root = fileURLToPath(new URL('../..', import.meta.url))
const program = join(root, 'engine/bin.cjs')
/** s until the builder has ended, and V8 has returned what the start left. */
const REST = 45
const UPSTREAM_CORE = 1
/** A model of the shipped routes. */
const MODEL = 'gp-4.1'
const MODELS = 10_000
const RELOADS = 100

// The environment of tests leaves the shipped plugins out.
const { TOLLGATE_PLUGINS: _, ...environment } = process.env
const folder = mkdtempSync(join(tmpdir(), 'tollgate-footprint-'))
/** The kernel divides pages of a file among all processes that map it, also those of other trees:
 *  with a runtime of its own, the sum is that of the measured tree alone. */
const node = join(folder, 'node')

interface Running {
  readonly child: ChildProcess
  readonly pid: number
  readonly port: number
  readonly key: string
  readonly data: string
  readonly config: string
  /** ms from spawning to the banner. */
  readonly ready: number
}

/** A copy of the shipped configuration. */
const copyConfig = (): string => {
  const copy = mkdtempSync(join(folder, 'config-'))
  for (const name of ['routes.yaml', 'models', 'schemas'])
    cpSync(join(root, name), join(copy, name), { recursive: true })
  return join(copy, 'routes.yaml')
}

const startShipped = async (
  dataFolder: string,
  more: NodeJS.ProcessEnv = {},
  config = copyConfig(),
) => {
  const began = performance.now()
  const child = spawn(node, [program, 'start', '--config', config], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {
      ...environment,
      WORKERS: '1',
      ...more,
      PORT: '0',
      ADMIN_PORT: '0',
      TOLLGATE_DATA: dataFolder,
    },
  })
  // Only the first start prints a key.
  const { port, key = '' } = await readBanner(child, !('KEY' in more))
  const ready = performance.now() - began
  return {
    child,
    pid: child.pid ?? 0,
    port,
    key,
    data: dataFolder,
    config,
    ready,
  } satisfies Running
}
const stop = async ({ child }: Running): Promise<void> => {
  const ended = new Promise(resolve => child.on('exit', resolve))
  child.kill('SIGTERM')
  await ended
}
const emptyFolder = (): string => mkdtempSync(join(folder, 'data-'))
const LATER = { KEY: 'known' }

const sum = (list: readonly ProcessMemory[], key: 'pss' | 'rss'): number =>
  list.reduce((total, each) => total + each[key], 0) / 1024
const treeRow = (name: string, list: readonly ProcessMemory[]): string[] => [
  name,
  figure(sum(list, 'pss'), 0),
  figure(sum(list, 'rss'), 0),
  list
    .map(({ role, pss, rss }) => `${role} ${figure(pss / 1024, 0)}/${figure(rss / 1024, 0)}`)
    .join(', '),
]
const MEMORY_HEAD = ['process tree', 'Pss MiB', 'RSS MiB', 'of these, Pss/RSS']

const atRest = async (workers: number): Promise<string[][]> => {
  const rows: string[][] = []
  const dataFolder = emptyFolder()
  for (const which of ['first start', 'later start']) {
    const running = await startShipped(dataFolder, {
      WORKERS: `${workers}`,
      ...(which !== 'first start' && LATER),
    })
    await pause(REST * 1_000)
    rows.push(treeRow(`at rest, ${workers} workers, ${which}`, memoryOf(running.pid)))
    await stop(running)
  }
  return rows
}

/** Starts a gateway whose chat route has an upstream on this machine, and returns a load on it. */
const startLoaded = async () => {
  const upstream = await start('upstream.ts', UPSTREAM_CORE, ['50000'])
  const load = await start('load.ts', UPSTREAM_CORE, [])
  const running = await startShipped(emptyFolder(), { OPENAI_BASE_URL: `${upstream.origin}/v1` })
  await creditBenchAccount(running.data)
  // The upstream finds the name of its answer anywhere in the request.
  const body = (stream: boolean): string => {
    const manner = stream ? 'burst' : 'plain'
    return requestBody(manner).replace(NAMES[manner], MODEL).replace('user-1234', NAMES[manner])
  }
  const request = (stream: boolean): string =>
    requestOf({ name: 'shipped', ...running }, PATH, body(stream))
  const run = (seconds: number, more: object) =>
    loadThrough(load)({
      port: running.port,
      request: request(false),
      connections: 64,
      seconds,
      ...more,
    })
  const end = async (): Promise<void> => {
    upstream.child.disconnect()
    load.child.disconnect()
    await stop(running)
  }
  return { running, run, request, end }
}

type Options = { readonly rounds: number; readonly seconds: number; readonly minutes: number }

const PARTS: Readonly<Record<string, (options: Options) => Promise<string>>> = {
  async rest() {
    return table(MEMORY_HEAD, [...(await atRest(1)), ...(await atRest(2))])
  },
  async load({ seconds }) {
    const { running, run, end } = await startLoaded()
    const before = treeRow('before', memoryOf(running.pid))
    const { requests, failed } = await run(seconds, {})
    const after = treeRow(
      `after ${seconds} s of full load, ${requests} calls`,
      memoryOf(running.pid),
    )
    await end()
    if (failed > 0) throw new Error(`${failed} of ${requests} calls failed`)
    return table(MEMORY_HEAD, [before, after])
  },
  async start({ rounds }) {
    const first: number[] = []
    const later: number[] = []
    for (let round = 0; round < rounds; round++) {
      const [dataFolder, config] = [emptyFolder(), copyConfig()]
      for (const times of [first, undefined, later]) {
        const running = await startShipped(dataFolder, times === first ? {} : LATER, config)
        times?.push(running.ready)
        await pause(1_000)
        await stop(running)
      }
    }
    return timesTable({ 'start on an empty data folder': first, 'later start': later })
  },
  async reload({ rounds }) {
    const small = await timeReloads(rounds, () => {})
    const large = await timeReloads(rounds, addModels)
    const name = `reload of one key`
    return timesTable({ [name]: small, [`${name}, ${MODELS} more models`]: large })
  },
  async commands({ rounds }) {
    const [dataFolder, config] = [emptyFolder(), copyConfig()]
    await stop(await startShipped(dataFolder, {}, config))
    const time = (...args: string[]): number => {
      const began = performance.now()
      const { status } = spawnSync(node, [program, ...args], {
        env: { ...environment, TOLLGATE_DATA: dataFolder },
      })
      if (status !== 0) throw new Error(`${args[0]} ended with ${status}`)
      return performance.now() - began
    }
    const times = (...args: string[]) =>
      Array.from({ length: rounds + 1 }, () => time(...args)).slice(1)
    return timesTable({ check: times('check', '--config', config), version: times('version') })
  },
  async mixed({ minutes }) {
    const { running, run, request, end } = await startLoaded()
    const rows: string[][] = []
    const record = (name: string) => rows.push(treeRow(name, memoryOf(running.pid)))
    await run(60, { rate: 200 })
    record('after a minute')
    const pace = (minutes * 60) / RELOADS
    for (let reload = 1; reload <= RELOADS; reload++) {
      setTimeout(() => touchTimeout(running.config, reload), (pace * 1_000) / 2)
      await run(pace * 0.8, { rate: 200 })
      await run(pace * 0.2, { request: request(true), connections: 8, rate: 10 })
      if (reload % 10 === 0)
        record(`after ${reload} reloads, ${figure((reload * pace) / 60, 0)} min`)
    }
    await pause(REST * 1_000)
    record('at rest after it')
    await end()
    return table(MEMORY_HEAD, rows)
  },
}

const timesTable = (times: Readonly<Record<string, readonly number[]>>): string =>
  table(
    ['ms', 'median', 'min–max'],
    Object.entries(times).map(([name, list]) => [
      name,
      figure(median(list), 0),
      `${figure(Math.min(...list), 0)}–${figure(Math.max(...list), 0)}`,
    ]),
  )

const addModels = (config: string): void => {
  const names = Array.from({ length: MODELS }, (_, index) => `filler-${index}`)
  const price = "price: { input: '0.15 / 1M', output: '0.60 / 1M' }"
  const lines = names.map(name => `  ${name}: { to: gp/filler, output: 16384, ${price} }`)
  writeFileSync(join(config, '../models/filler.yaml'), `models:\n${lines.join('\n')}\n`)
}
/** Changes one key of the configuration. */
const touchTimeout = (config: string, value: number): void =>
  writeFileSync(
    config,
    readFileSync(config, 'utf8').replace(/idle: \d+s/, `idle: ${60 + (value % 40)}s`),
  )

/** ms from a request to the admin listener until the workers serve the new version. */
const timeReloads = async (rounds: number, prepare: (config: string) => void) => {
  const config = copyConfig()
  prepare(config)
  const running = await startShipped(emptyFolder(), {}, config)
  const gateway = findRunning(running.data)
  if (!gateway) throw new Error('no gateway runs')
  const times: number[] = []
  for (let round = 0; round <= rounds; round++) {
    await pause(1_000)
    touchTimeout(config, round + 1)
    const began = performance.now()
    const response = await requestAdmin(gateway, '/-/reload', { method: 'POST' })
    const text = await response.text()
    times.push(performance.now() - began)
    if (!response.ok) throw new Error(text)
  }
  await stop(running)
  return times.slice(1)
}

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: 'rest,load,start,reload,commands' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '60' },
    minutes: { type: 'string', default: '60' },
    help: { type: 'boolean', short: 'h', default: false },
  },
})
if (values.help) console.log(HELP)
else
  try {
    copyFileSync(process.execPath, node)
    const { rounds, seconds, minutes } = values
    for (const name of values.only.split(',')) {
      const part = PARTS[name]
      if (!part)
        throw new Error(`unknown part "${name}": use one of ${Object.keys(PARTS).join(', ')}`)
      console.log(`${await part({ rounds: +rounds, seconds: +seconds, minutes: +minutes })}\n`)
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
