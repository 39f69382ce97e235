/** Columns of sums of calls: tokens of the prompt, of its cached part and of the answer, latencies,
 *  and what was spent. */
import type { Latencies, TokenSums, UsageSum } from '../../../views.ts'
import { formatNumber } from '../format.ts'
import { type TextKey, text } from '../texts.ts'
import { type Column, column } from './table.tsx'

type Counts = { readonly [Name in keyof TokenSums]?: number | null }
const COLUMNS = [
  ['input_tokens', 'column.input'],
  ['cached_tokens', 'column.cached'],
  ['output_tokens', 'column.output'],
] as const satisfies readonly (readonly [keyof TokenSums, TextKey])[]

/** `isExtra`: left out below 1700 px, not only on narrow screens. */
export const tokenColumns = <Row extends Counts>(isExtra = false): readonly Column<Row>[] =>
  COLUMNS.map(([name, title]) => ({
    title: text(title),
    cell: row => {
      const count = row[name]
      return count == null ? <span class="faint">–</span> : formatNumber(count)
    },
    csv: row => row[name],
    isNumber: true,
    ...(isExtra ? { isExtra } : { isWide: true }),
  }))

const LATENCIES = [
  ['first_content_p50_ms', 'column.first.p50'],
  ['first_content_p99_ms', 'column.first.p99'],
  ['p50_ms', 'column.p50'],
  ['p99_ms', 'column.p99'],
] as const satisfies readonly (readonly [keyof Latencies, TextKey])[]

/** `of`: the latencies in a row; undefined while they are not known. */
export const latencyColumns = <Row,>(
  of: (row: Row) => Partial<Latencies> | undefined,
): readonly Column<Row>[] =>
  LATENCIES.map(([name, title]) => ({
    title: text(title),
    cell: row => {
      const ms = of(row)?.[name]
      return ms == null ? <span class="faint">–</span> : formatNumber(ms)
    },
    csv: row => of(row)?.[name],
    isNumber: true,
    ...(name === 'p50_ms' ? { isWide: true } : { isExtra: true }),
  }))

/** The spend by models or tags: the name, calls and cost. */
export const spendColumns = (
  by: 'model' | 'tag',
  currency: string,
): readonly Column<UsageSum>[] => [
  column(text(`column.${by}`), row => row[by], 'ellipsis'),
  column(text('column.calls'), ({ calls }) => calls, 'plain', { isNumber: true }),
  column(`${text('column.cost')} (${currency})`, ({ cost }) => cost, 'money'),
]
