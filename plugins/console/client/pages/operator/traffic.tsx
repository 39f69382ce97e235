/** Traffic: calls, errors, tokens, cost and latencies of all accounts, for operators. */
import type { TrafficRow } from '../../../../views.ts'
import { formatNumber, formatPercent } from '../../format.ts'
import { useData } from '../../loading.ts'
import type { PageProps } from '../../page.ts'
import { wholeList } from '../../parts/list.tsx'
import { PageHead } from '../../parts/page.tsx'
import { Segments } from '../../parts/segments.tsx'
import { Empty } from '../../parts/states.tsx'
import { type Column, column, Table } from '../../parts/table.tsx'
import { latencyColumns, tokenColumns } from '../../parts/usage-columns.tsx'
import { UpstreamName, useCurrency } from '../../parts/values.tsx'
import { hrefOf, setQuery } from '../../router.ts'
import { type TextKey, text } from '../../texts.ts'

const GROUPS = ['model', 'upstream', 'hour', 'day', 'account', 'key'] as const
type Group = (typeof GROUPS)[number]
const PERIODS = ['1d', '7d', '30d'] as const

const Traffic = ({ place: { query } }: PageProps) => {
  const by = GROUPS.find(each => each === query.get('by')) ?? 'model'
  const since = PERIODS.find(each => each === query.get('since')) ?? '1d'
  const traffic = useData<{ data: readonly TrafficRow[] }>(
    `/api/admin/traffic?by=${by}&since=${since}&top=200`,
  )
  return (
    <>
      <PageHead title={text('page.traffic')}>
        <Segments
          label={text('overview.period')}
          names={PERIODS}
          present={since}
          titleOf={each => text('overview.days', { n: Number.parseInt(each, 10) })}
          onChoose={since => setQuery({ since })}
        />
      </PageHead>
      <div class="filters">
        <Segments
          label={text('usage.by')}
          names={GROUPS}
          present={by}
          titleOf={each => text(`column.${each}` as TextKey)}
          onChoose={by => setQuery({ by })}
        />
      </div>
      <p class="small muted">
        {text(by === 'account' || by === 'key' ? 'traffic.charged' : 'traffic.help')}
      </p>
      <Table
        name={`${text('page.traffic')} ${by}`}
        of={wholeList(traffic, traffic.data?.data)}
        columns={useColumns(by)}
        keyOf={({ name }) => name}
        empty={<Empty title={text('traffic.empty')} help={text('traffic.empty.help')} />}
      />
    </>
  )
}
export default Traffic

const nameColumn = (by: Group): Column<TrafficRow> => ({
  title: text(`column.${by}` as TextKey),
  cell: ({ name }) => {
    if (by === 'upstream' && name !== '') return <UpstreamName name={name} />
    const label = <span class="ellipsis">{name === '' ? text('none') : name}</span>
    return by === 'account' ? <a href={hrefOf('account', name)}>{label}</a> : label
  },
  csv: ({ name }) => name,
})
const useColumns = (by: Group): readonly Column<TrafficRow>[] => {
  const currency = useCurrency()
  const isCharged = by === 'account' || by === 'key'
  return [
    nameColumn(by),
    {
      title: text('column.calls'),
      cell: ({ calls }) => formatNumber(calls),
      csv: ({ calls }) => calls,
      isNumber: true,
    },
    ...(isCharged ? [] : [failedColumn()]),
    ...tokenColumns<TrafficRow>(),
    {
      title: text('overview.cached'),
      cell: ({ input_tokens: input, cached_tokens: cached }) =>
        input > 0 ? formatPercent(cached / input) : <span class="faint">–</span>,
      isNumber: true,
      isWidest: true,
    },
    ...(isCharged ? [] : latencyColumns<TrafficRow>(row => row)),
    column(`${text('column.cost')} (${currency})`, ({ cost }) => cost, 'money'),
  ]
}
const failedColumn = (): Column<TrafficRow> => ({
  title: text('column.failed'),
  cell: ({ failed = 0, calls }) =>
    failed === 0 ? '0' : `${formatNumber(failed)} (${formatPercent(failed / calls)})`,
  csv: ({ failed }) => failed,
  isNumber: true,
})
