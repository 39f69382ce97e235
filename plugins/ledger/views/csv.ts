/** Rows of an endpoint as CSV (RFC 4180), safe to open in a spreadsheet. Pure. */
import type { Json } from '../../../engine/plugin.ts'

type Fields = { readonly [name: string]: Json }
const MONEY = new Set(['cost', 'refunded'])

const FORMULA = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/
const NUMBER = /^-?\d+(?:\.\d+)?$/
/** A field that a spreadsheet would run as a formula begins with an apostrophe. */
const fieldOf = (value: Json | undefined): string => {
  if (value === null || value === undefined) return ''
  // Exact numbers are printed with all their digits.
  if (typeof value !== 'string') return JSON.stringify(value)
  const plain = FORMULA.test(value) && !NUMBER.test(value) ? `'${value}` : value
  return /[",\n\r]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain
}
export const csvHead = (columns: readonly string[], currency: string): string =>
  `${columns.map(name => (MONEY.has(name) ? `${name} (${currency})` : name)).join(',')}\r\n`
export const csvRows = (columns: readonly string[], rows: readonly Fields[]): string =>
  rows
    .map(
      row =>
        `${columns.map(name => (MONEY.has(name) ? row[name] : fieldOf(row[name]))).join(',')}\r\n`,
    )
    .join('')
