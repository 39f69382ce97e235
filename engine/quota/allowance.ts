/** Worker side of allowances, counters that the processes of an installation share exactly: how
 *  each supply takes, requests and returns units. */

import type { Allowance, Supply } from '../plugin.ts'
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

/** Allowances of a worker, by messages to the counter owner in the primary. */
export const createAllowances = (channel: Channel, options: AllowancesOptions = {}): Allowances => {
  const questions = new UnitRequests(channel)
  const lines = new Map<string, CounterClient>()
  const lineOf = (kind: SupplyKind, name: string): CounterClient => {
    const line = lines.get(name) ?? new CounterClient(kind, name, questions, options)
    lines.set(name, line)
    return line
  }
  channel.on(received => {
    const message = received as UnitGrant | Revocation
    if (message?.type !== 'allowance') return
    if (message.verb === 'answer') questions.settle(message)
    else if (message.verb === 'recall')
      lineOf(message.kind, message.name).revoke(message.key, message.round)
  })
  return {
    open(name, supply) {
      const kind = 'held' in supply ? 'held' : 'window'
      // The kind is part of the name, so that a window and a held supply never share a counter.
      const line = lineOf(kind, `${kind} ${name}`)
      return 'held' in supply
        ? createHeldAllowance(line, supply.held.amount)
        : createWindowAllowance(line, supply.window)
    },
    close: () => questions.close(),
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

/** Held supply: at most `limit` units at once. */
const createHeldAllowance = (line: CounterClient, limit: bigint): Allowance => {
  const terms = String(limit)
  return {
    take: (key, amount) => takeFromSlice(line.slices.get(key), terms, amount),
    request: (key, amount) =>
      line.request({ key, amount: String(amount), limit: terms, ms: 0 }, answer => {
        const granted = BigInt(answer.granted)
        if (granted > amount) line.store(key, { ...EMPTY_SLICE, terms, free: granted - amount })
        return granted >= amount
      }),
    returnUnits(key, amount) {
      const slice = line.slices.peek(key)
      if (slice === undefined) line.returnUnits(key, { free: amount, since: 0 })
      else slice.free += amount
    },
    spend: (key, amount) =>
      void line.request(
        { key, amount: String(amount), limit: terms, ms: 0, spent: true },
        () => true,
      ),
    retryAfter: () => 0,
    reading: () => undefined,
  }
}

type Window = Extract<Supply, { window: unknown }>['window']

/** Window supply: `limit` per `ms`, in windows that begin with the first use of a key. */
const createWindowAllowance = (
  line: CounterClient,
  { amount: limit, ms, returns = false }: Window,
): Allowance => {
  const terms = `${limit}/${ms}`
  const current = (key: string): Slice | undefined => {
    const slice = line.slices.get(key)
    return slice !== undefined && slice.terms === terms && line.now() < slice.ends
      ? slice
      : undefined
  }
  const lay = (key: string, free: bigint, { since, again, left }: UnitGrant): void =>
    line.store(key, { free, terms, since, ends: since + ms, again, left: BigInt(left) })
  const ask = (key: string, amount: bigint, tries: number): Promise<boolean> =>
    line.request({ key, amount: String(amount), limit: String(limit), ms }, answer => {
      const granted = BigInt(answer.granted)
      // The window ended before the result arrived: its units are void, and the next window
      // decides.
      if (line.now() >= answer.since + ms)
        return granted > 0n && tries > 1 && ask(key, amount, tries - 1)
      lay(key, granted > amount ? granted - amount : 0n, answer)
      return granted >= amount
    })
  return {
    take(key, amount) {
      const slice = current(key)
      // Returns of other workers are not announced: if the supply allows returns, ask the owner.
      const spent = slice !== undefined && !returns && line.now() < slice.again
      return takeFromSlice(slice, terms, amount) ?? (spent ? false : undefined)
    },
    request: (key, amount) => ask(key, amount, MAX_REQUESTS),
    returnUnits(key, amount, window) {
      if (returns && window !== undefined) line.returnUnits(key, { free: amount, since: window })
    },
    spend(key, amount) {
      if (takeFromSlice(current(key), terms, amount)) return
      const question = {
        key,
        amount: String(amount),
        limit: String(limit),
        ms,
        spent: true,
      } as const
      void line.request(question, answer => {
        if (line.now() < answer.since + ms) lay(key, 0n, answer)
        return true
      })
    },
    retryAfter(key) {
      const slice = current(key)
      return slice === undefined ? 0 : slice.ends - line.now()
    },
    reading(key) {
      const slice = current(key)
      if (slice === undefined) return undefined
      const { left, free, ends, since } = slice
      return { remaining: left + free, ms: ends - line.now(), window: since }
    },
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
