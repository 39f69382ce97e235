/** Usage: every call of the account, filtered, page by page. */
import { useState } from 'preact/hooks'
import type { FailedUsage, UsageCall, UsageSum } from '../../../views.ts'
import { addressOf } from '../api.ts'
import { useChanges } from '../events.ts'
import { formatNumber, shortenId } from '../format.ts'
import type { PageProps } from '../page.ts'
import { keyNameOf, memberNameOf, useKeyNames, useMemberNames } from '../parts/caller-names.ts'
import { Filter } from '../parts/list.tsx'
import { PageHead } from '../parts/page.tsx'
import { Segments } from '../parts/segments.tsx'
import { Empty } from '../parts/states.tsx'
import { type Column, envelopePage, type Sorting, Table, useRows } from '../parts/table.tsx'
import { latencyColumns, tokenColumns } from '../parts/usage-columns.tsx'
import { Live, Money, State, StatusCode, Time, useCurrency } from '../parts/values.tsx'
import { go, hrefOf, setQuery } from '../router.ts'
import { type TextKey, text } from '../texts.ts'

const GROUPS = ['call', 'day', 'model', 'key', 'member', 'tag'] as const
/** The parameters of the address that are parameters of the API. */
const FILTERS = ['from', 'to', 'member', 'model', 'key', 'state', 'tag'] as const
/** A tag that is typed in part filters nothing yet. */
const WHOLE_TAG = /^[a-z][a-z0-9_-]*=[\w.-]+$/
/** Those that filter sums, too. */
const OF_ALL: readonly string[] = ['from', 'to', 'member']

const Usage = ({ place: { query } }: PageProps) => {
  const by = GROUPS.find(each => each === query.get('by')) ?? 'call'
  const [round, setRound] = useState(0)
  const [missed, setMissed] = useState(0)
  const reload = () => {
    setRound(round => round + 1)
    setMissed(0)
  }
  const live = useChanges('/api/usage/events', ({ rows }) => {
    // Rows that the user is reading stay where they are.
    if (scrollY < READING) reload()
    else setMissed(missed => missed + rows.length)
  })
  const { isFailed, sort, order, parameters, csv } = requestOf(query, by)
  const list: List = {
    path: `/api/usage?${parameters}`,
    csvHref: addressOf(`/api/usage?${csv}`),
    round,
    sorting: { by: sort, order, onSort: (sort, order) => setQuery({ sort, order }) },
  }
  return (
    <>
      <PageHead title={text('page.usage')}>
        <Live at={live} />
        <Segments
          label={text('usage.by')}
          names={GROUPS}
          present={by}
          titleOf={each => text(`usage.by.${each}` as TextKey)}
          onChoose={each => setQuery({ by: each, sort: undefined, order: undefined })}
        />
      </PageHead>
      <Filters query={query} by={by} isFailed={isFailed} />
      {isFailed ? (
        <FailedCalls list={list} />
      ) : by === 'call' ? (
        <Calls list={list} />
      ) : (
        <Sums list={list} by={by} query={query} />
      )}
      {missed > 0 && (
        <button
          type="button"
          class="button primary missed"
          onClick={() => {
            scrollTo({ top: 0 })
            reload()
          }}
        >
          {text('usage.missed', { n: missed })}
        </button>
      )}
    </>
  )
}
export default Usage

/** The parameters of the list and of its CSV. */
const requestOf = (query: URLSearchParams, by: (typeof GROUPS)[number]) => {
  const isFailed = by === 'call' && query.get('state') === 'failed'
  const [sort, order] = isFailed ? sortOfFailed(query) : sortIn(query, by)
  const parameters = new URLSearchParams({ by, sort, order, limit: '200' })
  for (const name of FILTERS) {
    const value = query.get(name)
    if (name === 'tag' && !WHOLE_TAG.test(value ?? '')) continue
    const isOfSum = OF_ALL.includes(name) || (name === 'tag' && by === 'model')
    if (value && (isOfSum || by === 'call')) parameters.set(name, value)
  }
  if (isFailed) {
    parameters.delete('state')
    parameters.delete('tag')
    parameters.set('status', 'failed')
  }
  const csv = new URLSearchParams(parameters)
  csv.delete('limit')
  csv.set('format', 'csv')
  return { isFailed, sort, order, parameters, csv }
}

