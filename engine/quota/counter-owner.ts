/** Owns the numbers the workers of a machine share: who has how much, what is left, whose slack to recall. */

import { monotonic } from '../store/clock.ts'
import type { Answer, Ask, Channel, Handed, Leased, Recall, Return } from './channel.ts'
import { type Count, newCount, renew } from './count.ts'
import { Leases, type LeasesOptions } from './machine-leases.ts'

export interface AllowanceOwner {
  attach(worker: number, channel: Channel): void
  /** A worker died. What it held is free again; what it took from a window stays taken. */
  detach(worker: number): void
  close(): void
}
export interface OwnerOptions {
  readonly now?: () => number
  /** ms until a refusal stops waiting for a worker that does not answer a recall. */
  readonly patience?: number
  /** Windows remembered per name. Past it the oldest are forgotten. */
  readonly keys?: number
  /** Several machines share the numbers, in a store that the workers know. */
  readonly machines?: boolean | Partial<Pick<LeasesOptions, 'patience' | 'away' | 'every' | 'lost'>>
}

type Book = Map<string, Count>

class Owner implements AllowanceOwner {
  readonly #now: () => number
  readonly #patience: number
  readonly #keys: number
  readonly #channels = new Map<number, Channel>()
  readonly #books = new Map<string, Book>()
  readonly #leases: Leases | undefined
  #round = 0

  constructor({
    now = monotonic,
    patience = 1_000,
    keys = 100_000,
    machines = false,
  }: OwnerOptions) {
    this.#now = now
    this.#patience = patience
    this.#keys = keys
    if (machines === false) return
    const pace = { patience: 1_000, away: 5_000, every: 500, ...(machines !== true && machines) }
    this.#leases = new Leases({
      ...{ ...pace, now, channelOf: worker => this.#channels.get(worker) },
      find: number => this.#find(number),
      all: () => [...this.#books.values()].flatMap(book => [...book.values()]),
      stir: count => this.#stir(count),
    })
  }

