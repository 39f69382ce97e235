/** `tollgate prices diff`: what a newer price book changes. */
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import type { Command, SingleCommand } from '../../engine/cli/command.ts'
import { columns, EXIT, UsageError } from '../../engine/cli/kit.ts'
import type { Json } from '../../engine/plugin.ts'
import { changesBetween, PriceBook, type PriceChange } from './starter/price-book.ts'
import { fieldsOf, shipped } from './starter/shipped.ts'

const diff: SingleCommand = {
  arguments: 'FILE',
  summary:
    'Compares the shipped price book (public list prices of providers) with another one. Exits with 1 if a price differs or is new.',
  example: 'prices diff prices.yaml',
  async run({ values, positionals: [file = ''] }, terminal) {
    const [before, after] = [new PriceBook(shipped('models/prices.yaml')), bookIn(file)]
    const { changes, missing } = changesBetween(before, after)
    if (values.json) {
      const dates = { before: before.date, after: after.date }
      terminal.print(JSON.stringify({ ...dates, changes, missing }, null, 2))
    } else terminal.print(pageOf(changes, missing, [before.date, after.date]))
    return changes.length > 0 ? EXIT.problems : EXIT.ok
  },
}
const pageOf = (
  changes: readonly PriceChange[],
  missing: readonly string[],
  dates: readonly string[],
): string => {
  const rows = changes.map(({ provider, model, meter, before, after }) => [
    provider,
    model,
    meter,
    textOf(before),
    textOf(after),
  ])
  const table =
    rows.length > 0
      ? columns([['provider', 'model', 'meter', ...dates], ...rows])
      : [`no price differs (${dates.join(', ')})`]
  const rest = missing.length > 0 ? [`not in the other book: ${missing.join(', ')}`] : []
  return [...table, ...rest].join('\n')
}
const textOf = (price: Json | undefined): string =>
  price === undefined ? '-' : typeof price === 'string' ? price : JSON.stringify(price)

const bookIn = (file: string): PriceBook => {
  try {
    return new PriceBook(fieldsOf(parse(readFileSync(file, 'utf8')) as Json))
  } catch (error) {
    throw new UsageError(`cannot read ${file}: ${(error as Error).message}`)
  }
}

export default {
  summary: 'Compares list prices of providers.',
  subcommands: { diff },
} satisfies Command
