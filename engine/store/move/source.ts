/** The embedded store as the source of a move: its tables, their rows in batches, and what a
 *  process that crashed left behind. */
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import type { Value } from '../../plugin.ts'
import { MARK_TABLE } from './mark.ts'

export interface SourceTable {
  readonly name: string
  /** Without generated columns. */
  readonly columns: readonly string[]
  readonly rows: number
  /** Whether its rows have no number of their own: then a position counts rows. */
  readonly isWithoutRowid: boolean
}
/** Rows of one table, by column. */
export interface Batch {
  readonly columns: readonly (readonly Value[])[]
  readonly rows: number
  /** The position after the last row. */
  readonly position: bigint
}

/** Tables that describe this store, and not what it holds. */
const OWN_TABLES = ['tollgate_migrations', 'tollgate_lists', 'tollgate_wills', MARK_TABLE]
const BATCH_ROWS = 5_000
const BATCH_BYTES = 8 * 2 ** 20

export class Source {
  readonly #connection: DatabaseSync
  readonly file: string

  constructor(file: string) {
    this.file = file
    this.#connection = new DatabaseSync(file, { readOnly: true, timeout: 5_000 })
  }
  close(): void {
    this.#connection.close()
  }
  /** Tells this store from others, also from a later one of the same name. */
  identity(): string {
    const { at } = this.query('SELECT min(at) AS at FROM tollgate_migrations')
    return `${this.file}, created ${new Date(Number(at)).toISOString()}`
  }
  tables(): readonly SourceTable[] {
    return this.#all('PRAGMA table_list')
      .filter(({ schema, type, name }) => schema === 'main' && type === 'table' && isData(name))
      .map(({ name, wr }) => ({
        name: String(name),
        columns: this.#all(`PRAGMA table_xinfo(${quote(String(name))})`)
          .filter(({ hidden }) => Number(hidden) === 0)
          .map(column => String(column.name)),
        rows: this.count(String(name)),
        isWithoutRowid: Number(wr) === 1,
      }))
  }
  count(table: string): number {
    return Number(this.query(`SELECT count(*) AS number FROM ${quote(table)}`).number)
  }
  /** The applied migrations, as `owner number`. */
  migrations(): ReadonlySet<string> {
    const rows = this.#all('SELECT owner, number FROM tollgate_migrations')
    return new Set(rows.map(({ owner, number }) => `${owner} ${number}`))
  }
  /** Processes that did not end regularly: a gateway has to settle their calls first. */
  crashedProcesses(): number {
    const tables = new Set(this.#all('PRAGMA table_list').map(({ name }) => name))
    const names = ['tollgate_processes', 'tollgate_wills'].filter(name => tables.has(name))
    return names.reduce((sum, name) => sum + this.count(name), 0)
  }
  /** One row; whole numbers are bigints. */
  query(text: string): Record<string, unknown> {
    const statement = this.#connection.prepare(text)
    statement.setReadBigInts(true)
    return (statement.get() ?? {}) as Record<string, unknown>
  }
  /** The rows behind a position, in the order of the table. */
  *batches(table: SourceTable, after: bigint): Generator<Batch> {
    let [columns, rows, bytes, position] = [table.columns.map((): Value[] => []), 0, 0, after]
    for (const row of this.#rows(table, after)) {
      position = table.isWithoutRowid ? position + 1n : BigInt(row[0] as bigint)
      for (const [index, column] of columns.entries()) {
        const value = row[index + 1] ?? null
        column.push(value instanceof Uint8Array ? Buffer.from(value) : value)
        bytes += sizeOf(value)
      }
      if (++rows < BATCH_ROWS && bytes < BATCH_BYTES) continue
      yield { columns, rows, position }
      ;[columns, rows, bytes] = [table.columns.map((): Value[] => []), 0, 0]
    }
    if (rows > 0) yield { columns, rows, position }
  }
  #rows({ name, columns, isWithoutRowid }: SourceTable, after: bigint): Iterable<readonly Value[]> {
    const list = columns.map(quote).join(', ')
    const statement = this.#connection.prepare(
      isWithoutRowid
        ? `SELECT 0, ${list} FROM ${quote(name)} LIMIT -1 OFFSET ?`
        : `SELECT rowid, ${list} FROM ${quote(name)} WHERE rowid > ? ORDER BY rowid`,
    )
    statement.setReadBigInts(true)
    statement.setReturnArrays(true)
    return statement.iterate(after) as unknown as Iterable<readonly Value[]>
  }
  #all(text: string): ReturnType<StatementSync['all']> {
    return this.#connection.prepare(text).all()
  }
}

const isData = (name: unknown): boolean =>
  !String(name).startsWith('sqlite_') && !OWN_TABLES.includes(String(name))
export const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`
const sizeOf = (value: Value): number =>
  typeof value === 'string' || value instanceof Uint8Array ? value.length : 8
