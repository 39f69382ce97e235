/** `npm run bench`: measures Tollgate, a bare proxy and the upstream alone; prints medians. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { measureAgents } from './agents/measure.ts'
import { agentsTable } from './agents/report.ts'
import { BUDGETS } from './budgets/configuration.ts'
import { budgetsTable } from './budgets/report.ts'
import { measureFailures, SECTIONS } from './failures/measure.ts'
import { failuresTable } from './failures/report.ts'
import { type BenchOptions, SCHEMA, type Size, startGateway } from './gateway.ts'
import { fillLedger } from './ledger-fixture.ts'
import { installedPeers, PEERS, startPeer } from './peers.ts'
import { canPin, isLinux, type Part, residentOf, start } from './processes.ts'
import {
  eventsTable,
  type Findings,
  growthTable,
  latencyTable,
  type OpenTasks,
  pacedTable,
  peersTable,
  requestsTable,
  streamsTable,
  tasksTable,
  verdicts,
} from './report.ts'
import { holdStreams, interleave, jobFor, type Load, loadThrough } from './rounds.ts'
import { measureStages, type StageGateways, startReceiver } from './stages/measure.ts'
import { stagesTable } from './stages/report.ts'
import type { Subject } from './tables.ts'
import { measureTaskImages } from './tasks/images.ts'
import { type TaskImages, taskImagesTable } from './tasks/images-report.ts'
import { measureOpenTasks } from './tasks/open-tasks.ts'
import { measureTranslation } from './translation.ts'
import { translationTable } from './translation-report.ts'

const HELP = `npm run bench -- [options]

  --only PARTS      of requests,latency,events,paced,growth,ledger,streams,translation,agents,tasks,stages,budgets,failures;
                    all but the last three by default. stages: billed calls with telemetry, journal, guards, cache, rules, mirror,
                    and none; budgets: billed calls that none, one, two and four budgets count; failures: refused
                    calls, and billed calls beside them, with rows of failed calls and without
  --subjects NAMES  of direct,bare,tollgate,row,billed,nginx,portkey,litellm; the first five by default. row: bare, and
                    writes one fsynced row a request; billed: tollgate with prices
  --peers           prints the table of docs/performance.md: requests, latency and events of all subjects that are
                    installed (nginx and litellm on the PATH, @portkey-ai/gateway in node_modules)
  --rest N          seconds until memory at rest is read, for --peers and the part streams, and before the part agents; 45
  --settle N        seconds that streams are open before their memory is read; 45
  --rounds N        interleaved rounds, of which medians are printed (of ratios: of those within a round); 5
  --seconds N       of one measurement; 3
  --slices N        of a round where CPU is compared: the subjects take turns within it; 10
  --rate N          requests a second of the part latency; 500
  --streams N       of the part streams; 2000
  --paced N         streams of the part paced, each with ten events a second; 1000
  --charges N       of the part ledger; 1000000
  --events N        of a long stream of the part translation; 50000
  --tasks N         open tasks of the part tasks, which takes 2.4 x max(20 s, N / 200 polls a second); 1000
  --images SIZE     the part tasks measures tasks with an image of so many bytes (1.2MB) each beside calls instead, and 20
                    creates of 14 MB at once, of tasks and of background responses
  --json FILE       also write every round, for a program`

/** The proxy under test has its own core; load and upstream run on the other. */
const SUBJECT_CORE = 0
const LOAD_CORE = 1
const SMALL: Size = { routes: 10, models: 10 }
const LARGE: Size = { routes: 1_000, models: 10_000 }
const ACCOUNTS = 100_000

