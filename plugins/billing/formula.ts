/** Prints a charge as a formula: `1,204 input x 2.00/1M + 311 output x 8.00/1M = 0.004896`.
 *  Pure. */
import { printMoney } from './money.ts'
import type { Line } from './sum.ts'

/** Takes lines of `price`, or lines stored in the ledger. */
export const printFormula = (lines: readonly Line[]): string => {
  if (lines.length === 0) return '0'
  const sum = lines.reduce((total, { nanos }) => total + BigInt(nanos), 0n)
  return `${lines.map(printTerm).join(' + ')} = ${printMoney(sum)}`
}

const printTerm = (line: Line): string => {
  const { meter, quantity, price, per, nanos, min, step, factor } = line
  const steps = step === undefined ? '' : ` in steps of ${step}`
  if (meter === 'minimum') return `${printMoney(BigInt(nanos))} up to the minimum of ${price}`
  if (factor !== undefined)
    return `${printMoney(BigInt(nanos))} by the discount to ${factor}${steps}`
  const remarks = [...Object.values(line.by ?? {}), ...printIncluded(line)]
  const inside = remarks.length > 0 ? ` (${remarks.join(', ')})` : ''
  const rate = per === '1' ? price : `${price}/${per}`
  const least = min === undefined ? '' : `, at least ${min}`
  return `${groupThousands(quantity)} ${printMeter(quantity, meter)}${inside} x ${rate}${steps}${least}`
}
const printIncluded = (line: Line): readonly string[] =>
  Object.entries(line.with ?? {}).map(
    ([meter, each]) => `${groupThousands(each)} ${printMeter(each, meter)}`,
  )

const printMeter = (quantity: string, meter: string): string =>
  (quantity === '1' ? meter.replace(/s$/, '') : meter).replaceAll('_', ' ')
/** 1204.5 is `1,204.5`. */
const groupThousands = (quantity: string): string => {
  const [whole = '', fraction] = quantity.split('.')
  const thousands = whole.replace(/\B(?=(?:[0-9]{3})+$)/g, ',')
  return fraction === undefined ? thousands : `${thousands}.${fraction}`
}
