/** Batches: create from a file, watch, cancel, download the output. */
import { useState } from 'preact/hooks'
import type { BatchView, FileView } from '../../../views.ts'
import { addressOf, call } from '../api.ts'
import { useChanges } from '../events.ts'
import { shortenId } from '../format.ts'
import { useAction, useData } from '../loading.ts'
import { Confirm, Dialog, Field, Form } from '../parts/form.tsx'
import { PageHead } from '../parts/page.tsx'
import { actionColumn } from '../parts/row-actions.tsx'
import { Empty } from '../parts/states.tsx'
import { type Column, column, openaiPage, Table, useRows } from '../parts/table.tsx'
import { toast } from '../parts/toast.tsx'
import { Live, Time } from '../parts/values.tsx'
import { hrefOf } from '../router.ts'
import { text } from '../texts.ts'

const ENDPOINTS = [
  '/v1/chat/completions',
  '/v1/responses',
  '/v1/embeddings',
  '/v1/images/generations',
]
const FINAL = ['completed', 'failed', 'cancelled', 'expired']
const isRunning = ({ status }: BatchView): boolean => !FINAL.includes(status)

const Batches = () => {
  const [round, setRound] = useState(0)
  const [isCreate, setCreate] = useState(false)
  const rows = useRows<BatchView>('/v1/batches?limit=50', openaiPage, round)
  const reload = () => setRound(round => round + 1)
  const live = useChanges('/api/batches/events', reload)
  const [cancelled, setCancelled] = useState<string>()
  const cancel = useAction(async () => {
    await call('POST', `/v1/batches/${cancelled}/cancel`, { body: {} })
    setCancelled(undefined)
    reload()
  })
  const create = (
    <button type="button" class="button primary" onClick={() => setCreate(true)}>
      {text('batches.create')}
    </button>
  )
  return (
    <>
      <PageHead title={text('page.batches')}>
        <Live at={live} />
        {create}
      </PageHead>
      <Table
        name={text('page.batches')}
        of={rows}
        columns={columnsOf(setCancelled)}
        keyOf={({ id }) => id}
        empty={
          <Empty title={text('batches.empty')} help={text('batches.empty.help')}>
            <a class="button" href={hrefOf('files')}>
              {text('page.files')}
            </a>
          </Empty>
        }
      />
      {isCreate && (
        <Create
          onClose={() => setCreate(false)}
          onDone={() => {
            setCreate(false)
            reload()
          }}
        />
      )}
      {cancelled !== undefined && (
        <Confirm
          title={text('batches.cancel.title', { id: shortenId(cancelled) })}
          help={text('batches.cancel.help')}
          submit={text('batches.cancel')}
          action={cancel}
          onClose={() => setCancelled(undefined)}
        />
      )}
    </>
  )
}
export default Batches

const downloadOf = (id: string | null, label: string) =>
  id ? [{ label, href: addressOf(`/v1/files/${id}/content`) }] : []
const columnsOf = (cancel: (id: string) => void): readonly Column<BatchView>[] => [
  {
    title: text('column.created'),
    cell: ({ created_at }) => <Time at={created_at * 1_000} />,
    csv: ({ created_at }) => new Date(created_at * 1_000).toISOString(),
  },
  column(text('batches.id'), ({ id }) => id, 'id', { isWide: true }),
  column(text('batches.endpoint'), ({ endpoint }) => endpoint, 'code', { isWidest: true }),
  column(text('column.state'), ({ status }) => status, 'state'),
  {
    title: text('batches.done'),
    cell: ({ request_counts: { completed, total } }) => `${completed} / ${total}`,
    csv: ({ request_counts: { completed } }) => completed,
    isNumber: true,
    isWide: true,
  },
  {
    title: text('column.failed'),
    cell: ({ request_counts: { failed } }) => failed,
    csv: ({ request_counts: { failed } }) => failed,
    isNumber: true,
    isWide: true,
  },
  actionColumn(
    ({ id }) => id,
    batch => [
      ...downloadOf(batch.output_file_id, text('batches.output')),
      ...downloadOf(batch.error_file_id, text('batches.errors')),
      ...(isRunning(batch)
        ? [{ label: text('batches.cancel'), isDanger: true, run: () => cancel(batch.id) }]
        : []),
    ],
  ),
]

interface CreateProps {
  onClose(): void
  onDone(): void
}
const Create = ({ onClose, onDone }: CreateProps) => {
  const files = useData<{ data: readonly FileView[] }>('/v1/files?purpose=batch&limit=100')
  const [chosenId, setChosenId] = useState('')
  const [endpoint, setEndpoint] = useState(ENDPOINTS[0] ?? '')
  const options = files.data?.data.map(({ id, filename }) => [id, filename] as const) ?? []
  const file = chosenId || (options[0]?.[0] ?? '')
  const action = useAction(async () => {
    const body = { input_file_id: file, endpoint, completion_window: '24h' }
    await call('POST', '/v1/batches', { body })
    toast(text('saved'))
    onDone()
  })
  return (
    <Dialog title={text('batches.create')} onClose={onClose}>
      <Form
        action={action}
        submit={text('batches.create')}
        params={['input_file_id', 'endpoint']}
        onCancel={onClose}
      >
        <Field
          label={text('batches.file')}
          help={text('batches.empty.help')}
          value={file}
          onChange={setChosenId}
          options={options}
          param="input_file_id"
          error={action.error}
        />
        <Field
          label={text('batches.endpoint')}
          value={endpoint}
          onChange={setEndpoint}
          options={ENDPOINTS.map(each => [each, each])}
          param="endpoint"
          error={action.error}
        />
      </Form>
    </Dialog>
  )
}
