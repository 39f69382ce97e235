/** One line of a price as an operator writes it: `{ meter, price, per?, by?, when?, min?, step? }`. */
import { isFields } from '../../engine/kit.ts'
import type { Meter } from '../slots.ts'
import { type Condition, compileWhen, printWhen } from './condition.ts'
import { isMeter, METERS } from './meters.ts'
import type { Fields, Where } from './problems.ts'
import { compileAmount, compilePer, type Ground, printPrice } from './rate.ts'
import { compileBy, compileTable, type Printed, printTable, type Table } from './table.ts'

/** Several lines of one meter are alternatives: the first whose condition holds is its price. */
export interface RuleLine {
  readonly meter: Meter
  readonly when: readonly Condition[]
  readonly by: readonly string[]
  readonly table: Table
  /** In 1e-18. What the line comes to at least, once there is anything of its meter. */
  readonly min: bigint
  /** In 1e-18. It is rounded up to a multiple of this; 0: it is not. */
  readonly step: bigint
}
/** A line where it stands. */
export interface Placed {
  readonly where: Where
  readonly meter: unknown
  readonly given: Fields
  /** Where its price stands, if that is the whole line. */
  readonly short?: Where
}

const KEYS = ['price', 'per', 'by', 'when', 'min', 'step']

/** Undefined: some of it cannot be meant, and was said. All of it is judged at once. */
export const compileLine = (
  { where, meter, given, short }: Placed,
  ground: Ground,
): RuleLine | undefined => {
  const { say } = ground
  const unknown = Object.keys(given).filter(key => !KEYS.includes(key))
  for (const key of unknown) say([...where, key], 'PRICE_KEY', key, KEYS.join(', '))
  const known = isMeter(meter)
  if (!known) say(where, 'PRICE_METER', JSON.stringify(meter), METERS.join(', '))
  const amount = (key: 'min' | 'step'): bigint | undefined =>
    given[key] === undefined ? 0n : compileAmount(given[key], [...where, key], ground)
  const [min, step] = [amount('min'), amount('step')]
  const when = compileWhen(given.when, [...where, 'when'], say)
  const table = tableOf(given, where, short ?? [...where, 'price'], ground)
  if (!known || unknown.length > 0 || !when || !table) return undefined
  if (min === undefined || step === undefined) return undefined
  return { meter, when, by: table.by, table: table.table, min, step }
}

const tableOf = (
  given: Fields,
  where: Where,
  priceAt: Where,
  ground: Ground,
): Pick<RuleLine, 'by' | 'table'> | undefined => {
  const by = compileBy(given.by, [...where, 'by'], ground.say)
  const per =
    given.per === undefined ? undefined : compilePer(given.per, [...where, 'per'], ground.say)
  if (given.price === undefined) {
    ground.say(where, 'PRICE_AMOUNT', 'a line without a `price`; what costs nothing has price 0')
    return undefined
  }
  // Without knowing by what, or per how many, its entries could only be misread.
  if (!by || (given.per !== undefined && per === undefined)) return undefined
  const table = compileTable(given.price, by, per, priceAt, ground)
  return table && { by, table }
}

/** As options that compile to the same. */
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

/** A meter and what it costs (`input: 2.00 / 1M`), a line, or several. */
export const placedUnder = (meter: string, value: unknown, where: Where): readonly Placed[] =>
  Array.isArray(value)
    ? value.map((each, index) => placedAt(meter, each, [...where, index]))
    : [placedAt(meter, value, where)]
const placedAt = (meter: string, value: unknown, where: Where): Placed =>
  isFields(value)
    ? { where, meter, given: value }
    : { where, meter, given: { price: value }, short: where }
