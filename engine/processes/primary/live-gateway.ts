/** A gateway whose workers serve: its admin listener, reloads, run.json and the watch of its
 *  files. */
import { resolve } from 'node:path'
import { publicUrl, type Settings } from '../../config/settings.ts'
import { type Watch, watchFiles } from '../../config/watch.ts'
import type { ProcessLog } from '../../observe/log.ts'
import type { GatewayMetrics } from '../../observe/metrics.ts'
import { storeIdentity } from '../../store/address.ts'
import { type AdminRoutesOptions, adminEndpoints, configView } from '../admin-routes.ts'
import { formatBanner } from '../banner.ts'
import type { BuilderClient } from '../builder-client.ts'
import type { OperationParts } from '../gateway/operations.ts'
import type { BuiltVersion } from '../messages.ts'
import { Reloader } from '../reload.ts'
import { removeRunFile, writeRunFile } from '../running-gateway.ts'
import { type OpenAdmin, openAdmin } from './open-admin.ts'
import { type StorageWatch, watchStorage } from './storage-watch.ts'
import { notifyReady } from './systemd.ts'

export interface LiveGatewayOptions
  extends Pick<
    AdminRoutesOptions,
    'pool' | 'exposition' | 'url' | 'draining' | 'writer' | 'report'
  > {
  /** The version that the workers serve. */
  readonly first: BuiltVersion
  /** Whether that is the version of the last start: the first check of the files builds it anew. */
  readonly isRecorded: boolean
  readonly builder: BuilderClient
  readonly log: ProcessLog
  readonly metrics: GatewayMetrics
  /** Name and version of the program, for the banner. */
  readonly program: string
  /** Prints to stderr. */
  say(text: string): void
}

export class LiveGateway {
  readonly #options: LiveGatewayOptions
  readonly #reloader: Reloader
  readonly #data: string
  readonly #storageWatch: StorageWatch
  #admin: OpenAdmin | undefined
  #watch: Watch | undefined

  constructor(options: LiveGatewayOptions) {
    const { first, builder, pool, log, metrics } = options
    this.#options = options
    this.#data = resolve(first.settings.data)
    this.#storageWatch = watchStorage(first.settings, log)
    this.#reloader = new Reloader({
      first,
      builder,
      pool,
      log,
      metrics,
      say: text => options.say(text),
      watch: places => this.#watch?.update(places),
    })
  }
  /** Settings of the live version. */
  get settings(): Settings {
    return this.#reloader.serving.settings
  }
  /** Opens the admin listener, prints the banner and watches the files. Resolves to false, and
   *  prints the reason, if the admin listener cannot be opened. */
  async open(): Promise<boolean> {
    const { first, isRecorded, pool, program, url, say } = this.#options
    this.#admin = await this.#listen()
    if (this.#admin === undefined) return false
    const { url: admin, socket } = this.#admin
    const store = storeIdentity(first.settings.database, this.#data)
    writeRunFile(this.#data, { pid: process.pid, url, admin, store, ...(socket && { socket }) })
    say(formatBanner({ program, url, admin, workers: pool.workers.length, builtVersion: first }))
    let isWelcomeDue = isRecorded
    if (!isRecorded) await this.#welcome()
    const onChange = async () => {
      await this.#reloader.filesChanged()
      if (isWelcomeDue) {
        isWelcomeDue = false
        await this.#welcome()
      }
    }
    this.#watch = watchFiles({ places: first.watchedPaths, onChange })
    notifyReady()
    return true
  }
  /** Prints the texts of plugins for the operator. */
  async #welcome(): Promise<void> {
    const { first, builder, url, say } = this.#options
    for (const text of await builder.welcome(publicUrl(first.settings, url))) say(text)
  }
  /** The parts that calls of `host.gateway` use. */
  get operations(): OperationParts {
    const options = this.#adminOptions()
    return { ...options, view: () => configView(options) }
  }
  reload(): void {
    void this.#reloader.reload()
  }
  async unwatch(): Promise<void> {
    await this.#watch?.close()
  }
  async close(): Promise<void> {
    this.#storageWatch.close()
    await this.#admin?.close()
    removeRunFile(this.#data, process.pid)
  }

  #adminOptions() {
    const dataFault = (): string | undefined => this.#storageWatch.reason
    const options = { ...this.#options, reloader: this.#reloader, dataFault }
    return options satisfies AdminRoutesOptions
  }
  async #listen(): Promise<OpenAdmin | undefined> {
    const { first, log, say } = this.#options
    return openAdmin({
      address: first.settings.admin,
      data: this.#data,
      endpoints: {
        ...adminEndpoints(this.#adminOptions()),
        metricsKey: () => this.settings.metrics_key,
        hosts: () => this.settings.admin_hosts,
      },
      log,
      say: text => say(text),
    })
  }
}
