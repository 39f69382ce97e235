/** One task: its state as it moves, its results played inline, its request; cancel. */
import { useState } from 'preact/hooks'
import type { OwnTask } from '../../../views.ts'
import { callData } from '../api.ts'
import { useChanges } from '../events.ts'
import { formatTime } from '../format.ts'
import { useAction, useData } from '../loading.ts'
import type { PageProps } from '../page.ts'
import { Confirm } from '../parts/form.tsx'
import { Media } from '../parts/media.tsx'
import { PageHead } from '../parts/page.tsx'
import { View } from '../parts/states.tsx'
import { CodeBox, Id, jsonOf, Live, State } from '../parts/values.tsx'
import { hrefOf } from '../router.ts'
import { text } from '../texts.ts'
import { isOpen } from './tasks.tsx'

const TaskPage = ({ place }: PageProps) => {
  const id = encodeURIComponent(place.id ?? '')
  const task = useData<{ data: OwnTask }>(`/api/tasks/${id}`)
  const running = task.data && isOpen(task.data.data)
  const live = useChanges('/api/tasks/events', ({ rows }) => {
    if (rows.length === 0 || rows.some(row => row.id === place.id)) task.reload()
  })
  const [isAsking, setAsking] = useState(false)
  const cancel = useAction(async () => {
    await callData('POST', `/api/tasks/${id}/cancel`, {})
    setAsking(false)
    task.reload()
  })
  return (
    <>
      <PageHead title={text('page.task')}>
        <Live at={live} />
        <Id id={place.id ?? ''} />
        {running && (
          <button type="button" class="button danger" onClick={() => setAsking(true)}>
            {text('tasks.cancel')}
          </button>
        )}
      </PageHead>
      <View of={task} rows={6}>
        {({ data }) => <TaskView task={data} />}
      </View>
      {isAsking && (
        <Confirm
          title={text('tasks.cancel.title', { id: place.id ?? '' })}
          help={text('tasks.cancel.help')}
          submit={text('tasks.cancel')}
          action={cancel}
          onClose={() => setAsking(false)}
        />
      )}
    </>
  )
}
export default TaskPage

const TaskView = ({ task }: { task: OwnTask }) => {
  const { state, progress, model, route, created, changed, expires, error, results } = task
  return (
    <>
      {results.length > 0 && (
        <section class="card" aria-label={text('tasks.results')}>
          <h2>{text('tasks.results')}</h2>
          {results.map((result, index) => (
            <Media key={index} task={task.id} index={index} result={result} />
          ))}
        </section>
      )}
      {error && (
        <p class="notice error">
          {error.code}: {error.message || text('tasks.failed')}. {text('tasks.free')}
        </p>
      )}
      <section class="card" aria-label={text('page.task')}>
        <dl class="facts" aria-live="polite">
          <dt>{text('column.state')}</dt>
          <dd>
            <State state={state} /> {isOpen(task) && `${progress} %`}
          </dd>
          <dt>{text('column.model')}</dt>
          <dd>{model}</dd>
          <dt>{text('column.route')}</dt>
          <dd>{route}</dd>
          <dt>{text('column.created')}</dt>
          <dd>{formatTime(created)}</dd>
          <dt>{text('tasks.changed')}</dt>
          <dd>{formatTime(changed)}</dd>
          {expires && (
            <>
              <dt>{text('tasks.kept')}</dt>
              <dd>{formatTime(expires)}</dd>
            </>
          )}
          <dt>{text('tasks.charge')}</dt>
          <dd>
            <a href={hrefOf('call', task.id)}>{text('tasks.receipt')}</a>
          </dd>
        </dl>
      </section>
      <section class="card" aria-label={text('tasks.request')}>
        <h2>{text('tasks.request')}</h2>
        <CodeBox text={jsonOf(task.request)} />
      </section>
    </>
  )
}
