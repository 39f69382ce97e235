/** Upstreams, for operators: health over all workers, keys at rest, and a test. */
import { useContext, useState } from 'preact/hooks'
import type { UpstreamFinding, UpstreamRow } from '../../../../views.ts'
import { callData } from '../../api.ts'
import AddModel from '../../changes/add-model.tsx'
import AddProvider from '../../changes/add-provider.tsx'
import { useEvery } from '../../events.ts'
import { toApiError, useData } from '../../loading.ts'
import type { PageProps } from '../../page.ts'
import { Filter } from '../../parts/list.tsx'
import { PageHead } from '../../parts/page.tsx'
import { Empty, View } from '../../parts/states.tsx'
import { ColumnsButton, TableBox } from '../../parts/table.tsx'
import { SessionContext, State, Time } from '../../parts/values.tsx'
import { text } from '../../texts.ts'

type Workers = Readonly<Record<string, number>>
/** ms between two looks at the health. */
const LIVE = 5_000

const Upstreams = ({ place: { query } }: PageProps) => {
  const upstreams = useData<{ data: readonly UpstreamRow[] }>('/api/admin/upstreams')
  useEvery(LIVE, upstreams.reload)
  const mayEdit = useContext(SessionContext)?.edit
  const [isAdding, setAdding] = useState(false)
  const [hasAll, setAll] = useState(false)
  const search = (query.get('search') ?? '').toLowerCase()
  return (
    <>
      <PageHead title={text('page.upstreams')}>
        {mayEdit && (
          <button type="button" class="button primary" onClick={() => setAdding(true)}>
            {text('upstreams.add')}
          </button>
        )}
      </PageHead>
      <div class="filters">
        <Filter name="search" label={text('search')} query={query} isSearch />
        <ColumnsButton of={[{ isWide: true }]} hasAll={hasAll} onChange={setAll} />
      </div>
      <View of={upstreams} rows={10}>
        {({ data }) => {
          const rows = data.filter(({ name, title }) =>
            `${name} ${title}`.toLowerCase().includes(search),
          )
          return rows.length === 0 ? (
            <Empty title={text('upstreams.empty')} help={text('upstreams.empty.help')} />
          ) : (
            <List rows={rows} hasAll={hasAll} />
          )
        }}
      </View>
      {isAdding && (
        <AddProvider
          onClose={() => setAdding(false)}
          onLive={() => {
            setAdding(false)
            upstreams.reload()
          }}
        />
      )}
    </>
  )
}
export default Upstreams

interface ListProps {
  readonly rows: readonly UpstreamRow[]
  readonly hasAll: boolean
}
const List = ({ rows, hasAll }: ListProps) => (
  <TableBox name={text('page.upstreams')} hasAll={hasAll}>
    <table>
      <thead>
        <tr>
          <th scope="col">{text('column.upstream')}</th>
          <th scope="col" class="wide-only">
            {text('models.formats')}
          </th>
          <th scope="col">{text('upstreams.address')}</th>
          <th scope="col">{text('column.state')}</th>
          <th scope="col" class="number wide-only">
            {text('upstreams.busy')}
          </th>
          <th scope="col" class="actions">
            {text('column.actions')}
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map(each => (
          <UpstreamRows key={each.name} upstream={each} />
        ))}
      </tbody>
    </table>
  </TableBox>
)

const workersOf = (workers: Workers): string =>
  Object.entries(workers)
    .map(([state, count]) => `${count} × ${state}`)
    .join(', ')

type Address = UpstreamRow['addresses'][number]
/** Empty if no target is warmed up. */
const warmingText = ({ warming }: Address): string =>
  warming.length > 0 ? text('upstreams.warming', { names: warming.join(', ') }) : ''
const AddressState = ({ of }: { of: Address }) => (
  <>
    <State state={of.state} />
    <Since at={of.since} />
    {of.warming.length > 0 && <div class="small muted">{warmingText(of)}</div>}
  </>
)
/** Empty if it has been ready since the gateway knows it. */
const Since = ({ at }: { readonly at: string | null }) =>
  at !== null && (
    <div class="small muted">
      {text('upstreams.since')} <Time at={at} />
    </div>
  )
