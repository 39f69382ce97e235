/** A set of the hashes of an object's keys. */

export class KeyIndex {
  /** 0: free. */
  #slots = new Int32Array(64)
  #size = 0
  clear(): void {
    this.#slots.fill(0)
    this.#size = 0
  }
  /** Adds a hash. False if it was there, or cannot be told from others. */
  add(hash: number): boolean {
    if (++this.#size * 2 > this.#slots.length && !this.#grow()) return false
    return place(this.#slots, hash)
  }
  #grow(): boolean {
    const slots = new Int32Array(this.#slots.length * 4)
    const all = this.#slots.every(hash => hash === 0 || place(slots, hash))
    this.#slots = slots
    return all
  }
}
/** Hashes that were chosen to meet each other are not worth a longer search. */
const MOST_STEPS = 64
const place = (slots: Int32Array, hash: number): boolean => {
  const mask = slots.length - 1
  let at = (hash ^ (hash >>> 15)) & mask
  for (let step = 0; step < MOST_STEPS; step++, at = (at + 1) & mask) {
    const other = slots[at]
    if (other === 0) {
      slots[at] = hash
      return hash !== 0
    }
    if (other === hash) return false
  }
  return false
}
