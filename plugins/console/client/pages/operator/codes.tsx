/** Codes that customers redeem for credit, for operators: made, listed and revoked. */
import { useState } from 'preact/hooks'
import type { CodeRow, NewCode } from '../../../../views.ts'
import { OperationDialog } from '../../operation-dialog.tsx'
import { Notice } from '../../parts/form.tsx'
import { PageHead } from '../../parts/page.tsx'
import { actionColumn } from '../../parts/row-actions.tsx'
import { Empty } from '../../parts/states.tsx'
import { type Column, column, envelopePage, Table, useRows } from '../../parts/table.tsx'
import { Secret, State, useCurrency } from '../../parts/values.tsx'
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
      {open?.kind === 'create' && (
        <OperationDialog<readonly NewCode[]>
          of="codes create"
          initial={{ count: '1' }}
          title={text('codes.create')}
          submit={text('codes.create')}
          onClose={close}
          onDone={codes => onDone({ kind: 'created', codes })}
        />
      )}
      {open?.kind === 'revoke' && (
        <OperationDialog
          of="codes revoke"
          fixed={{ code: open.code.id }}
          title={text('codes.revoke.title', { id: open.code.id })}
          help={text('codes.revoke.help')}
          submit={text('keys.revoke')}
          onClose={close}
          onDone={() => onDone()}
        />
      )}
      {open?.kind === 'created' && (
        <Notice title={text('codes.created')} onClose={close}>
          <Secret value={open.codes.map(({ code }) => code).join('\n')} help={text('codes.once')} />
        </Notice>
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
  column(`${text('column.amount')} (${currency})`, ({ amount }) => amount, 'money'),
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
  column(text('plan'), ({ plan }) => plan ?? '', undefined, { isWide: true }),
  column(text('column.note'), ({ note }) => note, 'ellipsis', { isWide: true }),
  column(text('column.created'), ({ created }) => created, 'time', { isWide: true }),
  column(text('column.expires'), ({ expires }) => expires, 'time', { isWide: true }),
  actionColumn(
    ({ id }) => id,
    code =>
      code.state === 'open'
        ? [{ label: text('keys.revoke'), isDanger: true, run: () => onRevoke(code) }]
        : [],
  ),
]
