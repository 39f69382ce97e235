/** Accounts, for operators: create, credit, suspend, resume, sign-in links. */
import { useState } from 'preact/hooks'
import { callData } from '../api.ts'
import { formatMoney, formatTime } from '../format.ts'
import { useAction } from '../loading.ts'
import type { PageProps } from '../pages.ts'
import { Confirm, Dialog, Field, Form } from '../parts/form.tsx'
import { PageHead } from '../parts/page.tsx'
import { Empty } from '../parts/states.tsx'
import { type Column, envelopePage, Table, useRows } from '../parts/table.tsx'
import { toast } from '../parts/toast.tsx'
import { Money, Secret, State, Time, useCurrency } from '../parts/values.tsx'
import { hrefOf, setQuery } from '../router.ts'
import { text, textOr } from '../texts.ts'

interface Account {
  readonly id: number
  readonly name: string
  readonly role: string
  readonly state: string
  readonly keys: number
  readonly created: string
  readonly balance: number
  readonly used: number
}
interface Link {
  readonly url: string
  readonly expires: string
}
type Open =
  | { readonly kind: 'create' }
  | { readonly kind: 'credit' | 'suspend'; readonly account: Account }
  | { readonly kind: 'link'; readonly account: Account; readonly link: Link }

const Accounts = ({ place }: PageProps) => {
  const [round, setRound] = useState(0)
  const [open, setOpen] = useState<Open>()
  const search = place.query.get('search') ?? ''
  const path = `/api/admin/accounts?${new URLSearchParams({ search })}`
  const rows = useRows<Account>(path, envelopePage, round)
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
  const act = async (kind: 'link' | 'resume', account: Account) => {
    const body = { account: account.id }
    if (kind === 'resume') {
      await callData('POST', '/api/admin/accounts/resume', body)
      onDone(text('accounts.resumed', { name: account.name }))
    } else
      setOpen({ kind, account, link: await callData('POST', '/api/admin/accounts/link', body) })
  }
  const start = (kind: 'link' | 'resume', account: Account) =>
    act(kind, account).catch(error => toast(error.message))
  return (
    <>
      <PageHead title={text('page.accounts')}>{create}</PageHead>
      <div class="filters">
        <input
          type="search"
          class="input"
          aria-label={text('search')}
          placeholder={text('search')}
          value={search}
          onInput={event => setQuery({ search: event.currentTarget.value })}
        />
      </div>
      <Table
        name={text('page.accounts')}
        of={rows}
        columns={columnsOf(setOpen, start)}
        keyOf={({ id }) => id}
        empty={
          <Empty title={text('accounts.empty')} help={text('accounts.empty.help')}>
            {create}
          </Empty>
        }
      />
      {open?.kind === 'create' && <Create onClose={close} onDone={onDone} />}
      {open?.kind === 'credit' && <Credit of={open.account} onClose={close} onDone={onDone} />}
      {open?.kind === 'suspend' && <Suspend of={open.account} onClose={close} onDone={onDone} />}
      {open?.kind === 'link' && <LinkDialog of={open.account} link={open.link} onClose={close} />}
    </>
  )
}
export default Accounts

const columnsOf = (
  onOpen: (open: Open) => void,
  start: (kind: 'link' | 'resume', account: Account) => void,
): readonly Column<Account>[] => [
  { title: '#', cell: ({ id }) => id, csv: ({ id }) => id, isNumber: true, isWide: true },
  {
    title: text('column.name'),
    cell: ({ id, name }) => (
      <a class="ellipsis" href={hrefOf('account', String(id))}>
        {name}
      </a>
    ),
    csv: ({ name }) => name,
  },
  {
    title: text('column.role'),
    cell: ({ role }) => textOr(`accounts.${role}`, role),
    csv: ({ role }) => role,
    isWide: true,
  },
  {
    title: text('column.state'),
    cell: ({ state }) => <State state={state} />,
    csv: ({ state }) => state,
  },
  {
    title: text('page.keys'),
    cell: ({ keys }) => keys,
    csv: ({ keys }) => keys,
    isNumber: true,
    isWide: true,
  },
  {
    title: text('column.balance'),
    cell: ({ balance }) => <Money amount={balance} />,
    csv: ({ balance }) => balance,
    isNumber: true,
  },
  {
    title: text('column.used'),
    cell: ({ used }) => <Money amount={used} />,
    csv: ({ used }) => used,
    isNumber: true,
    isWide: true,
  },
  {
    title: text('column.created'),
    cell: ({ created }) => <Time at={created} />,
    csv: ({ created }) => created,
    isWide: true,
  },
  {
    title: text('column.actions'),
    cell: account => (
      <span class="row">
        <button
          type="button"
          class="button tiny"
          onClick={() => onOpen({ kind: 'credit', account })}
        >
          {text('accounts.credit')}
        </button>
        <button type="button" class="button tiny" onClick={() => start('link', account)}>
          {text('accounts.link')}
        </button>
        {account.state === 'suspended' ? (
          <button type="button" class="button tiny" onClick={() => start('resume', account)}>
            {text('accounts.resume')}
          </button>
        ) : (
          <button
            type="button"
            class="button tiny danger"
            onClick={() => onOpen({ kind: 'suspend', account })}
          >
            {text('accounts.suspend')}
          </button>
        )}
      </span>
    ),
  },
]

