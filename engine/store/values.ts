/** Value conversion for SQLite, and the JSON encoding of statements and rows on the writer's
 *  socket. */
import type { Row, Statement, Value } from '../plugin.ts'
import { fault } from './faults.ts'

/** A JSON value, `{n}` for a bigint, `{b}` for bytes in base64, `{p}` for a progress count. */
export type Wire =
  | string
  | number
  | null
  | { readonly n: string }
  | { readonly b: string }
  | { readonly p: number }

export const toWire = (value: Value): Wire => {
  if (typeof value === 'string' || value === null) return value
  // A whole number beyond 2^53 has already lost its last digits.
  if (typeof value === 'number' && Number.isFinite(value)) {
    if (!Number.isInteger(value) || Number.isSafeInteger(value)) return value
  }
  if (typeof value === 'bigint') return { n: value.toString() }
  if (value instanceof Uint8Array) return { b: Buffer.from(value).toString('base64') }
  throw fault('STORE_VALUE', [String(value)])
}
export const fromWire = (wire: Wire): Value => {
  if (typeof wire !== 'object' || wire === null) return wire
  if ('p' in wire) return wire.p
  return 'n' in wire ? BigInt(wire.n) : Buffer.from(wire.b, 'base64')
}

/** Expected rows that are not exact numbers. */
const ANY_ROWS = -1
const SOME_ROWS = -2
/** Expected rows as a number, or one of these constants. */
export const encodeRows = ({ rows = ANY_ROWS }: Statement): number =>
  rows === 'some' ? SOME_ROWS : rows
/** Whether a statement that changed `changes` rows did what it expects. */
export const hasExpectedRows = (expectedRows: number, changes: number): boolean =>
  expectedRows === ANY_ROWS ||
  expectedRows === changes ||
  (expectedRows === SOME_ROWS && changes > 0)
/** A statement encoded with its text, so that another process can apply it after a crash. */
export type EncodedStatement = readonly [text: string, rows: number, ...values: Wire[]]
export const encodeStatement = (statement: Statement): EncodedStatement => [
  statement.sql.text,
  encodeRows(statement),
  ...statement.values.map((value, at) =>
    at === statement.progress ? { p: Number(value) } : toWire(value),
  ),
]
export const toStatement = ([text, rows, ...values]: EncodedStatement): Statement => ({
  sql: { name: text, text },
  values: values.map(fromWire),
  ...(rows === SOME_ROWS && { rows: 'some' }),
  ...(rows >= 0 && { rows }),
})
/** Inserts the last progress of the exchange, which never decreases. Returns no statements before
 *  there is any progress: the client has received nothing yet. */
export const withProgress = (
  statements: readonly EncodedStatement[],
  count: number | undefined,
): readonly EncodedStatement[] => {
  if (count === undefined) return statements.some(hasNoProgress) ? [] : statements
  const insertCount = (wire: Wire): Wire =>
    typeof wire === 'object' && wire !== null && 'p' in wire ? Math.max(wire.p, count) : wire
  return statements.map(([text, rows, ...values]) => [text, rows, ...values.map(insertCount)])
}

const hasNoProgress = ([, , ...values]: EncodedStatement): boolean =>
  values.some(wire => typeof wire === 'object' && wire !== null && 'p' in wire && wire.p === 0)

/** A value to bind in SQLite. A number would be bound as REAL, and sums of REAL are not exact. */
export const toSqlite = (value: Value): Value => {
  if (typeof value === 'number' && Number.isInteger(value)) return BigInt(value)
  return value
}

/** Converts bigint to number where that is exact. */
export const normalizeRow = (row: Record<string, Value>): Row => {
  for (const name in row) {
    const value = row[name]
    if (typeof value !== 'bigint') continue
    const number = Number(value)
    if (Number.isSafeInteger(number)) row[name] = number
  }
  return row
}
export const rowToWire = (row: Row): Record<string, Wire> => {
  const wire: Record<string, Wire> = {}
  for (const name in row) wire[name] = toWire(row[name] ?? null)
  return wire
}
export const rowFromWire = (wire: Readonly<Record<string, Wire>>): Row => {
  const row: Record<string, Value> = {}
  for (const name in wire) row[name] = fromWire(wire[name] ?? null)
  return row
}
