/** Process membership: registers this process in the store, sends its heartbeat, and reaps its dead
 *  peers with what they held. */
import { randomBytes } from 'node:crypto'
import { isCode } from '../kit.ts'
import type { Log, Membership, Migration, PeerListener, Sql, Statement } from '../plugin.ts'
import { monotonic } from './clock.ts'
import type { OpenDatabase } from './open-database.ts'
import { Reaper } from './reaper.ts'
import { TIMEOUTS, type Timeouts } from './timeouts.ts'

// No wall clock is in it: one that is set forward must not free what is in use. A process that
// cannot look, since the store is away, counts nothing: when the store is back every process beats
// before any has looked often enough.
/** A row per process; what a process holds goes with its row. `client`: the key under which its
 *  on-crash statements stand; `folder`: the data folder in which its progress can be read. */
export const MEMBERSHIP_TABLES: readonly Migration[] = [
  {
    number: 1,
    text: 'CREATE TABLE tollgate_processes (id TEXT PRIMARY KEY, beat BIGINT NOT NULL)',
  },
  { number: 2, text: 'ALTER TABLE tollgate_processes ADD COLUMN client BIGINT' },
  { number: 3, text: 'ALTER TABLE tollgate_processes ADD COLUMN folder TEXT' },
  // A lease had a heartbeat of its own before.
  {
    number: 4,
    text: `DROP TABLE IF EXISTS tollgate_leases;
      CREATE TABLE tollgate_leases (name TEXT PRIMARY KEY,
        process TEXT NOT NULL REFERENCES tollgate_processes (id) ON DELETE CASCADE)`,
  },
  // On-crash statements that nobody names came from an embedded store of before: the reaper finds
  // them as those of a process.
  {
    number: 5,
    text: `INSERT INTO tollgate_processes (id, beat, client)
      SELECT DISTINCT 'p_client_' || client, 0, client FROM tollgate_wills
      WHERE client NOT IN (SELECT client FROM tollgate_processes WHERE client IS NOT NULL)`,
  },
]
const sql = (name: string, text: string): Sql => ({ name: `membership: ${name}`, text })
const REGISTER = sql(
  'register',
  `INSERT INTO tollgate_processes (id, beat, client, folder) VALUES (?, 0, ?, ?)
   ON CONFLICT (id) DO NOTHING`,
)
const BEAT = sql('beat', 'UPDATE tollgate_processes SET beat = beat + 1 WHERE id = ?')
// Nothing is released for which on-crash statements stand: they say what of it is charged. Those of
// a process that did not name its key may be any that an older program left.
const LEAVE = sql(
  'leave',
  `DELETE FROM tollgate_processes WHERE id = ?
   AND NOT EXISTS (SELECT 1 FROM tollgate_wills w WHERE w.client = tollgate_processes.client)`,
)

/** The store knows no process of this name. */
const EXPELLED = 'PROCESS_GONE'

export interface MembershipOptions {
  readonly database: Pick<OpenDatabase, 'read' | 'write' | 'process'>
  readonly log: Log
  readonly timeouts?: Timeouts
  /** In place of one of its own: several processes may beat for it in turn, and it has no on-crash
   *  statements. */
  readonly name?: string
}
/** A process's own, closed with it. */
export interface OwnMembership extends Membership {
  /** Whether its heartbeat was answered lately enough that no peer takes over what it holds. */
  readonly sure: boolean
  readonly timeouts: Timeouts
  /** Looks at its peers from now on: once every listener is there. */
  start(): void
  /** A peer is known to have ended: looks at once. */
  look(): void
  /** Called when a peer was reaped, or has lost its leases. */
  onPeerLost(listener: () => void): void
  /** Beats no more: another process may beat for its name. */
  rest(): void
  /** Leaves: what it held is released. */
  close(): Promise<void>
}

/** `client`: the key under which its on-crash statements stand. */
export const registration = (name: string, client?: bigint, folder?: string): Statement => ({
  sql: REGISTER,
  values: [name, client ?? null, folder ?? null],
})

export const createMembership = (options: MembershipOptions): OwnMembership => new Own(options)

