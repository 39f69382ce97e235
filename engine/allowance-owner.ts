/** Owns the numbers the workers of a machine share: who has how much, what is left, whose slack to recall. */

import {
  type Answer,
  type Ask,
  type Channel,
  type Handed,
  type Kind,
  monotonic,
  type Recall,
  type Return,
} from './allowance-channel.ts'

export interface AllowanceOwner {
  attach(worker: number, channel: Channel): void
  /** A worker died. What it held is free again; what it took from a window stays taken. */
  detach(worker: number): void
}
export interface OwnerOptions {
  readonly now?: () => number
  /** ms until a refusal stops waiting for a worker that does not answer a recall. */
  readonly patience?: number
  /** Windows remembered per name. Past it the oldest are forgotten. */
  readonly keys?: number
}

/** One number. `out` = units with the workers, or gone for this window; below zero = a slice's units to spare. */
interface Count {
  readonly kind: Kind
  readonly key: string
  since: number
  ends: number
  out: bigint
  readonly holders: Map<number, bigint>
  /** Workers that may have units lying unused. */
  readonly loose: Set<number>
  readonly waiting: { readonly worker: number; readonly ask: Ask }[]
  /** Workers whose answer to the recall `round` is awaited. */
  readonly recalled: Set<number>
  round: number
  timer: NodeJS.Timeout | undefined
}
type Book = Map<string, Count>

class Owner implements AllowanceOwner {
  readonly #now: () => number
  readonly #patience: number
  readonly #keys: number
  readonly #channels = new Map<number, Channel>()
  readonly #books = new Map<string, Book>()
  #round = 0

  constructor({ now = monotonic, patience = 1_000, keys = 100_000 }: OwnerOptions) {
    this.#now = now
    this.#patience = patience
    this.#keys = keys
  }

  attach(worker: number, channel: Channel): void {
    this.#channels.set(worker, channel)
    channel.on(received => {
      const message = received as Ask | Return
      if (message?.type !== 'allowance' || this.#channels.get(worker) !== channel) return
      if (message.verb === 'ask') this.#asked(worker, message)
      else this.#returned(worker, message)
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
  }

  #asked(worker: number, ask: Ask): void {
    const book = this.#book(ask.name)
    const count = book.get(ask.key) ?? this.#begin(book, ask)
    this.#takeBack(count, worker, ask)
    // What workers fetch from a plugin's own source does not pass here: anyone may have some.
    if (count.kind === 'slice')
      for (const other of this.#channels.keys()) if (other !== worker) count.loose.add(other)
    count.waiting.push({ worker, ask })
    if (count.recalled.size === 0) this.#serve(book, count)
  }

  #returned(worker: number, message: Return): void {
    const book = this.#book(message.name)
    const known = book.get(message.key)
    // Only a slice can come back to an owner that does not know it: a window is over, a hold is counted.
    if (known === undefined && message.kind !== 'slice') return
    const count = known ?? this.#begin(book, message)
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
      const left = BigInt(ask.limit) - count.out
      const amount = BigInt(ask.amount)
      if (left < amount && count.loose.size > 0) return this.#recall(book, count, ask)
      count.waiting.shift()
      this.#answer(count, worker, ask, ask.spent ? amount : this.#grant(left, amount))
    }
    this.#forget(book, count)
  }

  /** And half of a fair share of the rest: large slices far from the limit, single units near it. */
  #grant(left: bigint, amount: bigint): bigint {
    if (left < amount) return 0n
    return amount + (left - amount) / BigInt(2 * Math.max(1, this.#channels.size))
  }

  #answer(count: Count, worker: number, ask: Ask, granted: bigint): void {
    const before = BigInt(ask.limit) - count.out
    count.out += granted
    if (count.kind === 'held')
      count.holders.set(worker, (count.holders.get(worker) ?? 0n) + granted)
    if (granted > BigInt(ask.amount)) count.loose.add(worker)
    this.#channels.get(worker)?.send({
      type: 'allowance',
      verb: 'answer',
      id: ask.id,
      granted: String(granted),
      left: String(before - granted),
      since: count.since,
      spent: count.kind === 'window' && before <= 0n,
    } satisfies Answer)
  }

  #recall(book: Book, count: Count, { kind, name, key }: Ask): void {
    for (const worker of count.loose) count.recalled.add(worker)
    count.round = ++this.#round
    // A worker that hangs must not make the others wait: what it has comes back late.
    count.timer = setTimeout(() => {
      for (const worker of [...count.recalled]) this.#answered(book, count, worker)
    }, this.#patience).unref()
    const { round } = count
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
  #begin(book: Book, { kind, key }: Handed): Count {
    const now = this.#now()
    if (kind === 'window')
      for (const [oldest, count] of book) {
        if (count.recalled.size > 0 || (count.ends > now && book.size < this.#keys)) break
        book.delete(oldest)
      }
    const fresh = { holders: new Map(), loose: new Set<number>(), waiting: [] }
    const count: Count = {
      ...{ kind, key, ...fresh, since: now, ends: now, out: 0n },
      ...{ recalled: new Set<number>(), round: 0, timer: undefined },
    }
    book.set(key, count)
    return count
  }

  #renew(book: Book, count: Count, now: number): void {
    count.since = now
    count.out = 0n
    count.loose.clear()
    book.delete(count.key)
    book.set(count.key, count)
  }

  /** Numbers that stand at nothing need no memory; windows go by their end. */
  #forget(book: Book, count: Count): void {
    const idle = count.waiting.length === 0 && count.recalled.size === 0
    if (idle && count.kind !== 'window' && count.out === 0n) book.delete(count.key)
  }
}

/** The primary's side: attach every worker's channel, detach it when the worker is gone. */
export const createAllowanceOwner = (options: OwnerOptions = {}): AllowanceOwner =>
  new Owner(options)
