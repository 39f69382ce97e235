/** The log of actions, for operators, with its verification. */
import { useState } from 'preact/hooks'
import type { ActionReport, ActionView } from '../../../../views.ts'
import { callData } from '../../api.ts'
import { useAction } from '../../loading.ts'
import type { PageProps } from '../../page.ts'
import { Filter } from '../../parts/list.tsx'
import { PageHead } from '../../parts/page.tsx'
import { Empty, FormError } from '../../parts/states.tsx'
import { type Column, envelopePage, Table, useRows } from '../../parts/table.tsx'
import { Time } from '../../parts/values.tsx'
import { text } from '../../texts.ts'

const FILTERS = ['operation', 'object', 'actor'] as const

const Actions = ({ place: { query } }: PageProps) => {
  const filters = FILTERS.flatMap(name => {
    const value = query.get(name)
    return value ? [[name, value]] : []
  })
  const path = `/api/admin/actions?${new URLSearchParams(filters)}`
  const rows = useRows<ActionView>(path, envelopePage)
  return (
    <>
      <PageHead title={text('page.actions')} />
      <Verification />
      <div class="filters">
        {FILTERS.map(name => (
          <Filter key={name} name={name} label={text(`actions.${name}`)} query={query} isSearch />
        ))}
      </div>
      <Table
        name={text('page.actions')}
        of={rows}
        columns={COLUMNS}
        keyOf={({ seq }) => String(seq)}
        empty={<Empty title={text('actions.empty')} help={text('actions.empty.help')} />}
      />
    </>
  )
}
export default Actions

const Verification = () => {
  const [report, setReport] = useState<ActionReport>()
  const run = useAction(async () =>
    setReport(await callData<ActionReport>('GET', '/api/admin/actions/verify')),
  )
  return (
    <section class="card" aria-label={text('actions.verify')}>
      <div class="card-head">
        <h2>{text('actions.verify')}</h2>
        <button type="button" class="button primary" aria-busy={run.isBusy} onClick={run.start}>
          {text('actions.verify.run')}
        </button>
      </div>
      <p class="muted">{text('actions.verify.help')}</p>
      <FormError error={run.error} fields={[]} />
      <div aria-live="polite">{report && <Report of={report} />}</div>
    </section>
  )
}
const Report = ({ of: { intact, rows, heads, findings } }: { of: ActionReport }) => (
  <>
    <p>
      <span class={`badge ${intact ? 'ok' : 'error'}`}>
        {text(intact ? 'actions.intact' : 'actions.broken')}
      </span>{' '}
      <span class="muted">{text('actions.compared', { rows, heads })}</span>
    </p>
    {findings.map(({ kind, seq, detail }) => (
      <p key={`${kind} ${seq} ${detail}`} class="notice error">
        <strong>{kind}</strong>: {detail}
      </p>
    ))}
  </>
)

const changeOf = ({ before, after }: ActionView): string =>
  before === null && after === null ? '' : JSON.stringify({ before, after })
const Cut = ({ value }: { value: string | null }) => (
  <span class="ellipsis" title={value ?? ''}>
    {value || '–'}
  </span>
)
const COLUMNS: readonly Column<ActionView>[] = [
  { title: '#', cell: ({ seq }) => seq, csv: ({ seq }) => seq, isNumber: true, isWide: true },
  { title: text('column.time'), cell: ({ at }) => <Time at={at} />, csv: ({ at }) => at },
  {
    title: text('actions.actor'),
    cell: ({ actor, user, credential, via }) => (
      <span class="ellipsis" title={credential ?? via}>
        {user === null ? actor : `${actor} (${user})`}
      </span>
    ),
    csv: ({ actor }) => actor,
  },
  {
    title: text('actions.operation'),
    cell: ({ operation }) => <Cut value={operation} />,
    csv: ({ operation }) => operation,
  },
  {
    title: text('actions.object'),
    cell: ({ object }) => <Cut value={object} />,
    csv: ({ object }) => object,
  },
  {
    title: text('actions.change'),
    cell: row => <Cut value={changeOf(row)} />,
    csv: changeOf,
    isWide: true,
  },
  {
    title: text('actions.address'),
    cell: ({ address }) => address ?? '–',
    csv: ({ address }) => address,
    isWidest: true,
  },
]
