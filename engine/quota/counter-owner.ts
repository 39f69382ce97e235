/** Counter owner: grants units of shared counters to the workers of a machine, and revokes unused
 *  units. */

import { monotonic } from '../store/clock.ts'
import type {
  Channel,
  Revocation,
  StoreResult,
  UnitGrant,
  UnitRequest,
  UnitReturn,
  UnusedUnits,
} from './channel.ts'
import { createCounter, type SharedCounter, startWindow } from './count.ts'
import { MachineLeases, type MachineLeasesOptions } from './machine-leases.ts'

export interface AllowanceOwner {
  attach(worker: number, channel: Channel): void
  /** Removes a worker that ended. Its held units are free again; its window units stay used. */
  detach(worker: number): void
  close(): void
}
export interface OwnerOptions {
  readonly now?: () => number
  /** Longest wait for a worker that does not answer a revocation, ms. */
  readonly revokeTimeout?: number
  /** Windows per name; beyond that the oldest are forgotten. */
  readonly keys?: number
  /** Whether several machines share the counters, in the store of the workers. */
  readonly machines?:
    | boolean
    | Partial<
        Pick<MachineLeasesOptions, 'storeTimeout' | 'retryDelay' | 'interval' | 'onUnavailable'>
      >
}

type Counters = Map<string, SharedCounter>

class CounterOwner implements AllowanceOwner {
  readonly #now: () => number
  readonly #revokeTimeout: number
  readonly #keys: number
  readonly #channels = new Map<number, Channel>()
  readonly #countersByName = new Map<string, Counters>()
  readonly #leases: MachineLeases | undefined
  #round = 0

