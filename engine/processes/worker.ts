/** One serving process, forked by the primary: prepares a version beside the one it serves, swaps, drains. */
import { Socket } from 'node:net'
import type { Blueprint } from '../config/compile/blueprint.ts'
import { CompileError } from '../config/compile-problem.ts'
import { fromBlueprint } from '../config/import.ts'
import { readSettings } from '../config/settings.ts'
import { createLog } from '../observe/log.ts'
import { createMetrics } from '../observe/metrics.ts'
import { createAllowances } from '../quota/allowance.ts'
import { createLender, type Lender } from '../quota/lender.ts'
import { Turns } from '../request/background-calls.ts'
import { createGatewayServer, type GatewayServer } from '../server.ts'
import type { Resources } from '../snapshot/host.ts'
import { Shared } from '../snapshot/shared-resources.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import { isPostgres, type OpenDatabase, openDatabase } from '../store/database.ts'
import { createJobs } from '../store/jobs.ts'
import { Leases } from '../store/leases.ts'
import { createMembership, type OwnMembership } from '../store/membership.ts'
import {
  type AdminQuestion,
  BEAT,
  type FromWorker,
  type Sealed,
  type ToWorker,
} from './messages.ts'
import { answerAdmin } from './plugin-endpoints.ts'

/** Sent without being asked, so that a killed worker takes little with it; ms. */
const METRICS = 5_000
/** What a superseded plugin keeps of the memory, as measured: ES modules cannot be unloaded. */
const MODULE = 700 * 1024
const DESERTED = 50

/** Resolves when it is on its way. */
const tell = (message: FromWorker): Promise<void> =>
  new Promise(sent => {
    if (process.connected) process.send?.(message, () => sent())
    else sent()
  })

class Working {
  readonly #log
  readonly #metrics
  readonly #bundles = new Set<string>()
  #database: OpenDatabase | undefined
  #resources: Resources | undefined
  #membership: OwnMembership | undefined
  #lender: Lender | undefined
  #current: Snapshot | undefined
  readonly #prepared = new Map<number, Snapshot>()
  #server: GatewayServer | undefined
  readonly #turns = new Turns()
  #garbage = 0
  #leaving = false

