/** Converts the tables of new-api or one-api into routes.yaml, variables and accounts. Pure. */
import type { Json } from '../../../engine/plugin.ts'
import type { PriceBook } from '../starter/price-book.ts'
import { routesYaml } from '../starter/template.ts'
import { accountsOf, noteGroups } from './accounts.ts'
import { type ChannelTables, catalogueOf } from './channels.ts'
import { readRatios } from './prices.ts'
import { Report, type Skipped } from './report.ts'
import type { Tables } from './source.ts'

export interface Conversion {
  readonly yaml: string
  readonly variables: ReadonlyMap<string, string>
  readonly accounts: readonly Json[]
  readonly skipped: readonly Skipped[]
}

export interface Destination {
  /** The folder of the new file. */
  readonly folder: string
  /** The value of 1 USD in the currency of accounts. */
  readonly rate: number
  /** Prices of models without a ratio. */
  readonly book: PriceBook
}
export const convertTables = (
  tables: Tables,
  types: ChannelTables,
  { folder, rate, book }: Destination,
): Conversion => {
  const report = new Report()
  const ratios = readRatios(tables)
  const { upstreams, models, variables } = catalogueOf(tables, ratios, types, { report, book })
  const accounts = accountsOf(tables, { unit: ratios.unit, rate }, report)
  noteGroups(tables, report)
  for (const [table, reason] of Object.entries(types.skipped))
    if ((tables.get(table)?.length ?? 0) > 0) report.add(table, reason)
  const yaml = routesYaml({
    folder,
    currency: 'USD',
    remark: 'Made by `tollgate import new-api`.',
    upstreams,
    models,
  })
  return { yaml, variables, accounts, skipped: report.skipped }
}
