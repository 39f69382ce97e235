/** Counted resources that outlive a reload: pools, health, caches, compiled schemas. One per process and key. */

interface Entry {
  readonly version: string
  readonly value: object
  uses: number
}
/** May be shared: closed when the last snapshot let go of it. */
interface Closable {
  close?(): unknown
}

export class Shared {
  readonly #entries = new Map<string, Entry>()
  readonly #closing = new Set<Promise<unknown>>()

  /** The entry of this key, made on first use. Another `version` is given the old value to take its state over. */
  acquire<T extends object>(
    key: string,
    version: string,
    create: (previous: T | undefined) => T,
  ): { readonly value: T; release(): void } {
    const current = this.#entries.get(key)
    let entry = current
    if (entry?.version !== version) {
      entry = { version, value: create(current?.value as T | undefined), uses: 0 }
      this.#entries.set(key, entry)
    }
    const held = entry
    held.uses++
    return { value: held.value as T, release: () => this.#release(key, held) }
  }
  get size(): number {
    return this.#entries.size
  }
  /** Resolves when all that was let go of so far is closed. */
  async closed(): Promise<void> {
    await Promise.all(this.#closing)
  }
  #release(key: string, entry: Entry): void {
    if (--entry.uses > 0) return
    if (this.#entries.get(key) === entry) this.#entries.delete(key)
    // Closing may fail or take long; nobody uses it any more, so neither matters to a request.
    const closing = Promise.try(() => (entry.value as Closable).close?.())
      .catch(() => {})
      .finally(() => this.#closing.delete(closing))
    this.#closing.add(closing)
  }
}