/** px below which the page counts as read from its top. */
const READING = 200
interface List {
  readonly path: string
  readonly csvHref: string
  readonly round: number
  readonly sorting: Sorting
}
const SORTS = { call: ['time', 'cost', 'model'], sum: ['name', 'calls', 'cost'] } as const
/** The order of the address, or the usual one. */
const sortIn = (
  query: URLSearchParams,
  by: (typeof GROUPS)[number],
): readonly [sort: string, order: 'asc' | 'desc'] => {
  const sorts = SORTS[by === 'call' ? 'call' : 'sum']
  const sort = sorts.find(each => each === query.get('sort')) ?? sorts[0]
  const usual = by === 'call' || by === 'day' ? 'desc' : 'asc'
  const order = query.get('order')
  return [sort, order === 'asc' || order === 'desc' ? order : usual]
}

/** Failed calls are in order of time. */
const sortOfFailed = (query: URLSearchParams): readonly [sort: 'time', order: 'asc' | 'desc'] => [
  'time',
  query.get('order') === 'asc' ? 'asc' : 'desc',
]

interface FiltersProps {
  readonly query: URLSearchParams
  readonly by: (typeof GROUPS)[number]
  readonly isFailed: boolean
}
const Filters = ({ query, by, isFailed }: FiltersProps) => {
  const isByCall = by === 'call'
  const keys = useKeyNames()
  const members = [...useMemberNames()].map(([id, name]) => [String(id), name] as const)
  const day = (name: 'from' | 'to') => (
    <label class="row small">
      {text(name)}
      <input
        type="date"
        class="input"
        value={query.get(name) ?? ''}
        onChange={event => setQuery({ [name]: event.currentTarget.value })}
      />
    </label>
  )
  return (
    <div class="filters">
      {isByCall && (
        <input
          type="search"
          class="input"
          aria-label={text('usage.search')}
          placeholder={text('usage.search')}
          onKeyDown={event => {
            const id = event.currentTarget.value.trim()
            if (event.key === 'Enter' && id) go(hrefOf('call', id))
          }}
        />
      )}
      {day('from')}
      {day('to')}
      {members.length > 0 && (
        <Filter name="member" label={text('column.member')} query={query} options={members} />
      )}
      {isByCall && (
        <>
          <Filter name="model" label={text('column.model')} query={query} />
          <Filter
            name="key"
            label={text('column.key')}
            query={query}
            options={[...keys].map(([id, name]) => [String(id), name])}
          />
          <Filter
            name="state"
            label={text('column.state')}
            query={query}
            options={['settled', 'open', 'released', 'failed'].map(state => [
              state,
              text(`state.${state}` as TextKey),
            ])}
          />
        </>
      )}
      {((isByCall && !isFailed) || by === 'model') && (
        <Filter name="tag" label={text('column.tag')} query={query} />
      )}
    </div>
  )
}
const NoUsage = () => (
  <Empty title={text('usage.empty')} help={text('usage.empty.help')}>
    <a class="button" href={hrefOf('playground')}>
      {text('page.playground')}
    </a>
  </Empty>
)

const Calls = ({ list: { path, round, ...table } }: { list: List }) => {
  const rows = useRows<UsageCall>(path, envelopePage, round)
  return (
    <Table
      name={text('page.usage')}
      of={rows}
      {...table}
      columns={useCallColumns()}
      keyOf={call => call.request_id}
      hrefOf={call => hrefOf('call', call.request_id)}
      empty={<NoUsage />}
    />
  )
}

const FailedCalls = ({ list: { path, round, ...table } }: { list: List }) => (
  <Table
    name={text('usage.failed')}
    of={useRows<FailedUsage>(path, envelopePage, round)}
    {...table}
    columns={useFailedColumns()}
    keyOf={call => call.request_id}
    hrefOf={call => hrefOf('call', call.request_id)}
    empty={<Empty title={text('usage.failed.empty')} help={text('usage.failed.help')} />}
  />
)
const timeColumn = <Row extends Pick<UsageCall, 'at' | 'request_id'>>(): Column<Row> => ({
  title: text('column.time'),
  cell: ({ at, request_id: id }) => (
    <a class="quiet" href={hrefOf('call', id)}>
      <Time at={at} />
    </a>
  ),
  sort: 'time',
})
const useFailedColumns = (): readonly Column<FailedUsage>[] => {
  const keys = useKeyNames()
  return [
    timeColumn(),
    {
      title: text('column.status'),
      cell: ({ status, code }) => <StatusCode status={status} code={code} />,
    },
    {
      title: text('column.model'),
      cell: ({ model, route }) => <span class="ellipsis">{model || route}</span>,
    },
    {
      title: text('column.key'),
      cell: ({ key }) => <span class="ellipsis">{keyNameOf(key, keys)}</span>,
      isWide: true,
    },
    {
      title: text('column.message'),
      cell: ({ message }) => (
        <span class="ellipsis" title={message}>
          {message}
        </span>
      ),
      isWide: true,
    },
  ]
}

