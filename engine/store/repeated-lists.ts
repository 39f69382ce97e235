/** Lists whose answer was lost. Written again they go under their old number, by which the writer knows them. */
import type { Statement } from '../plugin.ts'

// ms for which a caller may come back with such a list; until then the writer keeps its number.
const REPEATABLE = 600_000
// The writer is told what it may forget in strides, not with every list.
const STRIDE = 64

export class Repeats {
  readonly #numbers = new WeakMap<readonly Statement[], number>()
  readonly #until = new Map<number, number>()
  #told = 0

  numberOf(statements: readonly Statement[]): number | undefined {
    return this.#numbers.get(statements)
  }
  hold(number: number, statements: readonly Statement[], now: number): void {
    this.#numbers.set(statements, number)
    this.#until.set(number, now + REPEATABLE)
  }
  settle(number: number, statements: readonly Statement[]): void {
    if (this.#until.delete(number)) this.#numbers.delete(statements)
  }
  /** Below which number nothing will be sent again, and the exceptions; when it is worth telling. */
  forgettable(oldestPending: number, now: number): readonly number[] | undefined {
    if (oldestPending < this.#told + STRIDE) return undefined
    this.#told = oldestPending
    for (const [number, until] of this.#until) if (until < now) this.#until.delete(number)
    return [oldestPending, ...this.#until.keys()]
  }
}
