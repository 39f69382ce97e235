/** The money of an account, for operators: budgets, spend by day, statement, credits. */
import { useState } from 'preact/hooks'
import type { UsageCell } from '../../../../views.ts'
import { useData } from '../../loading.ts'
import { Credits } from '../../parts/credits.tsx'
import { Segments } from '../../parts/segments.tsx'
import { Statement } from '../../parts/statement.tsx'
import { Empty, View } from '../../parts/states.tsx'
import { text } from '../../texts.ts'
import { Budgets } from '../budgets.tsx'
import { Charts } from '../overview.tsx'

const PERIODS = [7, 30, 90]
const DAY = 86_400_000
interface AccountMoneyProps {
  readonly account: number
  readonly query: URLSearchParams
}
export const AccountMoney = ({ account, query }: AccountMoneyProps) => {
  const [days, setDays] = useState(30)
  const usage = useData<{ data: readonly UsageCell[] }>(
    `/api/admin/accounts/usage?account=${account}&days=${days}`,
  )
  const from = new Date(Date.now() - (days - 1) * DAY).toISOString().slice(0, 10)
  return (
    <>
      <Budgets path={`/api/admin/budgets?account=${account}&limit=100`} />
      <div class="filters">
        <h2>{text('column.used')}</h2>
        <Segments
          label={text('overview.period')}
          names={PERIODS}
          present={days}
          titleOf={each => text('overview.days', { n: each })}
          onChoose={each => setDays(each)}
        />
      </div>
      <View of={usage} rows={6}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title={text('traffic.empty')} help={text('traffic.empty.help')} />
          ) : (
            <Charts cells={data} from={from} account={account} />
          )
        }
      </View>
      <h2>{text('statement')}</h2>
      <Statement query={query} path={`/api/admin/statements/show?account=${account}`} />
      <h2>{text('credits')}</h2>
      <Credits path={`/api/admin/credits?account=${account}&limit=100`} />
    </>
  )
}
