/** Kills gateways and their store at random instants under load, and compares the records of
 *  clients, upstream, webhook receiver and ledger after the last kill: no record is lost before.
 *  `gateways/rounds.ts` is its command. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { eventually } from '../helpers/gateway/primary.ts'
import { AUTHORITY } from '../helpers/money/receiver.ts'
import { createChance } from '../helpers/run-settings.ts'
import {
  ANSWER_MODELS,
  ANSWER_ROUTES,
  ANSWER_SECTIONS,
  ANSWER_STAGES,
  upstreamLines,
} from './answers/configuration.ts'
import { type AnswerCounts, startAnswers } from './answers/run.ts'
import {
  type Balance,
  type ClientCall,
  check,
  type Kill,
  type Logs,
  takenOver,
  type UpstreamCall,
  unpaid,
  type Violation,
} from './checker.ts'
import type { ClientMessage } from './client.ts'
import { createTree, KINDS, type Tree } from './gateway-tree.ts'
import { followUrls, takeoversOf, untilReaped } from './gateways/gateways.ts'
import { createPayers, readLedger, readReports } from './ledger-report.ts'
import { BUDGETS, PROJECTS, unsentShares } from './plans/budgets.ts'
import { arrangePlans, arrangeTeams, PLANS } from './plans/payers.ts'
import { STORES, type StoreName, type StoreSetup } from './stores.ts'
import { startSink } from './webhook-sink.ts'

export interface Outcome {
  readonly kills: Readonly<Record<string, number>>
  /** Kills before the gateway had recovered from the one before. */
  readonly overlapping: number
  readonly complete: number
  readonly cutCalls: number
  readonly refusals: number
  /** Accounts whose balance fell below their threshold. */
  readonly lowBalances: number
  /** Words that were delivered before a kill and not charged. */
  readonly unpaidWords: number
  /** Cut calls that another gateway ended, because theirs stayed away: they may be charged for
   *  fewer words. */
  readonly takenOver: number
  readonly violations: readonly Violation[]
  /** Calls with a cache, guards, copies and rules. */
  readonly answers: AnswerCounts
  /** The longest time without a complete reply, in milliseconds, by the kind of kill before it. */
  readonly longestGaps: Readonly<Record<string, number>>
}
export interface ChaosOptions {
  readonly store: StoreName | (() => Promise<StoreSetup>)
  readonly kills: number
  /** How many gateways share the store, if it is PostgreSQL: a data folder belongs to one. */
  readonly gateways?: number
  /** Only kills of these kinds, instead of all. */
  readonly kinds?: readonly string[]
  readonly seed: number
  /** Milliseconds within which the ledger must know the progress of a stream: 0, because progress
   *  is written before the words are sent. */
  readonly lag?: number
  /** The most milliseconds between a recovery and the next kill. */
  readonly within?: number
  /** The part of the kills that strike while the process killed before is still recovering. */
  readonly overlap?: number
  /** How many clients call concurrently. */
  readonly clients?: number
  /** Runs beside the load from the start until this resolves after the last kill; without it the
   *  load goes on for a moment. */
  beside?(tree: Tree, afterKills: Promise<void>): Promise<void>
  report?(line: string): void
}

/** 2.00 / 1k: nanos per word. */
const PRICE = 2_000_000n
const routesTo = (port: number, answersPort: number): string => `
pipeline: [errors, auth, model, tags, meter, translate, ${ANSWER_STAGES}, account, notify, alerts]
alerts: { to: [{ kind: slack, url: 'http://127.0.0.1:9/alerts' }], every: 500ms }
${ANSWER_SECTIONS}upstreams:
  up: { url: 'http://127.0.0.1:${port}', connections: 1000 }${upstreamLines(answersPort)}
models:
  tokens: { to: up, price: { input: 0, output: 2.00 / 1k }, output: 1000 }${ANSWER_MODELS}${PLANS}${BUDGETS}routes:
  - { path: 'POST /v1/chat/completions', auth: key, model: body, translate: openai-chat }
  - { path: 'GET /api/usage', auth: system-token, account: usage }
  - { path: 'GET /api/notifications', auth: system-token, notify: show }${ANSWER_ROUTES}`
const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

