/** The cache of one process: answers in memory, those of the store behind them, and equal requests
 *  that wait for the first one.
 *
 *  find ──entry───────────────────────▶ served
 *  find ──nothing, first──────────────▶ leads: its answer, or its end, wakes the others
 *  find ──nothing, another one leads──▶ waits ──entry──▶ served
 *                                             ──the leader failed──▶ find, one of them leads
 *                                             ──not storable, or too long──▶ sent alone */
import { setTimeout as pause } from 'node:timers/promises'
import type { HostBase } from '../../engine/plugin.ts'
import type { Entry } from './entry.ts'
import { type Leader, leaderStatements } from './leader-tables.ts'
import { Leaders, type LeaderTimes, type Lease } from './leaders.ts'
import { Memory } from './memory.ts'
import type { Exact } from './section.ts'
import {
  addEntry,
  entryOf,
  FIND,
  OLDEST,
  PURGES,
  removeExpired,
  removeUntil,
  SIZE,
  type StoredEntry,
} from './tables.ts'

/** Answers that wait until the store has them; more are only in memory. */
const MAX_UNWRITTEN = 100
const PAGE = 500
/** How many ms rows are kept: those of leaders whose answer could not be stored, and those of
 *  leaders that renew them no more (a running one does so every two seconds). */
const UNSTORABLE_KEPT = 2_000
const LEADER_KEPT = 60_000

/** The end of a leader: an entry, an answer that cannot be stored, or a failure. */
type FlightEnd = Entry | 'unstorable' | 'failed'
export interface Flight {
  readonly done: Promise<FlightEnd>
  /** Only the first call counts. */
  end(how: FlightEnd): void
}
/** `flight`: the caller leads and must end it. Neither: the caller is alone. */
export interface Lookup {
  readonly entry?: Entry
  readonly flight?: Flight
}

/** `deadline`: a time of `performance.now()`. */
interface Search {
  readonly key: string
  readonly oldest: number
  readonly deadline: number
  readonly signal: AbortSignal
}

export class Cache {
  readonly #host: Pick<HostBase, 'database' | 'log'>
  readonly #options: Exact
  readonly #memory: Memory
  readonly #flights = new Map<string, Flight>()
  /** Undefined: each process decides for its own requests. */
  readonly #leaders: Leaders | undefined
  readonly #leases = new Map<string, Lease>()
  #unwritten = 0
  #purges: number | undefined

