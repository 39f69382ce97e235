/** The personal center: the account, its system tokens, and where it is signed in. */
import { useState } from 'preact/hooks'
import type { OwnToken, Profile } from '../../../views.ts'
import { browserOf, formatMoney } from '../format.ts'
import { useData } from '../loading.ts'
import { OperationDialog } from '../operation-dialog.tsx'
import { Notice } from '../parts/form.tsx'
import { PageHead } from '../parts/page.tsx'
import { actionColumn } from '../parts/row-actions.tsx'
import { Empty, View } from '../parts/states.tsx'
import { type Column, column, envelopePage, Table, useRows } from '../parts/table.tsx'
import { Secret, useCurrency } from '../parts/values.tsx'
import { text, textOr } from '../texts.ts'

type Open =
  | { readonly kind: 'create' }
  | { readonly kind: 'revoke'; readonly token: OwnToken }
  | { readonly kind: 'end'; readonly token: OwnToken }
  | { readonly kind: 'created'; readonly secret: string }

const Personal = () => {
  const [round, setRound] = useState(0)
  const [open, setOpen] = useState<Open>()
  const tokens = useRows<OwnToken>('/api/system-tokens?limit=100', envelopePage, round)
  const sessions = useRows<OwnToken>('/api/sessions?limit=100', envelopePage, round)
  const close = () => setOpen(undefined)
  const onDone = (next?: Open) => {
    setRound(round => round + 1)
    setOpen(next)
  }
  return (
    <>
      <PageHead title={text('page.personal')}>
        <button type="button" class="button primary" onClick={() => setOpen({ kind: 'create' })}>
          {text('personal.create')}
        </button>
      </PageHead>
      <Account />
      <div>
        <h2>{text('personal.tokens')}</h2>
        <p class="muted">{text('personal.tokens.help')}</p>
      </div>
      <Table
        name={text('personal.tokens')}
        of={tokens}
        columns={columnsOf(token => setOpen({ kind: 'revoke', token }))}
        keyOf={({ id }) => id}
        empty={<Empty title={text('personal.empty')} help={text('personal.empty.help')} />}
      />
      <h2>{text('personal.sessions')}</h2>
      <Table
        name={text('personal.sessions')}
        of={sessions}
        columns={columnsOf(token => setOpen({ kind: 'end', token }))}
        keyOf={({ id }) => id}
        empty={<Empty title={text('none')} help="" />}
      />
      {open?.kind === 'create' && <Create onClose={close} onDone={onDone} />}
      {(open?.kind === 'revoke' || open?.kind === 'end') && (
        <Revoke kind={open.kind} of={open.token} onClose={close} onDone={onDone} />
      )}
      {open?.kind === 'created' && (
        <Notice title={text('personal.created')} onClose={close}>
          <Secret value={open.secret} help={text('personal.once')} />
        </Notice>
      )}
    </>
  )
}
export default Personal

const Account = () => {
  const profile = useData<{ data: Profile }>('/api/user/info')
  const currency = useCurrency()
  return (
    <View of={profile} rows={3}>
      {({ data }) => (
        <section class="card" aria-label={text('personal.account')}>
          <dl class="facts">
            <dt>{text('column.name')}</dt>
            <dd>{data.username}</dd>
            <dt>{text('personal.number')}</dt>
            <dd>{data.id}</dd>
            <dt>{text('column.balance')}</dt>
            <dd>{formatMoney(data.balance, currency)}</dd>
          </dl>
        </section>
      )}
    </View>
  )
}

/** A session is named by what its browser says it is. */
const nameOf = ({ name, session }: OwnToken): string => {
  const browser = session === undefined ? undefined : browserOf(name)
  return browser ? text('personal.browser', browser) : name
}
const columnsOf = (onRevoke: (token: OwnToken) => void): readonly Column<OwnToken>[] => [
  {
    title: text('column.name'),
    cell: token => (
      <span class="ellipsis" title={token.name}>
        {nameOf(token)}
      </span>
    ),
    csv: nameOf,
  },
  {
    title: text('personal.token'),
    cell: ({ token, session }) => <code>{token ?? session}</code>,
    csv: ({ token, session }) => token ?? session,
    isWide: true,
  },
  column(text('column.state'), ({ state }) => state, 'state'),
  {
    title: text('personal.scope'),
    cell: ({ session, scope = 'all' }) =>
      session === undefined ? textOr(`personal.scope.${scope}`, scope) : '–',
    csv: ({ scope }) => scope,
    isWide: true,
  },
  column(text('column.created'), ({ created }) => created, 'time', { isWide: true }),
  column(text('column.expires'), ({ expires }) => expires, 'time', { isWide: true }),
  actionColumn(
    ({ name }) => name,
    token =>
      token.state !== 'active'
        ? []
        : [
            {
              label: text(token.session ? 'personal.end' : 'keys.revoke'),
              isDanger: true,
              run: () => onRevoke(token),
            },
          ],
  ),
]

interface Part {
  onClose(): void
  onDone(next?: Open): void
}
const Create = ({ onClose, onDone }: Part) => (
  <OperationDialog<OwnToken>
    of="create-token"
    only={['name', 'scope', 'expires']}
    title={text('personal.create')}
    initial={{ scope: 'all' }}
    help={{ name: text('keys.name.help'), expires: text('keys.expires.help') }}
    submit={text('personal.create')}
    onClose={onClose}
    onDone={({ token = '' }) => onDone({ kind: 'created', secret: token })}
  />
)

interface RevokeProps extends Part {
  readonly kind: 'revoke' | 'end'
  readonly of: OwnToken
}
const Revoke = ({ kind, of: { id, name }, onClose, onDone }: RevokeProps) => (
  <OperationDialog
    of={kind === 'end' ? 'revoke-session' : 'revoke-token'}
    fixed={{ id }}
    title={kind === 'end' ? text('personal.end.title') : text('keys.revoke.title', { name })}
    help={text(kind === 'end' ? 'personal.end.help' : 'personal.revoke.help')}
    submit={text(kind === 'end' ? 'personal.end' : 'keys.revoke')}
    onClose={onClose}
    onDone={() => onDone()}
  />
)
