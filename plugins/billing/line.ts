/** One line of a configured price: `{ meter, price, per?, by?, when?, min?, step? }`. */
import { isFields } from '../../engine/kit.ts'
import type { Meter } from '../slots.ts'
import { type Condition, compileWhen, printWhen } from './condition.ts'
import { isMeter, METERS } from './meters.ts'
import type { Fields, Where } from './problems.ts'
import { compileAmount, compilePer, type PriceContext, printPrice } from './rate.ts'
import { compileBy, compileTable, type PrintedTable, printTable, type Table } from './table.ts'

/** Several lines of one meter are alternatives: the first whose condition holds is its price. */
export interface RuleLine {
  readonly meter: Meter
  readonly when: readonly Condition[]
  readonly by: readonly string[]
  readonly table: Table
  /** In 1e-18. The minimum of the line where its meter is above zero. */
  readonly min: bigint
  /** In 1e-18. The line is rounded up to a multiple of this; 0: not rounded. */
  readonly step: bigint
}
/** A line with its position in the document. */
export interface PlacedLine {
  readonly where: Where
  readonly meter: unknown
  readonly options: Fields
  /** The position of the price, where that is the whole line. */
  readonly priceAt?: Where
}

const KEYS = ['price', 'per', 'by', 'when', 'min', 'step']

/** Undefined: invalid. Reports every problem of the line. */
export const compileLine = (
  { where, meter, options, priceAt }: PlacedLine,
  context: PriceContext,
): RuleLine | undefined => {
  const { report } = context
  const unknown = Object.keys(options).filter(key => !KEYS.includes(key))
  for (const key of unknown) report([...where, key], 'PRICE_KEY', key, KEYS.join(', '))
  const isKnown = isMeter(meter)
  if (!isKnown) report(where, 'PRICE_METER', JSON.stringify(meter), METERS.join(', '))
  const amount = (key: 'min' | 'step'): bigint | undefined =>
    options[key] === undefined ? 0n : compileAmount(options[key], [...where, key], context)
  const [min, step] = [amount('min'), amount('step')]
  const when = compileWhen(options.when, [...where, 'when'], report)
  const table = tableOf(options, where, priceAt ?? [...where, 'price'], context)
  if (!isKnown || unknown.length > 0 || !when || !table) return undefined
  if (min === undefined || step === undefined) return undefined
  return { meter, when, by: table.by, table: table.table, min, step }
}

const tableOf = (
  options: Fields,
  where: Where,
  priceAt: Where,
  context: PriceContext,
): Pick<RuleLine, 'by' | 'table'> | undefined => {
  const by = compileBy(options.by, [...where, 'by'], context.report)
  const per =
    options.per === undefined
      ? undefined
      : compilePer(options.per, [...where, 'per'], context.report)
  if (options.price === undefined) {
    context.report(where, 'PRICE_AMOUNT', 'this line has no `price`; use `price: 0` if it is free')
    return undefined
  }
  // Without a valid `by` and `per` the entries would be misread.
  if (!by || (options.per !== undefined && per === undefined)) return undefined
  const table = compileTable(options.price, by, per, priceAt, context)
  return table && { by, table }
}

/** Prints options that compile to the same line. */
export const printLine = ({ meter, when, by, table, min, step }: RuleLine): PrintedLine => ({
  meter,
  ...(when.length > 0 && { when: printWhen(when) }),
  ...(by.length > 0 && { by }),
  price: printTable(table),
  ...(min > 0n && { min: printPrice(min) }),
  ...(step > 0n && { step: printPrice(step) }),
})
export interface PrintedLine {
  readonly meter: Meter
  readonly when?: ReturnType<typeof printWhen>
  readonly by?: readonly string[]
  readonly price: PrintedTable
  readonly min?: string
  readonly step?: string
}

/** Reads the value of a meter: an amount (`input: 2.00 / 1M`), a line, or several lines. */
export const linesUnder = (meter: string, value: unknown, where: Where): readonly PlacedLine[] =>
  Array.isArray(value)
    ? value.map((each, index) => lineAt(meter, each, [...where, index]))
    : [lineAt(meter, value, where)]
const lineAt = (meter: string, value: unknown, where: Where): PlacedLine =>
  isFields(value)
    ? { where, meter, options: value }
    : { where, meter, options: { price: value }, priceAt: where }
