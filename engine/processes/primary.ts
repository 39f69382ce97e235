/** The primary process: starts the builder, the store's writer and the workers, handles signals and
 *  admin requests, and stops its children in order. */
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { EXIT } from '../cli/kit.ts'
import { type Watch, watchFiles } from '../config/watch.ts'
import { createLog } from '../observe/log.ts'
import { createMetrics } from '../observe/metrics.ts'
import { createAllowanceOwner } from '../quota/counter-owner.ts'
import { forkWriter, isPostgres, locate } from '../store/database.ts'
import { type AdminListener, listenAdmin } from './admin-listener.ts'
import { adminEndpoints } from './admin-routes.ts'
import { formatBanner } from './banner.ts'
import { BuilderClient } from './builder-client.ts'
import { Child } from './child.ts'
import { ConnectionDistributor } from './connection-distributor.ts'
import { checkInstanceLock } from './instance-lock.ts'
import { describeBindError, localUrl, parseListenAddress } from './listen-address.ts'
import type { BuiltVersion, StoreSettings } from './messages.ts'
import { createExposition } from './metrics-exposition.ts'
import { Reloader } from './reload.ts'
import { removeRunFile, writeRunFile } from './running-gateway.ts'
import { onSignals } from './signals.ts'
import { WorkerPool } from './worker-pool.ts'

