/** Collects groups of statements of one exchange, and commits them one after another. */
import type { Statement, Writes } from '../plugin.ts'

/** `setCrashStatements` replaces the on-crash statements of this id; an empty list clears them. */
export interface Store {
  write(statements: readonly Statement[]): Promise<unknown>
  setCrashStatements?(id: string, statements: readonly Statement[]): void
  progress?(id: string, count: number): void
}

export class StatementGroups implements Writes {
  readonly #store: Store
  readonly #id: string
  #pending: Statement[] = []
  #last: Promise<void> | undefined
  #hasCrashStatements = false
  constructor(store: Store, id: string) {
    this.#store = store
    this.#id = id
  }
  add(...statements: readonly Statement[]): void {
    this.#pending.push(...statements)
  }
  setCrashStatements(...statements: readonly Statement[]): void {
    this.#hasCrashStatements = true
    this.#store.setCrashStatements?.(this.#id, statements)
  }
  progress(count: number): void {
    this.#store.progress?.(this.#id, count)
  }
  /** Starts to write the pending group; the promise covers all groups so far. */
  commit(): Promise<void> {
    if (this.#pending.length > 0) {
      const list = this.#pending
      this.#pending = []
      const write = (): Promise<unknown> => this.#store.write(list)
      this.#last = (this.#last ? this.#last.then(write) : write()) as Promise<void>
      // A rejection that no caller awaits (during a refusal) must not end the process.
      this.#last.catch(ignore)
    }
    return this.#last ?? Promise.resolve()
  }
  /** Ends the exchange: clears the on-crash statements once all groups are durable. If a group
   *  failed, they stay, and the plugin that retries the write clears them. */
  close(): void {
    if (!this.#hasCrashStatements) return
    this.commit().then(() => this.#store.setCrashStatements?.(this.#id, []), ignore)
  }
  get idle(): boolean {
    return this.#pending.length === 0 && this.#last === undefined
  }
}

const ignore = (): void => {}
