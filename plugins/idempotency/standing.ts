/** This process among those that hold claims: it counts a beat up in the store, and buries those whose beat stands still.
 *  No wall clock is in it: one that is set forward must not free a call that is under way. */
import { randomBytes } from 'node:crypto'
import type { Database } from '../../engine/plugin.ts'
import { isCode } from '../ledger/faults.ts'
import { writeSurely } from '../ledger/surely.ts'
import { beat, bury, enter, leave, OTHERS } from './statements.ts'

/** ms between two beats. */
const BEAT = 2_000
/** Looks at a beat that stands still until its process is taken for dead … */
const LOOKS = 5
/** … and beats without an answer of the store until a process lets go by itself, which is earlier. */
const HOLD = 3.5

export interface StandingOptions {
  readonly database: Pick<Database, 'write' | 'read'>
  /** What was claimed is no longer this process's own. */
  lost(): void
  readonly beat?: number
}

export class Standing {
  readonly #options: StandingOptions
  readonly #every: number
  readonly #watched = new Map<string, { readonly beat: number; readonly looks: number }>()
  #name: Promise<string> | undefined
  #until = 0
  #timer: NodeJS.Timeout | undefined
  #letGo: NodeJS.Timeout | undefined

  constructor(options: StandingOptions) {
    this.#options = options
    this.#every = options.beat ?? BEAT
  }
  /** Enters the store with the first claim: most processes never make one. */
  async name(): Promise<string> {
    // After a standstill of the whole process its timers may not have run yet.
    if (this.#timer !== undefined && performance.now() >= this.#until) this.drop()
    this.#name ??= this.#enter().catch(thrown => {
      this.#name = undefined
      throw thrown
    })
    return this.#name
  }
  /** Others may have its claims by now; it begins anew under another name. */
  drop(): void {
    clearTimeout(this.#timer)
    clearTimeout(this.#letGo)
    this.#timer = undefined
    this.#name = undefined
    this.#options.lost()
  }
  async close(): Promise<void> {
    const name = await this.#name?.catch(() => undefined)
    this.drop()
    if (name !== undefined) await this.#options.database.write([leave(name)])
  }
  async #enter(): Promise<string> {
    const name = `i_${randomBytes(8).toString('hex')}`
    const asked = performance.now()
    await writeSurely(this.#options.database, [enter(name)])
    this.#heard(asked)
    this.#next(name)
    return name
  }
  #next(name: string): void {
    this.#timer = setTimeout(() => void this.#turn(name), this.#every).unref()
  }
  async #turn(name: string): Promise<void> {
    const own = this.#timer
    try {
      const asked = performance.now()
      await writeSurely(this.#options.database, [beat(name)])
      if (this.#timer !== own) return
      this.#heard(asked)
      await this.#watch(name)
    } catch (thrown) {
      if (this.#timer === own && isCode(thrown, 'IDEMPOTENCY_BURIED')) this.drop()
      // Anything else is the store's own trouble, and the next beat tries again.
    }
    if (this.#timer === own) this.#next(name)
  }
  /** The hold counts from before the question. */
  #heard(asked: number): void {
    this.#until = asked + this.#every * HOLD
    clearTimeout(this.#letGo)
    this.#letGo = setTimeout(() => this.drop(), this.#until - performance.now()).unref()
  }
  async #watch(name: string): Promise<void> {
    const { database } = this.#options
    const gone = new Set(this.#watched.keys())
    for (const row of await database.read(OTHERS, [name])) {
      const id = String(row.id)
      const seen = Number(row.beat)
      const before = this.#watched.get(id)
      const looks = before?.beat === seen ? before.looks + 1 : 0
      gone.delete(id)
      this.#watched.set(id, { beat: seen, looks })
      if (looks >= LOOKS) await database.write([bury(id, seen)])
    }
    for (const id of gone) this.#watched.delete(id)
  }
}
