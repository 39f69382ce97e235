/** One process's hold on one name of the installation, in the database. Knows nothing of what is done under it. */

import type { Database, Migration, Row, Sql, Value } from '../plugin.ts'
import { monotonic } from './clock.ts'

// No clock is in it: a holder counts `beat` up, and whoever saw that stand still for a whole lease, by its own
// monotonic clock, takes over. A wall clock that is set forward must not let two processes work at once.
export const LEASE_TABLE: readonly Migration[] = [
  {
    number: 1,
    text: `CREATE TABLE tollgate_leases (
      name TEXT PRIMARY KEY, holder TEXT NOT NULL, beat BIGINT NOT NULL)`,
  },
]
const LOOK: Sql = {
  name: 'lease look',
  text: 'SELECT holder, beat FROM tollgate_leases WHERE name = ?',
}
const CLAIM: Sql = {
  name: 'lease claim',
  text: `INSERT INTO tollgate_leases (holder, name, beat) VALUES (?, ?, 0)
    ON CONFLICT (name) DO NOTHING RETURNING beat`,
}
const BEAT: Sql = {
  name: 'lease beat',
  text: 'UPDATE tollgate_leases SET beat = beat + 1 WHERE holder = ? AND name = ? RETURNING beat',
}
const TAKE: Sql = {
  name: 'lease take',
  text: `UPDATE tollgate_leases SET holder = ?, beat = beat + 1
    WHERE name = ? AND holder = ? AND beat = ? RETURNING beat`,
}
const LEAVE: Sql = {
  name: 'lease leave',
  text: 'DELETE FROM tollgate_leases WHERE holder = ? AND name = ?',
}

export interface LeaseOptions {
  readonly database: Pick<Database, 'read' | 'write'>
  readonly name: string
  /** Unique in the installation. */
  readonly holder: string
  /** ms without a beat until another process may take over. */
  readonly ms: number
  readonly now?: () => number
  /** The hold is lost, or too close to its end to go on. */
  lost(): void
}
/** A holder that cannot beat lets go this early, so that its work has ended when another's begins. */
const LET_GO = 0.7

export class Lease {
  readonly #options: LeaseOptions
  readonly #now: () => number
  #until = Number.NEGATIVE_INFINITY
  #timer: NodeJS.Timeout | undefined
  #seen = ''
  #seenAt = 0

  constructor(options: LeaseOptions) {
    this.#options = options
    this.#now = options.now ?? monotonic
  }
  get held(): boolean {
    return this.#now() < this.#until
  }
  /** Beats, takes over, or goes on watching. */
  async keep(): Promise<void> {
    const { database, name, holder, ms } = this.#options
    // The hold counts from before the question; the others count from when they saw its answer.
    const asked = this.#now()
    const [found] = await database.read(LOOK, [name])
    if (found !== undefined && found.holder !== holder) this.#letGo()
    if (!(await this.#write(...this.#move(found, asked)))) return
    this.#until = asked + ms * LET_GO
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#letGo(), this.#until - this.#now()).unref()
  }
  async leave(): Promise<void> {
    this.#letGo()
    await this.#write(LEAVE)
  }
  #letGo(): void {
    clearTimeout(this.#timer)
    this.#until = Number.NEGATIVE_INFINITY
    this.#options.lost()
  }
  #move(found: Row | undefined, asked: number): [sql?: Sql, values?: readonly Value[]] {
    if (found === undefined) return [CLAIM]
    const { holder = null, beat = null } = found
    if (holder === this.#options.holder) return [BEAT]
    if (this.#seen === `${holder} ${beat}`)
      return asked - this.#seenAt >= this.#options.ms ? [TAKE, [holder, beat]] : []
    this.#seen = `${holder} ${beat}`
    this.#seenAt = this.#now()
    return []
  }
  async #write(sql?: Sql, more: readonly Value[] = []): Promise<boolean> {
    const { database, holder, name } = this.#options
    if (sql === undefined) return false
    const [rows = []] = await database.write([{ sql, values: [holder, name, ...more] }])
    return rows.length > 0
  }
}