const countColumn = (
  title: string,
  count: (call: UsageCall) => number | null,
): Column<UsageCall> => ({
  title,
  cell: call => {
    const value = count(call)
    return value === null ? '' : formatNumber(value)
  },
  isNumber: true,
  isWidest: true,
})
const memberColumn = (names: ReturnType<typeof useMemberNames>): Column<UsageCall> => ({
  title: text('column.member'),
  cell: ({ member }) => <span class="ellipsis">{memberNameOf(member, names)}</span>,
  isExtra: true,
})
const useCallColumns = (): readonly Column<UsageCall>[] => {
  const currency = useCurrency()
  const keys = useKeyNames()
  const members = useMemberNames()
  return [
    timeColumn(),
    {
      title: text('column.id'),
      cell: ({ request_id: id }) => (
        <a class="mono" href={hrefOf('call', id)} title={id}>
          {shortenId(id)}
        </a>
      ),
      isWide: true,
    },
    {
      title: text('column.model'),
      cell: ({ model }) => <span class="ellipsis">{model}</span>,
      sort: 'model',
    },
    {
      title: text('column.route'),
      cell: ({ route }) => route,
      isWidest: true,
    },
    {
      title: text('column.key'),
      cell: ({ key }) => <span class="ellipsis">{keyNameOf(key, keys)}</span>,
      isWide: true,
    },
    ...(members.size > 0 ? [memberColumn(members)] : []),
    {
      title: text('column.state'),
      cell: ({ state }) => <State state={state} />,
      isWide: true,
    },
    ...tokenColumns<UsageCall>(true),
    countColumn(text('column.ms'), ({ ms }) => ms),
    {
      title: `${text('column.cost')} (${currency})`,
      cell: ({ cost }) => <Money amount={cost} />,
      sort: 'cost',
      isNumber: true,
    },
  ]
}

const nameOf = ({ day, model, tag, key, member, name }: UsageSum): string => {
  if (member === null) return text('usage.account')
  return day ?? model ?? tag ?? name ?? (key === null ? text('usage.console') : `#${key}`)
}
interface SumsProps {
  readonly list: List
  readonly by: Exclude<(typeof GROUPS)[number], 'call'>
  readonly query: URLSearchParams
}
/** The models of a tag, in the same period. */
const modelsOf = (tag: string, query: URLSearchParams): string => {
  const filters = OF_ALL.flatMap(name => {
    const value = query.get(name)
    return value ? [[name, value] as const] : []
  })
  return hrefOf('usage', undefined, { ...Object.fromEntries(filters), by: 'model', tag })
}
const Sums = ({ list: { path, round, ...table }, by, query }: SumsProps) => {
  const rows = useRows<UsageSum>(path, envelopePage, round)
  const currency = useCurrency()
  const columns: readonly Column<UsageSum>[] = [
    {
      title: text(`column.${by}`),
      cell: sum =>
        sum.tag === undefined ? (
          <span class="ellipsis">{nameOf(sum)}</span>
        ) : (
          <a class="ellipsis" href={modelsOf(sum.tag, query)}>
            {sum.tag}
          </a>
        ),
      sort: 'name',
    },
    {
      title: text('column.calls'),
      cell: ({ calls }) => formatNumber(calls),
      sort: 'calls',
      isNumber: true,
    },
    ...tokenColumns<UsageSum>(),
    ...latencyColumns<UsageSum>(sum => sum),
    {
      title: `${text('column.cost')} (${currency})`,
      cell: ({ cost }) => <Money amount={cost} />,
      sort: 'cost',
      isNumber: true,
    },
    {
      title: `${text('column.refunded')} (${currency})`,
      cell: ({ refunded }) => <Money amount={refunded} />,
      isNumber: true,
      isWide: true,
    },
  ]
  return (
    <Table
      name={`${text('page.usage')} ${by}`}
      of={rows}
      {...table}
      columns={columns}
      keyOf={nameOf}
      empty={<NoUsage />}
    />
  )
}
