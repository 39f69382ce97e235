/** The items of an attribute while a PATCH changes them, by their `value` without case: one body
 *  may have many operations on many members. */
import type { Item } from './attributes.ts'

const keyOf = (value: Item[string] | undefined): string => String(value ?? '').toLowerCase()

export class ItemList {
  /** Items without a value have the key ''. */
  readonly #items = new Map<string, Item[]>()

  constructor(items: readonly Item[]) {
    this.append(items)
  }
  get items(): readonly Item[] {
    return [...this.#items.values()].flat()
  }
  append(items: readonly Item[]): void {
    for (const item of items) {
      const key = keyOf(item.value)
      const same = this.#items.get(key)
      if (same) same.push(item)
      else this.#items.set(key, [item])
    }
  }
  replaceAll(items: readonly Item[]): void {
    this.#items.clear()
    this.append(items)
  }
  /** In place of those with the same values. */
  add(items: readonly Item[]): void {
    this.remove(items)
    this.append(items)
  }
  /** Removes those with the values of `items`. */
  remove(items: readonly Item[]): void {
    for (const item of items) this.#items.delete(keyOf(item.value))
  }
  /** Changes those whose `part` has the value, without case; false: there are none. `next`: the
   *  item that follows; undefined removes it. */
  changeMatches(part: string, value: string, next: (item: Item) => Item | undefined): boolean {
    const text = keyOf(value)
    let [isFound, isMoved] = [false, false]
    for (const key of part === 'value' ? [text] : [...this.#items.keys()]) {
      const later = (this.#items.get(key) ?? []).flatMap(item => {
        if (keyOf(item[part]) !== text) return [item]
        isFound = true
        return next(item) ?? []
      })
      isMoved ||= later.some(item => keyOf(item.value) !== key)
      if (later.length > 0) this.#items.set(key, later)
      else this.#items.delete(key)
    }
    if (isMoved) this.replaceAll(this.items)
    return isFound
  }
}
