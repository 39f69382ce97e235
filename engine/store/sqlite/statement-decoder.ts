/** Statement decoder: the statements of one client, from its texts and what changed since the
 *  statement before. */
import type { Step } from '../merged-statements.ts'
import { fromWire, type Wire } from '../values.ts'
import type { WireStatement, WireText } from './frames.ts'

type Text = Pick<Step, 'text' | 'sums' | 'joins'>
interface KnownText extends Text {
  /** The last statement with this text. */
  last: Step | undefined
}

export class StatementDecoder {
  readonly #texts: KnownText[] = []

  addText([number, text, sums, joins]: WireText): void {
    this.#texts[number] = {
      text,
      sums: sums ?? undefined,
      joins: joins ?? undefined,
      last: undefined,
    }
  }
  /** Throws for a number without a text, or changes of no statement. */
  decode(statement: WireStatement): Step {
    const [number] = statement
    const known = this.#texts[number < 0 ? ~number : number]
    if (!known) throw new Error(`a statement without a text: ${number}`)
    known.last = number < 0 ? applyChanges(known, statement) : decodeWhole(known, statement)
    return known.last
  }
}

const decodeWhole = ({ text, sums, joins }: Text, statement: WireStatement): Step => {
  const values = statement.slice(2).map(fromWire)
  return { text, sums, joins, rows: statement[1] as number, values, sumKey: {} }
}
const applyChanges = ({ last }: KnownText, statement: WireStatement): Step => {
  if (!last) throw new Error('changes of no statement')
  const { text, sums, joins, rows } = last
  const values = last.values.slice()
  let { sumKey } = last
  for (let at = 1; at + 1 < statement.length; at += 2) {
    const position = statement[at] as number
    values[position] = fromWire(statement[at + 1] as Wire)
    if (!sums?.includes(position)) sumKey = {}
  }
  return { text, sums, joins, rows, values, sumKey }
}
