/** API keys: create, limit, rotate, revoke. A key is shown once. */
import { useState } from 'preact/hooks'
import type { OwnKey, PricedModel } from '../../../views.ts'
import { formatTime } from '../format.ts'
import { useData } from '../loading.ts'
import { OperationDialog } from '../operation-dialog.tsx'
import { Notice } from '../parts/form.tsx'
import { PageHead } from '../parts/page.tsx'
import { quotaMoney, quotaText } from '../parts/quota.ts'
import { actionColumn } from '../parts/row-actions.tsx'
import { Empty } from '../parts/states.tsx'
import { type Column, column, envelopePage, Table, useRows } from '../parts/table.tsx'
import { toast } from '../parts/toast.tsx'
import { Secret, useCurrency } from '../parts/values.tsx'
import { text } from '../texts.ts'

type Open =
  | { readonly kind: 'create' }
  | { readonly kind: 'edit' | 'rotate' | 'revoke'; readonly key: OwnKey }
  | { readonly kind: 'created'; readonly secret: string }

const Keys = () => {
  const [round, setRound] = useState(0)
  const [open, setOpen] = useState<Open>()
  const rows = useRows<OwnKey>('/api/keys?limit=100', envelopePage, round)
  const close = () => setOpen(undefined)
  const onDone = (next?: Open) => {
    setRound(round => round + 1)
    setOpen(next)
  }
  const create = (
    <button type="button" class="button primary" onClick={() => setOpen({ kind: 'create' })}>
      {text('keys.create')}
    </button>
  )
  return (
    <>
      <PageHead title={text('page.keys')}>{create}</PageHead>
      <Table
        name={text('page.keys')}
        of={rows}
        columns={columnsOf(useCurrency(), setOpen)}
        keyOf={({ id }) => id}
        empty={
          <Empty title={text('keys.empty')} help={text('keys.empty.help')}>
            {create}
          </Empty>
        }
      />
      {open?.kind === 'create' && <KeyDialog onClose={close} onDone={onDone} />}
      {open?.kind === 'edit' && <KeyDialog edited={open.key} onClose={close} onDone={onDone} />}
      {open?.kind === 'rotate' && <Rotate of={open.key} onClose={close} onDone={onDone} />}
      {open?.kind === 'revoke' && <Revoke of={open.key} onClose={close} onDone={onDone} />}
      {open?.kind === 'created' && <Created secret={open.secret} onClose={close} />}
    </>
  )
}
export default Keys

const columnsOf = (currency: string, onOpen: (open: Open) => void): readonly Column<OwnKey>[] => [
  {
    title: text('column.name'),
    cell: ({ name, created }) => (
      <span class="ellipsis" title={`${name} · ${text('column.created')} ${formatTime(created)}`}>
        {name}
      </span>
    ),
    csv: ({ name }) => name,
  },
  column(text('column.key'), ({ key }) => key, 'code', { isWidest: true }),
  column(text('column.state'), ({ state }) => state, 'state'),
  {
    title: text('keys.models'),
    cell: ({ models }) => <span class="ellipsis">{models?.join(', ') ?? text('all')}</span>,
    csv: ({ models }) => models?.join(' '),
    isWide: true,
  },
  {
    title: text('keys.used'),
    cell: key => `${quotaMoney(key.used_quota)} / ${quotaText(key, currency)}`,
    csv: key => `${quotaMoney(key.used_quota)} / ${quotaText(key, currency)}`,
    isNumber: true,
    isWide: true,
  },
  column(text('column.expires'), ({ expires }) => expires, 'time', { isWidest: true }),
  actionColumn(
    ({ name }) => name,
    key =>
      key.state === 'revoked'
        ? []
        : (['edit', 'rotate', 'revoke'] as const).map(kind => ({
            label: text(`keys.${kind}`),
            isDanger: kind === 'revoke',
            run: () => onOpen({ kind, key }),
          })),
  ),
]

interface Part {
  onClose(): void
  onDone(next?: Open): void
}
const FIELDS = [
  'name',
  'models',
  'quota',
  'quota_period',
  'expires',
  'limits.requests',
  'limits.concurrency',
  'limits.tags',
]
const KeyDialog = ({ edited, onClose, onDone }: Part & { edited?: OwnKey }) => {
  const models = useData<{ data: readonly PricedModel[] }>('/api/models')
  return (
    <OperationDialog<OwnKey>
      of={edited ? 'update-key' : 'create-key'}
      only={FIELDS}
      {...(edited && { edited, fixed: { id: edited.id } })}
      suggestions={{ models: models.data?.data.map(({ model_name }) => model_name) ?? [] }}
      help={{ name: text('keys.name.help'), expires: text('keys.expires.help') }}
      title={edited ? text('keys.edit.title', { name: edited.name }) : text('keys.create')}
      submit={text(edited ? 'save' : 'keys.create')}
      onClose={onClose}
      onDone={({ key }) => {
        if (edited) toast(text('saved'))
        onDone(edited ? undefined : { kind: 'created', secret: key })
      }}
    />
  )
}

const Rotate = ({ of: { id, name }, onClose, onDone }: Part & { of: OwnKey }) => (
  <OperationDialog<OwnKey>
    of="rotate-key"
    fixed={{ id }}
    title={text('keys.rotate.title', { name })}
    help={text('keys.rotate.help')}
    submit={text('keys.rotate')}
    onClose={onClose}
    onDone={({ key }) => onDone({ kind: 'created', secret: key })}
  />
)

const Revoke = ({ of: { id, name }, onClose, onDone }: Part & { of: OwnKey }) => (
  <OperationDialog
    of="revoke-key"
    fixed={{ id }}
    title={text('keys.revoke.title', { name })}
    help={text('keys.revoke.help')}
    submit={text('keys.revoke')}
    onClose={onClose}
    onDone={() => {
      toast(text('keys.revoked', { name }))
      onDone()
    }}
  />
)

const Created = ({ secret, onClose }: { secret: string; onClose(): void }) => (
  <Notice title={text('keys.created')} onClose={onClose}>
    <Secret value={secret} help={text('keys.once')} />
  </Notice>
)
