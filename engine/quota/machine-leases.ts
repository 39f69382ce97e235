/** Budget leases of a machine: how much of a shared counter it may grant, when it requests more,
 *  and when it returns units. While the store is unavailable each machine uses its fair share. */
import { randomBytes } from 'node:crypto'
import type { Channel, LeaseResult, StoreOperation, StoreResult, UnitRequest } from './channel.ts'
import type { SharedCounter } from './shared-counter.ts'
import { MACHINE_PREFIX } from './statements.ts'

export interface MachineLeasesOptions {
  readonly now: () => number
  /** ms until a store that does not respond counts as unavailable. */
  readonly storeTimeout: number
  /** ms until an unavailable store is tried again. */
  readonly retryDelay: number
  /** ms between checks for refusals of other machines, and before a refused request is repeated. */
  readonly interval: number
  /** Called when the store becomes unavailable. */
  onUnavailable?(): void
  channelOf(worker: number): Channel | undefined
  find(number: string): SharedCounter | undefined
  all(): Iterable<SharedCounter>
  /** Serves pending requests and returns requested units, after a change. */
  wake(counter: SharedCounter): void
}
interface LeaseRequest {
  readonly counter: SharedCounter
  readonly debt: bigint
  readonly least: bigint
  readonly ms: number
  readonly timer: NodeJS.Timeout
  readonly worker: number
}
/** ms for which unused units of a held supply are kept. */
const IDLE = 60_000

export class MachineLeases {
  readonly #options: MachineLeasesOptions
  readonly #requests = new Map<number, LeaseRequest>()
  /** Workers that can reach the store. */
  readonly #workers = new Set<number>()
  readonly #timer: NodeJS.Timeout
  #machine = nameMachine()
  /** The worker that acts for this machine at the store. */
  #agent: number | undefined
  #machines = 1
  #unavailableUntil = Number.NEGATIVE_INFINITY
  #serial = 0
  /** Store time of the last known refusal. */
  #lastRefusal = '0'

