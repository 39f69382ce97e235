/** Collects groups of statements of one exchange, and commits them one after another. */
import type { Owed, Statement, Writes } from '../plugin.ts'

/** `setCrashStatements` replaces the on-crash statements of this id; an empty list clears them. */
export interface Store {
  write(statements: readonly Statement[]): Promise<unknown>
  setCrashStatements?(id: string, statements: readonly Statement[]): void
  progress?(id: string, count: number): void
  owe?(id: string, owed: Owed): boolean
}

export class StatementGroups implements Writes {
  readonly #store: Store
  readonly #id: string
  #pending: Statement[] = []
  #last: Promise<void> | undefined
  /** Groups without a confirmation, in their order. */
  readonly #unconfirmed: (readonly Statement[])[] = []
  readonly #owedNext: (() => readonly Statement[])[] = []
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
      this.#unconfirmed.push(list)
      this.#last = (this.#last ? this.#last.then(write) : write()) as Promise<void>
      // A rejection that no caller awaits (during a refusal) must not end the process.
      this.#last.then(() => this.#unconfirmed.shift(), ignore)
    }
    return this.#last ?? Promise.resolve()
  }
  get isConfirmed(): boolean {
    return this.#pending.length === 0 && this.#unconfirmed.length === 0
  }
  oweNext(list: () => readonly Statement[]): void {
    this.#owedNext.push(list)
  }
  owe(owed: Owed): boolean {
    return this.#store.owe?.(this.#id, owed) ?? false
  }
  /** Owes the groups that the store could not take. False: their list was refused, or the disk
   *  cannot take them. */
  oweGroups(error: { readonly code?: unknown }): boolean {
    if (!/^STORE_(UNAVAILABLE|UNKNOWN|READ_ONLY)$/.test(String(error.code))) return false
    const groups = [...this.#unconfirmed, this.#pending].filter(({ length }) => length > 0)
    const lists = [...groups, ...this.#owedNext.map(list => list())]
    return this.owe({ lists, onDone: () => this.#store.setCrashStatements?.(this.#id, []) })
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
