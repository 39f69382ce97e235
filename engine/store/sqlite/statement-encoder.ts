/** Statement encoder: lists as JSON for the writer. Each SQL text is sent once per connection and
 *  then referred to by number. */
import type { Sql, Statement, Value } from '../../plugin.ts'
import { encodeRows, toWire } from '../values.ts'
import { AGAIN, ONCE } from './frames.ts'

type NewText = readonly [number: number, text: string, sums?: readonly number[]]

export class StatementEncoder {
  readonly #texts = new Map<string, { readonly text: string; readonly number: number }>()
  #newTexts: NewText[] = []
  #next = 0

  /** A `WireList` as JSON. Throws STORE_VALUE for a value that cannot be stored. */
  encodeList(number: number, isRepeat: boolean, statements: readonly Statement[]): string {
    const marks = (isRepeat ? AGAIN : 0) | (statements[0]?.once ? ONCE : 0)
    let text = `[${number},${marks}`
    for (const statement of statements) {
      text += `,[${this.#number(statement.sql)},${encodeRows(statement)}`
      for (const value of statement.values) text += encodeValue(value)
      text += ']'
    }
    return `${text}]`
  }
  /** Removes and returns the texts that must be sent before the lists encoded since the last call.
   *  */
  takeNewTexts(): readonly NewText[] {
    const newTexts = this.#newTexts
    this.#newTexts = []
    return newTexts
  }
  #number({ name, text, sums }: Sql): number {
    const entry = this.#texts.get(name)
    // A reload may change the text of a name.
    if (entry?.text === text) return entry.number
    const number = this.#next++
    this.#texts.set(name, { text, number })
    this.#newTexts.push(sums ? [number, text, sums] : [number, text])
    return number
  }
}

/** A bigint within the safe range is encoded as digits: the writer reads whole numbers as
 *  integers. */
const encodeValue = (value: Value): string => {
  if (typeof value === 'bigint' && value <= SAFE && value >= -SAFE) return `,${value}`
  return `,${JSON.stringify(toWire(value))}`
}
const SAFE = BigInt(Number.MAX_SAFE_INTEGER)
