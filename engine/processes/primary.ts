/** The primary: starts the builder, the store's writer and the workers, heeds signals and the operator, ends them in order. */
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { EXIT } from '../cli/kit.ts'
import { type Watch, watchFiles } from '../config/watch.ts'
import { createLog } from '../observe/log.ts'
import { createMetrics } from '../observe/metrics.ts'
import { createAllowanceOwner } from '../quota/counter-owner.ts'
import { forkWriter, isPostgres, locate } from '../store/database.ts'
import { type Admin, listenAdmin } from './admin-listener.ts'
import { adminEndpoints } from './admin-routes.ts'
import { banner } from './banner.ts'
import { Workshop } from './builder-client.ts'
import { Child } from './child.ts'
import { Door } from './connection-distributor.ts'
import { claimedBy } from './instance-lock.ts'
import { cannotListen, splitAddress, urlOf } from './listen-address.ts'
import type { Built, StoreSettings } from './messages.ts'
import { createExposition } from './metrics-exposition.ts'
import { Reloads } from './reload.ts'
import { announce, withdraw } from './running-gateway.ts'
import { heed } from './signals.ts'
import { Crew } from './worker-pool.ts'

export interface StartOptions {
  /** Path of routes.yaml. */
  readonly config: string
  /** Of the program, for the banner. */
  readonly program: string
  /** Where people read: stderr, since stdout is the log's. */
  say(text: string): void
}
const DEFAULT_ADMIN = '127.0.0.1:9090'
const METRICS = 5_000
interface WriterMessage {
  readonly type: string
  readonly message?: string
}

/** Runs until a signal ends it. Resolves to the exit code. */
export const startGateway = async (options: StartOptions): Promise<number> => {
  const primary = new Primary(options)
  const unheed = heed(primary)
  try {
    return await primary.run()
  } finally {
    unheed()
  }
}

class Primary {
  readonly #options: StartOptions
  readonly #log = createLog({ level: 'info', process: 'primary' })
  readonly #metrics = createMetrics('primary')
  readonly #exposition = createExposition()
  readonly #workshop: Workshop
  readonly #stopped = Promise.withResolvers<number>()
  readonly #timer: NodeJS.Timeout
  #writer: Child<{ readonly type: 'stop' }, WriterMessage> | undefined
  #crew: Crew | undefined
  #reloads: Reloads | undefined
  #watch: Watch | undefined
  #admin: Admin | undefined
  #data: string | undefined
  #claimed: Promise<string | undefined> | undefined
  #signals = 0
  /** There is no store to begin with. */
  #lacking = false

