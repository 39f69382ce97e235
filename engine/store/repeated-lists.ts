/** Statement lists whose result was lost, so that the client may send them again. A repeated list
 *  keeps its number, by which the writer detects the repetition. */
import type { Statement } from '../plugin.ts'

// ms after a caller's last attempt; until then the writer remembers the number of the list.
const REPEATABLE = 600_000
// The client reports every so many numbers which lists the writer can forget.
const STRIDE = 64

export class RepeatedLists {
  readonly #numbers = new WeakMap<readonly Statement[], number>()
  readonly #deadlines = new Map<number, number>()
  #reportedNumber = 0

  numberOf(statements: readonly Statement[]): number | undefined {
    return this.#numbers.get(statements)
  }
  remember(number: number, statements: readonly Statement[], now: number): void {
    this.#numbers.set(statements, number)
    this.#deadlines.set(number, now + REPEATABLE)
  }
  forget(number: number, statements: readonly Statement[]): void {
    if (this.#deadlines.delete(number)) this.#numbers.delete(statements)
  }
  /** The number below which no list is repeated, followed by the exceptions; undefined until it has
   *  advanced by `STRIDE`. */
  forgettable(oldestPending: number, now: number): readonly number[] | undefined {
    if (oldestPending < this.#reportedNumber + STRIDE) return undefined
    this.#reportedNumber = oldestPending
    for (const [number, until] of this.#deadlines) if (until < now) this.#deadlines.delete(number)
    return [oldestPending, ...this.#deadlines.keys()]
  }
}