interface Part {
  onClose(): void
  onDone(message: string): void
}
const Create = ({ onClose, onDone }: Part) => {
  const [name, setName] = useState('')
  const [role, setRole] = useState('customer')
  const action = useAction(async () => {
    await callData('POST', '/api/admin/accounts', { name, role })
    onDone(text('saved'))
  })
  return (
    <Dialog title={text('accounts.create')} onClose={onClose}>
      <Form action={action} submit={text('accounts.create')} params={['name']} onCancel={onClose}>
        <Field
          label={text('column.name')}
          help={text('accounts.name.help')}
          value={name}
          onChange={setName}
          param="name"
          error={action.error}
          isRequired
          hasFocus
        />
        <Field
          label={text('column.role')}
          value={role}
          onChange={setRole}
          options={[
            ['customer', text('accounts.customer')],
            ['admin', text('accounts.admin')],
          ]}
        />
      </Form>
    </Dialog>
  )
}

const Credit = ({ of: account, onClose, onDone }: Part & { of: Account }) => {
  const [amount, setAmount] = useState('')
  const [note, setNote] = useState('')
  const currency = useCurrency()
  const { name, id } = account
  const action = useAction(async () => {
    const body = { account: id, amount, ...(note !== '' && { note }) }
    const { balance } = await callData<Account>('POST', '/api/admin/accounts/credit', body)
    onDone(text('accounts.credited', { name, amount: formatMoney(balance, currency) }))
  })
  return (
    <Dialog title={text('accounts.credit.title', { name })} onClose={onClose}>
      <Form
        action={action}
        submit={text('accounts.credit')}
        params={['amount', 'note']}
        onCancel={onClose}
      >
        <Field
          label={`${text('column.amount')} (${currency})`}
          value={amount}
          onChange={setAmount}
          param="amount"
          error={action.error}
          isRequired
          hasFocus
        />
        <Field
          label={`${text('accounts.note')} (${text('optional')})`}
          help={text('accounts.note.help')}
          value={note}
          onChange={setNote}
          param="note"
          error={action.error}
        />
      </Form>
    </Dialog>
  )
}

const Suspend = ({ of: { id, name }, onClose, onDone }: Part & { of: Account }) => {
  const action = useAction(async () => {
    await callData('POST', '/api/admin/accounts/suspend', { account: id })
    onDone(text('accounts.suspended', { name }))
  })
  return (
    <Confirm
      title={text('accounts.suspend.title', { name })}
      help={text('accounts.suspend.help')}
      submit={text('accounts.suspend')}
      action={action}
      onClose={onClose}
    />
  )
}

interface LinkDialogProps {
  readonly of: Account
  readonly link: Link
  onClose(): void
}
const LinkDialog = ({ of: { name }, link: { url, expires }, onClose }: LinkDialogProps) => (
  <Dialog title={text('accounts.link.title', { name })} onClose={onClose}>
    <Secret value={url} help={text('accounts.link.help', { time: formatTime(expires) })} />
    <div class="dialog-foot">
      <button type="button" class="button primary" onClick={onClose}>
        {text('close')}
      </button>
    </div>
  </Dialog>
)
