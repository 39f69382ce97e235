/** Kills a gateway at random instants while clients ask of it, and compares what they, the upstream and the ledger say:
 *  `npm run test:chaos -- --kills 1000 --seed 1`. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { DatabaseSync } from 'node:sqlite'
import { parseArgs } from 'node:util'
import { locate, type OpenDatabase, openDatabase } from '../../engine/database/database.ts'
import { audit } from '../../plugins/ledger/audit.ts'
import { addCredit, openWallet } from '../../plugins/ledger/statements.ts'
import { sweep } from '../../plugins/ledger/sweep.ts'
import { forkSwiftly } from '../helpers/operator.ts'
import { eventually } from '../helpers/primary.ts'
import { createChance } from '../helpers/seeded.ts'
import {
  type ClientCall,
  check,
  type Kill,
  type Logs,
  type UpstreamCall,
  unpaid,
  type Violation,
} from './checker.ts'
import type { Told } from './client.ts'
import { createTree, KINDS, type Kind, type Tree } from './tree.ts'

export interface Outcome {
  readonly kills: Readonly<Record<Kind, number>>
  readonly complete: number
  readonly cut: number
  readonly refused: number
  /** Words that were delivered before a kill and not charged. */
  readonly unpaid: number
  readonly violations: readonly Violation[]
}
export interface ChaosOptions {
  readonly kills: number
  readonly seed: number
  /** Every recovery finds processes that have been silent for long, as after a night. */
  readonly night?: boolean
  /** ms within which the store must know how far a stream has come. It notes that four times a second, and a busy machine
   *  commits late. */
  readonly lag?: number
  /** ms after a recovery until the next kill, at most. */
  readonly within?: number
  report?(line: string): void
}

const GIVEN = 10n ** 18n
/** 2.00 / 1k, in nanos a word. */
const PRICE = 2_000_000n
const routesTo = (port: number): string => `
pipeline: [errors, auth, model, meter, translate]
upstreams: { up: { url: 'http://127.0.0.1:${port}', connections: 1000 } }
models:
  tokens: { to: up, price: { input: 0, output: 2.00 / 1k }, output: 1000 }
routes:
  - { path: 'POST /v1/chat/completions', auth: key, model: body, translate: openai-chat }
`
const rowsOf = (database: OpenDatabase, text: string) =>
  database.read({ name: `chaos: ${text}`, text }, [])
const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))
const quiet = { debug() {}, info() {}, warn() {}, error() {} }

const start = async (file: string, ...args: string[]): Promise<ChildProcess> => {
  const child = fork(new URL(file, import.meta.url), args, { execArgv: [] })
  process.once('exit', () => child.kill('SIGKILL'))
  return child
}
const logOf = async <T>(child: ChildProcess, ask: string): Promise<readonly T[]> => {
  const heard = once(child, 'message')
  child.send(ask)
  const [{ log }] = (await heard) as [{ log: readonly T[] }]
  child.disconnect()
  return log
}

export const runChaos = async (options: ChaosOptions): Promise<Outcome> => {
  const { kills: count, seed, lag = 1_000, within = 1_200, report = () => {} } = options
  const chance = createChance(seed)
  const upstream = await start('./upstream.ts', String(seed))
  const [{ port }] = (await once(upstream, 'message')) as [{ port: number }]
  const tree = createTree(routesTo(port))
  try {
    await tree.start()
    // Shown once, behind the banner.
    const key = await eventually(() => /\b(sk-[A-Za-z0-9]{20,})/.exec(tree.output())?.[1])
    await give(tree)
    const client = await start('./client.ts', String(seed), String(lag))
    const aim = (): boolean => client.send({ url: tree.url(), key } satisfies Told)
    aim()
    const killed: Kill[] = []
    const kills: Record<Kind, number> = { worker: 0, all: 0, primary: 0, writer: 0 }
    for (let kill = 0; kill < count; kill++) {
      await pause(100 + chance() * within)
      const kind =
        KINDS[count < 20 ? kill % KINDS.length : Math.floor(chance() * KINDS.length)] ?? 'all'
      kills[kind]++
      report(`kill ${kill + 1} of ${count}: ${kind}`)
      killed.push({ at: Date.now(), kind })
      await tree.kill(kind, chance)
      if (options.night && kind === 'all') age(tree)
      if (kind === 'all' || kind === 'primary') await tree.start()
      await tree.recovered()
      aim()
    }
    await pause(300)
    report('all are back')
    const clients = await logOf<ClientCall>(client, 'stop')
    report('the clients are done')
    await tree.stop()
    report('the gateway has ended')
    const calls = await logOf<UpstreamCall>(upstream, 'log')
    const logs = await readLogs(tree, { clients, upstream: calls, kills: killed })
    const violations = [...check(logs), ...logs.findings]
    const of = (outcome: string) => clients.filter(each => each.outcome === outcome).length
    return {
      kills,
      violations,
      unpaid: unpaid(logs),
      complete: of('complete'),
      cut: of('cut'),
      refused: of('refused'),
    }
  } finally {
    await tree.stop().catch(() => {})
    tree.remove()
  }
}

