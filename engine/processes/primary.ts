/** The primary process: starts the builder, the store's writer and the workers, handles signals,
 *  and stops its children in order. */
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { EXIT } from '../cli/kit.ts'
import { createLog } from '../observe/log.ts'
import { createMetrics } from '../observe/metrics.ts'
import { createAllowanceOwner } from '../quota/counter-owner.ts'
import { isPostgres } from '../store/database.ts'
import { BuilderClient } from './builder-client.ts'
import { ConnectionDistributor } from './connection-distributor.ts'
import { answerCall } from './gateway/operations.ts'
import { describeBindError, localUrl, parseListenAddress } from './listen-address.ts'
import type { BuildProblems, BuiltVersion, UnchangedBuild } from './messages.ts'
import { createExposition } from './metrics-exposition.ts'
import { LiveGateway } from './primary/live-gateway.ts'
import { StoreWriter } from './primary/store-writer.ts'
import { onSignals } from './signals.ts'
import { WorkerPool } from './worker-pool.ts'

export interface StartOptions {
  /** Path of routes.yaml. */
  readonly config: string
  /** Name and version of the program, for the banner. */
  readonly program: string
  /** Whether a store that was moved is taken into use again. */
  readonly isAnyway?: boolean
  /** Prints to stderr; stdout carries the log. */
  say(text: string): void
}
/** ms between metrics reports. */
const METRICS_INTERVAL = 5_000
/** ms of a first build after which the operator is told of it. */
const SLOW_BUILD = 1_000
/** Longest wait for the log at the end, ms. */
const FLUSH_TIMEOUT = 500

/** Runs until a signal ends it. Resolves to the exit code. */
export const startGateway = async (options: StartOptions): Promise<number> => {
  const primary = new Primary(options)
  const removeHandlers = onSignals(primary)
  try {
    return await primary.run()
  } finally {
    removeHandlers()
  }
}

class Primary {
  readonly #options: StartOptions
  readonly #log = createLog({ level: 'info', process: 'primary' })
  readonly #metrics = createMetrics('primary')
  readonly #exposition = createExposition()
  readonly #builder: BuilderClient
  readonly #writer: StoreWriter
  /** Resolves to the exit code when the gateway is to end. */
  readonly #exitCode = Promise.withResolvers<number>()
  readonly #timer: NodeJS.Timeout
  #pool: WorkerPool | undefined
  #gateway: LiveGateway | undefined
  #stopSignals = 0

