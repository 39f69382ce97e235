/** Requests as they end, for operators. */
import { useState } from 'preact/hooks'
import type { RequestLine } from '../../../../views.ts'
import { useStream } from '../../events.ts'
import { formatNumber, formatTime, shortenId } from '../../format.ts'
import { useData } from '../../loading.ts'
import type { PageProps } from '../../page.ts'
import { Filter, wholeList } from '../../parts/list.tsx'
import { PageHead } from '../../parts/page.tsx'
import { Segments } from '../../parts/segments.tsx'
import { Empty } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { tokenColumns } from '../../parts/usage-columns.tsx'
import { Money, StatusCode, UpstreamName, useCurrency } from '../../parts/values.tsx'
import { hrefOf, setQuery } from '../../router.ts'
import { text } from '../../texts.ts'

/** Rows that stay on the page. */
const MOST = 500
const FILTERS = ['account', 'key', 'model', 'status'] as const
const KINDS = ['calls', 'all'] as const

const Live = ({ place: { query } }: PageProps) => {
  const pairs = FILTERS.map(name => [name, query.get(name) ?? ''] as [string, string])
  const kind = query.get('kind') === 'all' ? 'all' : 'calls'
  const parameters = new URLSearchParams(pairs.filter(([, value]) => value !== ''))
  // Pages and lists of the console are requests too, and far more than calls.
  if (kind === 'calls') parameters.set('calls', 'yes')
  const search = parameters.toString()
  const before = useData<{ data: readonly RequestLine[] }>(`/api/admin/requests?${search}`)
  return (
    <>
      <PageHead title={text('page.live')}>
        <Segments
          label={text('live.kind')}
          names={KINDS}
          present={kind}
          titleOf={each => text(`live.kind.${each}`)}
          onChoose={each => setQuery({ kind: each === 'calls' ? undefined : each })}
        />
      </PageHead>
      <div class="filters">
        <Filter name="account" label={text('column.account')} query={query} isSearch />
        <Filter name="key" label={text('column.key')} query={query} />
        <Filter name="model" label={text('column.model')} query={query} />
        <Filter
          name="status"
          label={text('column.status')}
          query={query}
          options={['2xx', '4xx', '429', '5xx'].map(each => [each, each])}
        />
      </div>
      {before.error ? (
        <Table
          name={text('page.live')}
          of={wholeList<RequestLine>(before, undefined)}
          columns={[]}
          keyOf={({ id }) => id}
          empty={null}
        />
      ) : (
        <Stream key={search} search={search} before={before} />
      )}
    </>
  )
}
export default Live

interface StreamProps {
  readonly search: string
  readonly before: ReturnType<typeof useData<{ data: readonly RequestLine[] }>>
}
const Stream = ({ search, before }: StreamProps) => {
  const [added, setAdded] = useState<readonly RequestLine[]>([])
  const onEvent = ({ rows }: { readonly rows: readonly RequestLine[] }) => {
    setAdded(all => [...rows.toReversed(), ...all].slice(0, MOST))
  }
  const { isOpen, lastAt } = useStream(`/api/admin/requests/live?${search}`, onEvent, before.reload)
  // A row of both the first page and an event is shown once.
  const all = new Map([...added, ...(before.data?.data ?? [])].map(each => [each.id, each]))
  const rows = [...all.values()].sort((a, b) => b.time - a.time).slice(0, MOST)
  return (
    <>
      <p class="small muted" role="status" data-live={isOpen ? 'open' : 'closed'}>
        <span class={`badge ${isOpen ? 'ok' : 'warning'}`}>
          {text(isOpen ? 'live.open' : 'live.closed')}
        </span>
        {' · '}
        {lastAt === undefined ? text('live.none') : text('live.last', { time: formatTime(lastAt) })}
      </p>
      <Table
        name={text('page.live')}
        of={wholeList(before, before.data && rows)}
        columns={useColumns()}
        keyOf={({ id }) => id}
        hrefOf={({ id }) => hrefOf('call', id)}
        empty={<Empty title={text('live.empty')} help={text('live.empty.help')} />}
      />
    </>
  )
}

const clock = (time: number): string => new Date(time).toLocaleTimeString('en-GB')
const useColumns = (): readonly Column<RequestLine>[] => {
  const currency = useCurrency()
  return [...idColumns(), ...callColumns(currency)]
}

const idColumns = (): readonly Column<RequestLine>[] => [
  {
    title: text('column.time'),
    cell: ({ time, id }) => (
      <a href={hrefOf('call', id)}>
        <time title={formatTime(time)}>{clock(time)}</time>
      </a>
    ),
    csv: ({ time }) => new Date(time).toISOString(),
  },
  {
    title: text('column.status'),
    cell: ({ status, code }) => <StatusCode status={status} code={code} />,
    csv: ({ status }) => status,
  },
  {
    title: text('column.id'),
    cell: ({ id }) => (
      <a class="mono" href={hrefOf('call', id)} title={id}>
        {shortenId(id)}
      </a>
    ),
    csv: ({ id }) => id,
    isWidest: true,
  },
]

const callColumns = (currency: string): readonly Column<RequestLine>[] => [
  {
    title: text('column.account'),
    cell: row => <span class="ellipsis">{row.account_name ?? '–'}</span>,
    csv: row => row.account_name,
    isWide: true,
  },
  {
    title: text('column.model'),
    cell: ({ model, method, path }) => (
      <span class="ellipsis" title={`${method} ${path}`}>
        {model ?? `${method} ${path}`}
      </span>
    ),
    csv: ({ model, method, path }) => model ?? `${method} ${path}`,
  },
  {
    title: text('column.upstream'),
    cell: ({ upstream }) => (upstream ? <UpstreamName name={upstream} /> : '–'),
    csv: ({ upstream }) => upstream,
    isWidest: true,
  },
  ...tokenColumns<RequestLine>(true),
  {
    title: text('column.first'),
    cell: ({ first_byte: first }) => (first === undefined ? '–' : formatNumber(first, 0)),
    csv: ({ first_byte }) => first_byte,
    isNumber: true,
    isWidest: true,
  },
  {
    title: text('column.ms'),
    cell: ({ ms }) => formatNumber(ms, ms < 10 ? 1 : 0),
    csv: ({ ms }) => ms,
    isNumber: true,
  },
  {
    title: `${text('column.cost')} (${currency})`,
    cell: ({ cost }) => (cost === undefined ? '–' : <Money amount={cost} />),
    csv: ({ cost }) => cost,
    isNumber: true,
    isWide: true,
  },
]
