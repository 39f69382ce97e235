/** Files of the account: upload, download, delete. */
import { useRef, useState } from 'preact/hooks'
import type { FileView } from '../../../views.ts'
import { ApiError, addressOf, call } from '../api.ts'
import { formatBytes } from '../format.ts'
import { useAction } from '../loading.ts'
import { Confirm, Dialog, Field, Form } from '../parts/form.tsx'
import { PageHead } from '../parts/page.tsx'
import { actionColumn } from '../parts/row-actions.tsx'
import { Empty } from '../parts/states.tsx'
import { type Column, column, openaiPage, Table, useRows } from '../parts/table.tsx'
import { toast } from '../parts/toast.tsx'
import { Time } from '../parts/values.tsx'
import { text } from '../texts.ts'

const PURPOSES = ['assistants', 'fine-tune', 'vision', 'batch']

const Files = () => {
  const [round, setRound] = useState(0)
  const [deleted, setDeleted] = useState<FileView>()
  const [isUpload, setUpload] = useState(false)
  const rows = useRows<FileView>('/v1/files?limit=100', openaiPage, round)
  const close = () => {
    setDeleted(undefined)
    setUpload(false)
  }
  const onDone = () => {
    setRound(round => round + 1)
    close()
  }
  const upload = (
    <button type="button" class="button primary" onClick={() => setUpload(true)}>
      {text('files.upload')}
    </button>
  )
  return (
    <>
      <PageHead title={text('page.files')}>{upload}</PageHead>
      <Table
        name={text('page.files')}
        of={rows}
        columns={columnsOf(setDeleted)}
        keyOf={({ id }) => id}
        empty={
          <Empty title={text('files.empty')} help={text('files.empty.help')}>
            {upload}
          </Empty>
        }
      />
      {isUpload && <Upload onClose={close} onDone={onDone} />}
      {deleted && <Delete of={deleted} onClose={close} onDone={onDone} />}
    </>
  )
}
export default Files

const columnsOf = (onDelete: (file: FileView) => void): readonly Column<FileView>[] => [
  column(text('column.name'), ({ filename }) => filename, 'ellipsis'),
  column(text('files.id'), ({ id }) => id, 'id', { isWidest: true }),
  column(text('files.purpose'), ({ purpose }) => purpose, 'plain', { isWide: true }),
  {
    title: text('files.size'),
    cell: ({ bytes }) => formatBytes(bytes),
    csv: ({ bytes }) => bytes,
    isNumber: true,
  },
  {
    title: text('column.created'),
    cell: ({ created_at }) => <Time at={created_at * 1_000} />,
    csv: ({ created_at }) => new Date(created_at * 1_000).toISOString(),
    isWide: true,
  },
  actionColumn(
    ({ filename }) => filename,
    file => [
      { label: text('files.download'), href: addressOf(`/v1/files/${file.id}/content`) },
      { label: text('files.delete'), isDanger: true, run: () => onDelete(file) },
    ],
  ),
]

interface Part {
  onClose(): void
  onDone(): void
}
const Upload = ({ onClose, onDone }: Part) => {
  const [purpose, setPurpose] = useState('assistants')
  const input = useRef<HTMLInputElement>(null)
  const action = useAction(async () => {
    const file = input.current?.files?.[0]
    if (!file) throw new ApiError(400, text('files.choose'))
    const raw = new FormData()
    raw.set('purpose', purpose)
    raw.set('file', file)
    await call('POST', '/v1/files', { raw })
    toast(text('saved'))
    onDone()
  })
  return (
    <Dialog title={text('files.upload')} onClose={onClose}>
      <Form action={action} submit={text('files.upload')} params={['purpose']} onCancel={onClose}>
        <Field
          label={text('files.purpose')}
          value={purpose}
          onChange={setPurpose}
          options={PURPOSES.map(each => [each, each])}
          param="purpose"
          error={action.error}
        />
        <label class="field">
          <span class="label">{text('files.file')}</span>
          <input ref={input} type="file" class="input" />
        </label>
      </Form>
    </Dialog>
  )
}

const Delete = ({ of: { id, filename }, onClose, onDone }: Part & { of: FileView }) => {
  const action = useAction(async () => {
    await call('DELETE', `/v1/files/${id}`)
    onDone()
  })
  return (
    <Confirm
      title={text('files.delete.title', { name: filename })}
      help={text('files.delete.help')}
      submit={text('files.delete')}
      action={action}
      onClose={onClose}
    />
  )
}