  constructor(options: StartOptions) {
    this.#options = options
    this.#builder = new BuilderClient({
      config: options.config,
      log: this.#log,
      exposition: this.#exposition,
      needsStore: store => void this.#writer.open(store),
    })
    this.#writer = new StoreWriter({
      log: this.#log,
      isAnyway: options.isAnyway === true,
      onMissing: reason => {
        options.say(reason)
        this.#exitCode.resolve(EXIT.runTime)
      },
    })
    this.#timer = setInterval(() => this.#report(), METRICS_INTERVAL)
  }
  async run(): Promise<number> {
    try {
      const startCode = await Promise.race([this.#start(), this.#exitCode.promise])
      return startCode ?? (await this.#exitCode.promise)
    } finally {
      await this.#end()
    }
  }
  reload(): void {
    this.#gateway?.reload()
  }
  renew(): void {
    void this.#pool?.renew()
  }
  /** Drains on the first call, kills the workers on the second. */
  async stop(code: number): Promise<void> {
    this.#stopSignals++
    if (this.#stopSignals > 1) {
      this.#pool?.kill()
      return this.#exitCode.resolve(code)
    }
    const grace = this.#gateway?.settings.timeouts.drain
    this.#log.info({ grace }, 'draining')
    if (grace !== undefined) await this.#pool?.drain(grace)
    this.#exitCode.resolve(EXIT.ok)
  }

  /** Builds the first version, or takes that of the last start if nothing it was built from has
   *  changed, and serves it. Resolves to an exit code if the gateway cannot serve. */
  async #start(): Promise<number | undefined> {
    const recorded = this.#builder.readRecord()
    const first = recorded ?? (await this.#buildFirst())
    if (this.#stopSignals > 0) return EXIT.ok
    // The reason is printed already; the problem of the killed builder would blame a plugin.
    if (this.#writer.isMissing) return EXIT.runTime
    if (first.type !== 'built') return this.#reportFailedBuild(first)
    const { settings, secrets } = first
    this.#log.level(settings.log.level)
    this.#log.hide(secrets)
    await this.#writer.open(settings)
    if (this.#writer.isMissing) return EXIT.runTime
    return this.#serve(first, recorded !== undefined)
  }
  /** A build without anything prebuilt takes seconds. */
  async #buildFirst(): Promise<BuiltVersion | UnchangedBuild | BuildProblems> {
    const { say, config } = this.#options
    const timer = setTimeout(
      () => say(`building ${config} and its plugins; the next start uses what is built now`),
      SLOW_BUILD,
    )
    const build = await this.#builder.build()
    clearTimeout(timer)
    return build
  }
  #reportFailedBuild(build: BuildProblems | UnchangedBuild): number {
    if (build.type !== 'problems') return EXIT.problems
    this.#options.say(build.text)
    // Problems of the machine, not of the configuration.
    const isOfMachine = build.problems.every(({ code }) => /^(?:STORE_|DATA_FOLDER$)/.test(code))
    return isOfMachine ? EXIT.runTime : EXIT.problems
  }
  async #serve(first: BuiltVersion, isRecorded: boolean): Promise<number | undefined> {
    const { say, program } = this.#options
    const { listen } = first.settings
    const { host, port } = parseListenAddress(listen)
    const distributor = new ConnectionDistributor()
    const boundPort = await distributor
      .listen(host, port)
      .catch((error: NodeJS.ErrnoException) => error)
    if (typeof boundPort !== 'number') {
      say(describeBindError(listen, boundPort))
      return EXIT.runTime
    }
    const url = localUrl(host, boundPort, first.settings.tls ? 'https' : 'http')
    const pool = this.#createPool(first, distributor, url)
    this.#pool = pool
    const start = await pool.start(first)
    if (start !== 'serving' && isRecorded) {
      // A build tells the reason.
      pool.kill()
      this.#builder.removeRecord()
      return this.#start()
    }
    if (start !== 'serving') {
      say('failure' in start ? start.failure : start.text)
      return 'failure' in start ? EXIT.runTime : EXIT.problems
    }
    this.#builder.markLive(first)
    this.#writer.markStarted()
    this.#gateway = new LiveGateway({
      first,
      isRecorded,
      builder: this.#builder,
      pool,
      log: this.#log,
      metrics: this.#metrics,
      exposition: this.#exposition,
      url,
      program,
      say,
      draining: () => this.#stopSignals > 0,
      writer: this.#writer,
      report: () => this.#report(),
    })
    return (await this.#gateway.open()) ? undefined : EXIT.runTime
  }
  #createPool(
    { settings }: BuiltVersion,
    distributor: ConnectionDistributor,
    url: string,
  ): WorkerPool {
    return new WorkerPool({
      count: settings.workers === 'auto' ? availableParallelism() : settings.workers,
      codeFolder: resolve(settings.data, 'cache', 'code'),
      youngGeneration: settings.young_generation,
      url,
      distributor,
      log: this.#log,
      metrics: this.#metrics,
      exposition: this.#exposition,
      answer: (id, call) => answerCall(this.#gateway?.operations, id, call),
      allowances: createAllowanceOwner({
        // Only a PostgreSQL store is shared with other machines.
        machines: isPostgres(settings.database) && {
          onUnavailable: () =>
            this.#log.warn(
              {},
              'the store does not respond: each machine uses its fair share of limits',
            ),
        },
      }),
    })
  }
  #report(): void {
    const serving = this.#pool?.workers.filter(({ state }) => state === 'serving').length ?? 0
    this.#metrics.gauge('workers', {}, serving)
    this.#exposition.absorb('primary', this.#metrics.report())
  }
  /** Stops the writer last: the others may still write. */
  async #end(): Promise<void> {
    clearInterval(this.#timer)
    await this.#gateway?.unwatch()
    this.#pool?.kill()
    await this.#builder.stop()
    await this.#writer.stop()
    await this.#gateway?.close()
    this.#metrics.close()
    // A blocked log pipe must not keep the program alive.
    const timeout = new Promise(resolve => setTimeout(resolve, FLUSH_TIMEOUT).unref())
    await Promise.race([this.#log.flush(), timeout])
  }
}
