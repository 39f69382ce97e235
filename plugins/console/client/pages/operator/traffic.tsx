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

const GROUPS = [
  'model',
  'upstream',
  'rule',
  'cache',
  'guard',
  'hour',
  'day',
  'account',
  'key',
] as const
type Group = (typeof GROUPS)[number]
/** Parts of the calls of a model, beside each other. */
const PARTS: readonly Group[] = ['rule', 'cache', 'guard']
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
      <p class="small muted">{text(helpOf(by))}</p>
      <Table
        name={`${text('page.traffic')} ${by}`}
        of={wholeList(traffic, traffic.data?.data)}
        columns={useColumns(by)}
        keyOf={({ model = '', name }) => `${model} ${name}`}
        empty={<Empty title={text('traffic.empty')} help={text(emptyHelpOf(by))} />}
      />
    </>
  )
}
export default Traffic

const helpOf = (by: Group): TextKey => {
  if (by === 'account' || by === 'key') return 'traffic.charged'
  return PARTS.includes(by) ? `traffic.help.${by as 'rule'}` : 'traffic.help'
}
const emptyHelpOf = (by: Group): TextKey =>
  PARTS.includes(by) ? `traffic.empty.${by as 'rule'}` : 'traffic.empty.help'

/** The name of a part of the calls of a model. */
const partName = (by: Group, name: string): string => {
  if (by === 'cache') return text(`traffic.cache.${name}` as TextKey)
  if (name !== '') return name
  return text(by === 'rule' ? 'traffic.rule.none' : 'traffic.guard.all')
}
const nameColumn = (by: Group): Column<TrafficRow> => ({
  title: text(`column.${by}` as TextKey),
  cell: ({ name }) => {
    if (by === 'upstream' && name !== '') return <UpstreamName name={name} />
    if (PARTS.includes(by)) return <span class="ellipsis">{partName(by, name)}</span>
    const label = <span class="ellipsis">{name === '' ? text('none') : name}</span>
    return by === 'account' ? <a href={hrefOf('account', name)}>{label}</a> : label
  },
  csv: ({ name }) => name,
})
const useColumns = (by: Group): readonly Column<TrafficRow>[] => {
  const currency = useCurrency()
  const isCharged = by === 'account' || by === 'key'
  return [
    ...(PARTS.includes(by) ? [column(text('column.model'), modelOf, 'ellipsis')] : []),
    nameColumn(by),
    ...(PARTS.includes(by) ? [shareColumn()] : []),
    {
      title: text('column.calls'),
      cell: ({ calls }) => formatNumber(calls),
      csv: ({ calls }) => calls,
      isNumber: true,
    },
    failedColumn(isCharged),
    ...tokenColumns<TrafficRow>(PARTS.includes(by)),
    {
      title: text('overview.cached'),
      cell: ({ input_tokens: input, cached_tokens: cached }) =>
        input > 0 ? formatPercent(cached / input) : <span class="faint">–</span>,
      isNumber: true,
      isWidest: true,
    },
    ...timesOf(by),
    column(`${text('column.cost')} (${currency})`, ({ cost }) => cost, 'money'),
  ]
}
/** Beside each other parts are compared by their times to the first content. */
const timesOf = (by: Group): readonly Column<TrafficRow>[] =>
  latencyColumns<TrafficRow>(row => row).map((each, index) =>
    PARTS.includes(by) && index < 2 ? { ...each, isExtra: false, isWide: true } : each,
  )
const modelOf = ({ model }: TrafficRow) => model
const shareColumn = (): Column<TrafficRow> => ({
  title: text('column.share'),
  cell: ({ share = 0 }) => formatPercent(share),
  csv: ({ share }) => share,
  isNumber: true,
})
/** `isCharged`: failed calls are beside the calls of a row, not among them. */
const failedColumn = (isCharged: boolean): Column<TrafficRow> => ({
  title: text('column.failed'),
  cell: ({ failed = 0, calls }) => {
    const all = isCharged ? calls + failed : calls
    return failed === 0 ? '0' : `${formatNumber(failed)} (${formatPercent(failed / all)})`
  },
  csv: ({ failed }) => failed,
  isNumber: true,
})
