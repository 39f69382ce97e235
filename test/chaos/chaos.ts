/** Kills a gateway and its store at random instants while clients ask of it, and compares what they, the upstream, the receiver of
 *  webhooks and the ledger say: `npm run test:chaos -- --kills 1000 --seed 1 --store postgres`. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { parseArgs } from 'node:util'
import { eventually } from '../helpers/primary.ts'
import { AUTHORITY } from '../helpers/receiver.ts'
import { createChance } from '../helpers/seeded.ts'
import { givePayers, readBooks, readSaid } from './books.ts'
import {
  type ClientCall,
  check,
  type Kill,
  type Logs,
  type Purse,
  type UpstreamCall,
  unpaid,
  type Violation,
} from './checker.ts'
import type { Told } from './client.ts'
import { startSink } from './sink.ts'
import { type Ground, STORES, type StoreName } from './stores.ts'
import { createTree, KINDS, type Tree } from './tree.ts'

export interface Outcome {
  readonly kills: Readonly<Record<string, number>>
  readonly complete: number
  readonly cut: number
  readonly refused: number
  /** Accounts whose balance fell below their threshold. */
  readonly crossed: number
  /** Words that were delivered before a kill and not charged. */
  readonly unpaid: number
  readonly violations: readonly Violation[]
}
export interface ChaosOptions {
  readonly store: StoreName
  readonly kills: number
  readonly seed: number
  /** ms within which the ledger must know how far a stream has come: none, since it is told before the words leave. */
  readonly lag?: number
  /** ms after a recovery until the next kill, at most. */
  readonly within?: number
  /** How many clients ask at a time. */
  readonly clients?: number
  report?(line: string): void
}

/** 2.00 / 1k, in nanos a word. */
const PRICE = 2_000_000n
const routesTo = (port: number): string => `
pipeline: [errors, auth, model, meter, translate, account, notify]
upstreams: { up: { url: 'http://127.0.0.1:${port}', connections: 1000 } }
models:
  tokens: { to: up, price: { input: 0, output: 2.00 / 1k }, output: 1000 }
routes:
  - { path: 'POST /v1/chat/completions', auth: key, model: body, translate: openai-chat }
  - { path: 'GET /api/usage', auth: system-token, account: usage }
  - { path: 'GET /api/notifications', auth: system-token, notify: show }
`
const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

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
  const { seed, kills, report = () => {}, lag = 0, clients: together = 12 } = options
  const upstream = await start('./upstream.ts', String(seed))
  const [{ port }] = (await once(upstream, 'message')) as [{ port: number }]
  const sink = await startSink()
  const ground = await STORES[options.store]()
  const allow = { EGRESS_ALLOW: `127.0.0.1:${sink.port}`, NODE_EXTRA_CA_CERTS: AUTHORITY }
  const tree = createTree(routesTo(port), ground.url, allow)
  try {
    await tree.start()
    // Shown once, behind the banner.
    const key = await eventually(() => /\b(sk-[A-Za-z0-9]{20,})/.exec(tree.output())?.[1])
    const database = await ground.open(tree.data)
    const { small, token } = await givePayers(database, 2 * kills + 4, PRICE, sink.urlOf)
    await database.close()
    // A short run has few calls, on a busy machine very few.
    const often = kills < 20 ? 3 : 20
    const client = await start('./client.ts', ...[seed, together, often].map(String))
    const aim = (): boolean => client.send({ url: tree.url(), key, small } satisfies Told)
    aim()
    const killed = await killAll(options, tree, ground, aim)
    report('all are back')
    const clients = await logOf<ClientCall>(client, 'stop')
    report('the clients are done')
    await tree.stop()
    report('the gateway has ended')
    const calls = await logOf<UpstreamCall>(upstream, 'log')
    const { findings, ...books } = await readBooks(ground, tree.data)
    await tree.start()
    await eventually(() => (allTold(books.purses, sink.log) ? true : undefined)).catch(() => {})
    const said = await readSaid(tree.data, token)
    const told = { events: sink.log, said, price: PRICE, lag }
    const logs: Logs = { clients, upstream: calls, kills: killed, ...books, ...told }
    return outcomeOf(logs, findings)
  } finally {
    await tree.stop().catch(() => {})
    tree.remove()
    sink.close()
    await ground.end()
  }
}

/** Resolves to what was killed when. */
const killAll = async (
  { kills, seed, within = 1_200, report = () => {} }: ChaosOptions,
  tree: Tree,
  ground: Ground,
  aim: () => void,
): Promise<readonly Kill[]> => {
  const chance = createChance(seed)
  const kinds = [...KINDS, ...ground.kinds]
  const killed: Kill[] = []
  for (let kill = 0; kill < kills; kill++) {
    await pause(100 + chance() * within)
    const kind = kinds[kills < 20 ? kill % kinds.length : Math.floor(chance() * kinds.length)] ?? ''
    report(`kill ${kill + 1} of ${kills}: ${kind}`)
    killed.push({ at: Date.now(), kind })
    if (!(await ground.harm(kind, chance))) await tree.kill(kind, chance)
    if (kind === 'all' || kind === 'primary') await tree.start()
    await tree.recovered()
    aim()
  }
  await pause(300)
  return killed
}
const isLow = ({ balance, threshold }: Purse): boolean =>
  threshold !== undefined && balance < threshold
const allTold = (purses: readonly Purse[], events: Logs['events']): boolean => {
  const told = new Set(events.map(({ account }) => account))
  return purses.every(purse => !isLow(purse) || told.has(purse.account))
}

const outcomeOf = (logs: Logs, findings: readonly Violation[]): Outcome => {
  const of = (outcome: string) => logs.clients.filter(each => each.outcome === outcome).length
  const kinds = Map.groupBy(logs.kills, ({ kind }) => kind)
  return {
    kills: Object.fromEntries([...kinds].map(([kind, all]) => [kind, all.length])),
    violations: [...check(logs), ...findings],
    unpaid: unpaid(logs),
    complete: of('complete'),
    cut: of('cut'),
    refused: of('refused'),
    crossed: logs.purses.filter(isLow).length,
  }
}

const main = async (): Promise<void> => {
  const { values } = parseArgs({
    options: {
      kills: { type: 'string', default: '6' },
      seed: { type: 'string', default: '1' },
      store: { type: 'string', default: 'sqlite' },
    },
  })
  const { store } = values
  if (!Object.hasOwn(STORES, store)) throw new Error(`--store ${Object.keys(STORES).join(' | ')}`)
  const kills = Number(values.kills)
  const print = (line: string): void =>
    void process.stdout.write(`${(performance.now() / 1_000).toFixed(1)} s ${line}\n`)
  const given = { store: store as StoreName, kills, seed: Number(values.seed), report: print }
  const outcome = await runChaos(given)
  const { violations, complete, cut, refused, crossed } = outcome
  for (const { invariant, subject, detail } of violations)
    print(`${invariant}: ${subject}: ${detail}`)
  print(`kills: ${kills} ${JSON.stringify(outcome.kills)}, seed ${values.seed}, ${store}`)
  print(
    `replies: ${complete} complete, ${cut} cut, ${refused} refused; ${crossed} balances fell low`,
  )
  print(`words delivered before a kill and not charged: ${outcome.unpaid}`)
  print(`violations: ${violations.length}`)
  if (violations.length === 0)
    print(`95 % bound: fewer than ${((3 / kills) * 100).toFixed(2)} % of kills do harm (3/N)`)
  process.exitCode = violations.length === 0 ? 0 : 1
}
if (import.meta.main) await main()