  constructor(options: MachineLeasesOptions) {
    this.#options = options
    this.#timer = setInterval(() => this.#check(), options.interval).unref()
  }
  close(): void {
    clearInterval(this.#timer)
    for (const { timer } of this.#requests.values()) clearTimeout(timer)
  }
  /** Units that this machine may grant. */
  limitOf(counter: SharedCounter, request: UnitRequest): bigint {
    const limit = BigInt(request.limit)
    const { units } = counter.lease
    if (!this.#isUnavailable) return units < limit ? units : limit
    const fair = (limit + BigInt(this.#machines) - 1n) / BigInt(this.#machines)
    return units > fair ? units : fair
  }
  /** Requests more units from the store if they are needed; true if the requests of this counter
   *  must wait. */
  requestMore(
    counter: SharedCounter,
    worker: number,
    request: UnitRequest,
    amount: bigint,
  ): boolean {
    const { lease } = counter
    lease.lastUse = this.#options.now()
    this.#workers.add(worker)
    if (this.#isUnavailable || lease.lastUse < lease.retryAt) return false
    const free = lease.units - counter.unitsInUse
    const shortage = amount - (free > 0n ? free : 0n)
    // The machine has enough units; a reload has lowered the limit.
    if (shortage <= 0n) return false
    this.#request(counter, worker, request, shortage)
    return true
  }
  /** Reports use beyond the leased units to the store. */
  reportOverdraft(counter: SharedCounter, worker: number, request: UnitRequest): void {
    if (
      counter.unitsInUse > counter.lease.units &&
      !this.#isUnavailable &&
      !counter.lease.isRequesting
    )
      this.#request(counter, worker, request, 0n)
  }
  onMessage(worker: number, message: StoreResult): void {
    if (message.verb === 'expelled') return this.#onExpelled(message.machine)
    if (message.verb === 'resign') return this.#removeWorker(worker)
    if (message.verb === 'refusals') {
      this.#lastRefusal = message.at
      for (const number of message.numbers) this.#requestReturn(this.#options.find(number))
      return
    }
    const request = this.#requests.get(message.id)
    if (!request) return
    this.#settle(message.id, request)
    if (message.units === undefined) this.#markUnavailable()
    else {
      this.#agent = worker
      this.#machines = Math.max(1, message.machines ?? 1)
      this.#credit(request, message)
    }
    this.#options.wake(request.counter)
  }
  /** Removes a worker that ended, and drops its pending requests. */
  detach(worker: number): void {
    for (const [id, request] of this.#requests)
      if (request.worker === worker) {
        this.#settle(id, request)
        this.#options.wake(request.counter)
      }
    this.#removeWorker(worker)
  }
  /** Returns unused units if other machines need them. */
  release(counter: SharedCounter): void {
    const { lease, kind, unitsInUse } = counter
    if (!lease.isReturnRequested || lease.isRequesting) return
    lease.isReturnRequested = false
    const amount = lease.units - (unitsInUse > 0n ? unitsInUse : 0n)
    if (amount <= 0n || this.#isUnavailable) return
    lease.units -= amount
    const returnedUnits = kind === 'window' ? amount : lease.units
    this.#send(this.#agent, {
      verb: 'unlease',
      machine: this.#machine,
      kind,
      number: numberOf(counter),
      amount: String(returnedUnits),
      windowStart: lease.windowStart || '0',
    })
  }

  /** Another worker takes over the heartbeat of the machine, so that it keeps its units. */
  #removeWorker(worker: number): void {
    this.#workers.delete(worker)
    if (this.#agent !== worker) return
    this.#agent = this.#workers.values().next().value
    this.#send(this.#agent, { verb: 'join', machine: this.#machine })
  }
  get #isUnavailable(): boolean {
    return this.#options.now() < this.#unavailableUntil
  }
  #request(
    counter: SharedCounter,
    requester: number,
    { limit, ms }: UnitRequest,
    least: bigint,
  ): void {
    const worker = this.#options.channelOf(this.#agent ?? requester)
      ? (this.#agent ?? requester)
      : requester
    const debt =
      counter.unitsInUse > counter.lease.units ? counter.unitsInUse - counter.lease.units : 0n
    const id = ++this.#serial
    counter.lease.isRequesting = true
    const timer = setTimeout(() => this.#onTimeout(id), this.#options.storeTimeout).unref()
    this.#requests.set(id, { counter, debt, least, ms, timer, worker })
    const amounts = { limit, least: String(least), debt: String(debt) }
    const address = { machine: this.#machine, kind: counter.kind, number: numberOf(counter) }
    this.#send(worker, { verb: 'lease', id, ...address, ms, ...amounts })
  }
  #settle(id: number, { counter, timer }: LeaseRequest): void {
    clearTimeout(timer)
    this.#requests.delete(id)
    counter.lease.isRequesting = false
  }
  #onTimeout(id: number): void {
    const request = this.#requests.get(id)
    if (!request) return
    this.#settle(id, request)
    this.#agent = undefined
    this.#markUnavailable()
    this.#options.wake(request.counter)
  }
  #markUnavailable(): void {
    if (!this.#isUnavailable) this.#options.onUnavailable?.()
    this.#unavailableUntil = this.#options.now() + this.#options.retryDelay
  }
  #credit({ counter, debt, least, ms }: LeaseRequest, result: LeaseResult): void {
    const { lease } = counter
    const units = BigInt(result.units ?? '0')
    lease.remaining = BigInt(result.remaining ?? '0')
    if (units < least) lease.retryAt = this.#options.now() + this.#options.interval
    if (counter.kind === 'held') {
      lease.units = BigInt(result.slice ?? '0')
      return
    }
    const { windowStart = '', requestedAt = 0 } = result
    if (windowStart === lease.windowStart) {
      lease.units += units + debt
      return
    }
    // A new window, or the first result of one. It counts from the time of the request, so it ends
    // here before it ends in the store.
    lease.windowStart = windowStart
    lease.units = units + debt
    counter.unitsInUse = debt
    counter.since = requestedAt + (result.ms ?? ms) - ms
    counter.outstanding.clear()
  }
  #onExpelled(machine: string): void {
    if (machine !== this.#machine) return
    this.#machine = nameMachine()
    this.#agent = undefined
    for (const counter of this.#options.all()) if (counter.kind === 'held') counter.lease.units = 0n
  }
  #requestReturn(counter: SharedCounter | undefined): void {
    if (!counter || counter.lease.isRequesting || counter.lease.units <= 0n) return
    counter.lease.isReturnRequested = true
    this.#options.wake(counter)
  }
  #check(): void {
    if (this.#agent === undefined || this.#isUnavailable) return
    this.#send(this.#agent, { verb: 'check-refusals', since: this.#lastRefusal })
    const now = this.#options.now()
    for (const counter of this.#options.all()) {
      const { kind, lease } = counter
      if (kind !== 'held' || lease.units <= 0n || now < lease.lastUse + IDLE) continue
      lease.lastUse = now
      this.#requestReturn(counter)
    }
  }
  #send(worker: number | undefined, message: UntypedOperation): void {
    if (worker !== undefined)
      this.#options
        .channelOf(worker)
        ?.send({ type: 'allowance', ...message } satisfies StoreOperation)
  }
}
type UntypedOperation = StoreOperation extends infer Each
  ? Each extends StoreOperation
    ? Omit<Each, 'type'>
    : never
  : never

const nameMachine = (): string => `${MACHINE_PREFIX}${randomBytes(8).toString('hex')}`
/** Id of a counter in the store. Names of allowances contain no line breaks. */
const numberOf = ({ name, key }: Pick<SharedCounter, 'name' | 'key'>): string => `${name}\n${key}`
