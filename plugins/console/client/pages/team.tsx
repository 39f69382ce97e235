/** The team: its members with their roles, keys and spend, its plan, budgets and tags. */
import { useState } from 'preact/hooks'
import type { MemberView, UsageSum } from '../../../views.ts'
import { formatMoney, formatNumber, monthStart } from '../format.ts'
import { useData } from '../loading.ts'
import { wholeList } from '../parts/list.tsx'
import { PageHead } from '../parts/page.tsx'
import { actionColumn } from '../parts/row-actions.tsx'
import { Empty } from '../parts/states.tsx'
import { type Column, column, envelopePage, Table, useRows } from '../parts/table.tsx'
import { spendColumns } from '../parts/usage-columns.tsx'
import { useCurrency, useManages, useOwnMember } from '../parts/values.tsx'
import { hrefOf } from '../router.ts'
import { text, textOr } from '../texts.ts'
import { Budgets } from './budgets.tsx'
import { OwnPlan } from './own-plan.tsx'
import { type Open, TeamDialog } from './team-dialogs.tsx'

const Team = () => {
  const [round, setRound] = useState(0)
  const [open, setOpen] = useState<Open>()
  const own = useOwnMember()
  const rows = useRows<MemberView>('/api/members?limit=100', envelopePage, round)
  const sums = useData<{ data: readonly UsageSum[] }>(
    `/api/usage?by=member&limit=1000&from=${monthStart()}`,
  )
  const close = () => setOpen(undefined)
  const onDone = (next?: Open) => {
    setRound(round => round + 1)
    setOpen(next)
  }
  const mayManage = useManages()
  const invite = mayManage && (
    <button type="button" class="button primary" onClick={() => setOpen({ kind: 'invite' })}>
      {text('team.invite')}
    </button>
  )
  const ofMember = new Map(sums.data?.data.map(sum => [sum.member ?? 0, sum]))
  const columns = columnsOf(useCurrency(), ofMember, own?.id)
  return (
    <>
      <PageHead title={text('page.team')}>{invite}</PageHead>
      <Table
        name={text('page.team')}
        of={rows}
        columns={mayManage ? [...columns, actionsOf(setOpen)] : columns}
        keyOf={({ id }) => id}
        empty={
          <Empty title={text('team.empty')} help={text('team.empty.help')}>
            {invite}
          </Empty>
        }
      />
      <OwnSpend of={ofMember.get(0)} />
      <OwnPlan onChange={() => setRound(round => round + 1)} />
      <Budgets path="/api/budgets?limit=100" />
      <Tags />
      {open && <TeamDialog open={open} onClose={close} onDone={onDone} />}
    </>
  )
}
export default Team

type Sums = ReadonlyMap<number, UsageSum>
const columnsOf = (
  currency: string,
  sums: Sums,
  own: number | undefined,
): readonly Column<MemberView>[] => [
  {
    title: text('column.name'),
    cell: ({ id, name }) => (
      <a class="ellipsis" href={hrefOf('member', String(id))} title={name}>
        {name}
        {id === own && ` (${text('team.you')})`}
      </a>
    ),
    csv: ({ name }) => name,
  },
  column(text('column.role'), ({ role }) => textOr(`accounts.${role}`, role)),
  column(text('call.tags'), ({ tags }) => tags ?? '', 'ellipsis', { isWide: true }),
  column(text('team.keys'), ({ keys }) => keys, 'plain', { isNumber: true, isWide: true }),
  {
    title: text('team.calls'),
    cell: ({ id }) => formatNumber(sums.get(id)?.calls ?? 0),
    csv: ({ id }) => sums.get(id)?.calls ?? 0,
    isNumber: true,
    isWide: true,
  },
  column(`${text('team.spent')} (${currency})`, ({ id }) => sums.get(id)?.cost ?? 0, 'money'),
  column(text('team.joined'), ({ created }) => created, 'time', { isWide: true }),
]
const actionsOf = (onOpen: (open: Open) => void): Column<MemberView> =>
  actionColumn(
    ({ name }) => name,
    member =>
      (['edit', 'link', 'remove'] as const).map(kind => ({
        label: text(`team.${kind}`),
        isDanger: kind === 'remove',
        run: () => onOpen({ kind, member }),
      })),
  )

const OwnSpend = ({ of }: { of: UsageSum | undefined }) => {
  const currency = useCurrency()
  if (!of) return null
  return <p class="small muted">{text('team.own', { amount: formatMoney(of.cost, currency) })}</p>
}

const Tags = () => {
  const currency = useCurrency()
  const tags = useData<{ data: readonly UsageSum[] }>(
    `/api/usage?by=tag&sort=cost&order=desc&limit=20&from=${monthStart()}`,
  )
  if (!tags.data?.data.length) return null
  return (
    <>
      <h2>{text('team.tags')}</h2>
      <Table
        name={text('team.tags')}
        of={wholeList(tags, tags.data.data)}
        columns={spendColumns('tag', currency)}
        keyOf={({ tag }) => tag ?? ''}
        empty={null}
      />
    </>
  )
}
