/** One account, for operators: money, limits and keys. */
import { useState } from 'preact/hooks'
import type { AccountRow, SignInLinkView } from '../../../../views.ts'
import { callData } from '../../api.ts'
import { formatTime } from '../../format.ts'
import { useData } from '../../loading.ts'
import { OperationDialog } from '../../operation-dialog.tsx'
import type { PageProps } from '../../page.ts'
import { LIMIT_FIELDS, limitsText } from '../../parts/limits.ts'
import { PageHead } from '../../parts/page.tsx'
import { View } from '../../parts/states.tsx'
import { toast } from '../../parts/toast.tsx'
import { Money, State, useCurrency, useOwnAccount } from '../../parts/values.tsx'
import { hrefOf } from '../../router.ts'
import { text, textOr } from '../../texts.ts'
import { AccountKeys } from './account-keys.tsx'
import { AccountMoney } from './account-money.tsx'
import { LABELS, LinkDialog, MONEY, MoneyDialog, type MoneyKind, Suspend } from './accounts.tsx'

type Open = MoneyKind | 'limits' | 'suspend' | SignInLinkView

const AccountPage = ({ place }: PageProps) => {
  const [open, setOpen] = useState<Open>()
  const name = place.id ?? ''
  const account = useData<{ data: AccountRow }>(
    `/api/admin/accounts/show?${new URLSearchParams({ account: name, brief: 'true' })}`,
  )
  return (
    <>
      <PageHead title={account.data?.data.name ?? text('page.account')}>
        {account.data && (
          <Actions of={account.data.data} onOpen={setOpen} onChange={account.reload} />
        )}
      </PageHead>
      <View of={account} rows={6}>
        {({ data }) => (
          <>
            <Facts account={data} />
            <h2>{text('page.keys')}</h2>
            <AccountKeys account={data.id} />
            <AccountMoney account={data.id} query={place.query} />
            {open && (
              <Opened
                open={open}
                of={data}
                onClose={() => setOpen(undefined)}
                onDone={message => {
                  setOpen(undefined)
                  toast(message)
                  account.reload()
                }}
              />
            )}
          </>
        )}
      </View>
    </>
  )
}
export default AccountPage

interface ActionsProps {
  readonly of: AccountRow
  onOpen(open: Open): void
  onChange(): void
}
const Actions = ({ of: { id, name, state }, onOpen, onChange }: ActionsProps) => {
  const post = <T,>(path: string) =>
    callData<T>('POST', `/api/admin/accounts/${path}`, { account: id })
  const isOwn = useOwnAccount() === id
  const fail = (error: Error) => toast(error.message)
  const makeLink = () => void post<SignInLinkView>('link').then(onOpen, fail)
  const resume = () =>
    void post('resume').then(() => {
      toast(text('accounts.resumed', { name }))
      onChange()
    }, fail)
  return (
    <>
      {state === 'suspended' && (
        <button type="button" class="button" onClick={resume}>
          {text('accounts.resume')}
        </button>
      )}
      {state !== 'suspended' && !isOwn && (
        <button type="button" class="button danger" onClick={() => onOpen('suspend')}>
          {text('accounts.suspend')}
        </button>
      )}
      <button type="button" class="button" onClick={makeLink}>
        {text('accounts.link')}
      </button>
      <button type="button" class="button" onClick={() => onOpen('limits')}>
        {text('account.limits')}
      </button>
      {MONEY.toReversed().map(each => (
        <button
          key={each}
          type="button"
          class={each === 'credit' ? 'button primary' : 'button'}
          onClick={() => onOpen(each)}
        >
          {text(LABELS[each])}
        </button>
      ))}
    </>
  )
}

interface OpenedProps {
  readonly open: Open
  readonly of: AccountRow
  onClose(): void
  onDone(message: string): void
}
const Opened = ({ open, ...rest }: OpenedProps) => {
  if (open === 'suspend') return <Suspend {...rest} />
  if (open === 'limits') return <AccountLimits {...rest} />
  if (typeof open === 'object') return <LinkDialog link={open} {...rest} />
  return <MoneyDialog kind={open} {...rest} />
}

const Facts = ({ account }: { account: AccountRow }) => {
  const currency = useCurrency()
  const { id, role, state, created, balance, used, overdraft, limits } = account
  return (
    <section class="card" aria-label={text('page.account')}>
      <dl class="facts">
        <dt>{text('personal.number')}</dt>
        <dd>#{id}</dd>
        <dt>{text('column.state')}</dt>
        <dd>
          <State state={state} />
        </dd>
        <dt>{text('column.role')}</dt>
        <dd>{textOr(`accounts.${role}`, role)}</dd>
        <dt>{text('column.created')}</dt>
        <dd>{formatTime(created)}</dd>
        <dt>{text('column.balance')}</dt>
        <dd>
          <Money amount={balance} /> {currency}
        </dd>
        <dt>{text('column.used')}</dt>
        <dd>
          <Money amount={used} /> {currency}
        </dd>
        <dt>{text('account.overdraft')}</dt>
        <dd>
          <Money amount={overdraft} /> {currency}
        </dd>
        <dt>{text('account.limits')}</dt>
        <dd>{limitsText(limits) || text('unlimited')}</dd>
        <dt>{text('ledger.charges')}</dt>
        <dd>
          <a href={hrefOf('ledger', undefined, { account: String(id) })}>{text('account.calls')}</a>
        </dd>
      </dl>
    </section>
  )
}

const AccountLimits = ({ of: account, onClose, onDone }: Omit<OpenedProps, 'open'>) => (
  <OperationDialog
    of="accounts limit"
    only={LIMIT_FIELDS}
    fixed={{ account: account.id, limits: account.limits }}
    edited={account}
    title={text('account.limits.title', { name: account.name })}
    note={text('account.limits.help')}
    submit={text('save')}
    onClose={onClose}
    onDone={() => onDone(text('saved'))}
  />
)