  constructor(options: StartOptions) {
    this.#options = options
    this.#workshop = new Workshop({
      ...{ config: options.config, log: this.#log, exposition: this.#exposition },
      needsStore: store => void this.#openStore(store),
    })
    this.#timer = setInterval(() => this.#report(), METRICS)
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
    void this.#reloads?.reload()
  }
  renew(): void {
    void this.#crew?.renew()
  }
  /** The first time in order, the second time at once. */
  async stop(code: number): Promise<void> {
    this.#signals++
    if (this.#signals > 1) {
      this.#crew?.kill()
      return this.#stopped.resolve(code)
    }
    const settings = this.#reloads?.serving.settings
    this.#log.info({ grace: settings?.timeouts.drain }, 'draining')
    if (settings) await this.#crew?.drain(settings.timeouts.drain)
    this.#stopped.resolve(EXIT.ok)
  }

  /** Resolves to an exit code if it cannot serve. */
  async #start(): Promise<number | undefined> {
    const { say } = this.#options
    const built = await this.#workshop.build()
    if (this.#signals > 0) return EXIT.ok
    // Said already, and what the builder says as it is ended would blame a plugin.
    if (this.#lacking) return EXIT.runTime
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
    if (this.#lacking) return EXIT.runTime
    const door = new Door()
    const { host, port } = splitAddress(settings.listen)
    const bound = await door.listen(host, port).catch((error: NodeJS.ErrnoException) => error)
    if (typeof bound !== 'number') {
      say(cannotListen(settings.listen, bound))
      return EXIT.runTime
    }
    const crew = this.#makeCrew(built, door)
    this.#crew = crew
    const start = await crew.start(built)
    if (start !== 'serving') {
      say('cannot' in start ? start.cannot : start.text)
      return 'cannot' in start ? EXIT.runTime : EXIT.problems
    }
    this.#workshop.live(built)
    return this.#open(built, crew, urlOf(host, bound))
  }
  #makeCrew({ settings }: Built, door: Door): Crew {
    return new Crew({
      count: settings.workers === 'auto' ? availableParallelism() : settings.workers,
      codeFolder: resolve(settings.data, 'cache', 'code'),
      ...{ door, log: this.#log, metrics: this.#metrics, exposition: this.#exposition },
      allowances: createAllowanceOwner({
        // Only there other machines may count the same.
        machines: isPostgres(settings.database) && {
          lost: () => this.#log.warn({}, 'the store does not answer: limits go by fair shares'),
        },
      }),
    })
  }
  /** It serves: now the operator may see it, change it, and is told so. */
  async #open(built: Built, crew: Crew, url: string): Promise<number | undefined> {
    const { say } = this.#options
    const { settings } = built
    const workshop = this.#workshop
    const reloads = new Reloads({
      ...{ first: built, workshop, crew, say, log: this.#log, metrics: this.#metrics },
      watch: places => this.#watch?.update(places),
    })
    this.#reloads = reloads
    const admin = await this.#listenAdmin(settings.admin, crew, reloads, url)
    if (!admin) return EXIT.runTime
    this.#data = resolve(settings.data)
    announce(this.#data, { pid: process.pid, url, admin })
    const { program } = this.#options
    say(banner({ program, url, admin, workers: crew.members.length, built }))
    for (const text of await workshop.welcome(publicUrl(built, url))) say(text)
    const changed = (): void => void reloads.changed()
    this.#watch = watchFiles({ places: built.watched, changed })
    return undefined
  }
  async #listenAdmin(written: string, crew: Crew, reloads: Reloads, url: string) {
    const { host, port } = splitAddress(written)
    const endpoints = adminEndpoints({
      ...{ crew, reloads, url, exposition: this.#exposition },
      draining: () => this.#signals > 0,
      storeLost: () => this.#writer?.looping === true,
      report: () => this.#report(),
    })
    const options = { host, ...endpoints, hosts: () => reloads.serving.settings.admin_hosts }
    try {
      this.#admin = await listenAdmin({ ...options, port })
    } catch (error) {
      const why = cannotListen(written, error as NodeJS.ErrnoException, 'admin')
      this.#options.say(why)
      // Nobody asked for this very port; whoever did must not find another one.
      if (written !== DEFAULT_ADMIN) return undefined
      this.#admin = await listenAdmin({ ...options, port: 0 })
    }
    return urlOf(host, this.#admin.address.port)
  }
  async #openStore(store: StoreSettings): Promise<void> {
    this.#claimed ??= claimedBy(store.data)
    const reason = await this.#claimed
    if (reason === undefined) this.#startWriter(store)
    else this.#lack(reason)
  }
  /** It cannot begin: said once, and the end. */
  #lack(reason: string): void {
    if (this.#lacking) return
    this.#lacking = true
    this.#options.say(reason)
    this.#stopped.resolve(EXIT.runTime)
  }
  #startWriter({ database: url, data, durability }: StoreSettings): void {
    // There every process connects by itself.
    if (isPostgres(url)) return
    const address = locate(url, data)
    this.#writer ??= new Child({
      name: 'writer',
      log: this.#log,
      start: () => forkWriter(address, { durability }),
      heard: ({ type, message }) => {
        if (type === 'warning') this.#log.warn({ message }, 'the writer warns')
        if (type !== 'failed') return
        this.#log.error({ message }, 'the writer cannot start')
        if (this.#reloads) return
        const why = message ?? 'the store cannot be opened'
        this.#lack(
          `${why}; the store is ${address.file}, named by settings.database or settings.data (DATABASE_URL, TOLLGATE_DATA)`,
        )
      },
    })
  }
  #report(): void {
    this.#metrics.gauge('workers', {}, this.#serving())
    this.#exposition.absorb('primary', this.#metrics.report())
  }
  #serving(): number {
    return this.#crew?.members.filter(({ state }) => state === 'serving').length ?? 0
  }
  /** The writer goes last: the others may still have something to be kept. */
  async #end(): Promise<void> {
    clearInterval(this.#timer)
    await this.#watch?.close()
    this.#crew?.kill()
    await this.#workshop.stop()
    await this.#writer?.stop({ type: 'stop' })
    await this.#admin?.close()
    if (this.#data) withdraw(this.#data, process.pid)
    this.#metrics.close()
    // A reader of the log that stopped reading must not keep the program.
    await Promise.race([this.#log.flush(), new Promise(late => setTimeout(late, 500).unref())])
  }
}

const publicUrl = ({ settings }: Built, url: string): string =>
  settings.public_url === `http://${settings.listen}` ? url : settings.public_url
