/** Reads rows of the store for APIs; times and error codes of the store. */
import type { Row } from '../../engine/plugin.ts'
import { printMoney } from '../billing/money.ts'
import { nanosOf } from '../ledger/statements.ts'
import { MONEY } from '../rows/money.ts'
import type { RowOf, Shape, Shapes } from '../shapes.ts'

export const isoTime = (ms: unknown): string => new Date(Number(ms)).toISOString()
export const jsonOf = <T>(text: unknown): T | null =>
  typeof text === 'string' ? (JSON.parse(text) as T) : null

/** Replaces an error of the store that has this code. */
export const whenCode =
  (code: string, make: () => Error) =>
  (error: { readonly code?: string }): never => {
    throw error.code === code ? make() : error
  }

/** The printed part of one row. */
export type Cells = Readonly<Record<string, string | number | null>>
export const singleRow = (cells: Cells) => {
  return { rows: [cells], json: cells }
}

/** A page of rows of which one more than `size` was read, and the cursor of the next page. */
export const pageOf = <T>(
  rows: readonly Row[],
  size: number,
  viewOf: (row: Row) => T,
  cursorOf: (last: Row) => unknown = ({ id }) => id,
) => {
  const last = rows.length > size ? rows[size - 1] : undefined
  return { data: rows.slice(0, size).map(viewOf), next: last ? String(cursorOf(last)) : null }
}

type Values = Readonly<Record<string, unknown>>
/** Makes the reader of a table: each column becomes the member of the same name, as its shape says.
 *  Rows have texts, numbers, times in ms since 1970, amounts in nanos, and null. `others` returns
 *  the members that are made in another way. */
export const rowReader = <Columns extends Shapes>(
  columns: Columns,
  others: (row: Row) => Partial<RowOf<Columns>> = () => ({}),
) => {
  const names = Object.keys(columns)
  return (row: Row): RowOf<Columns> => {
    const values: Values = others(row)
    const entries = names.map(name => [
      name,
      Object.hasOwn(values, name) ? values[name] : valueIn(row, name, columns[name]),
    ])
    return Object.fromEntries(entries) as RowOf<Columns>
  }
}
const valueIn = (row: Row, name: string, shape: Shape | undefined): unknown => {
  const value = row[name]
  const { anyOf, type, format } = shape ?? {}
  if (Array.isArray(anyOf)) return value == null ? null : valueIn(row, name, anyOf[0])
  if (shape === MONEY) return printMoney(nanosOf(value ?? 0))
  if (format === 'date-time') return isoTime(value)
  if (type === 'string') return String(value)
  return type === 'integer' || type === 'number' ? Number(value) : value
}
