/** A gateway whose workers serve: its admin listener, reloads, run.json and the watch of its
 *  files. */
import { resolve } from 'node:path'
import { publicUrl, type Settings } from '../../config/settings.ts'
import { type Watch, watchFiles } from '../../config/watch.ts'
import type { ProcessLog } from '../../observe/log.ts'
import type { GatewayMetrics } from '../../observe/metrics.ts'
import { type AdminListener, listenAdmin } from '../admin-listener.ts'
import { type AdminRoutesOptions, adminEndpoints, configView } from '../admin-routes.ts'
import { formatBanner } from '../banner.ts'
import type { BuilderClient } from '../builder-client.ts'
import type { OperationParts } from '../gateway/operations.ts'
import { describeBindError, localUrl, parseListenAddress } from '../listen-address.ts'
import type { BuiltVersion } from '../messages.ts'
import { Reloader } from '../reload.ts'
import { removeRunFile, writeRunFile } from '../running-gateway.ts'

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
const DEFAULT_ADMIN = '127.0.0.1:9090'

export class LiveGateway {
  readonly #options: LiveGatewayOptions
  readonly #reloader: Reloader
  readonly #data: string
  readonly #storageWatch: StorageWatch
  #admin: AdminListener | undefined
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
    const admin = await this.#listen(first.settings.admin)
    if (admin === undefined) return false
    writeRunFile(this.#data, { pid: process.pid, url, admin })
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
  /** Returns the URL of the admin listener. */
  async #listen(address: string): Promise<string | undefined> {
    const { host, port } = parseListenAddress(address)
    const options = {
      host,
      ...adminEndpoints(this.#adminOptions()),
      hosts: () => this.settings.admin_hosts,
    }
    try {
      this.#admin = await listenAdmin({ ...options, port })
    } catch (error) {
      this.#options.say(describeBindError(address, error as NodeJS.ErrnoException, 'admin'))
      // Only the default port may be replaced by a free one; a configured port is not changed.
      if (address !== DEFAULT_ADMIN) return undefined
      this.#admin = await listenAdmin({ ...options, port: 0 })
    }
    return localUrl(host, this.#admin.address.port)
  }
}