  constructor(name: string) {
    this.#log = createLog({ level: 'info', process: name })
    this.#metrics = createMetrics(name)
  }
  async prepare({ version, secrets, blueprint: text }: Sealed): Promise<void> {
    try {
      this.#log.hide(secrets)
      const blueprint = JSON.parse(text) as Blueprint
      this.#resources ??= await this.#open(blueprint)
      this.#prepared.set(version, await fromBlueprint(blueprint, this.#resources))
      for (const { bundle } of blueprint.plugins) this.#bundles.add(bundle)
      this.#garbage = (this.#bundles.size - blueprint.plugins.length) * MODULE
      void tell({ type: 'prepared', version })
    } catch (error) {
      this.#log.error({ error, version }, 'a version cannot be prepared')
      void tell({ type: 'problems', version, ...describe(error) })
    }
  }
  /** Requests under way keep the version they began with. */
  swap(version: number): void {
    const old = this.#current
    this.#current = this.#prepared.get(version) ?? old
    this.#prepared.delete(version)
    this.#log.level(this.#serving().settings.log.level)
    if (this.#resources) {
      this.#server ??= createGatewayServer(() => this.#serving(), this.#resources)
    }
    // Every listener of its plugins is there.
    this.#membership?.start()
    void tell({ type: 'serving', version })
    if (old !== this.#current) void old?.retire()
  }
  /** The primary keeps the connection until this is said, and nothing is read from it before. */
  take(id: number, handle: unknown): void {
    void tell({ type: 'taken', id })
    // Its client may have left on the way.
    if (!handle) return
    this.#server?.take(new Socket({ handle, readable: true, writable: true } as object))
  }
  /** One request to the admin listener that a plugin answers. */
  async answer(question: AdminQuestion): Promise<void> {
    const reply = await answerAdmin(this.#serving(), question, this.#log)
    void tell({ type: 'admin', id: question.id, ...reply })
  }
  /** Another process of this gateway has ended. */
  peerExited(): void {
    this.#membership?.look()
  }
  discard(version: number): void {
    void this.#prepared.get(version)?.retire()
    this.#prepared.delete(version)
  }
  /** Ends what is under way within the grace (ms), then this process. `patient`: clients may use up what they keep open. */
  async drain(grace: number, patient = false): Promise<void> {
    this.#leaving = true
    const jobs = this.#resources?.jobs.close()
    this.#server?.leave()
    // What no client waits for need not hurry, unless everything ends.
    const late = patient ? undefined : setTimeout(() => this.#turns.cut(), grace)
    if (patient) await this.#deserted()
    await this.#server?.drain(grace)
    await this.#turns.quiet()
    clearTimeout(late)
    await this.#current?.retire()
    // Where the store is away just now, it may still have to be told what calls have cost.
    await this.#resources?.shared.closed()
    await jobs
    this.#lender?.close()
    // A process that cannot leave keeps its on-crash statements: its peers apply them.
    const left = await this.#membership?.close().then(
      () => true,
      () => false,
    )
    if (left !== false) await this.#database?.close()
    await this.report()
    await this.#log.flush()
    process.exit(0)
  }
  /** Nobody hands out connections any more; those under way are finished. */
  orphaned(): void {
    if (!this.#leaving) this.#log.error({}, 'the primary is gone; finishing what is under way')
    this.#resources?.allowances.close()
    void this.drain(this.#current?.settings.timeouts.drain ?? 0)
  }
  crashed(error: unknown): void {
    this.#log.error({ error }, 'this worker crashed')
    process.exit(1)
  }
  /** A promise nobody waits for broke: that is a fault to repair, and no reason to cut everybody's streams. */
  rejected(error: unknown): void {
    this.#metrics.count('unhandled_total', {})
    this.#log.error({ error }, 'a rejection nobody handles')
  }
  beat(): void {
    void tell({ type: 'beat', garbage: this.#garbage })
  }
  report(): Promise<void> {
    return tell({ type: 'metrics', samples: this.#metrics.report() })
  }

  /** A reply ends its connection now, so those that are used end soon, and the others when they are too old to be. */
  async #deserted(): Promise<void> {
    const until = performance.now() + this.#serving().settings.timeouts.keep_alive
    while (this.#server?.connections && performance.now() < until) {
      await new Promise(resolve => setTimeout(resolve, DESERTED))
    }
  }
  #serving(): Snapshot {
    if (!this.#current) throw new Error('nothing is served yet')
    return this.#current
  }
  async #open({ document }: Blueprint): Promise<Resources> {
    const { database: url, data } = readSettings(document.settings as object)
    const database = await openDatabase({
      ...{ url, data },
      report: message => this.#log.warn({ message }, 'the store warns'),
    })
    this.#database = database
    const membership = createMembership({ database, log: this.#log })
    const channel = {
      send: (message: unknown) => void tell(message as FromWorker),
      on: (listener: (message: unknown) => void) => void process.on('message', listener),
    }
    // Only there other machines may count the same.
    if (isPostgres(url)) this.#lender = createLender({ database, log: this.#log, channel })
    this.#membership = membership
    return {
      role: 'worker',
      ...{ log: this.#log, metrics: this.#metrics, database, shared: new Shared() },
      allowances: createAllowances(channel),
      jobs: createJobs({ leases: new Leases({ database, membership }), log: this.#log }),
      turns: this.#turns,
      membership,
    }
  }
}

/** What passed in the builder and fails here: seldom, so without places. */
const describe = (error: unknown) => {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
  const faults =
    error instanceof CompileError ? error.faults : [{ code: 'PREPARE_FAILED', message: text }]
  const problems = faults.map(({ code, message, ...fault }) => {
    const file = 'plugin' in fault && fault.plugin ? fault.plugin : 'routes.yaml'
    return { code, message, file, line: 1, column: 1 }
  })
  return { problems, text }
}

const start = (name: string): void => {
  const working = new Working(name)
  // In order, since a swap means what was prepared before it.
  let last: Promise<void> = Promise.resolve()
  const inOrder = (step: () => void | Promise<void>): void => {
    last = last.then(step)
  }
  process.on('message', (message: ToWorker, handle: unknown) => {
    if (message.type === 'connection') working.take(message.id, handle)
    if (message.type === 'prepare') inOrder(() => working.prepare(message.sealed))
    if (message.type === 'swap') inOrder(() => working.swap(message.version))
    if (message.type === 'discard') inOrder(() => working.discard(message.version))
    if (message.type === 'drain') void working.drain(message.grace, message.patient)
    if (message.type === 'metrics') void working.report()
    if (message.type === 'admin') void working.answer(message)
    if (message.type === 'peer-exited') working.peerExited()
  })
  process.on('uncaughtException', error => working.crashed(error))
  process.on('unhandledRejection', error => working.rejected(error))
  // A terminal signals the whole group, and then the primary says when; alone it means: replace this one.
  for (const signal of ['SIGINT', 'SIGHUP', 'SIGUSR2'] as const) process.on(signal, () => {})
  process.on('SIGTERM', () => void tell({ type: 'renew' }))
  setInterval(() => working.beat(), BEAT)
  setInterval(() => void working.report(), METRICS)
  process.on('disconnect', () => working.orphaned())
  void tell({ type: 'up' })
}

start(process.argv[2] ?? 'worker')
