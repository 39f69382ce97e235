/** Row locks of a group, taken in advance in one order, so that two processes never deadlock. */
import type { Query } from './session.ts'
import type { LockedRow, Step } from './steps.ts'

/** Statements that lock the rows; none for a single list, which locks rows in its own order. */
export const locksOf = (lists: readonly (readonly Step[])[]): readonly Query[] => {
  if (lists.length < 2) return []
  const rows = new Map<string, { readonly row: LockedRow; readonly values: Set<string> }>()
  for (const list of lists) {
    for (const step of list) {
      if ('query' in step) for (const row of step.locks) addRow(rows, row)
    }
  }
  const entries = [...rows].sort(([one], [other]) => (one < other ? -1 : 1))
  return entries.map(([, { row, values }]) => toLock(row, values))
}
const addRow = (
  rows: Map<string, { readonly row: LockedRow; readonly values: Set<string> }>,
  row: LockedRow,
): void => {
  const key = `${row.table} ${row.column}`
  const entry = rows.get(key)
  if (entry) entry.values.add(String(row.value))
  else rows.set(key, { row, values: new Set([String(row.value)]) })
}
const toLock = ({ table, column }: LockedRow, values: ReadonlySet<string>): Query => ({
  // PostgreSQL truncates longer names, so two of them could become equal.
  name: table.length + column.length < 50 ? `lock ${table} ${column}` : undefined,
  text: `SELECT 1 FROM ${table} WHERE ${column} = ANY($1) ORDER BY ${column} FOR NO KEY UPDATE`,
  values: [[...values]],
})
