/** Counter client of a worker: its slices of shared counters by key, and its requests to the
 *  counter owner. */
import { LRUCache } from 'lru-cache'
import { monotonic } from '../store/clock.ts'
import type { Channel, SupplyKind, UnitGrant, UnitRequest, UnitReturn } from './channel.ts'

export interface AllowancesOptions {
  readonly now?: () => number
  /** Slices per name; beyond that the oldest are returned to the owner. */
  readonly keys?: number
}

/** Units of this worker for one key. */
export interface Slice {
  free: bigint
  /** Limit and window under which it was granted: a reload may change them. */
  readonly terms: string
  readonly since: number
  readonly ends: number
  /** Time before which a further request is useless. */
  readonly retryAt: number
  /** Units left with the owner at the last request. */
  readonly remaining: bigint
}
type OnGrant = (grant: UnitGrant) => boolean | Promise<boolean>
type RequestTerms = Pick<UnitRequest, 'key' | 'amount' | 'limit' | 'ms' | 'isSpent'>

/** The pending requests of this worker to the owner. */
export class UnitRequests {
  readonly #pending = new Map<number, (grant: UnitGrant) => void>()
  readonly #channel: Channel
  #serial = 0
  #closed = false

  constructor(channel: Channel) {
    this.#channel = channel
  }
  send(request: Omit<UnitRequest, 'id'>, onGrant: OnGrant): Promise<boolean> {
    return new Promise(resolve => {
      if (this.#closed) return void resolve(false)
      const id = ++this.#serial
      this.#pending.set(id, grant => resolve(onGrant(grant)))
      this.#channel.send({ ...request, id } satisfies UnitRequest)
    })
  }
  returnUnits(units: UnitReturn): void {
    if (!this.#closed) this.#channel.send(units)
  }
  settle(grant: UnitGrant): void {
    const onGrant = this.#pending.get(grant.id)
    this.#pending.delete(grant.id)
    onGrant?.(grant)
  }
  close(): void {
    this.#closed = true
    for (const onGrant of this.#pending.values()) onGrant(REFUSAL)
    this.#pending.clear()
  }
}
const REFUSAL: UnitGrant = {
  type: 'allowance',
  verb: 'grant',
  id: 0,
  units: '0',
  remaining: '0',
  since: 0,
  retryAt: 0,
}

/** Counter client of one name: its slices by key. */
export class CounterClient {
  readonly slices: LRUCache<string, Slice>
  readonly now: () => number
  readonly #address: {
    readonly type: 'allowance'
    readonly kind: SupplyKind
    readonly name: string
  }
  readonly #requests: UnitRequests

  constructor(kind: SupplyKind, name: string, requests: UnitRequests, options: AllowancesOptions) {
    this.#address = { type: 'allowance', kind, name }
    this.#requests = requests
    this.now = options.now ?? monotonic
    this.slices = new LRUCache({
      // maxSize with size 1 each, since `max` would allocate all slots at once for every name.
      maxSize: options.keys ?? 10_000,
      sizeCalculation: () => 1,
      dispose: (slice, key, reason) => {
        if (reason === 'evict') this.returnUnits(key, slice)
      },
    })
  }
  /** Requests units from the owner and returns the slice with the request, so that the owner
   *  decides over all units. `onGrant` runs when the grant arrives: the new slice must exist before
   *  a later revocation. */
  request(terms: RequestTerms, onGrant: OnGrant): Promise<boolean> {
    const { free, since } = this.#removeSlice(terms.key)
    const request = {
      ...this.#address,
      verb: 'request',
      ...terms,
      free: String(free),
      since,
    } as const
    return this.#requests.send(request, onGrant)
  }
  revoke(key: string, round: number): void {
    const { free, since } = this.#removeSlice(key)
    const units = { key, free: String(free), since, round }
    this.#requests.returnUnits({ ...this.#address, verb: 'return', ...units })
  }
  returnUnits(key: string, { free, since }: Pick<Slice, 'free' | 'since'>): void {
    if (free === 0n) return
    const units = { key, free: String(free), since, round: 0 }
    this.#requests.returnUnits({ ...this.#address, verb: 'return', ...units })
  }
  /** Stores units of a key. A slice under other terms is returned. */
  store(key: string, slice: Slice): void {
    const old = this.slices.peek(key)
    const isSame = old !== undefined && old.terms === slice.terms && old.since === slice.since
    if (old !== undefined && !isSame) this.returnUnits(key, old)
    this.slices.set(key, isSame ? { ...slice, free: slice.free + old.free } : slice)
  }
  #removeSlice(key: string): Pick<Slice, 'free' | 'since'> {
    const slice = this.slices.peek(key)
    this.slices.delete(key)
    return slice ?? EMPTY_SLICE
  }
}
export const EMPTY_SLICE = {
  free: 0n,
  since: 0,
  ends: Number.POSITIVE_INFINITY,
  retryAt: 0,
  remaining: 0n,
}
