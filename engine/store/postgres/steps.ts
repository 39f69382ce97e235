/** A statement of a list, ready to be sent, and the rows that it will lock. */
import type { Statement, Value } from '../../plugin.ts'
import { wanted } from '../values.ts'
import type { RowLock } from './dialect.ts'
import type { Phrases } from './dialect-cache.ts'
import type { Told } from './session.ts'

export interface HeldRow {
  readonly table: string
  readonly column: string
  readonly value: Value
}
/** A statement ready to be sent, or why it cannot be. */
export type Step =
  | { readonly told: Told; readonly rows: number; readonly locks: readonly HeldRow[] }
  | { readonly wrong: string }

export const stepOf = (phrases: Phrases, statement: Statement): Step => {
  const { sql, values, locks = [] } = statement
  const phrase = phrases.of(sql)
  if ('wrong' in phrase) return phrase
  const { name, text, parameters } = phrase
  if (parameters !== values.length) {
    return { wrong: `it has ${parameters} parameters, and ${values.length} values were given` }
  }
  const named = namedRow(phrase.lock, values)
  const told = { name, text, values }
  return { told, rows: wanted(statement), locks: named ? [named, ...locks] : locks }
}

const namedRow = (lock: RowLock | undefined, values: readonly Value[]): HeldRow | undefined => {
  const { table = '', column = '', literal, parameter = -1 } = lock ?? {}
  const value = literal ?? values[parameter] ?? null
  if (!lock || value === null || typeof value === 'object') return undefined
  return { table, column, value }
}
