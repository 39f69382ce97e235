/** Rows as CSV (RFC 4180), safe to open in a spreadsheet. Pure. */

type Fields = { readonly [name: string]: unknown }
const MONEY = new Set(['cost', 'refunded', 'planned'])

const FORMULA = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/
const NUMBER = /^-?\d+(?:\.\d+)?$/
/** Customers choose some texts: one that a spreadsheet would run as a formula gets an apostrophe.
 *  Exact numbers are printed with all their digits; objects and lists as JSON. */
export const csvCell = (value: unknown): string => {
  if (value === null || value === undefined) return ''
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  const plain = FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text
  return /[",\n\r]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain
}
export const csvHead = (columns: readonly string[], currency: string): string =>
  `${columns.map(name => (MONEY.has(name) ? `${name} (${currency})` : name)).join(',')}\r\n`
export const csvRows = (columns: readonly string[], rows: readonly Fields[]): string =>
  rows.map(row => `${columns.map(name => csvCell(row[name])).join(',')}\r\n`).join('')
