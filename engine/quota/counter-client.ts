/** What a worker has of one shared number: its slices by key, and its questions to the owner. */
import { LRUCache } from 'lru-cache'
import { monotonic } from '../store/clock.ts'
import type { Answer, Ask, Channel, Kind, Return } from './channel.ts'

export interface AllowancesOptions {
  readonly now?: () => number
  /** Keys with a slice at hand, per name. The oldest slices go back to the owner. */
  readonly keys?: number
}

/** Units at hand. While a slice lies here `give` fills it; otherwise units go straight back to the owner. */
export interface Slice {
  free: bigint
  /** The terms it was cut under: a reload may have changed the amount. */
  readonly terms: string
  readonly since: number
  readonly ends: number
  /** Until then it is not worth asking again. */
  readonly again: number
  /** With the owner, when it was last asked. */
  readonly left: bigint
}
type Settle = (answer: Answer) => boolean | Promise<boolean>
type Question = Pick<Ask, 'key' | 'amount' | 'limit' | 'ms' | 'spent'>

/** The questions this worker has put to the owner. */
export class Questions {
  readonly #waiting = new Map<number, (answer: Answer) => void>()
  readonly #channel: Channel
  #serial = 0
  #closed = false

  constructor(channel: Channel) {
    this.#channel = channel
  }
  put(ask: Omit<Ask, 'id'>, settle: Settle): Promise<boolean> {
    return new Promise(resolve => {
      if (this.#closed) return void resolve(false)
      const id = ++this.#serial
      this.#waiting.set(id, answer => resolve(settle(answer)))
      this.#channel.send({ ...ask, id } satisfies Ask)
    })
  }
  giveBack(units: Return): void {
    if (!this.#closed) this.#channel.send(units)
  }
  answered(answer: Answer): void {
    const settle = this.#waiting.get(answer.id)
    this.#waiting.delete(answer.id)
    settle?.(answer)
  }
  close(): void {
    this.#closed = true
    for (const settle of this.#waiting.values()) settle(REFUSED)
    this.#waiting.clear()
  }
}
const REFUSED: Answer = {
  ...{ type: 'allowance', verb: 'answer', id: 0, granted: '0', left: '0', since: 0, again: 0 },
}

/** One name: the slices that lie here, by key. */
export class Line {
  readonly book: LRUCache<string, Slice>
  readonly now: () => number
  readonly #place: { readonly type: 'allowance'; readonly kind: Kind; readonly name: string }
  readonly #questions: Questions

  constructor(kind: Kind, name: string, questions: Questions, options: AllowancesOptions) {
    this.#place = { type: 'allowance', kind, name }
    this.#questions = questions
    this.now = options.now ?? monotonic
    this.book = new LRUCache({
      // By size, of which each has one: a cache of so many places would take them all at once, for every name.
      maxSize: options.keys ?? 10_000,
      sizeCalculation: () => 1,
      dispose: (slice, key, reason) => {
        if (reason === 'evict') this.giveBack(key, slice)
      },
    })
  }
  /** Asks the owner. The slice at hand goes along, so that the owner decides over every unit there is.
   *  `settle` runs as the answer arrives: what it lays down must lie there when a recall comes behind. */
  ask(question: Question, settle: Settle): Promise<boolean> {
    const { free, since } = this.#pickUp(question.key)
    const ask = { ...this.#place, verb: 'ask', ...question, free: String(free), since } as const
    return this.#questions.put(ask, settle)
  }
  recalled(key: string, round: number): void {
    const { free, since } = this.#pickUp(key)
    const units = { key, free: String(free), since, round }
    this.#questions.giveBack({ ...this.#place, verb: 'return', ...units })
  }
  giveBack(key: string, { free, since }: Pick<Slice, 'free' | 'since'>): void {
    if (free === 0n) return
    const units = { key, free: String(free), since, round: 0 }
    this.#questions.giveBack({ ...this.#place, verb: 'return', ...units })
  }
  /** Lays units in the book. What lies there under other terms makes room. */
  lay(key: string, slice: Slice): void {
    const old = this.book.peek(key)
    const same = old !== undefined && old.terms === slice.terms && old.since === slice.since
    if (old !== undefined && !same) this.giveBack(key, old)
    this.book.set(key, same ? { ...slice, free: slice.free + old.free } : slice)
  }
  #pickUp(key: string): Pick<Slice, 'free' | 'since'> {
    const slice = this.book.peek(key)
    this.book.delete(key)
    return slice ?? NOTHING
  }
}
export const NOTHING = {
  free: 0n,
  since: 0,
  ends: Number.POSITIVE_INFINITY,
  again: 0,
  left: 0n,
}
