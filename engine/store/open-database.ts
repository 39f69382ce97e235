/** Options and interface of an open store, the same for SQLite and PostgreSQL. */
import type { Database, Migration, Owed, Statement } from '../plugin.ts'
import type { ProcessFolder } from './process-folder.ts'
import type { OnMigration } from './sqlite/migration-log.ts'

/** An acknowledged write survives: `power`, also a power cut; `process`, a crash or kill -9 of
 *  every process of the gateway. */
export type Durability = 'power' | 'process'
export const DURABILITY = 'power' satisfies Durability
export interface DatabaseOptions {
  /** `sqlite:` (tollgate.db in the data folder), `sqlite:path` or `postgres://…`. */
  readonly url: string
  /** The data folder. */
  readonly data?: string
  /** Whether to start a writer if none is running; for CLI commands. */
  readonly start?: boolean
  /** Whether that writer uses a store that was moved. */
  readonly isAnyway?: boolean
  /** ms until a write without a result is given up. */
  readonly writeTimeout?: number
  /** Longest wait for the first connection, ms. */
  readonly openTimeout?: number
  /** Whether `tollgate move` opens it: others are refused until the move is finished. */
  readonly isMoveTarget?: boolean
  /** Warnings for the operator from PostgreSQL; with SQLite the writer logs them. */
  report?(text: string): void
  /** Begin and end of each migration of an existing PostgreSQL store; with SQLite the writer's. */
  readonly onMigration?: OnMigration
}
export interface OpenDatabase extends Database {
  /** Applies the new migrations of an owner; several processes may call it at once. */
  migrate(owner: string, migrations: readonly Migration[]): Promise<void>
  /** Sets the on-crash statements of an exchange: the store applies them if this process crashes. A
   *  later list of a name replaces the earlier one; an empty list clears it. */
  setCrashStatements(name: string, statements: readonly Statement[]): void
  /** Records the progress of an exchange; its on-crash statements are applied with the last count.
   *  */
  progress(name: string, count: number): void
  /** See `Writes.owe`. `name`: of the exchange. */
  owe(name: string, owed: Owed): boolean
  /** How peers find this process; undefined before the store is open. */
  readonly process?: {
    /** Key of its on-crash statements. */
    readonly key: bigint
    /** The data folder with its progress counts. */
    readonly folder: ProcessFolder | undefined
  }
  close(): Promise<void>
}
