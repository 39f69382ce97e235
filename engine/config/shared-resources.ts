/** Reference-counted resources that outlive a reload: pools, health, caches, schemas. */

interface Entry {
  readonly version: string
  readonly value: object
  uses: number
}

export class SharedResources {
  readonly #entries = new Map<string, Entry>()
  readonly #closing = new Set<Promise<unknown>>()

  /** The value of a key. `create` replaces the value of another `version`. */
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
    const currentEntry = entry
    currentEntry.uses++
    return { value: currentEntry.value as T, release: () => this.#release(key, currentEntry) }
  }
  get size(): number {
    return this.#entries.size
  }
  /** Resolves when all values released so far are closed. */
  async closed(): Promise<void> {
    await Promise.all(this.#closing)
  }
  #release(key: string, entry: Entry): void {
    if (--entry.uses > 0) return
    if (this.#entries.get(key) === entry) this.#entries.delete(key)
    // No request depends on whether closing fails or how long it takes: the value is unused.
    const closing = Promise.try(() => (entry.value as { close?(): unknown }).close?.())
      .catch(() => {})
      .finally(() => this.#closing.delete(closing))
    this.#closing.add(closing)
  }
}
