/** Columns of tokens: of the prompt, of its cached part and of the answer. */
import type { TokenSums } from '../../../views.ts'
import { formatNumber } from '../format.ts'
import { type TextKey, text } from '../texts.ts'
import type { Column } from './table.tsx'

type Counts = { readonly [Name in keyof TokenSums]?: number | null }
const COLUMNS = [
  ['input_tokens', 'column.input'],
  ['cached_tokens', 'column.cached'],
  ['output_tokens', 'column.output'],
] as const satisfies readonly (readonly [keyof TokenSums, TextKey])[]

/** `isWidest`: left out below 1420 px, not only on narrow screens. */
export const tokenColumns = <Row extends Counts>(isWidest = false): readonly Column<Row>[] =>
  COLUMNS.map(([name, title]) => ({
    title: text(title),
    cell: row => {
      const count = row[name]
      return count == null ? <span class="faint">–</span> : formatNumber(count)
    },
    csv: row => row[name],
    isNumber: true,
    ...(isWidest ? { isWidest } : { isWide: true }),
  }))
