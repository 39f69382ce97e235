/** A worker process, forked by the primary: serves one version, prepares the next, swaps and
 *  drains. */
import { Socket } from 'node:net'
import type { Blueprint } from '../config/compile/blueprint.ts'
import { CompileError } from '../config/compile/compile-problem.ts'
import { fromBlueprint } from '../config/import.ts'
import { readSettings } from '../config/settings.ts'
import { createLog } from '../observe/log.ts'
import { createMetrics } from '../observe/metrics.ts'
import { createAllowances } from '../quota/allowance.ts'
import { createLender, type Lender } from '../quota/lender.ts'
import { BackgroundCalls } from '../request/background-calls.ts'
import { createGatewayServer, type GatewayServer } from '../server.ts'
import type { Resources } from '../snapshot/resources.ts'
import { SharedResources } from '../snapshot/shared-resources.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import { isPostgres, type OpenDatabase, openDatabase } from '../store/database.ts'
import { createJobs } from '../store/jobs.ts'
import { Leases } from '../store/leases.ts'
import { createMembership, type OwnMembership } from '../store/membership.ts'
import {
  type AdminCall,
  type EncodedVersion,
  type FromWorker,
  HEARTBEAT,
  type ToWorker,
} from './messages.ts'
import { runAdminEndpoint } from './plugin-endpoints.ts'

/** ms between metrics reports: a killed worker loses at most this much. */
const METRICS_INTERVAL = 5_000
/** Bytes that a superseded plugin keeps, as measured: ES modules cannot be unloaded. */
const PLUGIN_BYTES = 700 * 1024
const POLL_INTERVAL = 50

/** Resolves when the message is sent. */
const send = (message: FromWorker): Promise<void> =>
  new Promise(sent => {
    if (process.connected) process.send?.(message, () => sent())
    else sent()
  })

class Worker {
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
  readonly #turns = new BackgroundCalls()
  #garbage = 0
  #isDraining = false

