/** Keeps the request log of a worker in files, as the live settings say. */
import type { Settings } from '../config/settings.ts'
import type { ProcessLog } from '../observe/log.ts'
import type { Metrics } from '../plugin.ts'
import { requestFolder } from './files.ts'
import { RequestWriter } from './writer.ts'

export class RequestKeeper {
  readonly #log: ProcessLog
  readonly #metrics: Metrics
  #writer: RequestWriter | undefined
  #bounds = ''

  constructor(log: ProcessLog, metrics: Metrics) {
    this.#log = log
    this.#metrics = metrics
    process.on('exit', () => this.#writer?.writeNow())
  }
  /** After each version that goes live. */
  apply({ data, request_log: bounds }: Pick<Settings, 'data' | 'request_log'>): void {
    const text = JSON.stringify(bounds ?? null)
    if (text === this.#bounds) return
    this.#bounds = text
    void this.#writer?.close()
    const folder = requestFolder(data)
    this.#writer =
      bounds && new RequestWriter({ folder, bounds, log: this.#log, metrics: this.#metrics })
    const writer = this.#writer
    this.#log.keep(writer && (line => writer.write(line)))
  }
  async close(): Promise<void> {
    this.#log.keep(undefined)
    await this.#writer?.close()
  }
}
