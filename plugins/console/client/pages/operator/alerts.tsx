/** Alerts, for operators: every rule with its state, the alerts of a month, and a test message. */
import { useState } from 'preact/hooks'
import type { AlertRow, AlertRuleRow, AlertRules, AlertTestRow } from '../../../../views.ts'
import { callData } from '../../api.ts'
import { useEvery } from '../../events.ts'
import { formatTime } from '../../format.ts'
import { useAction, useData } from '../../loading.ts'
import { PageHead } from '../../parts/page.tsx'
import { Empty, FormError, View } from '../../parts/states.tsx'
import {
  type Column,
  column,
  envelopePage,
  PlainTable,
  Table,
  useRows,
} from '../../parts/table.tsx'
import { State } from '../../parts/values.tsx'
import { text, textOr } from '../../texts.ts'

/** ms between two reloads. */
const LIVE = 15_000
/** The status of ADMIN_NO_ALERTS. */
const NOT_CONFIGURED = 409

const Alerts = () => {
  const rules = useData<{ data: AlertRules }>('/api/admin/alerts/rules')
  const [round, setRound] = useState(0)
  useEvery(LIVE, () => {
    rules.reload()
    setRound(round => round + 1)
  })
  return (
    <>
      <PageHead title={text('page.alerts')} />
      {rules.error?.status === NOT_CONFIGURED ? (
        <Empty title={text('alerts.none')} help={text('alerts.none.help')} />
      ) : (
        <View of={rules} rows={10}>
          {({ data }) => (
            <>
              <Receivers of={data} />
              <PlainTable name={text('alerts.rules')} rows={data.rules} columns={RULE_COLUMNS()} />
              <List round={round} />
            </>
          )}
        </View>
      )}
    </>
  )
}
export default Alerts

const Receivers = ({ of: { receivers, quiet } }: { of: AlertRules }) => {
  const [results, setResults] = useState<readonly AlertTestRow[]>()
  const test = useAction(async () => {
    setResults(undefined)
    setResults(await callData<readonly AlertTestRow[]>('POST', '/api/admin/alerts/test', {}))
  })
  return (
    <section class="card" aria-label={text('alerts.tested')}>
      <div class="card-head">
        <p>{text('alerts.receivers', { names: receivers.join(', ') })}</p>
        <button type="button" class="button" aria-busy={test.isBusy} onClick={test.start}>
          {text('alerts.test')}
        </button>
      </div>
      <p class="muted">{quietText(quiet)}</p>
      <FormError error={test.error} fields={[]} />
      {results && <Results rows={results} />}
    </section>
  )
}

const quietText = (quiet: AlertRules['quiet']): string => {
  if (!quiet) return text('alerts.quiet.none')
  const { until, ...hours } = quiet
  const now = until ? text('alerts.quiet.now', { time: formatTime(until) }) : ''
  return `${text('alerts.quiet', hours)} ${now}`
}

const Results = ({ rows }: { rows: readonly AlertTestRow[] }) => (
  <div role="status" data-test-result>
    <PlainTable name={text('alerts.tested')} rows={rows} columns={RESULT_COLUMNS()} />
  </div>
)
const RESULT_COLUMNS = (): readonly Column<AlertTestRow>[] => [
  column(text('alerts.receiver'), ({ receiver }) => receiver),
  column(text('column.state'), ({ state }) => state, 'state'),
  column(text('alerts.answer'), ({ message }) => message),
]

const ruleName = (rule: string): string => textOr(`rule.${rule}`, rule)

const RULE_COLUMNS = (): readonly Column<AlertRuleRow>[] => [
  column(text('alerts.rule'), ({ rule }) => ruleName(rule)),
  {
    title: text('column.state'),
    cell: ({ state, firing }) => (
      <>
        <State state={state} />
        {firing > 1 && ` × ${firing}`}
      </>
    ),
  },
  column(text('alerts.fired'), ({ fired }) => fired, 'time'),
  column(text('alerts.recovered'), ({ recovered }) => recovered, 'time'),
  column(text('alerts.waits'), ({ waits }) => text(waits ? 'alerts.waits.yes' : 'alerts.waits.no')),
]

const COLUMNS = (): readonly Column<AlertRow>[] => [
  column(text('alerts.since'), ({ since }) => since, 'time'),
  column(text('alerts.rule'), ({ rule }) => ruleName(rule), 'plain', { isWide: true }),
  column(text('column.state'), ({ state }) => state, 'state'),
  column(text('alerts.object'), ({ object }) => object, 'ellipsis'),
  column(text('alerts.text'), row => row.text, 'plain', { isWide: true }),
]
const List = ({ round }: { round: number }) => (
  <section aria-label={text('alerts.list')}>
    <h2>{text('alerts.list')}</h2>
    <Table
      name={text('alerts.list')}
      of={useRows<AlertRow>('/api/admin/alerts', envelopePage, round)}
      columns={COLUMNS()}
      keyOf={({ rule, object }) => `${rule} ${object}`}
      empty={<Empty title={text('alerts.empty')} help={text('alerts.empty.help')} />}
    />
  </section>
)
