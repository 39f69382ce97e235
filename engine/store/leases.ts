/** Leases: names that one process of the installation holds at a time, as long as it is a member.
 *  */
import type { Sql } from '../plugin.ts'
import type { OwnMembership } from './membership.ts'
import type { OpenDatabase } from './open-database.ts'

const sql = (name: string, text: string): Sql => ({ name: `leases: ${name}`, text })
const ALL_LEASES = sql('all', 'SELECT name, process FROM tollgate_leases')
const TAKE = sql(
  'take',
  `INSERT INTO tollgate_leases (name, process) SELECT CAST(? AS TEXT), id FROM tollgate_processes WHERE id = ?
   ON CONFLICT (name) DO NOTHING RETURNING name`,
)
const RELEASE = sql('release', 'DELETE FROM tollgate_leases WHERE name = ? AND process = ?')

export interface Lease {
  /** Whether this process holds it now. */
  readonly isHeld: boolean
  /** Releases the lease: another process may take it at once. */
  release(): Promise<void>
}
export interface LeaseListener {
  /** This process now holds the lease. */
  onHeld(): void
  /** This process no longer holds the lease, or another one may soon hold it. */
  onLost(): void
}
export interface LeasesOptions {
  readonly database: Pick<OpenDatabase, 'read' | 'write'>
  readonly membership: OwnMembership
}

export class Leases {
  readonly #options: LeasesOptions
  readonly #listeners = new Map<string, LeaseListener>()
  /** Leases of this process by name, with the process name that holds them in the store. */
  readonly #heldBy = new Map<string, string>()
  /** Counts losses of membership: a result that was sent before a loss is ignored after it. */
  #losses = 0
  #timer: NodeJS.Timeout | undefined
  #refreshing: Promise<void> | undefined

  constructor(options: LeasesOptions) {
    this.#options = options
    const { membership } = options
    const onLoss = (): void => this.#loseAll()
    membership.listen('leases', { onSuspect: onLoss, onExpelled: onLoss })
    // A running check may have read an older state.
    membership.onPeerLost(() => {
      const running = this.#refreshing ?? Promise.resolve()
      void running
        .catch(() => {})
        .then(() => this.refresh())
        .catch(() => {})
    })
  }
  /** Requests a lease until it is released. */
  open(name: string, listener: LeaseListener): Lease {
    this.#listeners.set(name, listener)
    this.#timer ??= setInterval(
      () => void this.refresh().catch(() => {}),
      this.#options.membership.timeouts.lease,
    ).unref()
    const isHeld = (): boolean => this.#isHeld(name)
    return {
      get isHeld() {
        return isHeld()
      },
      release: () => this.#release(name),
    }
  }
  /** Reads all leases and takes the requested ones that are free. */
  refresh(): Promise<void> {
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = undefined
    })
    return this.#refreshing
  }
  #isHeld(name: string): boolean {
    const { membership } = this.#options
    const process = this.#heldBy.get(name)
    return process !== undefined && membership.isConfirmed && membership.isCurrent(process)
  }
  async #refresh(): Promise<void> {
    const { database, membership } = this.#options
    const process = await membership.name()
    const lossesBefore = this.#losses
    const rows = await database.read(ALL_LEASES, [])
    const holders = new Map(rows.map(row => [String(row.name), String(row.process)]))
    for (const [name, listener] of this.#listeners) {
      const isMine = holders.has(name)
        ? holders.get(name) === process
        : await this.#take(name, process)
      if (lossesBefore !== this.#losses) return
      if (isMine && !this.#isHeld(name)) {
        this.#heldBy.set(name, process)
        listener.onHeld()
      } else if (!isMine && this.#heldBy.delete(name)) listener.onLost()
    }
  }
  async #take(name: string, process: string): Promise<boolean> {
    const [rows = []] = await this.#options.database.write([{ sql: TAKE, values: [name, process] }])
    return rows.length > 0
  }
  async #release(name: string): Promise<void> {
    this.#listeners.delete(name)
    if (this.#listeners.size === 0) {
      clearInterval(this.#timer)
      this.#timer = undefined
    }
    const process = this.#heldBy.get(name)
    this.#heldBy.delete(name)
    if (process !== undefined)
      await this.#options.database.write([{ sql: RELEASE, values: [name, process] }])
  }
  #loseAll(): void {
    this.#losses++
    const names = [...this.#heldBy.keys()]
    this.#heldBy.clear()
    for (const name of names) this.#listeners.get(name)?.onLost()
  }
}
