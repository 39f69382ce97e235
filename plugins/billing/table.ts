/** Prices by attributes: `{ by: [quality, size], price: { high: { 1024x1024: 0.167, default: 0.25 } } }`. Pure. */
import { isFields } from '../../engine/kit.ts'
import { ATTRIBUTE } from './condition.ts'
import { isMeter, isSum } from './meters.ts'
import type { PricingFacts } from './pricing-facts.ts'
import type { ReportProblem, Where } from './problems.ts'
import { compileRate, type PriceContext, printRate, type Rate } from './rate.ts'

/** One level for each attribute of `by`; a rate where there are none. */
export type Table = Rate | ReadonlyMap<string, Table>
const DEFAULT = 'default'
const MAX_ATTRIBUTES = 3

/** `resolution`, or a list of up to three. */
export const compileBy = (
  given: unknown,
  where: Where,
  say: ReportProblem,
): readonly string[] | undefined => {
  if (given === undefined) return []
  const names = Array.isArray(given) ? given : [given]
  const fit = names.every(name => typeof name === 'string' && ATTRIBUTE.test(name))
  if (!fit || names.length === 0 || names.length > MAX_ATTRIBUTES)
    say(where, 'PRICE_BY', '`by` names an attribute such as resolution, or up to three in a list')
  else if (new Set(names).size < names.length)
    say(where, 'PRICE_BY', '`by` names an attribute twice')
  else if (names.some(name => isMeter(name) || isSum(name) || name === 'time'))
    say(where, 'PRICE_BY', '`by` names attributes; what is counted is compared with `when`')
  else return names
  return undefined
}

export const compileTable = (
  given: unknown,
  by: readonly string[],
  per: bigint | undefined,
  where: Where,
  ground: PriceContext,
): Table | undefined => {
  const [name, ...deeper] = by
  if (name === undefined && !isFields(given)) return compileRate(given, per, where, ground)
  if (name === undefined)
    ground.report(
      where,
      'PRICE_BY',
      'a table of prices needs `by`: the attribute it is looked up with',
    )
  else if (!isFields(given) || Object.keys(given).length === 0)
    ground.report(where, 'PRICE_BY', `a price by ${name} is a map from each ${name} to a price`)
  else return compileEntries(given, deeper, per, where, ground)
  return undefined
}
const compileEntries = (
  given: Readonly<Record<string, unknown>>,
  deeper: readonly string[],
  per: bigint | undefined,
  where: Where,
  ground: PriceContext,
): Table | undefined => {
  const entries = Object.entries(given).map(
    ([key, each]) => [key, compileTable(each, deeper, per, [...where, key], ground)] as const,
  )
  const whole = entries.filter((entry): entry is readonly [string, Table] => entry[1] !== undefined)
  return whole.length === entries.length ? new Map(whole) : undefined
}

/** The prices that may apply to a call, each with its keys. `isCertain`: every value of the attributes has a price. */
export interface Lookup {
  readonly rates: readonly Found[]
  readonly isCertain: boolean
}
export interface Found {
  readonly rate: Rate
  readonly keys: readonly string[]
}
export const lookUp = (table: Table, by: readonly string[], known: PricingFacts): Lookup => {
  if (isRate(table)) return { rates: [{ rate: table, keys: [] }], isCertain: true }
  const [name = '', ...deeper] = by
  const value = known.attribute(name)
  const open = value === undefined && known.isOpen
  const keys = open ? [...table.keys()] : keysFor(table, value)
  const choices = keys.flatMap(key => {
    const inner = table.get(key)
    return inner ? [prefixKeys(key, lookUp(inner, deeper, known))] : []
  })
  return {
    rates: choices.flatMap(({ rates }) => rates),
    isCertain:
      choices.every(({ isCertain }) => isCertain) && (open ? table.has(DEFAULT) : keys.length > 0),
  }
}
const keysFor = (
  table: ReadonlyMap<string, Table>,
  value: string | undefined,
): readonly string[] => {
  if (value !== undefined && table.has(value)) return [value]
  return table.has(DEFAULT) ? [DEFAULT] : []
}
const prefixKeys = (key: string, { rates, isCertain }: Lookup): Lookup => ({
  rates: rates.map(({ rate, keys }) => ({ rate, keys: [key, ...keys] })),
  isCertain: isCertain,
})

const isRate = (table: Table): table is Rate => !(table instanceof Map)
export const ratesIn = (table: Table): readonly Rate[] =>
  isRate(table) ? [table] : [...table.values()].flatMap(ratesIn)

/** Prints options that compile to the same table. */
export type Printed = string | { readonly [key: string]: Printed }
export const printTable = (table: Table): Printed =>
  isRate(table)
    ? printRate(table)
    : // Built from entries: a key called __proto__ stays a key.
      Object.fromEntries([...table].map(([key, inner]) => [key, printTable(inner)]))
