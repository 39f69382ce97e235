/** Prices by attributes:
 *  `{ by: [quality, size], price: { high: { 1024x1024: 0.167, default: 0.25 } } }`. Pure. */
import { isFields } from '../../engine/kit.ts'
import { isTier, OPEN, usualName } from '../formats/tiers.ts'
import { ATTRIBUTE } from './condition.ts'
import { isMeter, isSum } from './meters.ts'
import type { PricingFacts } from './pricing-facts.ts'
import type { ReportProblem, Where } from './problems.ts'
import { compileRate, type PriceContext, printRate, type Rate } from './rate.ts'

/** One level for each attribute of `by`; a rate if there are none. */
export type Table = Rate | ReadonlyMap<string, Table>
const DEFAULT = 'default'
const MAX_ATTRIBUTES = 3

/** `resolution`, or a list of up to three. */
export const compileBy = (
  value: unknown,
  where: Where,
  report: ReportProblem,
): readonly string[] | undefined => {
  if (value === undefined) return []
  const names = Array.isArray(value) ? value : [value]
  const isValid = names.every(name => typeof name === 'string' && ATTRIBUTE.test(name))
  if (!isValid || names.length === 0 || names.length > MAX_ATTRIBUTES)
    report(
      where,
      'PRICE_BY',
      '`by` names an attribute such as resolution, or up to three in a list',
    )
  else if (new Set(names).size < names.length)
    report(where, 'PRICE_BY', '`by` names an attribute twice')
  else if (names.some(name => isMeter(name) || isSum(name) || name === 'time'))
    report(where, 'PRICE_BY', '`by` names attributes of the call; compare a meter with `when`')
  else return names
  return undefined
}

export const compileTable = (
  value: unknown,
  by: readonly string[],
  per: bigint | undefined,
  where: Where,
  context: PriceContext,
): Table | undefined => {
  const [name, ...otherAttributes] = by
  if (name === undefined && !isFields(value)) return compileRate(value, per, where, context)
  if (name === undefined)
    context.report(
      where,
      'PRICE_BY',
      'a table of prices needs `by`: the attribute it is looked up with',
    )
  else if (!isFields(value) || Object.keys(value).length === 0)
    context.report(where, 'PRICE_BY', `a price by ${name} is a map from each ${name} to a price`)
  else return compileEntries(value, otherAttributes, per, where, context)
  return undefined
}
const compileEntries = (
  values: Readonly<Record<string, unknown>>,
  otherAttributes: readonly string[],
  per: bigint | undefined,
  where: Where,
  context: PriceContext,
): Table | undefined => {
  const entries = Object.entries(values).map(
    ([key, each]) =>
      [key, compileTable(each, otherAttributes, per, [...where, key], context)] as const,
  )
  const validEntries = entries.filter(
    (entry): entry is readonly [string, Table] => entry[1] !== undefined,
  )
  return validEntries.length === entries.length ? new Map(validEntries) : undefined
}

export interface TablePrice {
  readonly rate: Rate
  readonly keys: readonly string[]
}
/** The price that applies to a served call. Undefined: its attributes have none. Where an attribute
 *  stayed open, since the answer does not name it, and the table has no default, the dearest price
 *  applies. */
export const lookUp = (
  table: Table,
  by: readonly string[],
  facts: PricingFacts,
): TablePrice | undefined => {
  const { prices } = lookUpAll(table, by, facts)
  return prices.reduce<TablePrice | undefined>(
    (dearest, each) => (dearest && !isDearer(each.rate, dearest.rate) ? dearest : each),
    undefined,
  )
}
const isDearer = (one: Rate, other: Rate): boolean => one.price * other.per > other.price * one.per

/** All prices that may apply. `isComplete`: whether each requested value has one. */
export const lookUpAll = (
  table: Table,
  by: readonly string[],
  facts: PricingFacts,
): { readonly prices: readonly TablePrice[]; readonly isComplete: boolean } => {
  if (isRate(table)) return { prices: [{ rate: table, keys: [] }], isComplete: true }
  const [name = '', ...otherAttributes] = by
  const values = facts.attribute(name)
  const keys =
    values === 'any' ? [[...table.keys()]] : values.map(each => keysOf(table, name, each))
  const requestedKeys = keys[0] ?? []
  let isComplete = requestedKeys.length > 0
  const prices = [...new Set(keys.flat())].flatMap(key => {
    const inner = lookUpAll(table.get(key) as Table, otherAttributes, facts)
    if (requestedKeys.includes(key)) isComplete &&= inner.isComplete
    return inner.prices.map(each => ({ rate: each.rate, keys: [key, ...each.keys] }))
  })
  return { prices, isComplete }
}
/** The entries of one value: none, one, or all where the value is open. */
const keysOf = (
  table: ReadonlyMap<string, Table>,
  name: string,
  value: string | undefined,
): readonly string[] => {
  if (value !== undefined && table.has(value)) return [value]
  if (isTier(name, value)) {
    const tier = usualName(name, value)
    const key = [...table.keys()].find(each => usualName(name, each) === tier)
    if (key !== undefined) return [key]
  }
  if (table.has(DEFAULT)) return [DEFAULT]
  return value === OPEN ? [...table.keys()] : []
}

const isRate = (table: Table): table is Rate => !(table instanceof Map)
export const ratesIn = (table: Table): readonly Rate[] =>
  isRate(table) ? [table] : [...table.values()].flatMap(ratesIn)

/** Prints options that compile to the same table. */
export type PrintedTable = string | { readonly [key: string]: PrintedTable }
export const printTable = (table: Table): PrintedTable =>
  isRate(table)
    ? printRate(table)
    : // Built from entries: a key called __proto__ stays a key.
      Object.fromEntries([...table].map(([key, inner]) => [key, printTable(inner)]))
