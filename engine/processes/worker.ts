/** A worker process, forked by the primary: serves one version, prepares the next, swaps and
 *  drains. */
import { statSync } from 'node:fs'
import { Socket } from 'node:net'
import {
  type Blueprint,
  type DecodedParts,
  decodeBlueprint,
  pathsOf,
} from '../config/compile/blueprint.ts'
import { CompileError } from '../config/compile/compile-problem.ts'
import { fromBlueprint } from '../config/plugins/import.ts'
import { BackgroundCalls } from '../egress/background-calls.ts'
import type { PresentedCredential } from '../plugin.ts'
import type { Channel } from '../quota/channel.ts'
import { createGatewayServer, type GatewayServer } from '../server.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import { createGatewayClient, healthOf } from './gateway/client.ts'
import { collectWhenIdle } from './memory/idle-memory.ts'
import {
  type AdminCall,
  type EncodedVersion,
  type FromWorker,
  HEARTBEAT,
  type ToWorker,
} from './messages.ts'
import { runAdminEndpoint, runAuthorization } from './plugin-endpoints.ts'
import { createReports } from './worker/reports.ts'
import { openResources, type WorkerResources } from './worker/resources.ts'
import { createTlsListener } from './worker/tls-listener.ts'

/** ms between metrics reports: a killed worker loses at most this much. */
const METRICS_INTERVAL = 5_000
/** Bytes of memory per byte of a superseded plugin file, as measured: ES modules cannot be
 *  unloaded. */
const MEMORY_PER_BYTE = 3
const POLL_INTERVAL = 50

/** Resolves when the message is sent. */
const send = (message: FromWorker): Promise<void> =>
  new Promise(resolve => {
    if (process.connected) process.send?.(message, () => resolve())
    else resolve()
  })
const gateway = createGatewayClient(message => {
  void send(message)
  return process.connected
})
/** Shared counters use the same IPC channel as the other messages. */
const channel: Channel = {
  send: message => void send(message as FromWorker),
  on: listener => void process.on('message', listener),
}

interface PreparedVersion {
  readonly snapshot: Snapshot
  readonly parts: DecodedParts
}
class Worker {
  readonly #log
  readonly #metrics
  readonly #reports
  readonly #localUrl: string | undefined
  /** Sizes of the plugin files that were imported, by path. */
  readonly #files = new Map<string, number>()
  #resources: WorkerResources | undefined
  #current: Snapshot | undefined
  /** Parts of the version that it serves: messages about the next one lack them. */
  #decoded: DecodedParts | undefined
  readonly #preparedVersions = new Map<number, PreparedVersion>()
  #server: GatewayServer | undefined
  readonly #listener = createTlsListener(socket => this.#server?.serveConnection(socket))
  readonly #backgroundCalls = new BackgroundCalls()
  #garbage = 0
  #isDraining = false

