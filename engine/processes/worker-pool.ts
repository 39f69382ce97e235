/** The worker pool: forks, watches and replaces workers, and publishes a version to all of them or
 *  to none. */
import type { GatewayMetrics } from '../observe/metrics.ts'
import type { Log } from '../plugin.ts'
import type { AllowanceOwner } from '../quota/counter-owner.ts'
import { createBackoff } from './backoff.ts'
import type { ConnectionDistributor } from './connection-distributor.ts'
import { ofType } from './message-waiter.ts'
import {
  type EncodedVersion,
  type FromWorker,
  type GatewayCall,
  type GatewayResult,
  HEARTBEAT,
} from './messages.ts'
import type { Exposition } from './metrics-exposition.ts'
import { createWatchdog } from './watchdog.ts'
import { type Refusal, WorkerHandle } from './worker-handle.ts'

export interface WorkerPoolOptions {
  readonly count: number
  /** Folder of Node's compile cache, which makes the next worker start faster. */
  readonly codeFolder: string
  /** MiB of new objects of a worker from its start. */
  readonly youngGeneration?: number | undefined
  /** The URL of the gateway for clients on this machine. */
  readonly url: string
  readonly distributor: ConnectionDistributor
  readonly log: Log
  readonly metrics: GatewayMetrics
  readonly exposition: Exposition
  readonly allowances: AllowanceOwner
  /** Answers a call of `host.gateway` of a worker. Never rejects. */
  answer(id: number, call: GatewayCall): Promise<GatewayResult>
}
/** `failure`: the reason, one sentence. */
export type StartResult = 'serving' | { readonly failure: string } | Refusal
/** Bytes of superseded plugin code, which Node cannot unload, after which a worker is replaced. */
const MAX_GARBAGE = 50 * 1024 * 1024
/** Drain time of a replaced worker, ms: its successor serves already, so its streams may finish. */
const REPLACEMENT_DRAIN = 15 * 60_000
const SCRAPE_TIMEOUT = 1_000
const COMPLETE_TIMEOUT = 10_000
/** ms after the grace until remaining workers are killed. */
const KILL_MARGIN = 750

export class WorkerPool {
  readonly #options: WorkerPoolOptions
  readonly #workers = new Set<WorkerHandle>()
  readonly #backoff = createBackoff()
  readonly #watchdog = createWatchdog(HEARTBEAT)
  readonly #timer: NodeJS.Timeout
  #current: EncodedVersion | undefined
  #draining = false
  #renewing: Promise<void> = Promise.resolve()
  /** Resolvers of the callers that wait until all workers serve. */
  readonly #waiting: (() => void)[] = []
  /** Resolves `start`, once. */
  #startResolver: ((start: StartResult) => void) | undefined

