/** Routes, for operators: the pipeline of each as compiled, with its options and its place. */
import { Fragment } from 'preact'
import { useContext, useState } from 'preact/hooks'
import type { RouteRow } from '../../../../views.ts'
import LimitRoute from '../../changes/limit-route.tsx'
import { useData } from '../../loading.ts'
import type { PageProps } from '../../page.ts'
import { Filter, wholeList } from '../../parts/list.tsx'
import { PageHead } from '../../parts/page.tsx'
import { Empty, View } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { MethodPath, SessionContext, UpstreamName } from '../../parts/values.tsx'
import { hrefOf } from '../../router.ts'
import { text } from '../../texts.ts'

const Routes = ({ place: { id, query } }: PageProps) => {
  const routes = useData<{ data: readonly RouteRow[] }>('/api/admin/routes')
  if (id !== undefined)
    return (
      <View of={routes} rows={8}>
        {({ data }) => (
          <RouteView
            name={id}
            route={data.find(each => each.name === id)}
            onChange={routes.reload}
          />
        )}
      </View>
    )
  const search = (query.get('search') ?? '').toLowerCase()
  const rows = routes.data?.data.filter(({ name, path, stages }) =>
    `${name} ${path} ${stages.join(' ')}`.toLowerCase().includes(search),
  )
  return (
    <>
      <PageHead title={text('page.routes')} />
      <div class="filters">
        <Filter name="search" label={text('search')} query={query} isSearch />
      </div>
      <Table
        name={text('page.routes')}
        of={wholeList(routes, rows)}
        columns={columns()}
        keyOf={({ name }) => name}
        hrefOf={({ name }) => hrefOf('routes', name)}
        isTall
        empty={<Empty title={text('routes.empty')} help={text('routes.empty.help')} />}
      />
    </>
  )
}
export default Routes

const placeOf = ({ place }: RouteRow): string => (place ? `${place.file}:${place.line}` : '')
const columns = (): readonly Column<RouteRow>[] => [
  {
    title: text('column.route'),
    cell: ({ name }) => <a href={hrefOf('routes', name)}>{name}</a>,
    csv: ({ name }) => name,
  },
  {
    title: text('routes.path'),
    cell: route => <MethodPath {...route} />,
    csv: ({ method, path }) => `${method} ${path}`,
  },
  {
    title: text('routes.stages'),
    cell: ({ stages }) => (
      <span class="ellipsis long muted" title={stages.join(' → ')}>
        {stages.join(' → ')}
      </span>
    ),
    csv: ({ stages }) => stages.join(' '),
    isWide: true,
  },
  {
    title: text('routes.place'),
    cell: route => <span class="mono">{placeOf(route)}</span>,
    csv: placeOf,
    isWide: true,
  },
]

interface RouteViewProps {
  readonly name: string
  readonly route: RouteRow | undefined
  onChange(): void
}
const RouteView = ({ name, route, onChange }: RouteViewProps) => {
  if (!route)
    return (
      <>
        <PageHead title={text('column.route')} />
        <Empty title={text('routes.unknown')} help={name}>
          <a class="button" href={hrefOf('routes')}>
            {text('page.routes')}
          </a>
        </Empty>
      </>
    )
  const { method, path, stages, options, upstreams, summary } = route
  return (
    <>
      <PageHead title={name}>
        <a class="button" href={hrefOf('routes')}>
          {text('page.routes')}
        </a>
        <LimitButton route={route} onLive={onChange} />
      </PageHead>
      <section class="card" aria-label={text('column.route')}>
        <dl class="facts">
          <dt>{text('routes.path')}</dt>
          <dd class="mono">
            {method} {path}
          </dd>
          <dt>{text('routes.place')}</dt>
          <dd class="mono">{placeOf(route)}</dd>
          {summary && (
            <>
              <dt>{text('routes.summary')}</dt>
              <dd>{summary}</dd>
            </>
          )}
          {upstreams.length > 0 && (
            <>
              <dt>{text('page.upstreams')}</dt>
              <dd>
                <Names of={upstreams} />
              </dd>
            </>
          )}
        </dl>
      </section>
      <section class="card" aria-label={text('routes.stages')}>
        <h2>{text('routes.stages')}</h2>
        <ol class="pipeline">
          {stages.map(stage => (
            <li key={stage}>
              <strong>{stage}</strong>
              <code>{JSON.stringify(options[stage])}</code>
            </li>
          ))}
        </ol>
      </section>
    </>
  )
}

/** For operators who may change the configuration. */
const LimitButton = ({ route, onLive }: { readonly route: RouteRow; onLive(): void }) => {
  const [isOpen, setOpen] = useState(false)
  if (!useContext(SessionContext)?.edit) return null
  return (
    <>
      <button type="button" class="button primary" onClick={() => setOpen(true)}>
        {text('change.limit')}
      </button>
      {isOpen && (
        <LimitRoute
          route={route}
          onClose={() => setOpen(false)}
          onLive={() => {
            setOpen(false)
            onLive()
          }}
        />
      )}
    </>
  )
}

const Names = ({ of }: { of: readonly string[] }) => (
  <>
    {of.map((name, index) => (
      <Fragment key={name}>
        {index > 0 && ', '}
        <UpstreamName name={name} />
      </Fragment>
    ))}
  </>
)
