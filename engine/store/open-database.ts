/** What whoever opens a store says and gets, whichever engine it is. */
import type { Database, Migration, Statement } from '../plugin.ts'
import type { ProcessFolder } from './process-folder.ts'

/** What an acknowledged write survives: also a power cut, or the end of every process of ours, even kill -9. */
export type Durability = 'power' | 'process'
export interface DatabaseOptions {
  /** `sqlite:` (tollgate.db in the data folder), `sqlite:path` or `postgres://…`. */
  readonly url: string
  /** The data folder. */
  readonly data?: string
  /** Whether to run a writer of its own while none is running: for commands. */
  readonly start?: boolean
  /** ms until a write that gets no answer is given up. */
  readonly patience?: number
  /** ms until the store must have answered for the first time. */
  readonly opening?: number
  /** PostgreSQL: what an operator should know; with SQLite the writer says it. */
  report?(text: string): void
}
export interface OpenDatabase extends Database {
  /** Runs what is new of an owner's numbered migrations; safe when several processes arrive at once. */
  migrate(owner: string, migrations: readonly Migration[]): Promise<void>
  /** What the store applies if this process dies without another word. The last of a name counts; none withdraws it. */
  will(name: string, statements: readonly Statement[]): void
  /** How far the exchange of this name has come: its will is applied with it, whoever is killed. */
  progress(name: string, count: number): void
  /** This process, as its peers find it; undefined before the store is opened. */
  readonly process?: {
    /** Under which its on-crash statements stand. */
    readonly key: bigint
    /** The data folder in which its progress can be read. */
    readonly folder: ProcessFolder | undefined
  }
  close(): Promise<void>
}
