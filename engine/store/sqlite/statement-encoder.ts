/** Lists as text for the writer: which SQL texts it has been told on this connection, and under what number. */
import type { Sql, Statement, Value } from '../../plugin.ts'
import { toWire, wanted } from '../values.ts'
import { AGAIN, ONCE } from './frames.ts'

type Told = readonly [number: number, text: string, sums?: readonly number[]]

export class Texts {
  readonly #known = new Map<string, { readonly text: string; readonly number: number }>()
  #untold: Told[] = []
  #next = 0

  /** A `WireList` as JSON. Throws at a value that cannot be stored. */
  spell(number: number, again: boolean, statements: readonly Statement[]): string {
    const marks = (again ? AGAIN : 0) | (statements[0]?.once ? ONCE : 0)
    let text = `[${number},${marks}`
    for (const statement of statements) {
      text += `,[${this.#number(statement.sql)},${wanted(statement)}`
      for (const value of statement.values) text += spelt(value)
      text += ']'
    }
    return `${text}]`
  }
  /** What must be told before the statements made since the last time. */
  untold(): readonly Told[] {
    const untold = this.#untold
    this.#untold = []
    return untold
  }
  #number({ name, text, sums }: Sql): number {
    const known = this.#known.get(name)
    // A reload may bring another text under the same name.
    if (known?.text === text) return known.number
    const number = this.#next++
    this.#known.set(name, { text, number })
    this.#untold.push(sums ? [number, text, sums] : [number, text])
    return number
  }
}

/** The writer takes whole numbers for what they are, so a bigint that a number can hold goes as its digits. */
const spelt = (value: Value): string => {
  if (typeof value === 'bigint' && value <= SAFE && value >= -SAFE) return `,${value}`
  return `,${JSON.stringify(toWire(value))}`
}
const SAFE = BigInt(Number.MAX_SAFE_INTEGER)