const addressRow = (each: Address) => ({
  label: each.address,
  state: each.state,
  since: each.since,
  of: each.workers,
  note: warmingText(each),
})

const UpstreamRows = ({ upstream }: { upstream: UpstreamRow }) => {
  const [findings, setFindings] = useState<readonly UpstreamFinding[]>()
  const [isBusy, setBusy] = useState(false)
  const { name, title, formats, addresses, keys } = upstream
  const test = () => {
    setBusy(true)
    callData<readonly UpstreamFinding[]>('POST', '/api/admin/upstreams/test', { upstream: name })
      .then(setFindings)
      .catch(error => {
        const answer = toApiError(error).message
        const finding = { upstream: name, address: name, key: '-', models: null }
        setFindings([{ ...finding, answer, fails: true }])
      })
      .finally(() => setBusy(false))
  }
  const [first, ...others] = addresses
  return (
    <>
      <tr>
        <td>
          <strong>{title}</strong>
          {title !== name && <div class="small muted">{name}</div>}
        </td>
        <td class="wide-only muted">{formats?.join(', ') ?? '–'}</td>
        <td class="mono anywhere">{first?.address ?? '–'}</td>
        <td title={first && workersOf(first.workers)}>{first && <AddressState of={first} />}</td>
        <td class="number wide-only">{first?.busy}</td>
        <td class="actions">
          <span class="row stacked">
            <button type="button" class="button tiny" aria-busy={isBusy} onClick={test}>
              {text('upstreams.test')}
            </button>
            <ModelButton upstream={name} />
          </span>
        </td>
      </tr>
      {others.map(each => (
        <SubRow key={each.address} {...addressRow(each)} />
      ))}
      {keys.map(({ key, state, since, seconds, limited, workers }) => (
        <SubRow
          key={key}
          label={text('upstreams.key', { key })}
          state={state}
          since={since}
          of={workers}
          note={[
            seconds > 0 ? text('upstreams.rests', { n: seconds }) : '',
            limited.length > 0 ? text('upstreams.limited', { names: limited.join(', ') }) : '',
          ]
            .filter(Boolean)
            .join('; ')}
        />
      ))}
      {findings?.map(each => (
        <FindingRow key={`${each.address} ${each.key}`} of={each} />
      ))}
    </>
  )
}
/** For operators who may change the configuration. */
const ModelButton = ({ upstream }: { readonly upstream: string }) => {
  const [isOpen, setOpen] = useState(false)
  const close = () => setOpen(false)
  if (!useContext(SessionContext)?.edit) return null
  return (
    <>
      <button type="button" class="button tiny" onClick={() => setOpen(true)}>
        {text('upstreams.add-model')}
      </button>
      {isOpen && <AddModel upstream={upstream} onClose={close} onLive={close} />}
    </>
  )
}
const FindingRow = ({ of: { address, key, answer, fails } }: { readonly of: UpstreamFinding }) => (
  <tr data-test>
    <td />
    <td class="wide-only" />
    <td colSpan={4}>
      <span class={`badge ${fails ? 'error' : 'ok'}`}>{answer}</span>{' '}
      <span class="muted mono anywhere">
        {address} {key !== '-' && key}
      </span>
    </td>
  </tr>
)
interface SubRowProps {
  readonly label: string
  readonly state: string
  readonly since: string | null
  readonly of: Workers
  readonly note?: string
}
const SubRow = ({ label, state, since, of, note }: SubRowProps) => (
  <tr>
    <td />
    <td class="wide-only" />
    <td class="mono anywhere">{label}</td>
    <td title={workersOf(of)}>
      <State state={state} />
      <Since at={since} />
    </td>
    <td class="wide-only" />
    <td class="muted actions">{note}</td>
  </tr>
)