export interface StartOptions {
  /** Path of routes.yaml. */
  readonly config: string
  /** Name and version of the program, for the banner. */
  readonly program: string
  /** Prints to stderr; stdout carries the log. */
  say(text: string): void
}
const DEFAULT_ADMIN = '127.0.0.1:9090'
const METRICS_INTERVAL = 5_000
interface WriterMessage {
  readonly type: string
  readonly message?: string
}

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
  readonly #stopped = Promise.withResolvers<number>()
  readonly #timer: NodeJS.Timeout
  #writer: Child<{ readonly type: 'stop' }, WriterMessage> | undefined
  #pool: WorkerPool | undefined
  #reloader: Reloader | undefined
  #watch: Watch | undefined
  #admin: AdminListener | undefined
  #data: string | undefined
  #lockCheck: Promise<string | undefined> | undefined
  #signals = 0
  /** Whether the start failed for lack of a store. */
  #isStoreMissing = false

  constructor(options: StartOptions) {
    this.#options = options
    this.#builder = new BuilderClient({
      config: options.config,
      log: this.#log,
      exposition: this.#exposition,
      needsStore: store => void this.#openStore(store),
    })
    this.#timer = setInterval(() => this.#report(), METRICS_INTERVAL)
  }
  async run(): Promise<number> {
    try {
      const failed = await Promise.race([this.#start(), this.#stopped.promise])
      return failed ?? (await this.#stopped.promise)
    } finally {
      await this.#end()
    }
  }
  reload(): void {
    void this.#reloader?.reload()
  }
  renew(): void {
    void this.#pool?.renew()
  }
  /** Drains on the first call, kills the workers on the second. */
  async stop(code: number): Promise<void> {
    this.#signals++
    if (this.#signals > 1) {
      this.#pool?.kill()
      return this.#stopped.resolve(code)
    }
    const settings = this.#reloader?.serving.settings
    this.#log.info({ grace: settings?.timeouts.drain }, 'draining')
    if (settings) await this.#pool?.drain(settings.timeouts.drain)
    this.#stopped.resolve(EXIT.ok)
  }

  /** Resolves to an exit code if the gateway cannot serve. */
  async #start(): Promise<number | undefined> {
    const { say } = this.#options
    const built = await this.#builder.build()
    if (this.#signals > 0) return EXIT.ok
    // The reason is printed already; the problem of the killed builder would blame a plugin.
    if (this.#isStoreMissing) return EXIT.runTime
    if (built.type !== 'built') {
      if (built.type !== 'problems') return EXIT.problems
      say(built.text)
      const elsewhere = built.problems.every(({ code }) => /^(?:STORE_|DATA_FOLDER$)/.test(code))
      return elsewhere ? EXIT.runTime : EXIT.problems
    }
    const { settings } = built
    this.#log.level(settings.log.level)
    this.#log.hide(built.secrets)
    await this.#openStore(settings)
    if (this.#isStoreMissing) return EXIT.runTime
    const distributor = new ConnectionDistributor()
    const { host, port } = parseListenAddress(settings.listen)
    const boundPort = await distributor
      .listen(host, port)
      .catch((error: NodeJS.ErrnoException) => error)
    if (typeof boundPort !== 'number') {
      say(describeBindError(settings.listen, boundPort))
      return EXIT.runTime
    }
    const pool = this.#createPool(built, distributor)
    this.#pool = pool
    const start = await pool.start(built)
    if (start !== 'serving') {
      say('cannot' in start ? start.cannot : start.text)
      return 'cannot' in start ? EXIT.runTime : EXIT.problems
    }
    this.#builder.markLive(built)
    return this.#open(built, pool, localUrl(host, boundPort))
  }
  #createPool({ settings }: BuiltVersion, distributor: ConnectionDistributor): WorkerPool {
    return new WorkerPool({
      count: settings.workers === 'auto' ? availableParallelism() : settings.workers,
      codeFolder: resolve(settings.data, 'cache', 'code'),
      distributor,
      log: this.#log,
      metrics: this.#metrics,
      exposition: this.#exposition,
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
  /** Opens the admin listener, prints the banner and watches the files, once workers serve. */
  async #open(built: BuiltVersion, pool: WorkerPool, url: string): Promise<number | undefined> {
    const { say } = this.#options
    const { settings } = built
    const builder = this.#builder
    const reloader = new Reloader({
      first: built,
      builder,
      pool,
      say,
      log: this.#log,
      metrics: this.#metrics,
      watch: places => this.#watch?.update(places),
    })
    this.#reloader = reloader
    const admin = await this.#listenAdmin(settings.admin, pool, reloader, url)
    if (!admin) return EXIT.runTime
    this.#data = resolve(settings.data)
    writeRunFile(this.#data, { pid: process.pid, url, admin })
    const { program } = this.#options
    say(formatBanner({ program, url, admin, workers: pool.workers.length, built }))
    for (const text of await builder.welcome(publicUrl(built, url))) say(text)
    const changed = (): void => void reloader.filesChanged()
    this.#watch = watchFiles({ places: built.watched, onChange: changed })
    return undefined
  }
  async #listenAdmin(address: string, pool: WorkerPool, reloader: Reloader, url: string) {
    const { host, port } = parseListenAddress(address)
    const endpoints = adminEndpoints({
      pool,
      reloader,
      url,
      exposition: this.#exposition,
      draining: () => this.#signals > 0,
      storeLost: () => this.#writer?.looping === true,
      report: () => this.#report(),
    })
    const options = { host, ...endpoints, hosts: () => reloader.serving.settings.admin_hosts }
    try {
      this.#admin = await listenAdmin({ ...options, port })
    } catch (error) {
      const why = describeBindError(address, error as NodeJS.ErrnoException, 'admin')
      this.#options.say(why)
      // Only the default port may be replaced by a free one; a configured port is not changed.
      if (address !== DEFAULT_ADMIN) return undefined
      this.#admin = await listenAdmin({ ...options, port: 0 })
    }
    return localUrl(host, this.#admin.address.port)
  }
  async #openStore(store: StoreSettings): Promise<void> {
    this.#lockCheck ??= checkInstanceLock(store.data)
    const reason = await this.#lockCheck
    if (reason === undefined) this.#startWriter(store)
    else this.#failStart(reason)
  }
  /** Ends a start that has no store; prints the reason once. */
  #failStart(reason: string): void {
    if (this.#isStoreMissing) return
    this.#isStoreMissing = true
    this.#options.say(reason)
    this.#stopped.resolve(EXIT.runTime)
  }
  #startWriter({ database: url, data, durability }: StoreSettings): void {
    // Every process connects to PostgreSQL by itself.
    if (isPostgres(url)) return
    const address = locate(url, data)
    this.#writer ??= new Child({
      name: 'writer',
      log: this.#log,
      start: () => forkWriter(address, { durability }),
      onMessage: ({ type, message }) => {
        if (type === 'warning') this.#log.warn({ message }, 'the writer warns')
        if (type !== 'failed') return
        this.#log.error({ message }, 'the writer cannot start')
        if (this.#reloader) return
        const why = message ?? 'the store cannot be opened'
        this.#failStart(
          `${why}; the store is ${address.file}, set by settings.database or settings.data (DATABASE_URL, TOLLGATE_DATA)`,
        )
      },
    })
  }
  #report(): void {
    this.#metrics.gauge('workers', {}, this.#serving())
    this.#exposition.absorb('primary', this.#metrics.report())
  }
  #serving(): number {
    return this.#pool?.workers.filter(({ state }) => state === 'serving').length ?? 0
  }
  /** Stops the writer last: the others may still write. */
  async #end(): Promise<void> {
    clearInterval(this.#timer)
    await this.#watch?.close()
    this.#pool?.kill()
    await this.#builder.stop()
    await this.#writer?.stop({ type: 'stop' })
    await this.#admin?.close()
    if (this.#data) removeRunFile(this.#data, process.pid)
    this.#metrics.close()
    // A blocked log pipe must not keep the program alive.
    await Promise.race([this.#log.flush(), new Promise(late => setTimeout(late, 500).unref())])
  }
}

const publicUrl = ({ settings }: BuiltVersion, url: string): string =>
  settings.public_url === `http://${settings.listen}` ? url : settings.public_url
