/** Writes rows that may be lost, beside the requests. The first list that the store does not take
 *  is logged; its owner counts what is lost. */
import type { Database, Log, Metrics, Statement } from '../../engine/plugin.ts'

export interface Parts {
  readonly database: Pick<Database, 'write'>
  readonly log: Log
  readonly metrics: Pick<Metrics, 'count'>
}

export class BackgroundWrites {
  readonly #parts: Pick<Parts, 'database' | 'log'>
  readonly #what: string
  #isFailing = false

  /** `what`: the rows, as the log names them. */
  constructor(parts: Pick<Parts, 'database' | 'log'>, what: string) {
    this.#parts = parts
    this.#what = what
  }
  /** Resolves to whether the store has taken the list. */
  async write(list: readonly Statement[]): Promise<boolean> {
    try {
      await this.#parts.database.write(list)
      this.#isFailing = false
      return true
    } catch (error) {
      if (!this.#isFailing) this.#parts.log.warn({ error }, `${this.#what} could not be written`)
      this.#isFailing = true
      return false
    }
  }
}
