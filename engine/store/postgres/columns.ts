/** Column parsers: PostgreSQL results as the same values that SQLite returns. */
import type { Value } from '../../plugin.ts'

/** Whole numbers as number where that is exact, otherwise as bigint. */
const whole = (text: string): Value => {
  const number = Number(text)
  return Number.isSafeInteger(number) ? number : BigInt(text)
}
// https://www.postgresql.org/docs/current/catalog-pg-type.html: the numbers of built-in types never
// change.
const PARSERS: Readonly<Record<number, (text: string) => Value>> = {
  16: text => (text === 't' ? 1 : 0),
  17: text => Buffer.from(text.slice(2), 'hex'),
  20: whole,
  21: Number,
  23: Number,
  26: Number,
  700: Number,
  701: Number,
  // A sum of BIGINT is NUMERIC in PostgreSQL and an integer in SQLite.
  1700: text => (/^-?\d+$/.test(text) ? whole(text) : Number(text)),
}
const asText = (text: string): Value => text

/** Type parsers for `pg`. JSON, times and all other types stay text. */
export const columns = {
  getTypeParser: (type: number) => PARSERS[type] ?? asText,
}
