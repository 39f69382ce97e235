/** Codes that customers redeem for credit, for operators: made, listed and revoked. */
import { useState } from 'preact/hooks'
import type { CodeRow, NewCode } from '../../../../views.ts'
import { callData } from '../../api.ts'
import { useAction } from '../../loading.ts'
import { Confirm, Dialog, Field, Form } from '../../parts/form.tsx'
import { PageHead } from '../../parts/page.tsx'
import { actionColumn } from '../../parts/row-actions.tsx'
import { Empty } from '../../parts/states.tsx'
import { type Column, envelopePage, Table, useRows } from '../../parts/table.tsx'
import { Money, Secret, State, Time, useCurrency } from '../../parts/values.tsx'
import { hrefOf } from '../../router.ts'
import { text } from '../../texts.ts'

type Open =
  | { readonly kind: 'create' }
  | { readonly kind: 'created'; readonly codes: readonly NewCode[] }
  | { readonly kind: 'revoke'; readonly code: CodeRow }

const Codes = () => {
  const [round, setRound] = useState(0)
  const [open, setOpen] = useState<Open>()
  const currency = useCurrency()
  const close = () => setOpen(undefined)
  const onDone = (next?: Open) => {
    setRound(round => round + 1)
    setOpen(next)
  }
  return (
    <>
      <PageHead title={text('page.codes')}>
        <button type="button" class="button primary" onClick={() => setOpen({ kind: 'create' })}>
          {text('codes.create')}
        </button>
      </PageHead>
      <Table
        name={text('page.codes')}
        of={useRows<CodeRow>('/api/admin/codes?limit=100', envelopePage, round)}
        columns={columnsOf(currency, code => setOpen({ kind: 'revoke', code }))}
        keyOf={({ id }) => id}
        empty={<Empty title={text('codes.empty')} help={text('codes.empty.help')} />}
      />
      {open?.kind === 'create' && <Create onClose={close} onDone={onDone} />}
      {open?.kind === 'revoke' && <Revoke of={open.code} onClose={close} onDone={onDone} />}
      {open?.kind === 'created' && (
        <Dialog title={text('codes.created')} onClose={close}>
          <Secret value={open.codes.map(({ code }) => code).join('\n')} help={text('codes.once')} />
          <div class="dialog-foot">
            <button type="button" class="button primary" onClick={close}>
              {text('close')}
            </button>
          </div>
        </Dialog>
      )}
    </>
  )
}
export default Codes

const columnsOf = (
  currency: string,
  onRevoke: (code: CodeRow) => void,
): readonly Column<CodeRow>[] => [
  { title: text('codes.id'), cell: ({ id }) => <code>{id}</code>, csv: ({ id }) => id },
  {
    title: `${text('column.amount')} (${currency})`,
    cell: ({ amount }) => <Money amount={amount} />,
    csv: ({ amount }) => amount,
    isNumber: true,
  },
  {
    title: text('column.state'),
    cell: ({ state }) => <State state={state === 'open' ? 'unused' : state} />,
    csv: ({ state }) => state,
  },
  {
    title: text('column.account'),
    cell: ({ account }) =>
      account === null ? '–' : <a href={hrefOf('account', String(account))}>#{account}</a>,
    csv: ({ account }) => account,
    isWide: true,
  },
  {
    title: text('column.note'),
    cell: ({ note }) => (
      <span class="ellipsis" title={note}>
        {note}
      </span>
    ),
    csv: ({ note }) => note,
    isWide: true,
  },
  {
    title: text('column.created'),
    cell: ({ created }) => <Time at={created} />,
    csv: ({ created }) => created,
    isWide: true,
  },
  {
    title: text('column.expires'),
    cell: ({ expires }) => <Time at={expires} />,
    csv: ({ expires }) => expires,
    isWide: true,
  },
  actionColumn(
    ({ id }) => id,
    code =>
      code.state === 'open'
        ? [{ label: text('keys.revoke'), isDanger: true, run: () => onRevoke(code) }]
        : [],
  ),
]

interface Part {
  onClose(): void
  onDone(next?: Open): void
}
const Create = ({ onClose, onDone }: Part) => {
  const [draft, setDraft] = useState({ amount: '', count: '1', expires: '', note: '' })
  const currency = useCurrency()
  const action = useAction(async () => {
    const { amount, count, expires, note } = draft
    const body = {
      amount,
      count: Number(count),
      ...(expires !== '' && { expires: `${expires}T23:59:59Z` }),
      ...(note !== '' && { note }),
    }
    const codes = await callData<readonly NewCode[]>('POST', '/api/admin/codes', body)
    onDone({ kind: 'created', codes })
  })
  const field = (name: keyof typeof draft) => ({
    value: draft[name],
    onChange: (value: string) => setDraft(before => ({ ...before, [name]: value })),
    param: name,
    error: action.error,
  })
  return (
    <Dialog title={text('codes.create')} onClose={onClose}>
      <Form
        action={action}
        submit={text('codes.create')}
        params={['amount', 'count', 'expires', 'note']}
        onCancel={onClose}
      >
        <Field
          label={`${text('column.amount')} (${currency})`}
          {...field('amount')}
          isRequired
          hasFocus
        />
        <Field label={text('codes.count')} {...field('count')} type="number" isRequired />
        <Field
          label={`${text('column.expires')} (${text('optional')})`}
          {...field('expires')}
          type="date"
        />
        <Field label={`${text('column.note')} (${text('optional')})`} {...field('note')} />
      </Form>
    </Dialog>
  )
}

const Revoke = ({ of: { id }, onClose, onDone }: Part & { readonly of: CodeRow }) => {
  const action = useAction(async () => {
    await callData('POST', '/api/admin/codes/revoke', { code: id })
    onDone()
  })
  return (
    <Confirm
      title={text('codes.revoke.title', { id })}
      help={text('codes.revoke.help')}
      submit={text('keys.revoke')}
      action={action}
      onClose={onClose}
    />
  )
}