const forkProcess = async (file: string, ...args: string[]): Promise<ChildProcess> => {
  const child = fork(new URL(file, import.meta.url), args, { execArgv: [] })
  process.once('exit', () => child.kill('SIGKILL'))
  return child
}
const readLog = async <T>(child: ChildProcess, ask: string): Promise<readonly T[]> => {
  const reply = once(child, 'message')
  child.send(ask)
  const [{ log }] = (await reply) as [{ log: readonly T[] }]
  child.disconnect()
  return log
}

export const runChaos = async (options: ChaosOptions): Promise<Outcome> => {
  const {
    seed,
    kills,
    gateways = 1,
    report = () => {},
    lag = 0,
    clients: concurrency = 12,
  } = options
  const upstream = await forkProcess('./upstream.ts', String(seed))
  const [{ port }] = (await once(upstream, 'message')) as [{ port: number }]
  const answers = await startAnswers(seed)
  const sink = await startSink()
  const store = await (typeof options.store === 'string' ? STORES[options.store] : options.store)()
  const allow = { EGRESS_ALLOW: `127.0.0.1:${sink.port}`, NODE_EXTRA_CA_CERTS: AUTHORITY }
  const trees = Array.from({ length: gateways }, () =>
    createTree(routesTo(port, answers.port), store.url, allow),
  )
  const [tree] = trees as [Tree]
  try {
    // The first one makes the tables and prints a key.
    for (const each of trees) await each.start()
    // Printed once, after the banner.
    const key = await eventually(() => /\b(sk-[A-Za-z0-9]{20,})/.exec(tree.output())?.[1])
    const database = await store.open(tree.data)
    const { small, token } = await createPayers(database, 2 * kills + 4, PRICE, sink.urlOf)
    await arrangePlans(database, kills + 2)
    const teams = await arrangeTeams(database, Math.ceil(kills / 2) + 1)
    await answers.arrange(database)
    await database.close()
    // A short run has few calls, and very few on a busy machine.
    const interval = kills < 20 ? 3 : 20
    const client = await forkProcess('./client.ts', ...[seed, concurrency, interval].map(String))
    const projects = PROJECTS.length
    const endTargets = followUrls(trees, urls =>
      client.send({ urls, key, small, teams, projects } satisfies ClientMessage),
    )
    const { promise: afterKills, resolve: onKillsDone } = Promise.withResolvers<void>()
    const beside = options.beside?.(tree, afterKills) ?? afterKills.then(() => pause(300))
    let answerCalls = 0
    answers.call(() => trees[answerCalls++ % gateways]?.url() ?? '')
    const { killLog, overlapping, failure } = await killAll(options, trees, store)
    onKillsDone()
    await beside
    await answers.end()
    endTargets()
    report('all processes recovered')
    const clients = await readLog<ClientCall>(client, 'stop')
    report('the clients have finished')
    if (gateways > 1) await untilReaped(store, trees)
    for (const each of trees) await each.stop()
    const takeovers = takeoversOf(trees)
    report('the gateways have ended')
    const calls = await readLog<UpstreamCall>(upstream, 'log')
    const { findings, ...books } = await readLedger(store, tree.data, report, answers)
    await tree.start()
    const unsent = await unsentIn(store, tree)
    await eventually(() => (hasAllEvents(books.balances, sink.log) ? true : undefined)).catch(
      () => {},
    )
    const reports = await readReports(tree.data, token)
    const expectations = { events: sink.log, reports, price: PRICE, lag }
    // The builder serves no call: its end excuses nothing.
    const harms = killLog.filter(({ kind }) => kind !== 'builder')
    const logs: Logs = {
      clients,
      upstream: calls,
      kills: harms,
      takeovers,
      ...books,
      ...expectations,
    }
    const longestGaps = gapsOf(clients, killLog)
    const all = [...findings, ...unsent, ...(failure ? [failure] : [])]
    const counts = { answers: answers.counts(), overlapping, kills: countKinds(killLog) }
    return { ...outcomeOf(logs, all), ...counts, longestGaps }
  } finally {
    for (const each of trees) {
      await each.stop().catch(() => {})
      each.remove()
    }
    sink.close()
    answers.close()
    await store.end()
  }
}

const unsentIn = async (store: StoreSetup, { data }: Tree): Promise<readonly Violation[]> => {
  const database = await store.open(data)
  try {
    return await unsentShares(database)
  } finally {
    await database.close()
  }
}
/** How often a kind is drawn, if not once. A start of the whole gateway costs most time and has the
 *  fewest calls to cut; each fault of PostgreSQL is one of three. */
