/** API keys: create, limit, rotate, revoke. A key is shown once. */
import { useState } from 'preact/hooks'
import type { OwnKey, PricedModel } from '../../../views.ts'
import { callData } from '../api.ts'
import { formatTime } from '../format.ts'
import { type Action, useAction, useData } from '../loading.ts'
import { OperationDialog } from '../operation-dialog.tsx'
import { Dialog, Field, Form, useUnsaved } from '../parts/form.tsx'
import { PageHead } from '../parts/page.tsx'
import { QuotaFields, quotaBody, quotaDraft, quotaMoney, quotaText } from '../parts/quota.tsx'
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
type Draft = Readonly<
  Record<'name' | 'models' | 'quota' | 'period' | 'expires' | 'requests' | 'concurrency', string>
>
const draftOf = (key?: OwnKey): Draft => ({
  name: key?.name ?? '',
  models: key?.models?.join(', ') ?? '',
  ...quotaDraft(key),
  expires: key?.expires?.slice(0, 10) ?? '',
  requests: key?.limits?.requests ?? '',
  concurrency: key?.limits?.concurrency === undefined ? '' : String(key.limits.concurrency),
})
const namesIn = (models: string): readonly string[] => models.split(/[\s,]+/).filter(Boolean)
/** The limits of the form beside those that it does not show. */
const limitsOf = ({ requests, concurrency }: Draft, before?: OwnKey) => {
  const { requests: _, concurrency: __, ...others } = before?.limits ?? {}
  const limits = {
    ...others,
    ...(requests !== '' && { requests }),
    ...(concurrency !== '' && { concurrency: Number(concurrency) }),
  }
  return Object.keys(limits).length > 0 ? limits : null
}
/** The body for the API: of an existing key only the changes; an empty field removes a limit. */
const bodyOf = (draft: Draft, before?: OwnKey) => {
  const { name, models, expires } = draft
  const earlier = draftOf(before)
  const isChanged = (...fields: readonly (keyof Draft)[]): boolean =>
    before === undefined || fields.some(field => draft[field] !== earlier[field])
  const names = namesIn(models)
  return {
    ...(name !== '' && isChanged('name') && { name }),
    ...(isChanged('models') && { models: names.length > 0 ? names : null }),
    ...(isChanged('quota', 'period') && quotaBody(draft)),
    // The chosen day is the last one.
    ...(isChanged('expires') && { expires: expires === '' ? null : `${expires}T23:59:59Z` }),
    ...(isChanged('requests', 'concurrency') && { limits: limitsOf(draft, before) }),
  }
}

const PARAMS = [
  'name',
  'models',
  'quota',
  'quota_period',
  'expires',
  'limits.requests',
  'limits.concurrency',
]
const KeyDialog = ({ edited, onClose, onDone }: Part & { edited?: OwnKey }) => {
  const [draft, setDraft] = useState(() => draftOf(edited))
  const isChanged = JSON.stringify(draft) !== JSON.stringify(draftOf(edited))
  useUnsaved(isChanged)
  const action = useAction(async () => {
    const body = bodyOf(draft, edited)
    if (edited) {
      await callData('PATCH', `/api/keys/${edited.id}`, body)
      toast(text('saved'))
      onDone()
    } else {
      const { key } = await callData<OwnKey>('POST', '/api/keys', body)
      onDone({ kind: 'created', secret: key })
    }
  })
  const title = edited ? text('keys.edit.title', { name: edited.name }) : text('keys.create')
  return (
    <Dialog title={title} onClose={onClose}>
      <Form
        action={action}
        submit={text(edited ? 'save' : 'keys.create')}
        params={PARAMS}
        onCancel={onClose}
      >
        <KeyFields draft={draft} setDraft={setDraft} action={action} />
        {isChanged && edited && <p class="small muted">{text('unsaved')}</p>}
      </Form>
    </Dialog>
  )
}

interface KeyFieldsProps {
  readonly draft: Draft
  setDraft(draft: Draft): void
  readonly action: Action
}
const KeyFields = ({ draft, setDraft, action: { error } }: KeyFieldsProps) => {
  const models = useData<{ data: readonly PricedModel[] }>('/api/models')
  const change = (name: keyof Draft) => (value: string) => setDraft({ ...draft, [name]: value })
  const bind = (name: keyof Draft, param: string = name) => ({
    value: draft[name],
    onChange: change(name),
    param,
    error,
  })
  return (
    <>
      <Field
        label={text('column.name')}
        help={text('keys.name.help')}
        {...bind('name')}
        isRequired
        hasFocus
      />
      <Field
        label={`${text('keys.models')} (${text('optional')})`}
        help={text('keys.models.help')}
        suggestions={models.data?.data.map(({ model_name }) => model_name) ?? []}
        {...bind('models')}
      />
      <div class="columns">
        <QuotaFields
          draft={draft}
          onChange={part => setDraft({ ...draft, ...part })}
          error={error}
        />
        <Field
          label={`${text('column.expires')} (${text('optional')})`}
          help={text('keys.expires.help')}
          type="date"
          {...bind('expires')}
        />
        <Field
          label={`${text('keys.requests')} (${text('optional')})`}
          help={text('keys.requests.help')}
          {...bind('requests', 'limits.requests')}
        />
        <Field
          label={`${text('keys.concurrency')} (${text('optional')})`}
          help={text('keys.concurrency.help')}
          type="number"
          {...bind('concurrency', 'limits.concurrency')}
        />
      </div>
    </>
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
  <Dialog title={text('keys.created')} onClose={onClose}>
    <Secret value={secret} help={text('keys.once')} />
    <div class="dialog-foot">
      <button type="button" class="button primary" onClick={onClose}>
        {text('close')}
      </button>
    </div>
  </Dialog>
)
