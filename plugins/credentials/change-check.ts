/** Reads changes of the store, once at a time, and says how old the last reads are. */
export class ChangeCheck {
  readonly #read: () => Promise<void>
  readonly #now: () => number
  #startedAt = Number.NEGATIVE_INFINITY
  /** The start of the last successful read. */
  #readAt = Number.NEGATIVE_INFINITY
  /** The end of the last failed read; -Infinity after a successful one. */
  #failedAt = Number.NEGATIVE_INFINITY
  #running: Promise<void> | undefined

  /** `now`: ms of a clock that never goes back. */
  constructor(read: () => Promise<void>, now: () => number) {
    this.#read = read
    this.#now = now
  }
  /** ms since the last read began. */
  get sinceStart(): number {
    return this.#now() - this.#startedAt
  }
  /** ms since the last successful read began; Infinity before the first one. */
  get age(): number {
    return this.#now() - this.#readAt
  }
  /** ms since the last read failed; Infinity after a successful one. */
  get sinceFailure(): number {
    return this.#now() - this.#failedAt
  }
  /** Reads changes, or waits for the read that runs. Rejects if it fails. */
  run(): Promise<void> {
    this.#running ??= this.#readOnce()
      .catch(error => {
        this.#failedAt = this.#now()
        throw error
      })
      .finally(() => {
        this.#running = undefined
      })
    return this.#running
  }
  async #readOnce(): Promise<void> {
    const startedAt = this.#now()
    this.#startedAt = startedAt
    await this.#read()
    this.#readAt = startedAt
    this.#failedAt = Number.NEGATIVE_INFINITY
  }
}
