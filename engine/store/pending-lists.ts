/** Lists without a result yet, by number, in ascending order. A window over an array: a Map that
 *  changes with every request keeps its old tables, and all their entries, until the next full
 *  garbage collection. */

/** Empty slots at the head before the array is trimmed. */
const SLACK = 1_024

export class PendingLists<T> {
  /** Number of the first slot. */
  #base = 1
  #head = 0
  #slots: (T | undefined)[] = []
  /** Numbers below the window: lists that are repeated after their result was lost. */
  readonly #repeatedLists = new Map<number, T>()
  #size = 0

  get size(): number {
    return this.#size
  }
  get(number: number): T | undefined {
    return number < this.#base + this.#head
      ? this.#repeatedLists.get(number)
      : this.#slots[number - this.#base]
  }
  /** A new number must be the greatest so far plus one. */
  set(number: number, value: T): void {
    if (number < this.#base + this.#head) this.#repeatedLists.set(number, value)
    else this.#slots[number - this.#base] = value
    this.#size++
  }
  delete(number: number): void {
    if (this.get(number) === undefined) return
    this.#size--
    if (this.#repeatedLists.delete(number)) return
    this.#slots[number - this.#base] = undefined
    while (this.#head < this.#slots.length && this.#slots[this.#head] === undefined) this.#head++
    if (this.#head < SLACK) return
    this.#slots = this.#slots.slice(this.#head)
    this.#base += this.#head
    this.#head = 0
  }
  /** The least pending number, or `otherwise` if there is none. */
  least(otherwise: number): number {
    const first = this.#head < this.#slots.length ? this.#base + this.#head : otherwise
    return this.#repeatedLists.size === 0 ? first : Math.min(first, ...this.#repeatedLists.keys())
  }
  /** In ascending order of numbers. */
  values(): readonly T[] {
    const inWindow = this.#slots.slice(this.#head).filter(each => each !== undefined)
    return [...this.#repeatedLists.values(), ...inWindow]
  }
}
