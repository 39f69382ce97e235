/** Tasks: their states, live while any of them runs. */
import { useState } from 'preact/hooks'
import type { OwnTask } from '../../../views.ts'
import { useChanges } from '../events.ts'
import { shortenId } from '../format.ts'
import type { PageProps } from '../page.ts'
import { PageHead } from '../parts/page.tsx'
import { Segments } from '../parts/segments.tsx'
import { Empty } from '../parts/states.tsx'
import { type Column, column, envelopePage, Table, useRows } from '../parts/table.tsx'
import { Live } from '../parts/values.tsx'
import { hrefOf, setQuery } from '../router.ts'
import { type TextKey, text } from '../texts.ts'

export const isOpen = ({ state }: OwnTask): boolean => state !== 'succeeded' && state !== 'failed'

const promptOf = ({ request }: OwnTask): string => {
  const { prompt } = request as { readonly prompt?: unknown }
  return typeof prompt === 'string' ? prompt : ''
}

const FILTERS = ['', 'open', 'succeeded', 'failed'] as const

const Tasks = ({ place: { query } }: PageProps) => {
  const [round, setRound] = useState(0)
  const state = FILTERS.find(each => each === query.get('state')) ?? ''
  const rows = useRows<OwnTask>(`/api/tasks${state && `?state=${state}`}`, envelopePage, round)
  const live = useChanges('/api/tasks/events', () => setRound(round => round + 1))
  return (
    <>
      <PageHead title={text('page.tasks')}>
        <Live at={live} />
        <Segments
          label={text('column.state')}
          names={FILTERS}
          present={state}
          titleOf={each => (each === '' ? text('all') : text(`state.${each}` as TextKey))}
          onChoose={each => setQuery({ state: each })}
        />
      </PageHead>
      <Table
        name={text('page.tasks')}
        of={rows}
        columns={COLUMNS()}
        keyOf={({ id }) => id}
        hrefOf={({ id }) => hrefOf('task', id)}
        empty={
          <Empty title={text('tasks.empty')} help={text('tasks.empty.help')}>
            <a class="button" href={hrefOf('playground', undefined, { format: 'video' })}>
              {text('page.playground')}
            </a>
          </Empty>
        }
      />
    </>
  )
}
export default Tasks

const COLUMNS = (): readonly Column<OwnTask>[] => [
  column(text('column.created'), ({ created }) => created, 'time', { isWidest: true }),
  {
    title: text('page.task'),
    cell: ({ id }) => (
      <a class="mono ellipsis" href={hrefOf('task', id)} title={id}>
        {shortenId(id)}
      </a>
    ),
    csv: ({ id }) => id,
  },
  column(text('column.model'), ({ model }) => model, 'ellipsis'),
  {
    title: text('tasks.prompt'),
    cell: task => <span class="ellipsis long">{promptOf(task)}</span>,
    csv: promptOf,
    isWide: true,
  },
  column(text('column.state'), ({ state }) => state, 'state'),
  column(`${text('tasks.progress')} (%)`, ({ progress }) => progress, 'plain', {
    isNumber: true,
    isWide: true,
  }),
]
