/** The configuration, for operators: live version, failed reload, history with differences. */
import { useContext, useState } from 'preact/hooks'
import type {
  ConfigurationView,
  ReloadOutcome,
  VersionChange,
  VersionView,
} from '../../../../views.ts'
import { callData } from '../../api.ts'
import { useAction, useData } from '../../loading.ts'
import type { PageProps } from '../../page.ts'
import { Diff } from '../../parts/diff.tsx'
import { Confirm } from '../../parts/form.tsx'
import { wholeList } from '../../parts/list.tsx'
import { PageHead } from '../../parts/page.tsx'
import { actionColumn } from '../../parts/row-actions.tsx'
import { FormError, View } from '../../parts/states.tsx'
import { type Column, column, Table } from '../../parts/table.tsx'
import { toast } from '../../parts/toast.tsx'
import { SessionContext, State, Time } from '../../parts/values.tsx'
import { hrefOf } from '../../router.ts'
import { text, textOr } from '../../texts.ts'

const Configuration = ({ place: { query } }: PageProps) => {
  const status = useData<{ data: ConfigurationView }>('/api/admin/configuration')
  const session = useContext(SessionContext)
  const version = query.get('version')
  const reload = useAction(async () => {
    try {
      const report = await callData<ReloadOutcome>('POST', '/api/admin/configuration/reload', {})
      toast(textOr(`configuration.${report.outcome}`, report.outcome))
    } finally {
      // Also after a refusal: the page shows the problems with their lines.
      status.reload()
    }
  })
  return (
    <>
      <PageHead title={text('page.configuration')}>
        {session?.edit && (
          <a class="button" href={hrefOf('editor')}>
            {text('configuration.edit')}
          </a>
        )}
        <button
          type="button"
          class="button primary"
          aria-busy={reload.isBusy}
          onClick={reload.start}
        >
          {text('configuration.reload')}
        </button>
      </PageHead>
      <FormError error={reload.error} fields={[]} />
      <View of={status} rows={6}>
        {({ data }) => (
          <>
            {data.failure && <Failure failure={data.failure} />}
            <LiveVersion status={data} />
            {version && <Change version={version} />}
            <History status={data} onChange={status.reload} />
          </>
        )}
      </View>
    </>
  )
}
export default Configuration

const SOURCE_LINE = /^\s*\d* \|/
const Failure = ({ failure }: { failure: NonNullable<ConfigurationView['failure']> }) => (
  <section class="card notice error" aria-label={text('configuration.failure')}>
    <h2>
      {text('configuration.failure')} <Time at={failure.time} />
    </h2>
    <p>{text('configuration.failure.help')}</p>
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable */}
    <pre class="frame-text" tabIndex={0}>
      {failure.text.split('\n').map((line, index) => (
        // Lines of the file keep their places above the caret; sentences wrap.
        <span key={index} class={SOURCE_LINE.test(line) ? undefined : 'sentence'}>
          {`${line}\n`}
        </span>
      ))}
    </pre>
  </section>
)

const LiveVersion = ({ status }: { status: ConfigurationView }) => (
  <section class="card" aria-label={text('configuration.live')}>
    <dl class="facts">
      <dt>{text('configuration.live')}</dt>
      <dd>
        #{status.version} <span class="mono muted">{status.hash}</span>
      </dd>
      <dt>{text('configuration.since')}</dt>
      <dd>
        <Time at={status.time} />
      </dd>
      <dt>{text('configuration.workers')}</dt>
      <dd>
        {status.workers.map(({ number, pid, state, version }) => (
          <span key={number} class="row">
            <State state={state} />
            <span class="muted">
              {text('configuration.worker', { n: number, pid, version: `#${version}` })}
            </span>
          </span>
        ))}
      </dd>
      {status.unready.length > 0 && (
        <>
          <dt>{text('configuration.unready')}</dt>
          <dd class="warning">{status.unready.join('; ')}</dd>
        </>
      )}
    </dl>
  </section>
)

const Change = ({ version }: { version: string }) => {
  const path = `/api/admin/configuration/change?${new URLSearchParams({ version })}`
  const change = useData<{ data: VersionChange }>(path)
  return (
    <section class="card" aria-label={text('configuration.change', { n: version })}>
      <div class="card-head">
        <h2>{text('configuration.change', { n: version })}</h2>
        <a class="button tiny" href={hrefOf('configuration')}>
          {text('close')}
        </a>
      </div>
      <View of={change} rows={4}>
        {({ data: { before, files } }) =>
          before === null ? (
            <p class="muted">{text('configuration.first')}</p>
          ) : (
            <Diff files={files} />
          )
        }
      </View>
    </section>
  )
}

const History = ({ status, onChange }: { status: ConfigurationView; onChange(): void }) => {
  const [target, setTarget] = useState<VersionView>()
  const { versions } = status
  return (
    <>
      <h2>{text('configuration.history')}</h2>
      <Table
        name={text('configuration.history')}
        of={wholeList({ error: undefined, isSlow: false, reload: onChange }, versions)}
        columns={columnsOf(setTarget)}
        keyOf={({ version }) => version}
        empty={null}
      />
      {target && (
        <Rollback
          to={target.version}
          onClose={() => setTarget(undefined)}
          onDone={() => {
            setTarget(undefined)
            onChange()
          }}
        />
      )}
    </>
  )
}

const columnsOf = (onRollback: (version: VersionView) => void): readonly Column<VersionView>[] => [
  {
    title: text('configuration.version'),
    cell: ({ version, isLive }) => (
      <span class="row">
        <a href={hrefOf('configuration', undefined, { version: String(version) })}>#{version}</a>
        {isLive && <span class="badge ok">{text('configuration.is-live')}</span>}
      </span>
    ),
    csv: ({ version }) => version,
  },
  column(text('column.time'), ({ time }) => time, 'time'),
  {
    title: text('configuration.changed'),
    cell: ({ change, from }) => (
      <span class="ellipsis long">
        {from === undefined
          ? (change ?? text('configuration.start'))
          : text('configuration.restored', { n: from })}
      </span>
    ),
    csv: ({ change }) => change,
    isWide: true,
  },
  {
    title: text('configuration.hash'),
    cell: ({ hash }) => <span class="mono">{hash}</span>,
    csv: ({ hash }) => hash,
    isWide: true,
  },
  actionColumn(
    ({ version }) => `#${version}`,
    version =>
      version.isLive
        ? []
        : [
            {
              label: text('configuration.rollback'),
              isDanger: true,
              run: () => onRollback(version),
            },
          ],
  ),
]

interface RollbackProps {
  readonly to: number
  onClose(): void
  onDone(): void
}
const Rollback = ({ to, onClose, onDone }: RollbackProps) => {
  const action = useAction(async () => {
    const body = { version: to }
    const report = await callData<ReloadOutcome>('POST', '/api/admin/configuration/rollback', body)
    toast(textOr(`configuration.${report.outcome}`, report.outcome))
    onDone()
  })
  return (
    <Confirm
      title={text('configuration.rollback.title', { n: to })}
      help={text('configuration.rollback.help')}
      submit={text('configuration.rollback')}
      action={action}
      onClose={onClose}
    />
  )
}
