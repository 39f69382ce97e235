/** What must become durable with one exchange: groups of statements, committed one after another. */
import type { Statement, Writes } from '../plugin.ts'

/** What `writes` needs of the store. `will` replaces the last will of this id; an empty list withdraws it. */
export interface Store {
  write(statements: readonly Statement[]): Promise<unknown>
  will?(id: string, statements: readonly Statement[]): void
  progress?(id: string, count: number): void
}

export class Groups implements Writes {
  readonly #store: Store
  readonly #id: string
  #pending: Statement[] = []
  #last: Promise<void> | undefined
  #willed = false
  constructor(store: Store, id: string) {
    this.#store = store
    this.#id = id
  }
  add(...statements: readonly Statement[]): void {
    this.#pending.push(...statements)
  }
  will(...statements: readonly Statement[]): void {
    this.#willed = true
    this.#store.will?.(this.#id, statements)
  }
  progress(count: number): void {
    this.#store.progress?.(this.#id, count)
  }
  /** Starts the pending group; the promise covers all groups so far. */
  commit(): Promise<void> {
    if (this.#pending.length > 0) {
      const list = this.#pending
      this.#pending = []
      const write = (): Promise<unknown> => this.#store.write(list)
      this.#last = (this.#last ? this.#last.then(write) : write()) as Promise<void>
      // A group nobody waits for (a refusal on its way) must not end the process; whoever awaits still sees it.
      this.#last.catch(ignore)
    }
    return this.#last ?? Promise.resolve()
  }
  /** The exchange is over. Once the store has all that it said, a later death must not apply its will; where it could not be told, the
   *  will stands until whoever sees to that withdraws it. */
  close(): void {
    if (!this.#willed) return
    this.commit().then(
      () => this.#store.will?.(this.#id, []),
      () => {},
    )
  }
  get idle(): boolean {
    return this.#pending.length === 0 && this.#last === undefined
  }
}

const ignore = (): void => {}
