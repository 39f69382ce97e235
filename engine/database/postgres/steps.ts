/** A statement of a list, ready to be sent. */
import type { Statement, Value } from '../../plugin.ts'
import { wanted } from '../values.ts'
import type { RowLock } from './dialect.ts'
import type { Phrases } from './phrases.ts'
import type { Told } from './session.ts'

export interface HeldRow {
  readonly table: string
  readonly column: string
  readonly value: string
}
/** A statement ready to be sent, or why it cannot be. */
export type Step =
  | { readonly told: Told; readonly rows: number; readonly lock?: HeldRow }
  | { readonly wrong: string }
export const stepOf = (phrases: Phrases, statement: Statement): Step => {
  const { sql, values } = statement
  const phrase = phrases.of(sql)
  if ('wrong' in phrase) return phrase
  const { name, text, parameters } = phrase
  if (parameters !== values.length) {
    return { wrong: `it has ${parameters} parameters, and ${values.length} values were given` }
  }
  const lock = heldRow(phrase.lock, values)
  return { told: { name, text, values }, rows: wanted(statement), ...(lock && { lock }) }
}

const heldRow = (lock: RowLock | undefined, values: readonly Value[]): HeldRow | undefined => {
  const { table = '', column = '', literal, parameter = -1 } = lock ?? {}
  const value = literal ?? values[parameter] ?? null
  if (!lock || value === null || typeof value === 'object') return undefined
  return { table, column, value: String(value) }
}
