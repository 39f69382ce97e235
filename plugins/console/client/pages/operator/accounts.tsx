/** Accounts, for operators: create, credit, suspend, resume, sign-in links. */
import { useState } from 'preact/hooks'
import type { AccountRow, SignInLinkView } from '../../../../views.ts'
import { callData } from '../../api.ts'
import { formatMoney, formatTime } from '../../format.ts'
import { OperationDialog } from '../../operation-dialog.tsx'
import type { PageProps } from '../../page.ts'
import { Notice } from '../../parts/form.tsx'
import { Filter } from '../../parts/list.tsx'
import { PageHead } from '../../parts/page.tsx'
import { actionColumn } from '../../parts/row-actions.tsx'
import { Empty } from '../../parts/states.tsx'
import { type Column, column, envelopePage, Table, useRows } from '../../parts/table.tsx'
import { toast } from '../../parts/toast.tsx'
import { Secret, State, useCurrency, useOwnAccount } from '../../parts/values.tsx'
import { hrefOf, setQuery } from '../../router.ts'
import { type TextKey, text } from '../../texts.ts'

type Open =
  | { readonly kind: 'create' }
  | { readonly kind: 'credit'; readonly account: AccountRow }
  | { readonly kind: 'suspend'; readonly account: AccountRow }
  | { readonly kind: 'link'; readonly account: AccountRow; readonly link: SignInLinkView }

const Accounts = ({ place }: PageProps) => {
  const [round, setRound] = useState(0)
  const [open, setOpen] = useState<Open>()
  const search = place.query.get('search') ?? ''
  const state = place.query.get('state') ?? ''
  const sort = place.query.get('sort') ?? 'number'
  const order = place.query.get('order') === 'desc' ? 'desc' : 'asc'
  const path = `/api/admin/accounts?${new URLSearchParams({ search, state, sort, order })}`
  const rows = useRows<AccountRow>(path, envelopePage, round)
  const close = () => setOpen(undefined)
  const onDone = (message: string) => {
    toast(message)
    setRound(round => round + 1)
    close()
  }
  const create = (
    <button type="button" class="button primary" onClick={() => setOpen({ kind: 'create' })}>
      {text('accounts.create')}
    </button>
  )
  const act = async (kind: 'link' | 'resume', account: AccountRow) => {
    const body = { account: account.id }
    if (kind === 'resume') {
      await callData('POST', '/api/admin/accounts/resume', body)
      onDone(text('accounts.resumed', { name: account.name }))
    } else
      setOpen({ kind, account, link: await callData('POST', '/api/admin/accounts/link', body) })
  }
  const start: Start = (kind, account) =>
    void act(kind, account).catch(error => toast(error.message))
  return (
    <>
      <PageHead title={text('page.accounts')}>{create}</PageHead>
      <div class="filters">
        <Filter name="search" label={text('search')} query={place.query} isSearch />
        <Filter
          name="state"
          label={text('column.state')}
          query={place.query}
          options={(['active', 'suspended'] as const).map(each => [each, text(`state.${each}`)])}
        />
      </div>
      <Table
        name={text('page.accounts')}
        of={rows}
        columns={columnsOf(useCurrency(), useOwnAccount(), setOpen, start)}
        sorting={{ by: sort, order, onSort: (sort, order) => setQuery({ sort, order }) }}
        keyOf={({ id }) => id}
        empty={
          <Empty title={text('accounts.empty')} help={text('accounts.empty.help')}>
            {create}
          </Empty>
        }
      />
      {open && <Opened open={open} onClose={close} onDone={onDone} />}
    </>
  )
}
export default Accounts

const Opened = ({ open, ...rest }: Part & { readonly open: Open }) => {
  const currency = useCurrency()
  const { onClose, onDone } = rest
  if (open.kind === 'create')
    return (
      <OperationDialog
        of="accounts create"
        initial={{ role: 'customer' }}
        title={text('accounts.create')}
        help={{ name: text('accounts.name.help') }}
        submit={text('accounts.create')}
        onClose={onClose}
        onDone={() => onDone(text('saved'))}
      />
    )
  const { name } = open.account
  if (open.kind === 'credit')
    return (
      <OperationDialog<AccountRow>
        of="accounts credit"
        fixed={{ account: open.account.id }}
        title={text('accounts.credit.title', { name })}
        submit={text('accounts.credit')}
        onClose={onClose}
        onDone={({ balance }) =>
          onDone(text('accounts.credited', { name, amount: formatMoney(balance, currency) }))
        }
      />
    )
  if (open.kind === 'suspend') return <Suspend of={open.account} {...rest} />
  return <LinkDialog of={open.account} link={open.link} onClose={onClose} />
}
type Start = (kind: 'link' | 'resume', account: AccountRow) => void

