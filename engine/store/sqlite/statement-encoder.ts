/** Statement encoder: lists as JSON for the writer. Each SQL text is sent once per connection and
 *  then referred to by number; a value equal to that of the statement before is not sent again. */
import type { Sql, Statement, Value } from '../../plugin.ts'
import { encodeRows, toWire } from '../values.ts'
import { AGAIN, ONCE, type WireText } from './frames.ts'

interface SentText {
  readonly text: string
  readonly number: number
  /** The last statement with this text. */
  last: Statement | undefined
}

export class StatementEncoder {
  /** Whether the writer reads statements as changes of the one before. */
  sendsChanges = false
  readonly #texts = new Map<string, SentText>()
  #newTexts: WireText[] = []
  #next = 0

  /** A `WireList` as JSON. Throws STORE_VALUE for a value that cannot be stored. */
  encodeList(number: number, isRepeat: boolean, statements: readonly Statement[]): string {
    const marks = (isRepeat ? AGAIN : 0) | (statements[0]?.once ? ONCE : 0)
    let text = `[${number},${marks}`
    try {
      for (const statement of statements) text += `,${this.#encode(statement)}`
    } catch (error) {
      // The writer does not get this list: it knows none of its statements.
      for (const known of this.#texts.values()) known.last = undefined
      throw error
    }
    return `${text}]`
  }
  /** Removes and returns the texts that must be sent before the lists encoded since the last call.
   *  */
  takeNewTexts(): readonly WireText[] {
    const newTexts = this.#newTexts
    this.#newTexts = []
    return newTexts
  }
  #encode(statement: Statement): string {
    const known = this.#sentText(statement.sql)
    const { last } = known
    const { values, rows } = statement
    known.last = statement
    if (last && last.rows === rows && last.values.length === values.length && this.sendsChanges)
      return encodeChanges(known.number, last.values, values)
    let text = `[${known.number},${encodeRows(statement)}`
    for (const value of values) text += encodeValue(value)
    return `${text}]`
  }
  #sentText({ name, text, sums, joins }: Sql): SentText {
    const entry = this.#texts.get(name)
    // A reload may change the text of a name.
    if (entry?.text === text) return entry
    const known: SentText = { text, number: this.#next++, last: undefined }
    this.#texts.set(name, known)
    this.#newTexts.push([known.number, text, sums, joins])
    return known
  }
}

const encodeChanges = (
  number: number,
  before: readonly Value[],
  values: readonly Value[],
): string => {
  let text = `[${~number}`
  for (let at = 0; at < values.length; at++) {
    const value = values[at] as Value
    // Bytes may have changed in place.
    if (value !== before[at] || (typeof value === 'object' && value !== null))
      text += `,${at}${encodeValue(value)}`
  }
  return `${text}]`
}
/** A bigint within the safe range is encoded as digits: the writer reads whole numbers as
 *  integers. */
const encodeValue = (value: Value): string => {
  if (typeof value === 'bigint' && value <= SAFE && value >= -SAFE) return `,${value}`
  return `,${JSON.stringify(toWire(value))}`
}
const SAFE = BigInt(Number.MAX_SAFE_INTEGER)