  /** `localUrl`: of the gateway, for clients on this machine. */
  constructor(name: string, localUrl: string | undefined) {
    this.#localUrl = localUrl
    this.#reports = createReports(name)
    const { log, metrics } = this.#reports
    this.#log = log
    this.#metrics = metrics
  }
  async prepare({ version, secrets, blueprint: encoded }: EncodedVersion): Promise<void> {
    try {
      this.#log.hide(secrets)
      const { blueprint, parts } = decodeBlueprint(encoded, this.#decoded)
      this.#resources ??= await openResources(blueprint.document, this.#parts())
      const snapshot = await fromBlueprint(blueprint, this.#resources)
      this.#preparedVersions.set(version, { snapshot, parts })
      this.#garbage = MEMORY_PER_BYTE * this.#supersededBytes(blueprint)
      void send({ type: 'prepared', version })
    } catch (error) {
      this.#log.error({ error, version }, 'a version cannot be prepared')
      void send({ type: 'problems', version, ...describeProblems(error) })
    }
  }
  /** Serves a prepared version. Requests in progress keep the version they began with. */
  swap(version: number): void {
    const old = this.#current
    const prepared = this.#preparedVersions.get(version)
    this.#current = prepared?.snapshot ?? old
    this.#decoded = prepared?.parts ?? this.#decoded
    this.#preparedVersions.delete(version)
    this.#log.level(this.#serving().settings.log.level)
    this.#reports.apply(this.#serving())
    if (this.#resources) {
      this.#server ??= createGatewayServer(() => this.#serving(), this.#resources)
    }
    this.#listener.update(this.#serving().settings)
    // By now every plugin has added its listeners.
    this.#resources?.membership.start()
    void send({ type: 'serving', version })
    if (old !== this.#current) void old?.retire()
  }
  /** Acknowledges a connection before it reads from it; until then the primary keeps a copy. */
  acceptConnection(id: number, handle: unknown): void {
    void send({ type: 'taken', id })
    // The client may have disconnected in transit.
    if (!handle) return
    this.#listener.accept(new Socket({ handle, readable: true, writable: true } as object))
  }
  /** Runs one request to an admin endpoint of a plugin. */
  async runAdminCall(call: AdminCall): Promise<void> {
    const reply = await runAdminEndpoint(this.#serving(), call, this.#log)
    void send({ type: 'admin', id: call.id, ...reply })
  }
  /** Finds the operator of a credential that the admin listener received. */
  async authorize(id: number, credential: PresentedCredential): Promise<void> {
    const result = await runAuthorization(this.#serving(), credential, this.#log)
    void send({ type: 'authorized', id, result })
  }
  reportHealth(): void {
    void send({ type: 'health', ...healthOf(this.#serving().upstreams) })
  }
  /** Another process of this gateway has ended. */
  peerExited(): void {
    this.#resources?.membership.checkPeers()
  }
  discard(version: number): void {
    void this.#preparedVersions.get(version)?.snapshot.retire()
    this.#preparedVersions.delete(version)
  }
  /** Finishes requests within `grace` ms, then exits. `patient`: idle keep-alive connections may
   *  send further requests first. */
  async drain(grace: number, patient = false): Promise<void> {
    this.#isDraining = true
    const jobs = this.#resources?.jobs.close()
    this.#server?.stopKeepAlive()
    if (!patient) this.#resources?.membership.leave()
    // Background calls have no client that waits; only a shutdown limits their time.
    const cutTimer = patient ? undefined : setTimeout(() => this.#backgroundCalls.cut(), grace)
    if (patient) await this.#untilIdle()
    await this.#server?.drain(grace)
    await this.#backgroundCalls.whenIdle()
    clearTimeout(cutTimer)
    await this.#current?.retire()
    // While the store is unavailable, charges of finished calls may still be pending.
    await this.#resources?.shared.closed()
    await jobs
    await this.#resources?.close()
    await this.#reports.close()
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
    const storeSilence = this.#resources?.storeSilence ?? 0
    void send({ type: 'beat', garbage: this.#garbage, storeSilence })
  }
  report(): Promise<void> {
    if (this.#current) this.#reports.measure(this.#current)
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
  /** Sizes of all plugin files that were imported for other versions. */
  #supersededBytes({ plugins }: Blueprint): number {
    const current = new Set(plugins.flatMap(pathsOf))
    for (const path of current)
      if (!this.#files.has(path)) this.#files.set(path, statSync(path).size)
    const superseded = [...this.#files].filter(([path]) => !current.has(path))
    return superseded.reduce((sum, [, size]) => sum + size, 0)
  }
  #parts() {
    return {
      log: this.#log,
      metrics: this.#metrics,
      backgroundCalls: this.#backgroundCalls,
      channel,
      gateway,
      localUrl: this.#localUrl,
    }
  }
  #serving(): Snapshot {
    if (!this.#current) throw new Error('nothing is served yet')
    return this.#current
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

const start = (name: string, localUrl: string | undefined): void => {
  const worker = new Worker(name, localUrl)
  // In order: a swap refers to a version prepared before.
  let last: Promise<void> = Promise.resolve()
  const inOrder = (step: () => void | Promise<void>): void => {
    last = last.then(step)
  }
  process.on('message', (message: ToWorker, handle: unknown) => {
    if (message.type === 'connection') worker.acceptConnection(message.id, handle)
    if (message.type === 'prepare') inOrder(() => worker.prepare(message.encodedVersion))
    if (message.type === 'swap') inOrder(() => worker.swap(message.version))
    if (message.type === 'discard') inOrder(() => worker.discard(message.version))
    if (message.type === 'drain') void worker.drain(message.grace, message.patient)
    if (message.type === 'metrics') void worker.report()
    if (message.type === 'admin') void worker.runAdminCall(message)
    if (message.type === 'authorize') void worker.authorize(message.id, message.credential)
    if (message.type === 'gateway') gateway.onResult(message)
    if (message.type === 'health') worker.reportHealth()
    if (message.type === 'peer-exited') worker.peerExited()
  })
  process.on('uncaughtException', error => worker.onException(error))
  process.on('unhandledRejection', error => worker.onRejection(error))
  // A terminal signals the whole group, and the primary decides when to end; SIGTERM to this
  // process alone asks for a replacement.
  for (const signal of ['SIGINT', 'SIGQUIT', 'SIGHUP', 'SIGUSR2'] as const)
    process.on(signal, () => {})
  process.on('SIGTERM', () => void send({ type: 'renew' }))
  setInterval(() => worker.beat(), HEARTBEAT)
  setInterval(() => void worker.report(), METRICS_INTERVAL)
  collectWhenIdle()
  process.on('disconnect', () => worker.onPrimaryExit())
  void send({ type: 'up' })
}

start(process.argv[2] ?? 'worker', process.argv[3])
