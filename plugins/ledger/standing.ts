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
  /** The name as the store knows it; undefined between two lives. */
  #known: string | undefined

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
  /** Whether this is still its name: of what it held under another, nothing is left. */
  goesBy(name: string): boolean {
    return this.#known === name
  }
  /** The store said that nobody goes by this name any more. */
  lost(name: string): void {
    if (!this.goesBy(name)) return
    this.#known = undefined
    this.#name = undefined
    this.#buried()
  }
  close(): void {
    clearInterval(this.#timer)
  }
  async #enter(): Promise<string> {
    const name = `p_${randomBytes(8).toString('hex')}`
    await writeSurely(this.#database, [sayHello(name, await this.#database.now())])
    this.#known = name
    return name
  }
  async #beat(): Promise<void> {
    const name = await this.#name?.catch(() => undefined)
    if (name === undefined) return
    try {
      await this.#database.write([sayAlive(name, await this.#database.now())])
    } catch (thrown) {
      // Anything else is the store's own trouble, and the next beat tries again.
      if (isCode(thrown, 'SHARE_GONE')) this.lost(name)
    }
  }
}
