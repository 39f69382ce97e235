/** The tables of the overview: the sums of its charts by day and by model. */
import type { TokenSums, UsageCell, UsageSum } from '../../../views.ts'
import { formatNumber } from '../format.ts'
import { useData } from '../loading.ts'
import { type Column, PlainTable } from '../parts/table.tsx'
import { latencyColumns, tokenColumns } from '../parts/usage-columns.tsx'
import { Money, useCurrency } from '../parts/values.tsx'
import { hrefOf } from '../router.ts'
import { text } from '../texts.ts'

export interface Day extends TokenSums {
  readonly day: string
  readonly cost: number
  readonly calls: number
  readonly failed: number
}
type Amount = 'calls' | 'failed' | 'cost' | 'input' | 'cached' | 'output'
export const sum = (cells: readonly UsageCell[], name: Amount): number =>
  cells.reduce((total, cell) => total + Number(cell[name]), 0)
export const tokensOf = (cells: readonly UsageCell[]): TokenSums => ({
  input_tokens: sum(cells, 'input') + sum(cells, 'cached'),
  cached_tokens: sum(cells, 'cached'),
  output_tokens: sum(cells, 'output'),
})

interface DayTableProps {
  readonly days: readonly Day[]
  /** Of another account, for operators. */
  readonly account: number | undefined
}
export const DayTable = ({ days, account }: DayTableProps) => {
  const currency = useCurrency()
  const rows = days.filter(({ calls }) => calls > 0).toReversed()
  const columns: readonly Column<Day>[] = [
    {
      title: text('column.day'),
      cell: ({ day }) =>
        account === undefined ? (
          <a href={hrefOf('usage', undefined, { from: day, to: nextDay(day) })}>{day}</a>
        ) : (
          day
        ),
    },
    ...sumColumns<Day>(currency),
    {
      title: text('column.failed'),
      cell: ({ failed }) => formatNumber(failed),
      isNumber: true,
    },
  ]
  return <PlainTable name={text('overview.by-day')} rows={rows} columns={columns} />
}
const DAY = 86_400_000
const nextDay = (day: string): string => new Date(Date.parse(day) + DAY).toISOString().slice(0, 10)

interface Sums extends TokenSums {
  readonly cost: number
  readonly calls: number
}
const sumColumns = <Row extends Sums>(currency: string): readonly Column<Row>[] => [
  {
    title: `${text('column.cost')} (${currency})`,
    cell: ({ cost }) => <Money amount={cost} />,
    isNumber: true,
  },
  { title: text('column.calls'), cell: ({ calls }) => formatNumber(calls), isNumber: true },
  ...tokenColumns<Row>(),
]

interface ModelProps {
  readonly cells: readonly UsageCell[]
  /** The first day. */
  readonly from: string
  readonly account: number | undefined
}
/** Its rows are those of the charts; latencies come from the sums by model. */
export const ModelTable = ({ cells, from, account }: ModelProps) => {
  const currency = useCurrency()
  const linkOf = (model: string): string =>
    account === undefined
      ? hrefOf('usage', undefined, { model })
      : hrefOf('ledger', undefined, { account: String(account), model })
  const sums = useData<{ data: readonly UsageSum[] }>(
    account === undefined ? `/api/usage?by=model&limit=1000&from=${from}` : undefined,
  )
  const latencies = new Map(sums.data?.data.map(each => [each.model, each]))
  const rows = [...Map.groupBy(cells, ({ model }) => model)]
    .map(([model, list]) => ({
      model,
      cost: sum(list, 'cost'),
      calls: sum(list, 'calls'),
      ...tokensOf(list),
      latencies: latencies.get(model),
    }))
    .sort((a, b) => b.cost - a.cost)
  const columns: readonly Column<(typeof rows)[number]>[] = [
    {
      title: text('column.model'),
      cell: ({ model }) => <a href={linkOf(model)}>{model}</a>,
    },
    ...sumColumns<(typeof rows)[number]>(currency),
    ...(account === undefined
      ? latencyColumns<(typeof rows)[number]>(({ latencies }) => latencies)
      : []),
  ]
  return <PlainTable name={text('overview.by-model')} rows={rows} columns={columns} />
}
