/** What was sent and not answered yet, by number, in the order of numbers. A Map that changes with every request keeps its
 *  dead tables, and all they hold, until the next full collection; a window over an array does not. */

/** Places that are left behind before they are cut off. */
const SLACK = 1_024

export class Waiting<T> {
  /** The number of the first place. */
  #base = 1
  #head = 0
  #places: (T | undefined)[] = []
  /** Numbers from before the window: lists that come again after their answer was lost. */
  readonly #late = new Map<number, T>()
  #size = 0

  get size(): number {
    return this.#size
  }
  get(number: number): T | undefined {
    return number < this.#base + this.#head
      ? this.#late.get(number)
      : this.#places[number - this.#base]
  }
  /** A number that is new is the greatest so far, plus one. */
  set(number: number, value: T): void {
    if (number < this.#base + this.#head) this.#late.set(number, value)
    else this.#places[number - this.#base] = value
    this.#size++
  }
  delete(number: number): void {
    if (this.get(number) === undefined) return
    this.#size--
    if (this.#late.delete(number)) return
    this.#places[number - this.#base] = undefined
    while (this.#head < this.#places.length && this.#places[this.#head] === undefined) this.#head++
    if (this.#head < SLACK) return
    this.#places = this.#places.slice(this.#head)
    this.#base += this.#head
    this.#head = 0
  }
  /** The least number that waits; `otherwise` where none does. */
  oldest(otherwise: number): number {
    const first = this.#head < this.#places.length ? this.#base + this.#head : otherwise
    return this.#late.size === 0 ? first : Math.min(first, ...this.#late.keys())
  }
  /** In the order they were written. */
  values(): readonly T[] {
    const here = this.#places.slice(this.#head).filter(each => each !== undefined)
    return [...this.#late.values(), ...here]
  }
}
