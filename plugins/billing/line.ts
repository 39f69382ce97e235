/** One line of a price as an operator writes it: `{ meter, price, per?, by?, when?, min?, step? }`. */
import { isFields } from '../../engine/kit.ts'
import type { Meter } from '../slots.ts'
import { type Condition, compileWhen, printWhen } from './condition.ts'
import { isMeter, METERS } from './meters.ts'
import type { Fields, Where } from './problems.ts'
import { compileAmount, compilePer, type PriceContext, printPrice } from './rate.ts'
import { compileBy, compileTable, type Printed, printTable, type Table } from './table.ts'

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
export interface Placed {
  readonly where: Where
  readonly meter: unknown
  readonly given: Fields
  /** The position of the price, where that is the whole line. */
  readonly short?: Where
}

const KEYS = ['price', 'per', 'by', 'when', 'min', 'step']

/** Undefined: invalid. Reports all problems of the line at once. */
export const compileLine = (
  { where, meter, given, short }: Placed,
  ground: PriceContext,
): RuleLine | undefined => {
  const { report } = ground
  const unknown = Object.keys(given).filter(key => !KEYS.includes(key))
  for (const key of unknown) report([...where, key], 'PRICE_KEY', key, KEYS.join(', '))
  const known = isMeter(meter)
  if (!known) report(where, 'PRICE_METER', JSON.stringify(meter), METERS.join(', '))
  const amount = (key: 'min' | 'step'): bigint | undefined =>
    given[key] === undefined ? 0n : compileAmount(given[key], [...where, key], ground)
  const [min, step] = [amount('min'), amount('step')]
  const when = compileWhen(given.when, [...where, 'when'], report)
  const table = tableOf(given, where, short ?? [...where, 'price'], ground)
  if (!known || unknown.length > 0 || !when || !table) return undefined
  if (min === undefined || step === undefined) return undefined
  return { meter, when, by: table.by, table: table.table, min, step }
}

const tableOf = (
  given: Fields,
  where: Where,
  priceAt: Where,
  ground: PriceContext,
): Pick<RuleLine, 'by' | 'table'> | undefined => {
  const by = compileBy(given.by, [...where, 'by'], ground.report)
  const per =
    given.per === undefined ? undefined : compilePer(given.per, [...where, 'per'], ground.report)
  if (given.price === undefined) {
    ground.report(
      where,
      'PRICE_AMOUNT',
      'this line has no `price`; use `price: 0` for what is free',
    )
    return undefined
  }
  // Without a valid `by` and `per` the entries would be misread.
  if (!by || (given.per !== undefined && per === undefined)) return undefined
  const table = compileTable(given.price, by, per, priceAt, ground)
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
  readonly price: Printed
  readonly min?: string
  readonly step?: string
}

/** Reads the value of a meter: an amount (`input: 2.00 / 1M`), a line, or several lines. */
export const placedUnder = (meter: string, value: unknown, where: Where): readonly Placed[] =>
  Array.isArray(value)
    ? value.map((each, index) => placedAt(meter, each, [...where, index]))
    : [placedAt(meter, value, where)]
const placedAt = (meter: string, value: unknown, where: Where): Placed =>
  isFields(value)
    ? { where, meter, given: value }
    : { where, meter, given: { price: value }, short: where }