  constructor(host: Pick<HostBase, 'database' | 'log'>, options: Exact, times?: LeaderTimes) {
    this.#host = host
    this.#options = options
    this.#memory = new Memory(options.memory)
    if (options.leader === 'store') this.#leaders = new Leaders(host, times)
  }
  /** Rejects with the reason of `signal`. `oldest`: ms since 1970 of the oldest answer that the
   *  client takes; `threshold`: the similarity from which on it takes one to another text. */
  async find(
    key: string,
    oldest: number,
    signal: AbortSignal,
    threshold = Infinity,
  ): Promise<Lookup> {
    const deadline = performance.now() + this.#options.wait
    for (;;) {
      const entry =
        this.#recent(key, oldest) ??
        (await this.#read(key, oldest)) ??
        // A leader may have ended meanwhile.
        this.#recent(key, oldest)
      if (entry) return { entry }
      const running = this.#flights.get(key)
      if (!running) return this.#lead({ key, oldest, deadline, signal })
      const how = await this.#await(running, deadline - performance.now(), signal)
      // The first request may have got the answer to a similar one, by a lower threshold.
      if (typeof how === 'object' && how.at >= oldest && (how.similarity ?? Infinity) >= threshold)
        return { entry: how }
      if (how !== 'failed') return {}
    }
  }
  /** Leads in this process, and in all of them if the store lets it. */
  async #lead(search: Search): Promise<Lookup> {
    const flight = this.lead(search.key)
    if (!this.#leaders) return { flight }
    try {
      return await this.#leadForAll(this.#leaders, flight, search)
    } catch (error) {
      // Its client has left: another request of this process leads.
      if (search.signal.aborted) flight.end('failed')
      search.signal.throwIfAborted()
      this.#host.log.warn({ error: (error as Error).message }, 'the cache cannot choose a leader')
      return { flight }
    }
  }
  async #leadForAll(
    leaders: Leaders,
    flight: Flight,
    { key, oldest, deadline, signal }: Search,
  ): Promise<Lookup> {
    const { stale, look } = leaders.times
    let known: Leader | undefined
    let changedAt = performance.now()
    for (;;) {
      const isDead = known !== undefined && performance.now() - changedAt >= stale
      const lease =
        isDead && known ? await leaders.replace(key, known) : (known ?? (await leaders.take(key)))
      if (lease && 'take' in lease) {
        const leased = this.#leased(key, flight, lease)
        // An earlier leader may have stored its answer since the last look.
        const stored = await this.#read(key, oldest)
        if (stored) leased.end(stored)
        return stored ? { entry: stored } : { flight: leased }
      }
      const leader = await leaders.look(key)
      const entry = await this.#read(key, oldest)
      if (entry) flight.end(entry)
      if (entry) return { entry }
      if (leader?.isStorable === false) flight.end('unstorable')
      if (leader?.isStorable === false) return {}
      if (leader?.owner !== known?.owner || leader?.beat !== known?.beat)
        changedAt = performance.now()
      known = leader
      // It waits no longer, and leads in this process only.
      if (performance.now() >= deadline) return { flight }
      if (leader) await pause(look, undefined, { signal })
    }
  }
  /** A flight whose end is that of the lease. */
  #leased(key: string, flight: Flight, lease: Lease): Flight {
    this.#leases.set(key, lease)
    void flight.done.then(how => {
      if (this.#leases.get(key) === lease) this.#leases.delete(key)
      lease.end(how === 'unstorable' ? how : 'failed')
    })
    return flight
  }
  /** Leads without a look for an answer. */
  lead(key: string): Flight {
    const { promise, resolve } = Promise.withResolvers<FlightEnd>()
    const flight: Flight = {
      done: promise,
      end: how => {
        if (this.#flights.get(key) === flight) this.#flights.delete(key)
        resolve(how)
      },
    }
    this.#flights.set(key, flight)
    return flight
  }
  async #await(flight: Flight, ms: number, signal: AbortSignal): Promise<FlightEnd | 'late'> {
    const timer = new AbortController()
    const any = AbortSignal.any([signal, timer.signal])
    const late = pause(Math.max(0, ms), 'late' as const, { signal: any }).catch(
      () => 'late' as const,
    )
    const how = await Promise.race([flight.done, late])
    timer.abort()
    signal.throwIfAborted()
    return how
  }
  #recent(key: string, oldest: number): Entry | undefined {
    const entry = this.#memory.get(key)
    if (!entry) return undefined
    if (entry.at + this.#options.ttl > Date.now()) return entry.at >= oldest ? entry : undefined
    this.#memory.delete(key)
    return undefined
  }
  /** A store that is away is a miss. */
  async #read(key: string, oldest: number): Promise<Entry | undefined> {
    try {
      const [row] = await this.#host.database.read(FIND, [key, Date.now()])
      const entry = row && entryOf(row)
      if (!entry || entry.at < oldest) return undefined
      this.#memory.set(key, entry)
      return entry
    } catch (error) {
      this.#host.log.warn({ error: (error as Error).message }, 'the cache cannot be read')
      return undefined
    }
  }
  /** Stores an answer, in memory at once. */
  add(entry: Omit<StoredEntry, 'expires'>): void {
    this.#memory.set(entry.id, { request: entry.request, at: entry.at, text: entry.text })
    if (this.#unwritten >= MAX_UNWRITTEN) return
    this.#unwritten++
    const statement = addEntry({ ...entry, expires: entry.at + this.#options.ttl })
    // In one list: a process that reads no leader any more reads the answer.
    const end = this.#leases.get(entry.id)?.take()
    this.#host.database
      .write(end ? [statement, end] : [statement])
      .catch(error =>
        this.#host.log.warn({ error: (error as Error).message }, 'an answer is not in the cache'),
      )
      .finally(() => this.#unwritten--)
  }
  /** Forgets all answers in memory once another process has removed some. */
  async followPurges(): Promise<void> {
    const [row] = await this.#host.database.read(PURGES, [])
    const purges = Number(row?.purges ?? 0)
    // Also at the first look: a purge may have come between an answer and it.
    if (this.#purges !== purges) this.#memory.clear()
    this.#purges = purges
  }
  /** Removes what has expired from the store, and then the oldest beyond its bytes. */
  async sweep(signal: AbortSignal): Promise<void> {
    const { database } = this.#host
    const now = await database.now()
    await database.write([
      removeExpired(now, PAGE),
      leaderStatements.removeOld(now - UNSTORABLE_KEPT, now - LEADER_KEPT),
    ])
    for (;;) {
      const [size] = await database.read(SIZE, [])
      let excess = Number(size?.bytes ?? 0) - this.#options.store
      if (excess <= 0 || signal.aborted) return
      const rows = await database.read(OLDEST, [PAGE])
      let until = 0
      for (const { at, bytes } of rows) {
        until = Number(at)
        excess -= Number(bytes)
        if (excess <= 0) break
      }
      await database.write([removeUntil(until)])
    }
  }
}
