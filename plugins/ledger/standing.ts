/** This process as the ledger knows it: a name in the store, and a sign of life at intervals. */
import { randomBytes } from 'node:crypto'
import type { Database } from '../../engine/plugin.ts'
import { isCode } from './faults.ts'
import { sayAlive, sayHello } from './processes.ts'
import { writeSurely } from './surely.ts'

/** ms between two signs of life … */
const BEAT = 5_000
/** … and without one until a process is taken for dead. */
export const DEAD_AFTER = 20_000

export class Standing {
  readonly #database: Pick<Database, 'write' | 'now'>
  readonly #buried: () => void
  readonly #timer: NodeJS.Timeout
  #name: Promise<string> | undefined

  /** `buried`: the store took this process for dead; what it held is gone, and it begins anew. */
  constructor(database: Pick<Database, 'write' | 'now'>, buried: () => void) {
    this.#database = database
    this.#buried = buried
    this.#timer = setInterval(() => void this.#beat(), BEAT)
    this.#timer.unref()
  }
  /** Enters the store with the first call: most processes hold nothing. */
  name(): Promise<string> {
    this.#name ??= this.#enter().catch(thrown => {
      this.#name = undefined
      throw thrown
    })
    return this.#name
  }
  close(): void {
    clearInterval(this.#timer)
  }
  async #enter(): Promise<string> {
    const name = `p_${randomBytes(8).toString('hex')}`
    await writeSurely(this.#database, [sayHello(name, await this.#database.now())])
    return name
  }
  async #beat(): Promise<void> {
    const name = await this.#name?.catch(() => undefined)
    if (name === undefined) return
    try {
      await this.#database.write([sayAlive(name, await this.#database.now())])
    } catch (thrown) {
      // Anything else is the store's own trouble, and the next beat tries again.
      if (!isCode(thrown, 'SHARE_GONE')) return
      this.#name = undefined
      this.#buried()
    }
  }
}
