/** The prices in the files of models, read apart from the gateway's own compiler of prices. */
import { readdirSync, readFileSync } from 'node:fs'
import { parse } from 'yaml'

export type Fields = Readonly<Record<string, unknown>>
const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const root = new URL('../../../', import.meta.url)
export const readYaml = (path: string) => parse(readFileSync(new URL(path, root), 'utf8'))

const rates: Readonly<Record<string, number>> = {
  CNY: 1,
  ...readYaml('routes.yaml').settings.currency.rates,
}
const SCALES: Readonly<Record<string, number>> = { k: 1e3, M: 1e6 }
/** `1M` as 1000000. */
export const unitsOf = (text: string): number => {
  const [, count = '1', scale = ''] = /^(\d+)([kM]?)$/.exec(text) ?? []
  return Number(count) * (SCALES[scale] ?? 1)
}
/** A price of one unit, in CNY, as text with its meter. `per`: of how many units `amount` is. */
export const printUnitPrice = (meter: string, amount: string, per: string): string => {
  const [number = '', currency = 'CNY'] = amount.split(' ')
  return `${meter} ${((Number(number) * (rates[currency] ?? Number.NaN)) / unitsOf(per)).toPrecision(9)}`
}

/** The prices in a line, a list of lines, or a table of them. */
const pricesIn = (meter: string, value: unknown, units = '1'): readonly string[] => {
  if (Array.isArray(value)) return value.flatMap(each => pricesIn(meter, each, units))
  if (!isFields(value)) {
    const [amount = '', per = units] = String(value).split(' / ')
    return [printUnitPrice(meter, amount, per)]
  }
  if ('price' in value) return pricesIn(meter, value.price, String(value.per ?? units))
  return Object.values(value).flatMap(each => pricesIn(meter, each, units))
}
const pricesOf = ({ price, free }: Fields): readonly string[] =>
  Object.entries(free === true ? { calls: 0 } : ((price ?? {}) as Fields)).flatMap(
    ([meter, value]) =>
      pricesIn(meter, meter === 'discount' && isFields(value) ? value.factor : value),
  )

/** By name as customers see it: `gp-4-gizmo-g-*`. Without the price book. */
export const cataloguePrices = (): ReadonlyMap<string, readonly string[]> =>
  new Map(
    readdirSync(new URL('models/', root))
      .filter(name => name !== 'prices.yaml')
      .flatMap(name => Object.entries<Fields>(readYaml(`models/${name}`).models))
      .map(([name, model]) => [name.replace(/\{[^}]*\}/g, '*'), [...pricesOf(model)].sort()]),
  )

/** The cells of a row of the price sheet. Quotes may hold commas. */
export const cellsOf = (row: string): readonly string[] =>
  [...row.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(
    ([, quoted, unquoted]) => quoted ?? unquoted ?? '',
  )

/** Whether the facts of a call meet a condition of the price sheet. */
export const applies = (condition: string, facts: Fields): boolean => {
  const [, name = '', rest = ''] = /^(\S+) (.*)$/.exec(condition) ?? []
  const value = facts[name]
  if (rest === 'other') return true
  const [, sign = '', bound = ''] = /^([<>]=?) (.+)$/.exec(rest) ?? []
  if (sign === '') return rest.replace('= ', '').split(' or ').includes(String(value))
  const limit = unitsOf(bound)
  const number = Number(value)
  return { '>': number > limit, '>=': number >= limit, '<': number < limit, '<=': number <= limit }[
    sign
  ] as boolean
}