  constructor(name: string) {
    this.#log = createLog({ level: 'info', process: name })
    this.#metrics = createMetrics(name)
  }
  async prepare({ version, secrets, blueprint: text }: EncodedVersion): Promise<void> {
    try {
      this.#log.hide(secrets)
      const blueprint = JSON.parse(text) as Blueprint
      this.#resources ??= await this.#open(blueprint)
      this.#prepared.set(version, await fromBlueprint(blueprint, this.#resources))
      for (const { bundle } of blueprint.plugins) this.#bundles.add(bundle)
      this.#garbage = (this.#bundles.size - blueprint.plugins.length) * PLUGIN_BYTES
      void send({ type: 'prepared', version })
    } catch (error) {
      this.#log.error({ error, version }, 'a version cannot be prepared')
      void send({ type: 'problems', version, ...describeProblems(error) })
    }
  }
  /** Serves a prepared version. Requests in progress keep the version they began with. */
  swap(version: number): void {
    const old = this.#current
    this.#current = this.#prepared.get(version) ?? old
    this.#prepared.delete(version)
    this.#log.level(this.#serving().settings.log.level)
    if (this.#resources) {
      this.#server ??= createGatewayServer(() => this.#serving(), this.#resources)
    }
    // By now every plugin has added its listeners.
    this.#membership?.start()
    void send({ type: 'serving', version })
    if (old !== this.#current) void old?.retire()
  }
  /** Acknowledges a connection before it reads from it; until then the primary keeps a copy. */
  acceptConnection(id: number, handle: unknown): void {
    void send({ type: 'taken', id })
    // The client may have disconnected in transit.
    if (!handle) return
    this.#server?.serveConnection(new Socket({ handle, readable: true, writable: true } as object))
  }
  /** Runs one request to an admin endpoint of a plugin. */
  async runAdminCall(question: AdminCall): Promise<void> {
    const reply = await runAdminEndpoint(this.#serving(), question, this.#log)
    void send({ type: 'admin', id: question.id, ...reply })
  }
  /** Another process of this gateway has ended. */
  peerExited(): void {
    this.#membership?.checkPeers()
  }
  discard(version: number): void {
    void this.#prepared.get(version)?.retire()
    this.#prepared.delete(version)
  }
  /** Finishes requests within `grace` ms, then exits. `patient`: idle keep-alive connections may
   *  send further requests first. */
  async drain(grace: number, patient = false): Promise<void> {
    this.#isDraining = true
    const jobs = this.#resources?.jobs.close()
    this.#server?.stopKeepAlive()
    // Background calls have no client that waits; only a shutdown limits their time.
    const late = patient ? undefined : setTimeout(() => this.#turns.cut(), grace)
    if (patient) await this.#untilIdle()
    await this.#server?.drain(grace)
    await this.#turns.whenIdle()
    clearTimeout(late)
    await this.#current?.retire()
    // While the store is unavailable, charges of finished calls may still be pending.
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
  /** The primary has ended: finishes the open requests, then exits. */
  onPrimaryExit(): void {
    if (!this.#isDraining) this.#log.error({}, 'the primary has ended; finishing open requests')
    this.#resources?.allowances.close()
    void this.drain(this.#current?.settings.timeouts.drain ?? 0)
  }
  onException(error: unknown): void {
    this.#log.error({ error }, 'this worker crashed')
    process.exit(1)
  }
  /** Counts and logs an unhandled rejection. It is a bug, but no reason to cut all streams. */
  onRejection(error: unknown): void {
    this.#metrics.count('unhandled_total', {})
    this.#log.error({ error }, 'unhandled promise rejection')
  }
  beat(): void {
    void send({ type: 'beat', garbage: this.#garbage })
  }
  report(): Promise<void> {
    return send({ type: 'metrics', samples: this.#metrics.report() })
  }

  /** Waits until no connection is open: each response now closes its connection, and idle ones end
   *  after the keep-alive timeout. */
  async #untilIdle(): Promise<void> {
    const until = performance.now() + this.#serving().settings.timeouts.keep_alive
    while (this.#server?.connections && performance.now() < until) {
      await new Promise(resolve => setTimeout(resolve, POLL_INTERVAL))
    }
  }
  #serving(): Snapshot {
    if (!this.#current) throw new Error('nothing is served yet')
    return this.#current
  }
  async #open({ document }: Blueprint): Promise<Resources> {
    const { database: url, data } = readSettings(document.settings as object)
    const database = await openDatabase({
      url,
      data,
      report: message => this.#log.warn({ message }, 'the store warns'),
    })
    this.#database = database
    const membership = createMembership({ database, log: this.#log })
    const channel = {
      send: (message: unknown) => void send(message as FromWorker),
      on: (listener: (message: unknown) => void) => void process.on('message', listener),
    }
    // Only a PostgreSQL store is shared with other machines.
    if (isPostgres(url)) this.#lender = createLender({ database, log: this.#log, channel })
    this.#membership = membership
    return {
      role: 'worker',
      log: this.#log,
      metrics: this.#metrics,
      database,
      shared: new SharedResources(),
      allowances: createAllowances(channel),
      jobs: createJobs({ leases: new Leases({ database, membership }), log: this.#log }),
      backgroundCalls: this.#turns,
      membership,
    }
  }
}

/** Problems of a version that passed in the builder and fails here; rare, so without source
 *  positions. */
const describeProblems = (error: unknown) => {
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
  const worker = new Worker(name)
  // In order: a swap refers to a version prepared before.
  let last: Promise<void> = Promise.resolve()
  const inOrder = (step: () => void | Promise<void>): void => {
    last = last.then(step)
  }
  process.on('message', (message: ToWorker, handle: unknown) => {
    if (message.type === 'connection') worker.acceptConnection(message.id, handle)
    if (message.type === 'prepare') inOrder(() => worker.prepare(message.sealed))
    if (message.type === 'swap') inOrder(() => worker.swap(message.version))
    if (message.type === 'discard') inOrder(() => worker.discard(message.version))
    if (message.type === 'drain') void worker.drain(message.grace, message.patient)
    if (message.type === 'metrics') void worker.report()
    if (message.type === 'admin') void worker.runAdminCall(message)
    if (message.type === 'peer-exited') worker.peerExited()
  })
  process.on('uncaughtException', error => worker.onException(error))
  process.on('unhandledRejection', error => worker.onRejection(error))
  // A terminal signals the whole group, and the primary decides when to end; SIGTERM to this
  // process alone asks for a replacement.
  for (const signal of ['SIGINT', 'SIGHUP', 'SIGUSR2'] as const) process.on(signal, () => {})
  process.on('SIGTERM', () => void send({ type: 'renew' }))
  setInterval(() => worker.beat(), HEARTBEAT)
  setInterval(() => void worker.report(), METRICS_INTERVAL)
  process.on('disconnect', () => worker.onPrimaryExit())
  void send({ type: 'up' })
}

start(process.argv[2] ?? 'worker')
