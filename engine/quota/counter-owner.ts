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
import { MachineLeases, type MachineLeasesOptions } from './machine-leases.ts'
import { createCounter, type SharedCounter, startWindow } from './shared-counter.ts'

export interface AllowanceOwner {
  attach(worker: number, channel: Channel): void
  /** Removes a worker that ended. Its held units are free again; its window units stay used. */
  detach(worker: number): void
  close(): void
}
export interface OwnerOptions {
  readonly now?: () => number
  /** Longest wait for a worker that does not respond to a revocation, ms. */
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
    revokeTimeout = 1_000,
    keys = 100_000,
    machines = false,
  }: OwnerOptions) {
    this.#now = now
    this.#revokeTimeout = revokeTimeout
    this.#keys = keys
    if (machines === false) return
    const timing = {
      storeTimeout: 1_000,
      retryDelay: 5_000,
      interval: 500,
      ...(machines !== true && machines),
    }
    this.#leases = new MachineLeases({
      ...timing,
      now,
      channelOf: worker => this.#channels.get(worker),
      find: number => this.#find(number),
      all: () => [...this.#countersByName.values()].flatMap(counters => [...counters.values()]),
      wake: counter => this.#wake(counter),
    })
  }

  attach(worker: number, channel: Channel): void {
    this.#channels.set(worker, channel)
    channel.on(raw => {
      const message = raw as UnitRequest | UnitReturn | StoreResult
      if (message?.type !== 'allowance' || this.#channels.get(worker) !== channel) return
      if (message.verb === 'request') this.#onRequest(worker, message)
      else if (message.verb === 'return') this.#onReturn(worker, message)
      else this.#leases?.onMessage(worker, message)
    })
  }

  detach(worker: number): void {
    this.#channels.delete(worker)
    for (const counters of this.#countersByName.values())
      for (const counter of counters.values()) {
        if (counter.kind === 'held')
          this.#credit(counter, worker, counter.holders.get(worker) ?? 0n)
        counter.holders.delete(worker)
        const others = counter.pending.filter(entry => entry.worker !== worker)
        counter.pending.splice(0, counter.pending.length, ...others)
        if (!this.#onRevoked(counters, counter, worker)) this.#forget(counters, counter)
      }
    this.#leases?.detach(worker)
  }
  close(): void {
    this.#leases?.close()
  }

  #onRequest(worker: number, request: UnitRequest): void {
    const counters = this.#countersOf(request.name)
    const counter = counters.get(request.key) ?? this.#create(counters, request)
    this.#takeBack(counter, worker, request)
    counter.pending.push({ worker, request })
    if (counter.revoking.size === 0 && !counter.lease.isRequesting) this.#serve(counters, counter)
  }

  #onReturn(worker: number, message: UnitReturn): void {
    const counters = this.#countersOf(message.name)
    const counter = counters.get(message.key)
    // The window has ended, and its units are void.
    if (counter === undefined) return
    this.#takeBack(counter, worker, message)
    // After the timeout of its round, the message only returns units.
    const isAwaited = message.round === counter.round && counter.revoking.has(worker)
    if (!isAwaited || !this.#onRevoked(counters, counter, worker)) this.#forget(counters, counter)
  }

  /** Decides the requests of one key in order. Before a refusal it revokes unused units of other
   *  workers. */
  #serve(counters: Counters, counter: SharedCounter): void {
    for (let first = counter.pending[0]; first !== undefined; first = counter.pending[0]) {
      const { worker, request } = first
      const now = this.#now()
      if (counter.kind === 'window' && now >= counter.since + request.ms)
        this.#startWindow(counters, counter, now)
      counter.ends = counter.since + request.ms
      const remaining = this.#limitOf(counter, request) - counter.unitsInUse
      const amount = BigInt(request.amount)
      if (remaining < amount && counter.outstanding.size > 0) return this.#revoke(counters, counter)
      if (
        remaining < amount &&
        !request.isSpent &&
        this.#leases?.requestMore(counter, worker, request, amount)
      )
        return
      counter.pending.shift()
      this.#sendGrant(
        counter,
        worker,
        request,
        request.isSpent ? amount : this.#grant(remaining, amount),
      )
      if (request.isSpent) this.#leases?.reportOverdraft(counter, worker, request)
      if (counter.lease.isRequesting) return
    }
    this.#leases?.release(counter)
    this.#forget(counters, counter)
  }

  #limitOf(counter: SharedCounter, request: UnitRequest): bigint {
    return this.#leases ? this.#leases.limitOf(counter, request) : BigInt(request.limit)
  }
  /** Time before which a further request is useless; other machines may return units before the
   *  window ends. */
  #retryAt(counter: SharedCounter, request: UnitRequest): number {
    return this.#leases ? counter.lease.retryAt : counter.since + request.ms
  }
  #find(number: string): SharedCounter | undefined {
    const [name = '', key = ''] = number.split('\n', 2)
    return this.#countersByName.get(name)?.get(key)
  }
  /** Serves pending requests, or revokes units that other machines need. */
  #wake(counter: SharedCounter): void {
    const counters = this.#countersOf(counter.name)
    if (counter.revoking.size > 0 || counter.lease.isRequesting) return
    if (counter.lease.isReturnRequested && counter.outstanding.size > 0)
      this.#revoke(counters, counter)
    else this.#serve(counters, counter)
  }
  /** The amount plus half of a fair share of the rest: large slices far from the limit, single
   *  units near it. */
  #grant(remaining: bigint, amount: bigint): bigint {
    if (remaining < amount) return 0n
    return amount + (remaining - amount) / BigInt(2 * Math.max(1, this.#channels.size))
  }

  #sendGrant(counter: SharedCounter, worker: number, request: UnitRequest, units: bigint): void {
    const available = this.#limitOf(counter, request) - counter.unitsInUse
    counter.unitsInUse += units
    if (counter.kind === 'held')
      counter.holders.set(worker, (counter.holders.get(worker) ?? 0n) + units)
    if (units > BigInt(request.amount)) counter.outstanding.add(worker)
    this.#channels.get(worker)?.send({
      type: 'allowance',
      verb: 'grant',
      id: request.id,
      units: String(units),
      remaining: String(available - units + (this.#leases ? max(counter.lease.remaining, 0n) : 0n)),
      since: counter.since,
      retryAt: counter.kind === 'window' && available <= 0n ? this.#retryAt(counter, request) : 0,
    } satisfies UnitGrant)
  }

  #revoke(counters: Counters, counter: SharedCounter): void {
    for (const worker of counter.outstanding) counter.revoking.add(worker)
    counter.round = ++this.#round
    // A worker that hangs must not delay the others; its units return later.
    counter.timer = setTimeout(() => {
      for (const worker of [...counter.revoking]) this.#onRevoked(counters, counter, worker)
    }, this.#revokeTimeout).unref()
    const { round, kind, name, key } = counter
    const revocation: Revocation = { type: 'allowance', verb: 'revoke', kind, round, name, key }
    for (const worker of [...counter.revoking]) this.#channels.get(worker)?.send(revocation)
  }

  /** Records that a worker has responded to a revocation. Returns whether it was the last one: then
   *  pending requests are served. */
  #onRevoked(counters: Counters, counter: SharedCounter, worker: number): boolean {
    counter.outstanding.delete(worker)
    if (!counter.revoking.delete(worker) || counter.revoking.size > 0) return false
    clearTimeout(counter.timer)
    this.#serve(counters, counter)
    return true
  }

  #takeBack(counter: SharedCounter, worker: number, { free, since }: UnusedUnits): void {
    if (counter.kind !== 'window' || since === counter.since)
      this.#credit(counter, worker, BigInt(free))
  }

  #credit(counter: SharedCounter, worker: number, units: bigint): void {
    counter.unitsInUse -= units
    const heldUnits = counter.holders.get(worker)
    if (heldUnits === undefined) return
    if (heldUnits > units) counter.holders.set(worker, heldUnits - units)
    else counter.holders.delete(worker)
  }

  #countersOf(name: string): Counters {
    const existing = this.#countersByName.get(name)
    if (existing !== undefined) return existing
    const counters: Counters = new Map()
    this.#countersByName.set(name, counters)
    return counters
  }

  /** Creates a counter. The map stays ordered by window start, so ended windows are at its head. */
  #create(counters: Counters, units: UnusedUnits): SharedCounter {
    const now = this.#now()
    if (units.kind === 'window')
      for (const [oldest, counter] of counters) {
        if (counter.revoking.size > 0 || (counter.ends > now && counters.size < this.#keys)) break
        counters.delete(oldest)
      }
    const counter = createCounter(units, now)
    counters.set(counter.key, counter)
    return counter
  }

  #startWindow(counters: Counters, counter: SharedCounter, now: number): void {
    startWindow(counter, now)
    counters.delete(counter.key)
    counters.set(counter.key, counter)
  }

  /** Deletes an idle held counter at zero; windows are deleted after their end. */
  #forget(counters: Counters, counter: SharedCounter): void {
    const { lease, unitsInUse, pending, revoking, kind } = counter
    const isIdle = pending.length === 0 && revoking.size === 0 && !lease.isRequesting
    if (isIdle && kind !== 'window' && unitsInUse === 0n && lease.units === 0n)
      counters.delete(counter.key)
  }
}

/** Creates the counter owner of the primary. Attach the channel of each worker, and detach it when
 *  the worker has ended. */
export const createAllowanceOwner = (options: OwnerOptions = {}): AllowanceOwner =>
  new CounterOwner(options)
const max = (one: bigint, other: bigint): bigint => (one > other ? one : other)