const columnsOf = (
  currency: string,
  own: number | undefined,
  onOpen: (open: Open) => void,
  start: Start,
): readonly Column<AccountRow>[] => [
  ...nameColumns(),
  ...sumColumns(currency),
  actionColumn(
    ({ name }) => name,
    account => [
      { label: text('accounts.credit'), run: () => onOpen({ kind: 'credit', account }) },
      { label: text('accounts.link'), run: () => start('link', account) },
      ...(account.state === 'suspended'
        ? [{ label: text('accounts.resume'), run: () => start('resume', account) }]
        : []),
      ...(account.state !== 'suspended' && account.id !== own
        ? [
            {
              label: text('accounts.suspend'),
              isDanger: true,
              run: () => onOpen({ kind: 'suspend', account }),
            },
          ]
        : []),
    ],
  ),
]

const nameColumns = (): readonly Column<AccountRow>[] => [
  column('#', ({ id }) => id, 'plain', { isNumber: true, isWidest: true, sort: 'number' }),
  {
    title: text('column.name'),
    cell: ({ id, name, role, state }) => (
      <span class="beside">
        <a class="ellipsis" href={hrefOf('account', String(id))} title={name}>
          {name}
        </a>
        {role === 'admin' && <span class="muted wide-only">{text('accounts.admin')}</span>}
        {state !== 'active' && (
          <span class="narrow-only">
            <State state={state} />
          </span>
        )}
      </span>
    ),
    csv: ({ name }) => name,
  },
  column(text('column.state'), ({ state }) => state, 'state', { isWide: true }),
]

const sumColumns = (currency: string): readonly Column<AccountRow>[] => [
  column(text('page.keys'), ({ keys }) => keys, 'plain', { isNumber: true, isWide: true }),
  column(`${text('column.balance')} (${currency})`, ({ balance }) => balance, 'money', {
    sort: 'balance',
  }),
  column(`${text('column.used')} (${currency})`, ({ used }) => used, 'money', {
    isWidest: true,
    sort: 'used',
  }),
  column(text('column.created'), ({ created }) => created, 'time', { isWidest: true }),
]

interface Part {
  onClose(): void
  onDone(message: string): void
}
export type MoneyKind = 'credit' | 'debit' | 'overdraft'
export const MONEY: readonly MoneyKind[] = ['credit', 'debit', 'overdraft']
export const LABELS: Readonly<Record<MoneyKind, TextKey>> = {
  credit: 'accounts.credit',
  debit: 'account.debit',
  overdraft: 'account.overdraft.set',
}
interface MoneyDialogProps {
  readonly kind: MoneyKind
  readonly of: AccountRow
  onClose(): void
  onDone(message: string): void
}
export const MoneyDialog = ({
  kind,
  of: { id, name, overdraft },
  onClose,
  onDone,
}: MoneyDialogProps) => {
  const title = kind === 'credit' ? 'accounts.credit.title' : (`account.${kind}.title` as const)
  return (
    <OperationDialog
      of={`accounts ${kind}`}
      fixed={{ account: id }}
      {...(kind === 'overdraft' && {
        initial: { amount: String(overdraft) },
        help: { amount: text('account.overdraft.help') },
      })}
      title={text(title, { name })}
      submit={text(LABELS[kind])}
      isDanger={kind === 'debit'}
      onClose={onClose}
      onDone={() => onDone(text('saved'))}
    />
  )
}

type Named = Pick<AccountRow, 'id' | 'name'>
export const Suspend = ({ of: { id, name }, onClose, onDone }: Part & { of: Named }) => (
  <OperationDialog
    of="accounts suspend"
    fixed={{ account: id }}
    title={text('accounts.suspend.title', { name })}
    help={text('accounts.suspend.help')}
    submit={text('accounts.suspend')}
    onClose={onClose}
    onDone={() => onDone(text('accounts.suspended', { name }))}
  />
)

interface LinkDialogProps {
  readonly of: Named
  readonly link: SignInLinkView
  onClose(): void
}
export const LinkDialog = ({ of: { name }, link: { url, expires }, onClose }: LinkDialogProps) => (
  <Notice title={text('accounts.link.title', { name })} onClose={onClose}>
    <Secret value={url} help={text('accounts.link.help', { time: formatTime(expires) })} />
  </Notice>
)