const readOptions = () => {
  const { values } = parseArgs({
    options: {
      only: { type: 'string' },
      subjects: { type: 'string' },
      peers: { type: 'boolean', default: false },
      rest: { type: 'string', default: '45' },
      settle: { type: 'string', default: '45' },
      paced: { type: 'string', default: '1000' },
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '3' },
      slices: { type: 'string', default: '10' },
      rate: { type: 'string', default: '500' },
      streams: { type: 'string', default: '2000' },
      charges: { type: 'string', default: '1000000' },
      events: { type: 'string', default: '50000' },
      tasks: { type: 'string', default: '1000' },
      images: { type: 'string' },
      json: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  const { rounds, seconds, slices, rest, settle } = values
  const { rate, streams, paced, charges, tasks, peers } = values
  const sizes = { rate: +rate, streams: +streams, paced: +paced, charges: +charges, tasks: +tasks }
  const pauses = { rest: +rest, settle: +settle }
  const numbers = { rounds: +rounds, seconds: +seconds, slices: +slices, ...pauses, ...sizes }
  const parts = peers ? PEER_PARTS : Object.keys(PARTS).filter(name => !ON_DEMAND.includes(name))
  const subjects = peers
    ? [...new Set(['direct', ...installedPeers(), ...OWN])]
    : ['direct', ...OWN]
  const only = values.only?.split(',') ?? parts
  return { ...values, ...numbers, only, names: values.subjects?.split(',') ?? subjects }
}
type Options = ReturnType<typeof readOptions>
type Sections = Pick<BenchOptions, 'budgets' | 'failedCalls'>
const OWN = ['bare', 'row', 'tollgate', 'billed']
const ON_DEMAND = ['stages', 'budgets', 'failures']
const PEER_PARTS = ['requests', 'latency', 'events']

/** The running processes, and functions that start further gateways. */
interface Bench {
  readonly options: Options
  readonly subjects: readonly Subject[]
  readonly load: Load
  gateway(name: string, size: Size): Promise<Subject>
  /** Starts a gateway with prices, a ledger of `charges` charges, and further sections. */
  startBilled(name: string, charges: number, sections?: Sections): Promise<Subject>
  /** Starts a gateway with translations from every format to every format. */
  startTranslating(): Promise<Subject>
  /** Starts billed gateways without stages, with them, and with telemetry. */
  startStages(): Promise<StageGateways>
  /** Starts a gateway with a route that creates tasks, and their upstream; measures open tasks. */
  measureTasks(count: number): Promise<OpenTasks>
  /** Another such gateway; measures tasks with images. `size`: bytes of an image. */
  measureImages(count: number, size: number): Promise<TaskImages>
}

/** Each part returns its table, and stores its findings for the verdicts. */
const PARTS: Readonly<Record<string, (bench: Bench, findings: Findings) => Promise<string>>> = {
  async requests({ subjects, load, options: { rounds, seconds, slices } }, findings) {
    const job = (subject: Subject) => jobFor(subject, 'plain', { seconds })
    findings.requests = await interleave(subjects, load, rounds, job, slices)
    return requestsTable(findings.requests)
  },
  async latency({ subjects, load, options: { rounds, seconds, rate } }, findings) {
    const job = (subject: Subject) => jobFor(subject, 'plain', { seconds, rate })
    findings.latency = await interleave(subjects, load, rounds, job)
    return latencyTable(findings.latency, rate)
  },
  async events({ subjects, load, options: { rounds, seconds } }, findings) {
    const job = (subject: Subject) => jobFor(subject, 'burst', { seconds, connections: 16 })
    findings.events = await interleave(subjects, load, rounds, job)
    return eventsTable(findings.events)
  },
  async paced({ subjects, load, options: { rounds, paced } }, findings) {
    const pace = { seconds: 5, connections: paced, spread: 4_000 }
    findings.paced = await interleave(subjects, load, rounds, subject =>
      jobFor(subject, 'paced', pace),
    )
    return pacedTable(findings.paced, paced)
  },
  async growth({ gateway, load, options: { rounds, seconds, slices } }, findings) {
    const nameSize = ({ routes, models }: Size) => `${routes} routes, ${models} models`
    const sizes = [await gateway(nameSize(SMALL), SMALL), await gateway(nameSize(LARGE), LARGE)]
    const job = (subject: Subject) => jobFor(subject, 'plain', { seconds })
    findings.growth = await interleave(sizes, load, rounds, job, slices)
    return growthTable(findings.growth)
  },
  async ledger({ startBilled, load, options: { rounds, seconds, slices, charges } }, findings) {
    const ledgerSubjects = [
      await startBilled('no charges', 0),
      await startBilled(`${charges} charges, ${Math.min(charges, ACCOUNTS)} accounts`, charges),
    ]
    const job = (subject: Subject) => jobFor(subject, 'plain', { seconds })
    findings.ledger = await interleave(ledgerSubjects, load, rounds, job, slices)
    return growthTable(findings.ledger)
  },
  async streams({ subjects, load, options: { streams, rest, settle } }, findings) {
    const times = { rest: rest * 1_000, settle: settle * 1_000 }
    findings.streamMemory = await holdStreams(subjects, load, streams, times)
    return streamsTable(findings.streamMemory)
  },
  async translation({ startTranslating, load, options }, findings) {
    findings.translation = await measureTranslation(await startTranslating(), load, options)
    return translationTable(findings.translation)
  },
  async agents({ subjects, load, startTranslating, options }, findings) {
    const proxies = subjects.filter(({ pid }) => pid !== undefined)
    const translating = await startTranslating()
    // The builder of a gateway ends some seconds after its start.
    await pause(options.rest * 1_000)
    findings.agents = await measureAgents(proxies, translating, load, options)
    return agentsTable(findings.agents)
  },
  async tasks({ measureTasks, measureImages, options: { tasks, images } }, findings) {
    if (images !== undefined) {
      findings.taskImages = await measureImages(tasks, bytesOf(images))
      return taskImagesTable(findings.taskImages)
    }
    findings.tasks = await measureTasks(tasks)
    return tasksTable(findings.tasks)
  },
  async stages({ startStages, load, options }, findings) {
    findings.stages = await measureStages(await startStages(), load, options)
    return stagesTable(findings.stages)
  },
  async budgets({ startBilled, load, options: { rounds, seconds, slices } }, findings) {
    const counted: Subject[] = []
    for (const [name, section] of Object.entries(BUDGETS))
      counted.push(await startBilled(name, 0, { budgets: section }))
    const job = (subject: Subject) => jobFor(subject, 'plain', { seconds })
    findings.budgets = await interleave(counted, load, rounds, job, slices)
    return budgetsTable(findings.budgets)
  },
  async failures({ startBilled, load, options }, findings) {
    const gateways = {
      'no rows': await startBilled('no rows', 0, { failedCalls: SECTIONS['no rows'] }),
      rows: await startBilled('rows', 0, { failedCalls: SECTIONS.rows }),
    }
    findings.failures = await measureFailures(gateways, load, options)
    return failuresTable(findings.failures)
  },
}

const run = async (options: Options): Promise<void> => {
  const ends: (() => void)[] = []
  const end = (): void => {
    for (const each of ends.splice(0)) each()
  }
  process.on('SIGTERM', end).on('SIGINT', end)
  const launch = async (file: string, core: number, ...args: string[]): Promise<Part> => {
    const part = await start(file, core, args)
    ends.push(() => part.child.disconnect())
    return part
  }
  const upstream = await launch('upstream.ts', LOAD_CORE, options.events)
  const gateway = async (name: string, size: Size): Promise<Subject> => {
    const { child, ...rest } = await startGateway(size, upstream.port, SUBJECT_CORE)
    ends.push(() => child.kill('SIGTERM'))
    return { name, ...rest }
  }
  const startBilled = async (
    name: string,
    charges: number,
    sections: Sections = {},
  ): Promise<Subject> => {
    const { child, store, ...rest } = await startGateway(
      SMALL,
      upstream.port,
      SUBJECT_CORE,
      'billed',
      sections,
    )
    ends.push(() => child.kill('SIGTERM'))
    if (charges > 0) await fillLedger(store, { charges, accounts: Math.min(charges, ACCOUNTS) })
    return { name, ...rest }
  }
  const peer = async (name: string): Promise<Subject> => {
    const { child, ...rest } = await startPeer(name, upstream.port, SUBJECT_CORE)
    ends.push(() => child.kill('SIGTERM'))
    return rest
  }
  const startTranslating = async (): Promise<Subject> => {
    const { child, ...rest } = await startGateway(SMALL, upstream.port, SUBJECT_CORE, 'translating')
    ends.push(() => child.kill('SIGTERM'))
    return { name: 'translating', ...rest }
  }
  const startStages = async (): Promise<StageGateways> => {
    const receiver = await startReceiver()
    ends.push(receiver.end)
    const start = async (name: string, more: object): Promise<Subject> => {
      const { child, ...rest } = await startGateway(
        SMALL,
        upstream.port,
        SUBJECT_CORE,
        'stages',
        more,
      )
      ends.push(() => child.kill('SIGTERM'))
      return { name, ...rest }
    }
    return {
      without: await startBilled('without', 0),
      stages: await start('stages', {}),
      telemetry: await start('telemetry', { receiver: receiver.url }),
    }
  }
  const startTasks = async () => {
    const taskUpstream = await launch('tasks/upstream.ts', LOAD_CORE)
    const gateway = await startGateway(SMALL, taskUpstream.port, SUBJECT_CORE, 'tasks')
    ends.push(() => gateway.child.kill('SIGTERM'))
    const load = loadThrough(await launch('load.ts', LOAD_CORE))
    return { gateway: { name: 'tasks', ...gateway }, load, taskUpstream }
  }
  const measureTasks = async (count: number): Promise<OpenTasks> => {
    const { gateway, load, taskUpstream } = await startTasks()
    return measureOpenTasks(gateway, taskUpstream, load, count)
  }
  const measureImages = async (count: number, size: number): Promise<TaskImages> =>
    measureTaskImages(await startTasks(), { count, size, rounds: options.rounds })
  const make: Readonly<Record<string, () => Promise<Subject>>> = {
    direct: async () => ({ name: 'direct', port: upstream.port, key: 'none' }),
    bare: async () => {
      const { pid, port } = await launch('bare-proxy.ts', SUBJECT_CORE, upstream.origin, SCHEMA)
      return { name: 'bare', pid, port, key: 'none' }
    },
    tollgate: () => gateway('tollgate', SMALL),
    row: async () => {
      const folder = mkdtempSync(join(tmpdir(), 'tollgate-bench-'))
      ends.push(() => rmSync(folder, { recursive: true, force: true }))
      const rows = join(folder, 'rows.db')
      const { pid, port } = await launch(
        'bare-proxy.ts',
        SUBJECT_CORE,
        upstream.origin,
        SCHEMA,
        rows,
      )
      return { name: 'row', pid, port, key: 'none' }
    },
    billed: () => startBilled('billed', 0),
    ...Object.fromEntries(Object.keys(PEERS).map(name => [name, () => peer(name)])),
  }
  try {
    const load = loadThrough(await launch('load.ts', LOAD_CORE))
    const started: Subject[] = []
    for (const name of options.names.filter(Boolean)) started.push(await pick(make, name)())
    const subjects = options.peers ? await measureRest(started, options.rest) : started
    const findings: Findings = {}
    for (const name of options.only)
      console.log(
        `${await pick(PARTS, name)({ options, subjects, load, gateway, startBilled, startTranslating, startStages, measureTasks, measureImages }, findings)}\n`,
      )
    if (options.peers) console.log(`${peersTable(findings, subjects, options.rate)}\n`)
    else console.log(verdicts(findings).join('\n'))
    if (options.json) writeFileSync(options.json, JSON.stringify(findings, mapsAsObjects, 2))
  } finally {
    end()
  }
}

/** Reads the memory of each subject before its first request. */
const measureRest = async (subjects: readonly Subject[], seconds: number): Promise<Subject[]> => {
  await pause(seconds * 1_000)
  return subjects.map(each => ({ ...each, ...(each.pid && { atRest: residentOf(each.pid) }) }))
}

/** `1.2MB` */
const bytesOf = (text: string): number => {
  const [, number, unit] = /^(\d+(?:\.\d+)?)(KB|MB)$/.exec(text) ?? []
  if (number === undefined) throw new Error(`--images ${text}: write a size such as 1.2MB`)
  return Number(number) * (unit === 'MB' ? 1e6 : 1e3)
}
const pick = <T>(from: Readonly<Record<string, T>>, name: string): T => {
  const findings = from[name]
  if (findings === undefined)
    throw new Error(`unknown name "${name}": use one of ${Object.keys(from).join(', ')}`)
  return findings
}
const mapsAsObjects = (_: string, value: unknown): unknown =>
  value instanceof Map ? Object.fromEntries(value) : value

const options = readOptions()
if (options.help) console.log(HELP)
else {
  if (!isLinux) console.log('CPU and memory come from /proc: without it only rates are printed.')
  if (!canPin) console.log('Without taskset all processes share all cores: figures vary.')
  await run(options)
}
