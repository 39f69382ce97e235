/** Leases: names of which each is held by one process of the installation at a time, for as long as
 *  it is a member. */
import type { Sql } from '../plugin.ts'
import type { OwnMembership } from './membership.ts'
import type { OpenDatabase } from './open-database.ts'

const sql = (name: string, text: string): Sql => ({ name: `leases: ${name}`, text })
const ALL = sql('all', 'SELECT name, process FROM tollgate_leases')
const TAKE = sql(
  'take',
  `INSERT INTO tollgate_leases (name, process) SELECT CAST(? AS TEXT), id FROM tollgate_processes WHERE id = ?
   ON CONFLICT (name) DO NOTHING RETURNING name`,
)
const RELEASE = sql('release', 'DELETE FROM tollgate_leases WHERE name = ? AND process = ?')

export interface Lease {
  /** Whether this process holds it now. */
  readonly held: boolean
  /** Hands it back: another process may take it at once. */
  release(): Promise<void>
}
export interface LeaseListener {
  /** This process holds it from now on. */
  onHeld(): void
  /** It is held no more, or another process may soon hold it. */
  onLost(): void
}
export interface LeasesOptions {
  readonly database: Pick<OpenDatabase, 'read' | 'write'>
  readonly membership: OwnMembership
}

export class Leases {
  readonly #options: LeasesOptions
  readonly #wanted = new Map<string, LeaseListener>()
  /** What the store said was this process's, and under which of its names. */
  readonly #held = new Map<string, string>()
  /** Counts the times that this process was in doubt: what the store said before is not believed
   *  afterwards. */
  #doubts = 0
  #timer: NodeJS.Timeout | undefined
  #looking: Promise<void> | undefined

  constructor(options: LeasesOptions) {
    this.#options = options
    const { membership } = options
    const lose = (): void => this.#loseAll()
    membership.listen('leases', { onSuspect: lose, onExpelled: lose })
    // What a look under way has read may be older than that.
    membership.onPeerLost(() => {
      const before = this.#looking ?? Promise.resolve()
      void before
        .catch(() => {})
        .then(() => this.look())
        .catch(() => {})
    })
  }
  /** Wants a name from now on, until it is released. */
  open(name: string, listener: LeaseListener): Lease {
    this.#wanted.set(name, listener)
    this.#timer ??= setInterval(
      () => void this.look().catch(() => {}),
      this.#options.membership.timeouts.lease,
    ).unref()
    const isHeld = (): boolean => this.#isHeld(name)
    return {
      get held() {
        return isHeld()
      },
      release: () => this.#release(name),
    }
  }
  /** Looks who holds what, and takes what is free. */
  look(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined
    })
    return this.#looking
  }
  #isHeld(name: string): boolean {
    const { membership } = this.#options
    const process = this.#held.get(name)
    return process !== undefined && membership.sure && membership.isCurrent(process)
  }
  async #look(): Promise<void> {
    const { database, membership } = this.#options
    const process = await membership.name()
    const doubts = this.#doubts
    const rows = await database.read(ALL, [])
    const holders = new Map(rows.map(row => [String(row.name), String(row.process)]))
    for (const [name, listener] of this.#wanted) {
      const mine = holders.has(name)
        ? holders.get(name) === process
        : await this.#take(name, process)
      if (doubts !== this.#doubts) return
      if (mine && !this.#isHeld(name)) {
        this.#held.set(name, process)
        listener.onHeld()
      } else if (!mine && this.#held.delete(name)) listener.onLost()
    }
  }
  async #take(name: string, process: string): Promise<boolean> {
    const [rows = []] = await this.#options.database.write([{ sql: TAKE, values: [name, process] }])
    return rows.length > 0
  }
  async #release(name: string): Promise<void> {
    this.#wanted.delete(name)
    if (this.#wanted.size === 0) {
      clearInterval(this.#timer)
      this.#timer = undefined
    }
    const process = this.#held.get(name)
    this.#held.delete(name)
    if (process !== undefined)
      await this.#options.database.write([{ sql: RELEASE, values: [name, process] }])
  }
  #loseAll(): void {
    this.#doubts++
    const lost = [...this.#held.keys()]
    this.#held.clear()
    for (const name of lost) this.#wanted.get(name)?.onLost()
  }
}