class Own implements OwnMembership {
  readonly timeouts: Timeouts
  readonly #options: MembershipOptions
  readonly #listeners = new Map<string, PeerListener>()
  readonly #reaper: Reaper
  #beating: NodeJS.Timeout | undefined
  #suspecting: NodeJS.Timeout | undefined
  #registering: Promise<string> | undefined
  /** As the store knows it; undefined between two lives. */
  #known: string | undefined
  /** Until then it is sure that its peers see its heartbeat. */
  #until = 0
  #closed = false

  constructor(options: MembershipOptions) {
    this.#options = options
    const { database, log, timeouts = TIMEOUTS } = options
    this.timeouts = timeouts
    this.#reaper = new Reaper({
      ...{ database, log, timeouts },
      listeners: () => [...this.#listeners.values()],
      isOwn: name => this.isCurrent(name),
    })
  }
  get sure(): boolean {
    return this.#known !== undefined && monotonic() < this.#until
  }
  async name(): Promise<string> {
    // After a standstill of the whole process its timers may not have run yet.
    if (this.#known !== undefined && this.sure) return this.#known
    if (this.#known !== undefined) await this.#beat(this.#known)
    if (this.#known !== undefined) return this.#known
    this.#registering ??= this.#register().finally(() => {
      this.#registering = undefined
    })
    return this.#registering
  }
  isCurrent(name: string): boolean {
    return this.#known === name
  }
  expelled(name: string): void {
    if (!this.isCurrent(name)) return
    clearTimeout(this.#beating)
    clearTimeout(this.#suspecting)
    this.#known = undefined
    for (const listener of this.#listeners.values()) listener.onExpelled?.()
  }
  listen(owner: string, listener: PeerListener): void {
    this.#listeners.set(owner, listener)
  }
  start(): void {
    if (!this.#closed) this.#reaper.start()
  }
  look(): void {
    this.#reaper.look()
  }
  onPeerLost(listener: () => void): void {
    this.#reaper.onPeerLost(listener)
  }
  rest(): void {
    this.#closed = true
    this.#reaper.stop()
    clearTimeout(this.#beating)
    clearTimeout(this.#suspecting)
  }
  async close(): Promise<void> {
    this.rest()
    const name = this.#known
    if (name === undefined) return
    this.expelled(name)
    const released = [...this.#listeners.values()].flatMap(
      each => each.reapStatements?.(name) ?? [],
    )
    const leave = { sql: LEAVE, values: [name], rows: 1, otherwise: EXPELLED }
    await this.#options.database.write([leave, ...released])
  }
  async #register(): Promise<string> {
    const { database, name: given } = this.#options
    const name = given ?? `p_${randomBytes(8).toString('hex')}`
    const asked = monotonic()
    const { key, folder } = (given === undefined && database.process) || {}
    await database.write([registration(name, key, await folder?.enter(String(key)))])
    this.#known = name
    this.#answered(asked)
    this.#nextBeat(name)
    return name
  }
  #nextBeat(name: string): void {
    this.#beating = setTimeout(() => {
      // Without the store nothing is known; the next heartbeat tries again.
      this.#beat(name)
        .catch(() => {})
        .finally(() => !this.#closed && this.isCurrent(name) && this.#nextBeat(name))
    }, this.timeouts.heartbeat).unref()
  }
  async #beat(name: string): Promise<void> {
    const asked = monotonic()
    try {
      const beat = { sql: BEAT, values: [name], rows: 1, otherwise: EXPELLED }
      await this.#options.database.write([beat])
      if (this.isCurrent(name)) this.#answered(asked)
    } catch (thrown) {
      if (!isCode(thrown, EXPELLED)) throw thrown
      this.expelled(name)
    }
  }
  /** It is sure from before the question on. */
  #answered(asked: number): void {
    // Asleep until just now: what it would have suspected then it must not forget.
    if (this.#until > 0 && monotonic() >= this.#until) this.#suspect()
    this.#until = asked + this.timeouts.suspect
    clearTimeout(this.#suspecting)
    // A process that slept may hear the answer after it is good for anything.
    const left = Math.max(0, this.#until - monotonic())
    this.#suspecting = setTimeout(() => this.#suspect(), left).unref()
  }
  #suspect(): void {
    this.#until = 0
    for (const listener of this.#listeners.values()) listener.onSuspect?.()
  }
}
