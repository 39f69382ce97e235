/** The ledger, for operators: charges of all accounts, audit, and tasks in an unknown state. */
import { useState } from 'preact/hooks'
import type { AuditReport, ChargeRow, FailedCallView, TaskRow } from '../../../../views.ts'
import { callData } from '../../api.ts'
import { formatTime, shortenId } from '../../format.ts'
import { useAction } from '../../loading.ts'
import { OperationDialog } from '../../operation-dialog.tsx'
import type { PageProps } from '../../page.ts'
import { Filter } from '../../parts/list.tsx'
import { PageHead } from '../../parts/page.tsx'
import { actionColumn } from '../../parts/row-actions.tsx'
import { Segments } from '../../parts/segments.tsx'
import { Empty, FormError } from '../../parts/states.tsx'
import {
  accountColumn,
  type Column,
  column,
  envelopePage,
  Table,
  useRows,
} from '../../parts/table.tsx'
import { toast } from '../../parts/toast.tsx'
import {
  AccountLink,
  Money,
  StatusCode,
  Time,
  UpstreamName,
  useCurrency,
} from '../../parts/values.tsx'
import { hrefOf, setQuery } from '../../router.ts'
import { type TextKey, text } from '../../texts.ts'

const VIEWS = ['charges', 'failed', 'audit', 'tasks'] as const

const Ledger = ({ place: { query } }: PageProps) => {
  const view = VIEWS.find(each => each === query.get('view')) ?? 'charges'
  return (
    <>
      <PageHead title={text('page.ledger')}>
        <Segments
          label={text('usage.by')}
          names={VIEWS}
          present={view}
          titleOf={each => text(`ledger.${each}` as TextKey)}
          onChoose={each => setQuery({ view: each })}
        />
      </PageHead>
      {view === 'charges' && <Charges query={query} />}
      {view === 'failed' && <FailedCalls query={query} />}
      {view === 'audit' && <Audit />}
      {view === 'tasks' && <UnknownTasks />}
    </>
  )
}
export default Ledger

const FILTERS = ['account', 'key', 'model', 'state', 'uncollected'] as const
const Charges = ({ query }: { query: URLSearchParams }) => {
  const pairs = FILTERS.map(name => [name, query.get(name) ?? ''] as [string, string])
  const search = new URLSearchParams(pairs.filter(([, value]) => value !== ''))
  const rows = useRows<ChargeRow>(`/api/admin/charges?${search}`, envelopePage)
  return (
    <>
      <div class="filters">
        <Filter name="account" label={text('column.account')} query={query} isSearch />
        <Filter name="key" label={text('column.key')} query={query} />
        <Filter name="model" label={text('column.model')} query={query} />
        <Filter
          name="state"
          label={text('column.state')}
          query={query}
          options={['settled', 'open', 'released'].map(each => [
            each,
            text(`state.${each}` as TextKey),
          ])}
        />
        <Filter
          name="uncollected"
          label={text('ledger.uncollected')}
          query={query}
          options={[['yes', text('ledger.uncollected.only')]]}
        />
      </div>
      <Table
        name={text('ledger.charges')}
        of={rows}
        columns={useChargeColumns(query.get('uncollected') === 'yes')}
        keyOf={({ request }) => request}
        hrefOf={({ request }) => hrefOf('call', request)}
        empty={<Empty title={text('usage.empty')} help={text('ledger.empty.help')} />}
      />
    </>
  )
}

const requestColumn = <Row extends Pick<ChargeRow, 'request'>>(): Column<Row> => ({
  title: text('column.id'),
  cell: ({ request }) => (
    <a class="mono ellipsis" href={hrefOf('call', request)} title={request}>
      {shortenId(request)}
    </a>
  ),
  csv: ({ request }) => request,
})
/** `isUncollected`: narrow screens show what was not collected in place of the cost. */
const useChargeColumns = (isUncollected: boolean): readonly Column<ChargeRow>[] => {
  const currency = useCurrency()
  return [
    { title: text('column.time'), cell: ({ at }) => <Time at={at} />, csv: ({ at }) => at },
    requestColumn(),
    accountColumn(),
    column(text('column.model'), ({ model }) => model, 'ellipsis', { isWide: true }),
    column(text('column.state'), ({ state }) => state, 'state', { isWide: true }),
    {
      title: `${text('column.cost')} (${currency})`,
      cell: ({ cost }) => <Money amount={cost} />,
      csv: ({ cost }) => cost,
      isNumber: true,
      isWide: isUncollected,
    },
    {
      title: `${text('ledger.uncollected')} (${currency})`,
      cell: ({ uncollected }) => <Money amount={uncollected} />,
      csv: ({ uncollected }) => uncollected,
      isNumber: true,
      isWidest: !isUncollected,
    },
  ]
}

