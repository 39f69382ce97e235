/** Answers in the memory of a process, at most so many bytes: the longest unused goes first. */
import type { Entry } from './entry.ts'

/** Bytes of an entry beside its text. */
const OVERHEAD = 300

export class Memory {
  readonly #limit: number
  /** In the order of use. */
  readonly #entries = new Map<string, Entry>()
  #size = 0
  constructor(limit: number) {
    this.#limit = limit
  }
  get size(): number {
    return this.#size
  }
  get(key: string): Entry | undefined {
    const entry = this.#entries.get(key)
    if (!entry) return undefined
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    return entry
  }
  set(key: string, entry: Entry): void {
    this.delete(key)
    const size = sizeOf(entry)
    if (size > this.#limit) return
    this.#entries.set(key, entry)
    this.#size += size
    for (const oldest of this.#entries.keys()) {
      if (this.#size <= this.#limit) break
      this.delete(oldest)
    }
  }
  delete(key: string): void {
    const entry = this.#entries.get(key)
    if (!entry) return
    this.#entries.delete(key)
    this.#size -= sizeOf(entry)
  }
  clear(): void {
    this.#entries.clear()
    this.#size = 0
  }
}
/** A text has one or two bytes a character in memory. */
const sizeOf = ({ text }: Entry): number => text.length * 2 + OVERHEAD
