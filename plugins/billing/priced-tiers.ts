/** The tiers that a rule prices, and the calls that cost what the standard of each tier costs.
 *  Pure. */
import { isTier, isTierName, type PricedTiers, STANDARD, usualName } from '../formats/tiers.ts'
import type { Attributes } from '../slots.ts'
import type { Condition } from './condition.ts'

/** The tiers that a rule prices apart from the standard, by attribute. */
interface TieredRule {
  readonly lines: readonly {
    readonly when: readonly Condition[]
    readonly by: readonly string[]
    readonly table: unknown
  }[]
  readonly discount: { readonly when: readonly Condition[] } | undefined
}
export const pricedTiersOf = ({ lines, discount }: TieredRule): PricedTiers => {
  const tiers = new Map<string, Set<string>>()
  const add = (name: string, values: Iterable<string>): void => {
    if (!isTierName(name)) return
    const known = tiers.get(name) ?? new Set()
    tiers.set(name, known)
    for (const value of values) known.add(usualName(name, value))
  }
  for (const { when } of [...lines, ...(discount ? [discount] : [])])
    for (const condition of when)
      if (condition.kind === 'one') add(condition.name, condition.values)
  for (const { by, table } of lines) addKeys(by, table, add)
  return tiers
}
const addKeys = (
  [name, ...others]: readonly string[],
  table: unknown,
  add: (name: string, values: Iterable<string>) => void,
): void => {
  if (name === undefined || !(table instanceof Map)) return
  add(name, table.keys())
  for (const inner of table.values()) addKeys(others, inner, add)
}

/** Whether a call has the prices of the standard of every tier. */
export const costsStandard = (
  { tiers }: { readonly tiers: PricedTiers },
  { attributes }: { readonly attributes?: Attributes },
): boolean => {
  if (tiers.size === 0 || attributes === undefined) return true
  for (const name of tiers.keys()) {
    if (!Object.hasOwn(attributes, name)) continue
    const value = String(attributes[name])
    if (isTier(name, value) && usualName(name, value) !== STANDARD) return false
  }
  return true
}
