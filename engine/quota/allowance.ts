/** Worker side of allowances, counters that the processes of an installation share exactly: how
 *  each supply takes, requests and returns units. */
import type { Allowance, Reading, Supply } from '../plugin.ts'
import type { Channel, Revocation, SupplyKind, UnitGrant } from './channel.ts'
import {
  type AllowancesOptions,
  CounterClient,
  EMPTY_SLICE,
  type Slice,
  UnitRequests,
} from './counter-client.ts'
import { createAllowanceOwner } from './counter-owner.ts'

export interface Allowances {
  open(name: string, supply: Supply): Allowance
  /** The counter owner has ended: refuses pending and later requests. */
  close(): void
}

/** Creates the allowances of a worker, by messages to the counter owner in the primary. */
export const createAllowances = (channel: Channel, options: AllowancesOptions = {}): Allowances => {
  const requests = new UnitRequests(channel)
  const clients = new Map<string, CounterClient>()
  const clientOf = (kind: SupplyKind, name: string): CounterClient => {
    const client = clients.get(name) ?? new CounterClient(kind, name, requests, options)
    clients.set(name, client)
    return client
  }
  channel.on(raw => {
    const message = raw as UnitGrant | Revocation
    if (message?.type !== 'allowance') return
    if (message.verb === 'grant') requests.settle(message)
    else if (message.verb === 'revoke')
      clientOf(message.kind, message.name).revoke(message.key, message.round)
  })
  return {
    open(name, supply) {
      const kind = 'concurrency' in supply ? 'held' : 'window'
      // The kind is part of the name, so that supplies of both kinds never share a counter. It is
      // stored, so it is not renamed.
      const client = clientOf(kind, `${kind} ${name}`)
      return 'concurrency' in supply
        ? createConcurrencyAllowance(client, supply.concurrency.amount)
        : new WindowAllowance(client, supply.window)
    },
    close: () => requests.close(),
  }
}

/** Takes units from a slice if it was granted under the same terms. */
const takeFromSlice = (
  slice: Slice | undefined,
  terms: string,
  amount: bigint,
): true | undefined => {
  if (slice === undefined || slice.terms !== terms || slice.free < amount) return undefined
  slice.free -= amount
  return true
}

/** Requests per take. If windows keep ending before the result arrives, the owner hangs. */
const MAX_REQUESTS = 3

/** Concurrency supply: at most `limit` units at once. */
const createConcurrencyAllowance = (client: CounterClient, limit: bigint): Allowance => {
  const terms = String(limit)
  return {
    take: (key, amount) => takeFromSlice(client.slices.get(key), terms, amount),
    request: (key, amount) =>
      client.request({ key, amount: String(amount), limit: terms, ms: 0 }, grant => {
        const units = BigInt(grant.units)
        if (units > amount) client.store(key, { ...EMPTY_SLICE, terms, free: units - amount })
        return units >= amount
      }),
    returnUnits(key, amount) {
      const slice = client.slices.peek(key)
      if (slice === undefined) client.returnUnits(key, { free: amount, since: 0 })
      else slice.free += amount
    },
    spend: (key, amount) =>
      void client.request(
        { key, amount: String(amount), limit: terms, ms: 0, isSpent: true },
        () => true,
      ),
    retryAfter: () => 0,
    reading: () => undefined,
  }
}

type Window = Extract<Supply, { window: unknown }>['window']

/** Window supply: `limit` per `ms`, in windows that begin with the first use of a key. */
class WindowAllowance implements Allowance {
  readonly #client: CounterClient
  readonly #limit: bigint
  readonly #ms: number
  readonly #acceptsReturns: boolean
  /** A slice under other terms is not used: a reload may have changed them. */
  readonly #terms: string

  constructor(client: CounterClient, { amount: limit, ms, returns = false }: Window) {
    this.#client = client
    this.#limit = limit
    this.#ms = ms
    this.#acceptsReturns = returns
    this.#terms = `${limit}/${ms}`
  }
  take(key: string, amount: bigint): boolean | undefined {
    const slice = this.#currentSlice(key)
    // Returns of other workers are not announced: if the supply allows returns, only the owner
    // knows whether the window is exhausted.
    const isExhausted =
      slice !== undefined && !this.#acceptsReturns && this.#client.now() < slice.retryAt
    return takeFromSlice(slice, this.#terms, amount) ?? (isExhausted ? false : undefined)
  }
  request(key: string, amount: bigint): Promise<boolean> {
    return this.#request(key, amount, MAX_REQUESTS)
  }
  returnUnits(key: string, amount: bigint, window?: number): void {
    if (this.#acceptsReturns && window !== undefined)
      this.#client.returnUnits(key, { free: amount, since: window })
  }
  spend(key: string, amount: bigint): void {
    if (takeFromSlice(this.#currentSlice(key), this.#terms, amount)) return
    void this.#client.request({ ...this.#requestTerms(key, amount), isSpent: true }, grant => {
      if (!this.#hasEnded(grant)) this.#storeSlice(key, 0n, grant)
      return true
    })
  }
  retryAfter(key: string): number {
    const slice = this.#currentSlice(key)
    return slice === undefined ? 0 : slice.ends - this.#client.now()
  }
  reading(key: string): Reading | undefined {
    const slice = this.#currentSlice(key)
    if (slice === undefined) return undefined
    const { remaining, free, ends, since } = slice
    return { remaining: remaining + free, ms: ends - this.#client.now(), window: since }
  }

  #request(key: string, amount: bigint, tries: number): Promise<boolean> {
    return this.#client.request(this.#requestTerms(key, amount), grant => {
      const units = BigInt(grant.units)
      // The units of an ended window are void, and the next window decides.
      if (this.#hasEnded(grant))
        return units > 0n && tries > 1 && this.#request(key, amount, tries - 1)
      this.#storeSlice(key, units > amount ? units - amount : 0n, grant)
      return units >= amount
    })
  }
  #requestTerms(key: string, amount: bigint) {
    return { key, amount: String(amount), limit: String(this.#limit), ms: this.#ms }
  }
  #currentSlice(key: string): Slice | undefined {
    const slice = this.#client.slices.get(key)
    const isCurrent =
      slice !== undefined && slice.terms === this.#terms && this.#client.now() < slice.ends
    return isCurrent ? slice : undefined
  }
  #storeSlice(key: string, free: bigint, { since, retryAt, remaining }: UnitGrant): void {
    this.#client.store(key, {
      free,
      terms: this.#terms,
      since,
      ends: since + this.#ms,
      retryAt,
      remaining: BigInt(remaining),
    })
  }
  /** Whether the window of a grant ended before the grant arrived. */
  #hasEnded({ since }: UnitGrant): boolean {
    return this.#client.now() >= since + this.#ms
  }
}

/** An owner and one worker in this process, for CLI commands, the builder and tests. */
export const createLocalAllowances = (options: AllowancesOptions = {}): Allowances => {
  const [workerEnd, ownerEnd] = createChannelPair()
  createAllowanceOwner(options.now === undefined ? {} : { now: options.now }).attach(0, ownerEnd)
  return createAllowances(workerEnd, options)
}

/** Two connected channels in one process. Delivers in order, and never synchronously. */
const createChannelPair = (): [Channel, Channel] => {
  const listeners: [((message: unknown) => void)[], ((message: unknown) => void)[]] = [[], []]
  const end = (own: 0 | 1, other: 0 | 1): Channel => ({
    send: message =>
      queueMicrotask(() => {
        for (const listener of listeners[other]) listener(message)
      }),
    on: listener => void listeners[own].push(listener),
  })
  return [end(0, 1), end(1, 0)]
}