const give = async ({ data }: Tree): Promise<void> => {
  const database = await openDatabase({ url: 'sqlite:', data })
  const credit = {
    account: 1,
    kind: 'credit',
    amount: GIVEN,
    note: 'chaos',
    at: Date.now(),
  } as const
  await database.write([openWallet(2, 0n), addCredit(credit)])
  await database.close()
}
/** As if it had been off for an hour. */
const age = ({ data }: Tree): void => {
  const database = new DatabaseSync(`${data}/tollgate.db`, { timeout: 5_000 })
  database.exec('UPDATE ledger_processes SET seen = seen - 3600000')
  database.close()
}

/** Everybody is gone: last wills are read, the dead are buried, and then nothing may be held any more. */
const readLogs = async (
  { data }: Tree,
  seen: Pick<Logs, 'clients' | 'upstream' | 'kills'>,
): Promise<Logs & { readonly findings: readonly Violation[] }> => {
  // A writer that gives nobody time to come back.
  const { url } = locate('sqlite:', data)
  const writer = forkSwiftly(new URL('../../engine/database/writer.ts', import.meta.url), [
    url,
    '0',
  ])
  await once(writer, 'message')
  const database = await openDatabase({ url: 'sqlite:', data, patience: 10_000 })
  await eventually(async () => {
    const [left] = await rowsOf(database, 'SELECT count(*) AS wills FROM tollgate_wills')
    return left?.wills === 0 ? true : undefined
  })
  await sweep(database, quiet, -1)
  const ledger = await rowsOf(
    database,
    'SELECT request, state, amount, held, uncollected FROM charges',
  )
  const [wallet] = await rowsOf(database, 'SELECT balance, reserved FROM wallets WHERE id = 2')
  const findings = await findingsOf(database)
  await database.close()
  const gone = once(writer, 'exit')
  writer.send({ type: 'stop' })
  await gone
  return {
    ...{ ...seen, findings, price: PRICE, given: GIVEN },
    ...{ balance: nanos(wallet?.balance), reserved: nanos(wallet?.reserved) },
    ledger: ledger.map(row => ({
      ...{ request: String(row.request), state: String(row.state) },
      ...{ amount: nanos(row.amount), held: nanos(row.held) },
      uncollected: nanos(row.uncollected),
    })),
  }
}
const nanos = (value: unknown): bigint => BigInt(String(value))

/** What the ledger says of itself, and the store. */
const findingsOf = async (database: OpenDatabase): Promise<readonly Violation[]> => {
  const findings = await audit(database)
  const [integrity] = await rowsOf(database, 'SELECT * FROM pragma_integrity_check()')
  const whole = integrity?.integrity_check === 'ok'
  return [
    ...findings.map(({ rule, subject, detail }) => ({ invariant: rule, subject, detail })),
    ...(whole ? [] : [{ invariant: 'I11', subject: 'store', detail: JSON.stringify(integrity) }]),
  ]
}

const main = async (): Promise<void> => {
  const { values } = parseArgs({
    options: {
      kills: { type: 'string', default: '6' },
      seed: { type: 'string', default: '1' },
      night: { type: 'boolean', default: false },
    },
  })
  const kills = Number(values.kills)
  const print = (line: string): void =>
    void process.stdout.write(`${(performance.now() / 1_000).toFixed(1)} s ${line}\n`)
  const outcome = await runChaos({ ...values, kills, seed: Number(values.seed), report: print })
  const { violations, complete, cut, refused } = outcome
  for (const { invariant, subject, detail } of violations)
    print(`${invariant}: ${subject}: ${detail}`)
  print(`kills: ${kills} ${JSON.stringify(outcome.kills)}, seed ${values.seed}`)
  print(`replies: ${complete} complete, ${cut} cut, ${refused} refused`)
  print(`words delivered before a kill and not charged: ${outcome.unpaid}`)
  print(`violations: ${violations.length}`)
  if (violations.length === 0)
    print(`95 % bound: fewer than ${((3 / kills) * 100).toFixed(2)} % of kills do harm (3/N)`)
  process.exitCode = violations.length === 0 ? 0 : 1
}
if (import.meta.main) await main()