  constructor({
    now = monotonic,
    revokeTimeout: patience = 1_000,
    keys = 100_000,
    machines = false,
  }: OwnerOptions) {
    this.#now = now
    this.#revokeTimeout = patience
    this.#keys = keys
    if (machines === false) return
    const pace = {
      storeTimeout: 1_000,
      retryDelay: 5_000,
      interval: 500,
      ...(machines !== true && machines),
    }
    this.#leases = new MachineLeases({
      ...pace,
      now,
      channelOf: worker => this.#channels.get(worker),
      find: number => this.#find(number),
      all: () => [...this.#countersByName.values()].flatMap(book => [...book.values()]),
      wake: count => this.#wake(count),
    })
  }

  attach(worker: number, channel: Channel): void {
    this.#channels.set(worker, channel)
    channel.on(received => {
      const message = received as UnitRequest | UnitReturn | StoreResult
      if (message?.type !== 'allowance' || this.#channels.get(worker) !== channel) return
      if (message.verb === 'ask') this.#onRequest(worker, message)
      else if (message.verb === 'return') this.#onReturn(worker, message)
      else this.#leases?.onMessage(worker, message)
    })
  }

  detach(worker: number): void {
    this.#channels.delete(worker)
    for (const book of this.#countersByName.values())
      for (const count of book.values()) {
        if (count.kind === 'held') this.#credit(count, worker, count.holders.get(worker) ?? 0n)
        count.holders.delete(worker)
        const left = count.pending.filter(entry => entry.worker !== worker)
        count.pending.splice(0, count.pending.length, ...left)
        if (!this.#onRevoked(book, count, worker)) this.#forget(book, count)
      }
    this.#leases?.detach(worker)
  }
  close(): void {
    this.#leases?.close()
  }

  #onRequest(worker: number, ask: UnitRequest): void {
    const book = this.#countersOf(ask.name)
    const count = book.get(ask.key) ?? this.#create(book, ask)
    this.#takeBack(count, worker, ask)
    count.pending.push({ worker, ask })
    if (count.revoking.size === 0 && !count.lease.isRequesting) this.#serve(book, count)
  }

  #onReturn(worker: number, message: UnitReturn): void {
    const book = this.#countersOf(message.name)
    const count = book.get(message.key)
    // The window has ended, and its units are void.
    if (count === undefined) return
    this.#takeBack(count, worker, message)
    // After the timeout of its round, an answer only returns units.
    const awaited = message.round === count.round && count.revoking.has(worker)
    if (!awaited || !this.#onRevoked(book, count, worker)) this.#forget(book, count)
  }

  /** Decides the requests of one key in order. Before a refusal it revokes unused units of other
   *  workers. */
  #serve(book: Counters, count: SharedCounter): void {
    for (let first = count.pending[0]; first !== undefined; first = count.pending[0]) {
      const { worker, ask } = first
      const now = this.#now()
      if (count.kind === 'window' && now >= count.since + ask.ms)
        this.#startWindow(book, count, now)
      count.ends = count.since + ask.ms
      const left = this.#limitOf(count, ask) - count.out
      const amount = BigInt(ask.amount)
      if (left < amount && count.outstanding.size > 0) return this.#revoke(book, count)
      if (left < amount && !ask.spent && this.#leases?.requestMore(count, worker, ask, amount))
        return
      count.pending.shift()
      this.#sendGrant(count, worker, ask, ask.spent ? amount : this.#grant(left, amount))
      if (ask.spent) this.#leases?.reportOverdraft(count, worker, ask)
      if (count.lease.isRequesting) return
    }
    this.#leases?.release(count)
    this.#forget(book, count)
  }

  #limitOf(count: SharedCounter, ask: UnitRequest): bigint {
    return this.#leases ? this.#leases.limitOf(count, ask) : BigInt(ask.limit)
  }
  /** Time before which a further request is useless; other machines may return units before the
   *  window ends. */
  #retryAt(count: SharedCounter, ask: UnitRequest): number {
    return this.#leases ? count.lease.retryAt : count.since + ask.ms
  }
  #find(number: string): SharedCounter | undefined {
    const [name = '', key = ''] = number.split('\n', 2)
    return this.#countersByName.get(name)?.get(key)
  }
  /** Serves pending requests, or revokes units that other machines need. */
  #wake(count: SharedCounter): void {
    const book = this.#countersOf(count.name)
    if (count.revoking.size > 0 || count.lease.isRequesting) return
    if (count.lease.isReturnRequested && count.outstanding.size > 0) this.#revoke(book, count)
    else this.#serve(book, count)
  }
  /** The amount plus half of a fair share of the rest: large slices far from the limit, single
   *  units near it. */
  #grant(left: bigint, amount: bigint): bigint {
    if (left < amount) return 0n
    return amount + (left - amount) / BigInt(2 * Math.max(1, this.#channels.size))
  }

  #sendGrant(count: SharedCounter, worker: number, ask: UnitRequest, granted: bigint): void {
    const before = this.#limitOf(count, ask) - count.out
    count.out += granted
    if (count.kind === 'held')
      count.holders.set(worker, (count.holders.get(worker) ?? 0n) + granted)
    if (granted > BigInt(ask.amount)) count.outstanding.add(worker)
    this.#channels.get(worker)?.send({
      type: 'allowance',
      verb: 'answer',
      id: ask.id,
      granted: String(granted),
      left: String(before - granted + (this.#leases ? max(count.lease.left, 0n) : 0n)),
      since: count.since,
      again: count.kind === 'window' && before <= 0n ? this.#retryAt(count, ask) : 0,
    } satisfies UnitGrant)
  }

  #revoke(book: Counters, count: SharedCounter): void {
    for (const worker of count.outstanding) count.revoking.add(worker)
    count.round = ++this.#round
    // A worker that hangs must not delay the others; its units return later.
    count.timer = setTimeout(() => {
      for (const worker of [...count.revoking]) this.#onRevoked(book, count, worker)
    }, this.#revokeTimeout).unref()
    const { round, kind, name, key } = count
    const recall: Revocation = { type: 'allowance', verb: 'recall', kind, round, name, key }
    for (const worker of [...count.revoking]) this.#channels.get(worker)?.send(recall)
  }

  /** Records an answer to a revocation. Returns whether it was the last one, after which pending
   *  requests are served. */
  #onRevoked(book: Counters, count: SharedCounter, worker: number): boolean {
    count.outstanding.delete(worker)
    if (!count.revoking.delete(worker) || count.revoking.size > 0) return false
    clearTimeout(count.timer)
    this.#serve(book, count)
    return true
  }

  #takeBack(count: SharedCounter, worker: number, { free, since }: UnusedUnits): void {
    if (count.kind !== 'window' || since === count.since) this.#credit(count, worker, BigInt(free))
  }

  #credit(count: SharedCounter, worker: number, units: bigint): void {
    count.out -= units
    const held = count.holders.get(worker)
    if (held === undefined) return
    if (held > units) count.holders.set(worker, held - units)
    else count.holders.delete(worker)
  }

  #countersOf(name: string): Counters {
    const found = this.#countersByName.get(name)
    if (found !== undefined) return found
    const book: Counters = new Map()
    this.#countersByName.set(name, book)
    return book
  }

  /** Creates a counter. The map stays ordered by window start, so ended windows are at its head. */
  #create(book: Counters, handed: UnusedUnits): SharedCounter {
    const now = this.#now()
    if (handed.kind === 'window')
      for (const [oldest, count] of book) {
        if (count.revoking.size > 0 || (count.ends > now && book.size < this.#keys)) break
        book.delete(oldest)
      }
    const count = createCounter(handed, now)
    book.set(count.key, count)
    return count
  }

  #startWindow(book: Counters, count: SharedCounter, now: number): void {
    startWindow(count, now)
    book.delete(count.key)
    book.set(count.key, count)
  }

  /** Deletes an idle held counter at zero; windows are deleted after their end. */
  #forget(book: Counters, count: SharedCounter): void {
    const { lease, out, pending: waiting, revoking: recalled, kind } = count
    const idle = waiting.length === 0 && recalled.size === 0 && !lease.isRequesting
    if (idle && kind !== 'window' && out === 0n && lease.units === 0n) book.delete(count.key)
  }
}

/** Creates the counter owner of the primary. Attach the channel of each worker, and detach it when
 *  the worker has ended. */
export const createAllowanceOwner = (options: OwnerOptions = {}): AllowanceOwner =>
  new CounterOwner(options)
const max = (one: bigint, other: bigint): bigint => (one > other ? one : other)
