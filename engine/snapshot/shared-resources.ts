/** Reference-counted resources that outlive a reload: pools, health, caches, schemas. */

interface Entry {
  readonly version: string
  readonly value: object
  uses: number
}

export class SharedResources {
  readonly #entries = new Map<string, Entry>()
  readonly #closing = new Set<Promise<unknown>>()

  /** The entry of a key. For another `version`, `create` gets the old value. */
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
    const used = entry
    used.uses++
    return { value: used.value as T, release: () => this.#release(key, used) }
  }
  get size(): number {
    return this.#entries.size
  }
  /** Resolves when everything released so far is closed. */
  async closed(): Promise<void> {
    await Promise.all(this.#closing)
  }
  #release(key: string, entry: Entry): void {
    if (--entry.uses > 0) return
    if (this.#entries.get(key) === entry) this.#entries.delete(key)
    // Closing may fail or take long; the resource is unused, so no request depends on it.
    const closing = Promise.try(() => (entry.value as { close?(): unknown }).close?.())
      .catch(() => {})
      .finally(() => this.#closing.delete(closing))
    this.#closing.add(closing)
  }
}
