/** The rows that a group's lists will lock, taken beforehand in one order: two processes then wait, and never for each other. */
import type { Told } from './session.ts'
import type { HeldRow, Step } from './steps.ts'

/** A list alone takes its rows in its own order, so nothing is needed then. */
export const locksOf = (lists: readonly (readonly Step[])[]): readonly Told[] => {
  if (lists.length < 2) return []
  const rows = new Map<string, { readonly row: HeldRow; readonly values: Set<string> }>()
  for (const list of lists) {
    for (const step of list) {
      if ('told' in step) for (const row of step.locks) note(rows, row)
    }
  }
  const places = [...rows].sort(([one], [other]) => (one < other ? -1 : 1))
  return places.map(([, { row, values }]) => toLock(row, values))
}
const note = (
  rows: Map<string, { readonly row: HeldRow; readonly values: Set<string> }>,
  row: HeldRow,
): void => {
  const place = `${row.table} ${row.column}`
  const known = rows.get(place)
  if (known) known.values.add(String(row.value))
  else rows.set(place, { row, values: new Set([String(row.value)]) })
}
const toLock = ({ table, column }: HeldRow, values: ReadonlySet<string>): Told => ({
  // Longer names are cut off, and then one stands for two.
  name: table.length + column.length < 50 ? `lock ${table} ${column}` : undefined,
  text: `SELECT 1 FROM ${table} WHERE ${column} = ANY($1) ORDER BY ${column} FOR NO KEY UPDATE`,
  values: [[...values]],
})
