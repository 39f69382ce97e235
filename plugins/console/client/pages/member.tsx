/** A member of the team: role, spend by model, keys and budgets. Each member has a page;
 *  owners, admins and viewers see those of all. */
import type { MemberView, OwnKey, UsageSum } from '../../../views.ts'
import { formatMoney, formatNumber, formatTime, monthStart } from '../format.ts'
import { useData } from '../loading.ts'
import type { PageProps } from '../page.ts'
import { wholeList } from '../parts/list.tsx'
import { PageHead } from '../parts/page.tsx'
import { Empty, View } from '../parts/states.tsx'
import { type Column, column, Table } from '../parts/table.tsx'
import { spendColumns } from '../parts/usage-columns.tsx'
import { useCurrency } from '../parts/values.tsx'
import { hrefOf } from '../router.ts'
import { text, textOr } from '../texts.ts'
import { Budgets } from './budgets.tsx'

const MemberPage = ({ place }: PageProps) => {
  const id = Number(place.id)
  const members = useData<{ data: readonly MemberView[] }>('/api/members?limit=1000')
  const name = members.data?.data.find(each => each.id === id)?.name
  return (
    <>
      <PageHead title={name ?? text('page.member')} />
      <View of={members} rows={3}>
        {({ data }) => {
          const member = data.find(each => each.id === id)
          return member ? (
            <Member member={member} />
          ) : (
            <Empty title={text('error.missing')} help={text('team.unknown')}>
              <a class="button" href={hrefOf('team')}>
                {text('page.team')}
              </a>
            </Empty>
          )
        }}
      </View>
    </>
  )
}
export default MemberPage

const Member = ({ member }: { member: MemberView }) => {
  const currency = useCurrency()
  const { id, name, role, tags, created } = member
  const sums = useData<{ data: readonly UsageSum[] }>(
    `/api/usage?by=model&member=${id}&sort=cost&order=desc&limit=100&from=${monthStart()}`,
  )
  const models = sums.data?.data
  const cost = models?.reduce((sum, each) => sum + Number(each.cost), 0)
  const calls = models?.reduce((sum, each) => sum + each.calls, 0)
  return (
    <>
      <section class="card" aria-label={name}>
        <dl class="facts">
          <dt>{text('column.role')}</dt>
          <dd>{textOr(`accounts.${role}`, role)}</dd>
          {tags && (
            <>
              <dt>{text('call.tags')}</dt>
              <dd>{tags}</dd>
            </>
          )}
          <dt>{text('team.joined')}</dt>
          <dd>{formatTime(created)}</dd>
          <dt>{text('team.calls')}</dt>
          <dd>
            <a href={hrefOf('usage', undefined, { member: String(id), from: monthStart() })}>
              {calls === undefined ? '' : formatNumber(calls)}
            </a>
          </dd>
          <dt>{text('team.spent')}</dt>
          <dd>{cost === undefined ? '' : formatMoney(cost, currency)}</dd>
        </dl>
      </section>
      <Budgets
        path="/api/budgets?limit=100"
        only={budget => budget.of === 'member' && budget.owner === id}
      />
      <h2>{text('team.models')}</h2>
      <Table
        name={text('team.models')}
        of={wholeList(sums, models)}
        columns={spendColumns('model', currency)}
        keyOf={({ model }) => model ?? ''}
        empty={<Empty title={text('team.no-calls')} help={text('team.no-calls.help')} />}
      />
      <h2>{text('page.keys')}</h2>
      <Keys of={name} />
    </>
  )
}
const KEY_COLUMNS = (): readonly Column<OwnKey>[] => [
  column(text('column.name'), ({ name }) => name, 'ellipsis'),
  column(text('column.key'), ({ key }) => key, 'code', { isWide: true }),
  column(text('column.state'), ({ state }) => state, 'state'),
  column(text('column.created'), ({ created }) => created, 'time', { isWide: true }),
]
const Keys = ({ of: member }: { of: string }) => {
  const keys = useData<{ data: readonly OwnKey[] }>('/api/keys?limit=1000')
  return (
    <Table
      name={text('page.keys')}
      of={wholeList(
        keys,
        keys.data?.data.filter(each => each.member === member),
      )}
      columns={KEY_COLUMNS()}
      keyOf={({ id }) => id}
      empty={<Empty title={text('team.no-keys')} help={text('team.no-keys.help')} />}
    />
  )
}