  constructor(options: WorkerPoolOptions) {
    this.#options = options
    this.#timer = setInterval(() => this.#watch(), HEARTBEAT)
  }
  get workers(): readonly WorkerHandle[] {
    return [...this.#workers]
  }
  /** Whether workers crash repeatedly. */
  get looping(): boolean {
    return this.#backoff.looping
  }
  /** Forks the workers. Resolves when all of them serve, or with the reason why one cannot. */
  start(encodedVersion: EncodedVersion): Promise<StartResult> {
    this.#current = encodedVersion
    return new Promise(resolve => {
      this.#startResolver = resolve
      for (let number = 1; number <= this.#options.count; number++) this.#launch(number)
    })
  }
  /** Has every worker prepare a version; then all swap, or none does and the refusal is returned.
   *  `died`: a worker exited during both attempts. */
  async publish(encodedVersion: EncodedVersion): Promise<Refusal | 'died' | undefined> {
    const refusal = await this.#publish(encodedVersion)
    // The exit may have another cause than this version, so there is a second attempt.
    return refusal === 'died' ? this.#publish(encodedVersion) : refusal
  }
  async #publish(encodedVersion: EncodedVersion): Promise<Refusal | 'died' | undefined> {
    // A worker that is being replaced must prepare the version too.
    await this.#untilAllServe()
    const serving = this.#inState('serving')
    const results = await Promise.all(serving.map(worker => worker.prepare(encodedVersion)))
    const refusal = results.find(result => typeof result === 'object')
    if (refusal || results.includes('died')) {
      for (const worker of serving)
        worker.send({ type: 'discard', version: encodedVersion.version })
      return refusal ?? 'died'
    }
    // Workers forked from here on get the new version, also replacements of those that exit while
    // they swap.
    this.#current = encodedVersion
    await Promise.all(serving.map(worker => worker.swap(encodedVersion)))
    // A worker that began to serve while the others prepared has not prepared this version.
    for (const worker of this.#inState('serving')) {
      if (!serving.includes(worker) && worker.version !== encodedVersion.version)
        void this.#prepareCurrent(worker)
    }
    return undefined
  }
  /** Replaces all workers, one after another. */
  renew(): Promise<void> {
    for (const worker of this.#inState('serving')) this.#replace(worker)
    return this.#renewing
  }
  /** Adds the metrics of all workers to the exposition. */
  async collect(): Promise<void> {
    const timeout = new Promise(resolve => setTimeout(resolve, SCRAPE_TIMEOUT).unref())
    const reports = this.workers.map(worker => {
      const report = worker.messages.next(ofType('metrics'))
      worker.send({ type: 'metrics' })
      return report
    })
    await Promise.race([Promise.all(reports), timeout])
  }
  /** Ends all workers; each may finish requests within `grace` ms. */
  async drain(grace: number): Promise<void> {
    this.#draining = true
    this.#options.distributor.close()
    for (const worker of this.#workers) {
      worker.state = 'leaving'
      worker.send({ type: 'drain', grace })
    }
    const overdue = setTimeout(() => this.kill(), grace + KILL_MARGIN)
    await Promise.all(
      this.workers.map(worker => new Promise(resolve => worker.process.on('exit', resolve))),
    )
    clearTimeout(overdue)
  }
  /** Kills all workers. */
  kill(): void {
    this.#draining = true
    this.#options.distributor.close()
    clearInterval(this.#timer)
    for (const worker of this.#workers) worker.process.kill('SIGKILL')
  }

  #inState(...states: readonly WorkerHandle['state'][]): readonly WorkerHandle[] {
    return this.workers.filter(({ state }) => states.includes(state))
  }
  #launch(number: number): WorkerHandle {
    const { codeFolder, url, youngGeneration } = this.#options
    const worker = new WorkerHandle(number, codeFolder, url, youngGeneration)
    this.#workers.add(worker)
    this.#watchdog.beat(worker.pid)
    this.#options.allowances.attach(worker.pid, worker.createChannel())
    worker.process.on('message', message => this.#onMessage(worker, message as FromWorker))
    worker.process.on('exit', (code, signal) => this.#onExit(worker, code, signal))
    void this.#bringLive(worker)
    return worker
  }
  /** Gives a new worker the live version; then the distributor may offer it connections. */
  async #bringLive(worker: WorkerHandle): Promise<void> {
    if (!(await worker.ready) || !(await this.#prepareCurrent(worker))) return
    this.#options.distributor.addWorker(worker)
    this.#options.log.info({ worker: worker.number, child: worker.pid }, 'a worker serves')
    if (this.#inState('serving').length < this.#options.count) return
    this.#resolveStart('serving')
    for (const resolve of this.#waiting.splice(0)) resolve()
  }
  /** Brings a worker to the live version, also if a reload changes that version meanwhile. */
  async #prepareCurrent(worker: WorkerHandle): Promise<boolean> {
    for (let encodedVersion = this.#current; encodedVersion; encodedVersion = this.#current) {
      const result = await worker.prepare(encodedVersion)
      if (result === 'died') return false
      if (result !== 'prepared') {
        this.#reject(worker, result)
        return false
      }
      if (encodedVersion !== this.#current) continue
      await worker.swap(encodedVersion)
      if (encodedVersion === this.#current) return true
    }
    return false
  }
  /** Resolves when all workers serve, or after `COMPLETE_TIMEOUT` ms. */
  async #untilAllServe(): Promise<void> {
    if (this.#inState('serving').length >= this.#options.count) return
    await new Promise<void>(resolve => {
      this.#waiting.push(resolve)
      setTimeout(resolve, COMPLETE_TIMEOUT).unref()
    })
  }
  /** Kills a worker that refuses the live version, like one that crashed. */
  #reject(worker: WorkerHandle, why: StartResult): void {
    this.#options.log.error({ worker: worker.number, why }, 'a worker cannot serve')
    this.#resolveStart(why)
    worker.process.kill('SIGKILL')
  }
  #resolveStart(start: StartResult): void {
    this.#startResolver?.(start)
    this.#startResolver = undefined
  }
  #onMessage(worker: WorkerHandle, message: FromWorker): void {
    this.#watchdog.beat(worker.pid)
    if (worker.isStalled) {
      worker.isStalled = false
      this.#options.distributor.distribute()
    }
    if (message.type === 'metrics')
      this.#options.exposition.absorb(String(worker.pid), message.samples)
    if (message.type === 'taken') this.#options.distributor.acknowledge(worker, message.id)
    if (message.type === 'gateway')
      void this.#options
        .answer(message.id, message.call)
        .then(result => worker.send({ type: 'gateway', ...result }))
    if (message.type === 'renew' && worker.state === 'serving') this.#replace(worker)
    if (message.type !== 'beat') return
    worker.garbage = message.garbage
    worker.storeSilence = message.storeSilence
    if (message.garbage > MAX_GARBAGE && worker.state === 'serving') this.#replace(worker)
  }
  #onExit(worker: WorkerHandle, code: number | null, signal: string | null): void {
    const { allowances, distributor, exposition, log, metrics } = this.#options
    this.#workers.delete(worker)
    distributor.removeWorker(worker)
    this.#watchdog.forget(worker.pid)
    allowances.detach(worker.pid)
    exposition.forget(String(worker.pid))
    if (this.#draining) return
    if (code !== 0) for (const other of this.#workers) other.send({ type: 'peer-exited' })
    if (worker.state === 'leaving') return
    const { reason } = worker
    metrics.count('worker_restarts_total', { reason })
    const delay = this.#backoff.recordCrash()
    log.error({ worker: worker.number, code, signal, reason, delay }, 'a worker ended')
    if (this.looping) this.#resolveStart({ failure: `worker ${worker.number} crashes repeatedly` })
    setTimeout(() => {
      const isNeeded = this.#inState('starting', 'serving').length < this.#options.count
      if (isNeeded && !this.#draining) this.#launch(worker.number)
    }, delay)
  }
  /** Replaces workers one at a time; the old one drains once the new one serves. */
  #replace(worker: WorkerHandle): void {
    if (worker.isReplacing) return
    worker.isReplacing = true
    this.#renewing = this.#renewing.then(async () => {
      if (this.#draining || worker.state !== 'serving') return
      const fresh = this.#launch(worker.number)
      const serves = await fresh.messages.next(ofType('serving'))
      worker.isReplacing = serves !== undefined
      if (!serves) return
      worker.state = 'leaving'
      this.#options.metrics.count('worker_restarts_total', { reason: 'renewed' })
      worker.send({ type: 'drain', grace: REPLACEMENT_DRAIN, patient: true })
    })
  }
  #watch(): void {
    this.#watchdog.tick()
    for (const worker of this.#workers) {
      const silence = this.#watchdog.silence(worker.pid)
      const state = worker.checkHeartbeat(silence)
      if (state === 'stalled') {
        this.#options.log.warn({ worker: worker.number, silence }, 'a worker does not answer')
      }
      if (state === 'overdue') worker.process.kill('SIGKILL')
    }
  }
}
