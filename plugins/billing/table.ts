/** Prices by attributes: `{ by: [quality, size], price: { high: { 1024x1024: 0.167, default: 0.25 } } }`. Pure. */
import { isFields } from '../../engine/kit.ts'
import { ATTRIBUTE } from './condition.ts'
import type { Known } from './known.ts'
import { isMeter, isSum } from './meters.ts'
import type { Say, Where } from './problems.ts'
import { compileRate, type Ground, printRate, type Rate } from './rate.ts'

/** As deep as there are attributes to look up; a rate where there are none. */
export type Table = Rate | ReadonlyMap<string, Table>
const DEFAULT = 'default'
const DEEPEST = 3

/** `resolution`, or a list of up to three. */
export const compileBy = (
  given: unknown,
  where: Where,
  say: Say,
): readonly string[] | undefined => {
  if (given === undefined) return []
  const names = Array.isArray(given) ? given : [given]
  const fit = names.every(name => typeof name === 'string' && ATTRIBUTE.test(name))
  if (!fit || names.length === 0 || names.length > DEEPEST)
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
  ground: Ground,
): Table | undefined => {
  const [name, ...deeper] = by
  if (name === undefined && !isFields(given)) return compileRate(given, per, where, ground)
  if (name === undefined)
    ground.say(
      where,
      'PRICE_BY',
      'a table of prices needs `by`: the attribute it is looked up with',
    )
  else if (!isFields(given) || Object.keys(given).length === 0)
    ground.say(where, 'PRICE_BY', `a price by ${name} is a map from each ${name} to a price`)
  else return compileEntries(given, deeper, per, where, ground)
  return undefined
}
const compileEntries = (
  given: Readonly<Record<string, unknown>>,
  deeper: readonly string[],
  per: bigint | undefined,
  where: Where,
  ground: Ground,
): Table | undefined => {
  const entries = Object.entries(given).map(
    ([key, each]) => [key, compileTable(each, deeper, per, [...where, key], ground)] as const,
  )
  const whole = entries.filter((entry): entry is readonly [string, Table] => entry[1] !== undefined)
  return whole.length === entries.length ? new Map(whole) : undefined
}

/** What a call may be priced at, each with the keys that lead there. `certain`: no value of an attribute finds nothing. */
export interface Choice {
  readonly rates: readonly Found[]
  readonly certain: boolean
}
export interface Found {
  readonly rate: Rate
  readonly keys: readonly string[]
}
export const choose = (table: Table, by: readonly string[], known: Known): Choice => {
  if (isRate(table)) return { rates: [{ rate: table, keys: [] }], certain: true }
  const [name = '', ...deeper] = by
  const value = known.attribute(name)
  const open = value === undefined && known.open
  const keys = open ? [...table.keys()] : keyIn(table, value)
  const choices = keys.flatMap(key => {
    const inner = table.get(key)
    return inner ? [under(key, choose(inner, deeper, known))] : []
  })
  return {
    rates: choices.flatMap(({ rates }) => rates),
    certain:
      choices.every(({ certain }) => certain) && (open ? table.has(DEFAULT) : keys.length > 0),
  }
}
const keyIn = (table: ReadonlyMap<string, Table>, value: string | undefined): readonly string[] => {
  if (value !== undefined && table.has(value)) return [value]
  return table.has(DEFAULT) ? [DEFAULT] : []
}
const under = (key: string, { rates, certain }: Choice): Choice => ({
  rates: rates.map(({ rate, keys }) => ({ rate, keys: [key, ...keys] })),
  certain,
})

const isRate = (table: Table): table is Rate => !(table instanceof Map)
export const ratesIn = (table: Table): readonly Rate[] =>
  isRate(table) ? [table] : [...table.values()].flatMap(ratesIn)

/** As options that compile to the same. */
export type Printed = string | { readonly [key: string]: Printed }
export const printTable = (table: Table): Printed =>
  isRate(table)
    ? printRate(table)
    : // Built from entries: a key called __proto__ stays a key.
      Object.fromEntries([...table].map(([key, inner]) => [key, printTable(inner)]))
