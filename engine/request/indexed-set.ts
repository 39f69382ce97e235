/** A set whose members remember their index: constant time, and no garbage. */

/** `index`: -1 outside of the set. */
export interface Indexed {
  index: number
}

/** A Set leaves a table at each rehash that keeps its members alive until a full collection:
 *  measured, three quarters of all garbage collection. An array leaves nothing. */
export class IndexedSet<T extends Indexed> implements Iterable<T> {
  readonly #members: T[] = []

  get size(): number {
    return this.#members.length
  }
  add(member: T): void {
    if (member.index < 0) member.index = this.#members.push(member) - 1
  }
  /** False when it was not a member. */
  remove(member: T): boolean {
    const { index } = member
    if (index < 0) return false
    const last = this.#members.pop()
    if (last && last !== member) {
      this.#members[index] = last
      last.index = index
    }
    member.index = -1
    return true
  }
  /** Iterates over a copy: members may be removed meanwhile. */
  [Symbol.iterator](): Iterator<T> {
    return [...this.#members][Symbol.iterator]()
  }
}