const FAILED_FILTERS = ['account', 'key', 'model', 'code'] as const
const FailedCalls = ({ query }: { query: URLSearchParams }) => {
  const pairs = FAILED_FILTERS.map(name => [name, query.get(name) ?? ''] as [string, string])
  const search = new URLSearchParams(pairs.filter(([, value]) => value !== ''))
  const rows = useRows<FailedCallView>(`/api/admin/failed-calls?${search}`, envelopePage)
  return (
    <>
      <div class="filters">
        <Filter name="account" label={text('column.account')} query={query} isSearch />
        <Filter name="key" label={text('column.key')} query={query} />
        <Filter name="model" label={text('column.model')} query={query} />
        <Filter name="code" label={text('column.code')} query={query} />
      </div>
      <Table
        name={text('ledger.failed')}
        of={rows}
        columns={failedColumns()}
        keyOf={({ request }) => request}
        hrefOf={({ request }) => hrefOf('call', request)}
        empty={<Empty title={text('usage.failed.empty')} help={text('usage.failed.help')} />}
      />
    </>
  )
}
const failedColumns = (): readonly Column<FailedCallView>[] => [
  { title: text('column.time'), cell: ({ at }) => <Time at={at} />, csv: ({ at }) => at },
  { ...requestColumn(), isWide: true },
  {
    title: text('column.status'),
    cell: ({ status, code }) => <StatusCode status={status} code={code} />,
    csv: ({ status, code }) => `${status} ${code}`,
  },
  {
    title: text('column.account'),
    cell: ({ account, account_name: name }) =>
      account === null ? '–' : <AccountLink of={{ account, account_name: name }} />,
    csv: ({ account, account_name: name }) => name ?? account ?? '',
    isWide: true,
  },
  {
    title: text('column.model'),
    cell: ({ model, route }) => <span class="ellipsis">{model || route}</span>,
    csv: ({ model }) => model,
    isWide: true,
  },
  {
    title: text('column.upstream'),
    cell: ({ attempts }) => {
      const name = attempts.at(-1)?.upstream
      return name === undefined ? '–' : <UpstreamName name={name} />
    },
    csv: ({ attempts }) => attempts.at(-1)?.upstream ?? '',
    isWide: true,
  },
  column(text('column.message'), ({ message }) => message, 'ellipsis', { isWide: true }),
]

const Audit = () => {
  const [result, setResult] = useState<AuditReport>()
  const run = useAction(async () =>
    setResult(await callData<AuditReport>('GET', '/api/admin/ledger/audit')),
  )
  return (
    <section class="card" aria-label={text('ledger.audit')}>
      <div class="card-head">
        <h2>{text('ledger.audit')}</h2>
        <button type="button" class="button primary" aria-busy={run.isBusy} onClick={run.start}>
          {text('ledger.run')}
        </button>
      </div>
      <p class="muted">{text('ledger.audit.help')}</p>
      <FormError error={run.error} fields={[]} />
      <div aria-live="polite">
        {result && (
          <p>
            <span class={`badge ${result.balanced ? 'ok' : 'error'}`}>
              {text(result.balanced ? 'ledger.balanced' : 'ledger.unbalanced')}
            </span>{' '}
            <span class="muted">{formatTime(result.time)}</span>
          </p>
        )}
        {result?.findings.map(({ rule, subject, detail }) => (
          <p key={`${rule} ${subject}`} class="notice error">
            <strong>{rule}</strong>: {subject}: {detail}
          </p>
        ))}
      </div>
    </section>
  )
}

type Outcome = 'charge' | 'refund' | 'retry'
const UnknownTasks = () => {
  const [round, setRound] = useState(0)
  const [open, setOpen] = useState<{ task: TaskRow; outcome: Outcome }>()
  const rows = useRows<TaskRow>('/api/admin/tasks?state=unknown', envelopePage, round)
  return (
    <>
      <p class="muted">{text('ledger.tasks.help')}</p>
      <Table
        name={text('ledger.tasks')}
        of={rows}
        columns={taskColumns(useCurrency(), (task, outcome) => setOpen({ task, outcome }))}
        keyOf={({ id }) => id}
        empty={<Empty title={text('ledger.tasks.empty')} help={text('ledger.tasks.empty.help')} />}
      />
      {open && (
        <OperationDialog
          of="tasks resolve"
          fixed={{ task: open.task.id, outcome: open.outcome }}
          title={text(`ledger.${open.outcome}.title`, { id: open.task.id })}
          help={text(`ledger.${open.outcome}.help`)}
          submit={text(`ledger.${open.outcome}`)}
          onClose={() => setOpen(undefined)}
          onDone={() => {
            toast(text('saved'))
            setOpen(undefined)
            setRound(round => round + 1)
          }}
        />
      )}
    </>
  )
}
const OUTCOMES: readonly Outcome[] = ['charge', 'refund', 'retry']
const taskColumns = (
  currency: string,
  onResolve: (task: TaskRow, outcome: Outcome) => void,
): readonly Column<TaskRow>[] => [
  {
    title: text('page.task'),
    cell: ({ id }) => (
      <a class="mono ellipsis" href={hrefOf('call', id)} title={id}>
        {shortenId(id)}
      </a>
    ),
    csv: ({ id }) => id,
  },
  accountColumn(),
  column(text('column.model'), ({ model }) => model, 'ellipsis', { isWide: true }),
  {
    title: text('column.upstream'),
    cell: ({ upstream }) => <UpstreamName name={upstream} />,
    csv: ({ upstream }) => upstream,
    isWide: true,
  },
  {
    title: `${text('call.held')} (${currency})`,
    cell: ({ held }) => <Money amount={Number(held)} />,
    csv: ({ held }) => held,
    isNumber: true,
  },
  actionColumn(
    ({ id }) => id,
    task =>
      OUTCOMES.map(outcome => ({
        label: text(`ledger.${outcome}`),
        run: () => onResolve(task, outcome),
      })),
  ),
]
