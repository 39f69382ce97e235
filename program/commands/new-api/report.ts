/** The rows that were not carried, and why: one line for each table and reason. */
export interface Skipped {
  readonly table: string
  readonly reason: string
  /** Numbers or names of the rows; empty for a whole table. */
  readonly rows: readonly string[]
}

export class Report {
  readonly #rows = new Map<string, { table: string; reason: string; rows: string[] }>()

  /** `row`: a number or a name; absent for a whole table. */
  add(table: string, reason: string, row?: string | number): void {
    const key = `${table} ${reason}`
    const entry = this.#rows.get(key) ?? { table, reason, rows: [] }
    if (row !== undefined) entry.rows.push(String(row))
    this.#rows.set(key, entry)
  }
  get skipped(): readonly Skipped[] {
    return [...this.#rows.values()]
  }
}

const MOST = 10
/** `tokens 3, 7 and 12 more: reason`. */
export const lineOf = ({ table, reason, rows }: Skipped): string => {
  const more = rows.length > MOST ? ` and ${rows.length - MOST} more` : ''
  const names = rows.length === 0 ? '' : ` ${rows.slice(0, MOST).join(', ')}${more}`
  return `${table}${names}: ${reason}`
}
