/** The currency beside the amounts that commands print. Pure. */
import type { CommandResult } from '../../engine/plugin.ts'
import { isFields } from '../formats/fields.ts'
import { MONEY } from '../rows/money.ts'

const hasMoney = (schema: unknown): boolean => {
  if (!isFields(schema)) return false
  const { description, anyOf } = schema
  return description === MONEY.description || (Array.isArray(anyOf) && anyOf.some(hasMoney))
}
/** Names of the members that are amounts, at any depth of a JSON Schema. */
export const moneyMembers = (schema: unknown): ReadonlySet<string> => {
  const names = new Set<string>()
  const walk = (part: unknown): void => {
    if (Array.isArray(part)) return part.forEach(walk)
    if (!isFields(part)) return
    for (const [name, member] of Object.entries(isFields(part.properties) ? part.properties : {}))
      if (hasMoney(member)) names.add(name)
    Object.values(part).forEach(walk)
  }
  walk(schema)
  return names
}

const NUMBER = /^-?\d+(?:\.\d+)?$/
/** Whether a cell has an amount without a unit, or none. */
const isPlain = (cell: unknown): boolean =>
  cell === null || cell === undefined || cell === '' || cell === '-' || NUMBER.test(String(cell))
/** The heads of these columns name the currency: `balance (CNY)`. JSON is unchanged. A cell with a
 *  unit of its own keeps the head of its column. */
export const withCurrency = (
  result: CommandResult,
  names: ReadonlySet<string>,
  currency: string,
): CommandResult => {
  const { rows } = result
  if (!rows?.some(row => Object.keys(row).some(name => names.has(name)))) return result
  const heads = new Map(
    [...names].flatMap(name =>
      rows.every(row => isPlain(row[name])) ? [[name, `${name} (${currency})`]] : [],
    ),
  )
  const named = rows.map(row =>
    Object.fromEntries(Object.entries(row).map(([name, cell]) => [heads.get(name) ?? name, cell])),
  )
  return { ...result, rows: named, json: result.json ?? rows }
}
