/** Process membership: registers this process in the store, sends its heartbeat, and reaps crashed
 *  peers with their reservations. */
import { randomBytes } from 'node:crypto'
import { isCode } from '../kit.ts'
import type { Log, Membership, Migration, PeerListener, Sql, Statement } from '../plugin.ts'
import { monotonic } from './clock.ts'
import type { OpenDatabase } from './open-database.ts'
import { Reaper } from './reaper.ts'
import { TIMEOUTS, type Timeouts } from './timeouts.ts'

// No wall clock is used: a clock set forward must not release reservations in use. A process counts
// no silence while the store is unavailable: once the store is back, every process sends a
// heartbeat before any peer has made enough checks.
/** A row per process; its reservations are removed with the row. `client`: key of its on-crash
 *  statements; `folder`: the data folder with its progress counts. */
export const MEMBERSHIP_TABLES: readonly Migration[] = [
  {
    number: 1,
    text: 'CREATE TABLE tollgate_processes (id TEXT PRIMARY KEY, beat BIGINT NOT NULL)',
  },
  { number: 2, text: 'ALTER TABLE tollgate_processes ADD COLUMN client BIGINT' },
  { number: 3, text: 'ALTER TABLE tollgate_processes ADD COLUMN folder TEXT' },
  // Earlier versions had a heartbeat per lease.
  {
    number: 4,
    text: `DROP TABLE IF EXISTS tollgate_leases;
      CREATE TABLE tollgate_leases (name TEXT PRIMARY KEY,
        process TEXT NOT NULL REFERENCES tollgate_processes (id) ON DELETE CASCADE)`,
  },
  // On-crash statements without a process come from an earlier embedded store: they get a process
  // row so that the reaper finds them.
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
const HEARTBEAT = sql('beat', 'UPDATE tollgate_processes SET beat = beat + 1 WHERE id = ?')
// A process with on-crash statements keeps its row: they decide how much of its reservations is
// charged.
const LEAVE = sql(
  'leave',
  `DELETE FROM tollgate_processes WHERE id = ?
   AND NOT EXISTS (SELECT 1 FROM tollgate_wills w WHERE w.client = tollgate_processes.client)`,
)

/** The store has no process of this name. */
const EXPELLED = 'PROCESS_GONE'

export interface MembershipOptions {
  readonly database: Pick<OpenDatabase, 'read' | 'write' | 'process'>
  readonly log: Log
  readonly timeouts?: Timeouts
  /** Fixed name instead of a random one: several processes may send its heartbeat in turn, and it
   *  has no on-crash statements. */
  readonly name?: string
}
/** The membership of this process, closed with the process. */
export interface OwnMembership extends Membership {
  /** Whether a heartbeat was confirmed recently enough that no peer can take over its
   *  reservations. */
  readonly isConfirmed: boolean
  readonly timeouts: Timeouts
  /** Starts to check the peers. Call it after every listener has been added. */
  start(): void
  /** Checks the peers at once, because one is known to have ended. */
  checkPeers(): void
  /** Adds a listener for peers that were reaped or have lost their leases. */
  onPeerLost(listener: () => void): void
  /** Aborts `leaving`. */
  leave(): void
  /** Stops the heartbeat; another process may continue it for the same name. */
  stopHeartbeat(): void
  /** Leaves the installation and releases the reservations. */
  close(): Promise<void>
}

/** `client`: key of the on-crash statements of the process. */
export const registration = (name: string, client?: bigint, folder?: string): Statement => ({
  sql: REGISTER,
  values: [name, client ?? null, folder ?? null],
})

export const createMembership = (options: MembershipOptions): OwnMembership =>
  new ProcessMembership(options)

class ProcessMembership implements OwnMembership {
  readonly timeouts: Timeouts
  readonly #leaving = new AbortController()
  readonly #options: MembershipOptions
  readonly #listeners = new Map<string, PeerListener>()
  readonly #reaper: Reaper
  #heartbeatTimer: NodeJS.Timeout | undefined
  #suspectTimer: NodeJS.Timeout | undefined
  #registering: Promise<string> | undefined
  /** Registered name; undefined before the first registration and after an expulsion. */
  #registeredName: string | undefined
  /** Monotonic time until which peers see a current heartbeat. */
  #confirmedUntil = 0
  #closed = false

  constructor(options: MembershipOptions) {
    this.#options = options
    const { database, log, timeouts = TIMEOUTS } = options
    this.timeouts = timeouts
    this.#reaper = new Reaper({
      database,
      log,
      timeouts,
      listeners: () => [...this.#listeners.values()],
      isOwn: name => this.isCurrent(name),
    })
  }
  get isConfirmed(): boolean {
    return this.#registeredName !== undefined && monotonic() < this.#confirmedUntil
  }
  async name(): Promise<string> {
    // After the process was suspended, its timers may not have run yet.
    if (this.#registeredName !== undefined && this.isConfirmed) return this.#registeredName
    if (this.#registeredName !== undefined) await this.#sendHeartbeat(this.#registeredName)
    if (this.#registeredName !== undefined) return this.#registeredName
    this.#registering ??= this.#register().finally(() => {
      this.#registering = undefined
    })
    return this.#registering
  }
  isCurrent(name: string): boolean {
    return this.#registeredName === name
  }
  reportExpelled(name: string): void {
    if (!this.isCurrent(name)) return
    clearTimeout(this.#heartbeatTimer)
    clearTimeout(this.#suspectTimer)
    this.#registeredName = undefined
    for (const listener of this.#listeners.values()) listener.onExpelled?.()
  }
  get leaving(): AbortSignal {
    return this.#leaving.signal
  }
  leave(): void {
    this.#leaving.abort()
  }
  listen(owner: string, listener: PeerListener): void {
    this.#listeners.set(owner, listener)
  }
  start(): void {
    if (!this.#closed) this.#reaper.start()
  }
  checkPeers(): void {
    this.#reaper.check()
  }
  onPeerLost(listener: () => void): void {
    this.#reaper.onPeerLost(listener)
  }
  stopHeartbeat(): void {
    this.#closed = true
    this.#reaper.stop()
    clearTimeout(this.#heartbeatTimer)
    clearTimeout(this.#suspectTimer)
  }
  async close(): Promise<void> {
    this.stopHeartbeat()
    const name = this.#registeredName
    if (name === undefined) return
    this.reportExpelled(name)
    const releases = [...this.#listeners.values()].flatMap(
      each => each.reapStatements?.(name) ?? [],
    )
    const leave = { sql: LEAVE, values: [name], rows: 1, otherwise: EXPELLED }
    await this.#options.database.write([leave, ...releases])
  }
  async #register(): Promise<string> {
    const { database, name: fixedName } = this.#options
    const name = fixedName ?? `p_${randomBytes(8).toString('hex')}`
    const sentAt = monotonic()
    const { key, folder } = (fixedName === undefined && database.process) || {}
    await database.write([registration(name, key, await folder?.enter(String(key)))])
    this.#registeredName = name
    this.#confirm(sentAt)
    this.#scheduleHeartbeat(name)
    return name
  }
  #scheduleHeartbeat(name: string): void {
    this.#heartbeatTimer = setTimeout(() => {
      // The store is unavailable; the next heartbeat tries again.
      this.#sendHeartbeat(name)
        .catch(() => {})
        .finally(() => !this.#closed && this.isCurrent(name) && this.#scheduleHeartbeat(name))
    }, this.timeouts.heartbeat).unref()
  }
  async #sendHeartbeat(name: string): Promise<void> {
    const sentAt = monotonic()
    try {
      const beat = { sql: HEARTBEAT, values: [name], rows: 1, otherwise: EXPELLED }
      await this.#options.database.write([beat])
      if (this.isCurrent(name)) this.#confirm(sentAt)
    } catch (error) {
      if (!isCode(error, EXPELLED)) throw error
      this.reportExpelled(name)
    }
  }
  /** A confirmed heartbeat counts from the time `sentAt` when it was sent. */
  #confirm(sentAt: number): void {
    // The process was suspended past the deadline: it still has to report the suspicion.
    if (this.#confirmedUntil > 0 && monotonic() >= this.#confirmedUntil) this.#suspect()
    this.#confirmedUntil = sentAt + this.timeouts.suspect
    clearTimeout(this.#suspectTimer)
    // A process that was suspended may receive the confirmation after the deadline.
    const delay = Math.max(0, this.#confirmedUntil - monotonic())
    this.#suspectTimer = setTimeout(() => this.#suspect(), delay).unref()
  }
  #suspect(): void {
    this.#confirmedUntil = 0
    for (const listener of this.#listeners.values()) listener.onSuspect?.()
  }
}