const WEIGHTS: Readonly<Record<string, number>> = {
  worker: 4,
  writer: 4,
  all: 2,
  primary: 2,
  failover: 4,
  lost: 4,
  unfenced: 4,
}
/** The most milliseconds between a kill and one that strikes during its recovery. */
const RECOVERY = 600
/** Resolves to the kind and time of each kill. A failure, as of a gateway that did not recover,
 *  ends the kills; the records until then are compared all the same. */
const killAll = async (
  { kills, kinds: only, seed, within = 1_200, overlap = 0, report = () => {} }: ChaosOptions,
  trees: readonly Tree[],
  setup: StoreSetup,
): Promise<{
  readonly killLog: readonly Kill[]
  readonly overlapping: number
  readonly failure?: Violation
}> => {
  const chance = createChance(seed)
  // A short run has one of each kind, in this order.
  const all = [...KINDS.filter(kind => kind !== 'builder'), ...setup.kinds, 'builder']
  const kinds = only ?? all
  const weighted = kinds.flatMap(kind => Array<string>(WEIGHTS[kind] ?? 1).fill(kind))
  const killLog: Kill[] = []
  let overlapping = 0
  try {
    for (let kill = 0; kill < kills; kill++) {
      const gateway = Math.floor(chance() * trees.length)
      const tree = trees[gateway] as Tree
      const overlaps = kill > 0 && chance() < overlap
      if (overlaps) overlapping++
      // Others may still recover.
      else await tree.untilRecovered()
      await pause(overlaps ? chance() * RECOVERY : 100 + chance() * within)
      const random = weighted[Math.floor(chance() * weighted.length)]
      const kind = (kills < 20 ? kinds[kill % kinds.length] : random) ?? ''
      report(`kill ${kill + 1} of ${kills}: ${kind}`)
      const isOfStore = setup.kinds.includes(kind) && kind !== 'writer'
      killLog.push({ at: Date.now(), kind, gateway: isOfStore ? undefined : gateway })
      if (!(await setup.harm(kind, chance))) await tree.kill(kind, chance)
      if (kind === 'all' || kind === 'primary') tree.launch()
    }
    for (const each of trees) await each.untilRecovered()
  } catch (error) {
    const detail = String(error)
    report(`the kills ended early: ${detail}`)
    const failure = { invariant: 'recovery', subject: `kill ${killLog.length}`, detail }
    return { killLog, overlapping, failure }
  }
  return { killLog, overlapping }
}
const isLow = ({ balance, threshold }: Balance): boolean =>
  threshold !== undefined && balance < threshold
const hasAllEvents = (balances: readonly Balance[], events: Logs['events']): boolean => {
  const notifiedAccounts = new Set(events.map(({ account }) => account))
  return balances.every(balance => !isLow(balance) || notifiedAccounts.has(balance.account))
}

const countKinds = (killLog: readonly Kill[]): Outcome['kills'] => {
  const kinds = Map.groupBy(killLog, ({ kind }) => kind)
  return Object.fromEntries([...kinds].map(([kind, all]) => [kind, all.length]))
}
/** Milliseconds after a kill until the replies that were ready before it have arrived. */
const FLUSH = 1_000
const gapsOf = (
  clients: readonly ClientCall[],
  killLog: readonly Kill[],
): Outcome['longestGaps'] => {
  const ends = clients.filter(({ outcome }) => outcome === 'complete').map(each => each.endedAt)
  const times = ends.sort((a, b) => a - b)
  const longest: Record<string, number> = {}
  for (const [index, time] of times.entries()) {
    const gap = time - (times[index - 1] ?? time)
    if (gap < 100) continue
    const cause = killLog.findLast(({ at }) => at < time && at > time - gap - FLUSH)
    if (cause) longest[cause.kind] = Math.max(gap, longest[cause.kind] ?? 0)
  }
  return longest
}
const outcomeOf = (
  logs: Logs,
  findings: readonly Violation[],
): Omit<Outcome, 'kills' | 'overlapping' | 'longestGaps' | 'answers'> => {
  const countOf = (outcome: string) => logs.clients.filter(each => each.outcome === outcome).length
  return {
    violations: [...check(logs), ...findings],
    unpaidWords: unpaid(logs),
    takenOver: takenOver(logs),
    complete: countOf('complete'),
    cutCalls: countOf('cut'),
    refusals: countOf('refused'),
    lowBalances: logs.balances.filter(isLow).length,
  }
}