  attach(worker: number, channel: Channel): void {
    this.#channels.set(worker, channel)
    channel.on(received => {
      const message = received as Ask | Return | Leased
      if (message?.type !== 'allowance' || this.#channels.get(worker) !== channel) return
      if (message.verb === 'ask') this.#asked(worker, message)
      else if (message.verb === 'return') this.#returned(worker, message)
      else this.#leases?.heard(worker, message)
    })
  }

  detach(worker: number): void {
    this.#channels.delete(worker)
    for (const book of this.#books.values())
      for (const count of book.values()) {
        if (count.kind === 'held') this.#credit(count, worker, count.holders.get(worker) ?? 0n)
        count.holders.delete(worker)
        const left = count.waiting.filter(entry => entry.worker !== worker)
        count.waiting.splice(0, count.waiting.length, ...left)
        if (!this.#answered(book, count, worker)) this.#forget(book, count)
      }
    this.#leases?.detach(worker)
  }
  close(): void {
    this.#leases?.close()
  }

  #asked(worker: number, ask: Ask): void {
    const book = this.#book(ask.name)
    const count = book.get(ask.key) ?? this.#begin(book, ask)
    this.#takeBack(count, worker, ask)
    count.waiting.push({ worker, ask })
    if (count.recalled.size === 0 && !count.lease.asking) this.#serve(book, count)
  }

  #returned(worker: number, message: Return): void {
    const book = this.#book(message.name)
    const count = book.get(message.key)
    // The window is over, and its units with it.
    if (count === undefined) return
    this.#takeBack(count, worker, message)
    // An answer that comes after its round was given up is only units.
    const awaited = message.round === count.round && count.recalled.has(worker)
    if (!awaited || !this.#answered(book, count, worker)) this.#forget(book, count)
  }

  /** Asks of one key are decided one after another; a refusal first recalls what lies unused elsewhere. */
  #serve(book: Book, count: Count): void {
    for (let first = count.waiting[0]; first !== undefined; first = count.waiting[0]) {
      const { worker, ask } = first
      const now = this.#now()
      if (count.kind === 'window' && now >= count.since + ask.ms) this.#renew(book, count, now)
      count.ends = count.since + ask.ms
      const left = this.#limitOf(count, ask) - count.out
      const amount = BigInt(ask.amount)
      if (left < amount && count.loose.size > 0) return this.#recall(book, count)
      if (left < amount && !ask.spent && this.#leases?.asks(count, worker, ask, amount)) return
      count.waiting.shift()
      this.#answer(count, worker, ask, ask.spent ? amount : this.#grant(left, amount))
      if (ask.spent) this.#leases?.owes(count, worker, ask)
      if (count.lease.asking) return
    }
    this.#leases?.release(count)
    this.#forget(book, count)
  }

  #limitOf(count: Count, ask: Ask): bigint {
    return this.#leases ? this.#leases.limitOf(count, ask) : BigInt(ask.limit)
  }
  /** Until when nobody need ask: other machines may give back. */
  #again(count: Count, ask: Ask): number {
    return this.#leases ? count.lease.again : count.since + ask.ms
  }
  #find(number: string): Count | undefined {
    const [name = '', key = ''] = number.split('\n', 2)
    return this.#books.get(name)?.get(key)
  }
  /** Whoever waits is served; what others want is called in and goes back. */
  #stir(count: Count): void {
    const book = this.#book(count.name)
    if (count.recalled.size > 0 || count.lease.asking) return
    if (count.lease.wanted && count.loose.size > 0) this.#recall(book, count)
    else this.#serve(book, count)
  }
  /** And half of a fair share of the rest: large slices far from the limit, single units near it. */
  #grant(left: bigint, amount: bigint): bigint {
    if (left < amount) return 0n
    return amount + (left - amount) / BigInt(2 * Math.max(1, this.#channels.size))
  }

  #answer(count: Count, worker: number, ask: Ask, granted: bigint): void {
    const before = this.#limitOf(count, ask) - count.out
    count.out += granted
    if (count.kind === 'held')
      count.holders.set(worker, (count.holders.get(worker) ?? 0n) + granted)
    if (granted > BigInt(ask.amount)) count.loose.add(worker)
    this.#channels.get(worker)?.send({
      type: 'allowance',
      verb: 'answer',
      id: ask.id,
      granted: String(granted),
      left: String(before - granted + (this.#leases ? max(count.lease.left, 0n) : 0n)),
      since: count.since,
      again: count.kind === 'window' && before <= 0n ? this.#again(count, ask) : 0,
    } satisfies Answer)
  }

  #recall(book: Book, count: Count): void {
    for (const worker of count.loose) count.recalled.add(worker)
    count.round = ++this.#round
    // A worker that hangs must not make the others wait: what it has comes back late.
    count.timer = setTimeout(() => {
      for (const worker of [...count.recalled]) this.#answered(book, count, worker)
    }, this.#patience).unref()
    const { round, kind, name, key } = count
    const recall: Recall = { type: 'allowance', verb: 'recall', kind, round, name, key }
    for (const worker of [...count.recalled]) this.#channels.get(worker)?.send(recall)
  }

  /** Whether that was the last answer, and the asks that waited for it are decided. */
  #answered(book: Book, count: Count, worker: number): boolean {
    count.loose.delete(worker)
    if (!count.recalled.delete(worker) || count.recalled.size > 0) return false
    clearTimeout(count.timer)
    this.#serve(book, count)
    return true
  }

  #takeBack(count: Count, worker: number, { free, since }: Handed): void {
    if (count.kind !== 'window' || since === count.since) this.#credit(count, worker, BigInt(free))
  }

  #credit(count: Count, worker: number, units: bigint): void {
    count.out -= units
    const held = count.holders.get(worker)
    if (held === undefined) return
    if (held > units) count.holders.set(worker, held - units)
    else count.holders.delete(worker)
  }

  #book(name: string): Book {
    const found = this.#books.get(name)
    if (found !== undefined) return found
    const book: Book = new Map()
    this.#books.set(name, book)
    return book
  }

  /** A book stays in the order in which windows began, so what is over is found at its head. */
  #begin(book: Book, handed: Handed): Count {
    const now = this.#now()
    if (handed.kind === 'window')
      for (const [oldest, count] of book) {
        if (count.recalled.size > 0 || (count.ends > now && book.size < this.#keys)) break
        book.delete(oldest)
      }
    const count = newCount(handed, now)
    book.set(count.key, count)
    return count
  }

  #renew(book: Book, count: Count, now: number): void {
    renew(count, now)
    book.delete(count.key)
    book.set(count.key, count)
  }

  /** Numbers that stand at nothing need no memory; windows go by their end. */
  #forget(book: Book, count: Count): void {
    const { lease, out, waiting, recalled, kind } = count
    const idle = waiting.length === 0 && recalled.size === 0 && !lease.asking
    if (idle && kind !== 'window' && out === 0n && lease.units === 0n) book.delete(count.key)
  }
}

/** The primary's side: attach every worker's channel, detach it when the worker is gone. */
export const createAllowanceOwner = (options: OwnerOptions = {}): AllowanceOwner =>
  new Owner(options)
const max = (one: bigint, other: bigint): bigint => (one > other ? one : other)
