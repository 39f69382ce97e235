/** `npm run bench`: what Tollgate costs beside a bare proxy and beside nothing, as tables of medians. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { fill } from './books.ts'
import { SCHEMA, type Size, startGateway } from './gateway.ts'
import { isLinux, type Part, pinned, start } from './processes.ts'
import {
  eventsTable,
  type Findings,
  growthTable,
  latencyTable,
  requestsTable,
  streamsTable,
  verdicts,
} from './report.ts'
import { holdStreams, interleave, jobFor, type Load, loadThrough, type Subject } from './rounds.ts'
import { measureTranslation } from './translation.ts'
import { translationTable } from './translation-report.ts'

const HELP = `npm run bench -- [options]

  --only PARTS      of requests,latency,events,growth,ledger,streams,translation; all by default
  --subjects NAMES  of direct,bare,tollgate,row,billed; all by default. row: bare, and writes one fsynced row a
                    request; billed: tollgate with prices
  --rounds N        interleaved rounds, of which medians are printed (of ratios: of those within a round); 5
  --seconds N       of one measurement; 3
  --slices N        of a round where CPU is compared: the subjects take turns within it; 10
  --rate N          requests a second of the part latency; 500
  --streams N       of the part streams; 2000
  --charges N       of the part ledger; 1000000
  --events N        of a long stream of the part translation; 50000
  --json FILE       also write every round, for a program`

/** The proxy under test has a core of its own; load and upstream share the other. */
const SUBJECT_CORE = 0
const LOAD_CORE = 1
const SMALL: Size = { routes: 10, models: 10 }
const LARGE: Size = { routes: 1_000, models: 10_000 }
const ACCOUNTS = 100_000

const readOptions = () => {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', default: Object.keys(PARTS).join() },
      subjects: { type: 'string', default: 'direct,bare,tollgate,row,billed' },
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '3' },
      slices: { type: 'string', default: '10' },
      rate: { type: 'string', default: '500' },
      streams: { type: 'string', default: '2000' },
      charges: { type: 'string', default: '1000000' },
      events: { type: 'string', default: '50000' },
      json: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  const { rounds, seconds, slices, rate, streams, charges } = values
  const sizes = { rate: +rate, streams: +streams, charges: +charges }
  const numbers = { rounds: +rounds, seconds: +seconds, slices: +slices, ...sizes }
  return { ...values, ...numbers, only: values.only.split(','), names: values.subjects.split(',') }
}
type Options = ReturnType<typeof readOptions>

/** What is running, and how more of it is started. */
interface Bench {
  readonly options: Options
  readonly subjects: readonly Subject[]
  readonly load: Load
  gateway(name: string, size: Size): Promise<Subject>
  /** With prices, and books of so many charges. */
  billed(name: string, charges: number): Promise<Subject>
  /** With every format to every format. */
  crossed(): Promise<Subject>
}

/** Each part returns its table, and leaves what it found for the verdicts. */
const PARTS: Readonly<Record<string, (bench: Bench, found: Findings) => Promise<string>>> = {
  async requests({ subjects, load, options: { rounds, seconds, slices } }, found) {
    const job = (subject: Subject) => jobFor(subject, 'plain', { seconds })
    found.requests = await interleave(subjects, load, rounds, job, slices)
    return requestsTable(found.requests)
  },
  async latency({ subjects, load, options: { rounds, seconds, rate } }, found) {
    const job = (subject: Subject) => jobFor(subject, 'plain', { seconds, rate })
    found.latency = await interleave(subjects, load, rounds, job)
    return latencyTable(found.latency, rate)
  },
  async events({ subjects, load, options: { rounds, seconds } }, found) {
    const job = (subject: Subject) => jobFor(subject, 'burst', { seconds, connections: 16 })
    found.events = await interleave(subjects, load, rounds, job)
    return eventsTable(found.events)
  },
  async growth({ gateway, load, options: { rounds, seconds, slices } }, found) {
    const named = ({ routes, models }: Size) => `${routes} routes, ${models} models`
    const sizes = [await gateway(named(SMALL), SMALL), await gateway(named(LARGE), LARGE)]
    const job = (subject: Subject) => jobFor(subject, 'plain', { seconds })
    found.growth = await interleave(sizes, load, rounds, job, slices)
    return growthTable(found.growth)
  },
  async ledger({ billed, load, options: { rounds, seconds, slices, charges } }, found) {
    const books = [
      await billed('no charges', 0),
      await billed(`${charges} charges, ${Math.min(charges, ACCOUNTS)} accounts`, charges),
    ]
    const job = (subject: Subject) => jobFor(subject, 'plain', { seconds })
    found.ledger = await interleave(books, load, rounds, job, slices)
    return growthTable(found.ledger)
  },
  async streams({ subjects, load, options: { streams } }, found) {
    found.held = await holdStreams(subjects, load, streams)
    return streamsTable(found.held)
  },
  async translation({ crossed, load, options }, found) {
    found.translation = await measureTranslation(await crossed(), load, options)
    return translationTable(found.translation)
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
  const billed = async (name: string, charges: number): Promise<Subject> => {
    const { child, store, ...rest } = await startGateway(
      SMALL,
      upstream.port,
      SUBJECT_CORE,
      'billed',
    )
    ends.push(() => child.kill('SIGTERM'))
    if (charges > 0) await fill(store, { charges, accounts: Math.min(charges, ACCOUNTS) })
    return { name, ...rest }
  }
  const crossed = async (): Promise<Subject> => {
    const { child, ...rest } = await startGateway(SMALL, upstream.port, SUBJECT_CORE, 'crossed')
    ends.push(() => child.kill('SIGTERM'))
    return { name: 'crossed', ...rest }
  }
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
    billed: () => billed('billed', 0),
  }
  try {
    const load = loadThrough(await launch('load.ts', LOAD_CORE))
    const subjects: Subject[] = []
    for (const name of options.names.filter(Boolean)) subjects.push(await pick(make, name)())
    const found: Findings = {}
    for (const name of options.only)
      console.log(
        `${await pick(PARTS, name)({ options, subjects, load, gateway, billed, crossed }, found)}\n`,
      )
    console.log(verdicts(found).join('\n'))
    if (options.json) writeFileSync(options.json, JSON.stringify(found, mapsAsObjects, 2))
  } finally {
    end()
  }
}

const pick = <T>(from: Readonly<Record<string, T>>, name: string): T => {
  const found = from[name]
  if (found === undefined) throw new Error(`"${name}" is none of ${Object.keys(from).join(', ')}`)
  return found
}
const mapsAsObjects = (_: string, value: unknown): unknown =>
  value instanceof Map ? Object.fromEntries(value) : value

const options = readOptions()
if (options.help) console.log(HELP)
else {
  if (!isLinux) console.log('CPU and memory come from /proc: without it only rates are printed.')
  if (!pinned) console.log('Without taskset all processes share all cores: figures will vary.')
  await run(options)
}
