/** The keys of an account, for operators: their limits and quotas. */
import { useState } from 'preact/hooks'
import type { KeyView } from '../../../../views.ts'
import { OperationDialog } from '../../operation-dialog.tsx'
import { LIMIT_FIELDS, limitsText } from '../../parts/limits.ts'
import { quotaMoney, quotaText } from '../../parts/quota.ts'
import { actionColumn } from '../../parts/row-actions.tsx'
import { Empty } from '../../parts/states.tsx'
import { type Column, column, envelopePage, Table, useRows } from '../../parts/table.tsx'
import { toast } from '../../parts/toast.tsx'
import { Money, useCurrency } from '../../parts/values.tsx'
import { text } from '../../texts.ts'

export const AccountKeys = ({ account }: { account: number }) => {
  const [round, setRound] = useState(0)
  const [open, setOpen] = useState<{ key: KeyView; kind: 'limits' | 'revoke' }>()
  const rows = useRows<KeyView>(`/api/admin/keys?account=${account}`, envelopePage, round)
  const close = () => setOpen(undefined)
  const onDone = () => {
    toast(text('saved'))
    setRound(round => round + 1)
    close()
  }
  return (
    <>
      <Table
        name={text('page.keys')}
        of={rows}
        columns={columnsOf(useCurrency(), (key, kind) => setOpen({ key, kind }))}
        keyOf={({ id }) => id}
        empty={<Empty title={text('account.no-keys')} help={text('account.no-keys.help')} />}
      />
      {open?.kind === 'limits' && <KeyLimits of={open.key} onClose={close} onDone={onDone} />}
      {open?.kind === 'revoke' && <Revoke of={open.key} onClose={close} onDone={onDone} />}
    </>
  )
}

const columnsOf = (
  currency: string,
  onOpen: (key: KeyView, kind: 'limits' | 'revoke') => void,
): readonly Column<KeyView>[] => [
  { title: '#', cell: ({ id }) => id, csv: ({ id }) => id, isNumber: true, isWidest: true },
  column(text('column.name'), ({ name }) => name, 'ellipsis'),
  column(text('column.key'), ({ key }) => key, 'code', { isWidest: true }),
  column(text('column.state'), ({ state }) => state, 'state'),
  {
    title: text('account.limits'),
    cell: key => (
      <span class="ellipsis" title={limitsText(key.limits)}>
        {limitsText(key.limits) || text('limits.route')}
      </span>
    ),
    csv: ({ limits }) => limitsText(limits),
    isWidest: true,
  },
  {
    title: text('account.quota'),
    cell: key =>
      key.quota === null
        ? text('unlimited')
        : `${quotaMoney(key.remaining ?? 0)} / ${quotaText(key, currency)}`,
    csv: ({ quota }) => quota,
    isNumber: true,
    isWide: true,
  },
  {
    title: `${text('column.used')} (${currency})`,
    cell: ({ used }) => <Money amount={Number(used ?? 0)} />,
    csv: ({ used }) => used,
    isNumber: true,
    isWide: true,
  },
  actionsColumn(onOpen),
]

const actionsColumn = (
  onOpen: (key: KeyView, kind: 'limits' | 'revoke') => void,
): Column<KeyView> =>
  actionColumn(
    ({ name }) => name,
    key =>
      key.state === 'revoked'
        ? []
        : [
            { label: text('account.limits'), run: () => onOpen(key, 'limits') },
            { label: text('keys.revoke'), isDanger: true, run: () => onOpen(key, 'revoke') },
          ],
  )

interface KeyDialogProps {
  readonly of: KeyView
  onClose(): void
  onDone(): void
}
const KeyLimits = ({ of: key, onClose, onDone }: KeyDialogProps) => (
  <OperationDialog
    of="keys update"
    only={[...LIMIT_FIELDS, 'quota', 'quota_period']}
    fixed={{ key: key.id }}
    edited={key}
    title={text('account.limits.title', { name: key.name })}
    submit={text('save')}
    onClose={onClose}
    onDone={onDone}
  />
)

const Revoke = ({ of: { id, name }, onClose, onDone }: KeyDialogProps) => (
  <OperationDialog
    of="keys revoke"
    fixed={{ key: id }}
    title={text('keys.revoke.title', { name })}
    help={text('keys.revoke.help')}
    submit={text('keys.revoke')}
    onClose={onClose}
    onDone={onDone}
  />
)
