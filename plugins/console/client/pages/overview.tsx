/** The overview of an account: balance, spend by day and by model, calls, errors, cached share. */
import { useMemo, useState } from 'preact/hooks'
import type { Profile, UsageCell } from '../../../views.ts'
import { useChanges } from '../events.ts'
import { formatMoney, formatNumber, formatPercent } from '../format.ts'
import { useData } from '../loading.ts'
import type { PageProps } from '../page.ts'
import { Chart } from '../parts/chart.tsx'
import type { ChartData, Series } from '../parts/chart-series.ts'
import { PageHead } from '../parts/page.tsx'
import { Segments } from '../parts/segments.tsx'
import { View } from '../parts/states.tsx'
import { Live, Money, useCurrency } from '../parts/values.tsx'
import { setQuery } from '../router.ts'
import { text } from '../texts.ts'
import { Budgets } from './budgets.tsx'
import { FirstCall, NoCalls } from './first-call.tsx'
import { type Day, DayTable, ModelTable, sum, tokensOf } from './overview-tables.tsx'

const PERIODS = [7, 30, 90]
const DAY = 86_400_000
/** Models with a colour of their own; the others are one series. */
const MOST_MODELS = 6

const Overview = ({ place }: PageProps) => {
  const period = Number(place.query.get('days')) || 30
  const today = new Date().toISOString().slice(0, 10)
  const from = new Date(Date.parse(today) - (period - 1) * DAY).toISOString().slice(0, 10)
  const usage = useData<{ data: readonly UsageCell[] }>(`/api/usage/overview?from=${from}`)
  const profile = useData<{ data: Profile }>('/api/user/info')
  const [secret, setSecret] = useState<string>()
  const reload = () => {
    usage.reload()
    profile.reload()
  }
  const live = useChanges('/api/usage/events', reload)
  return (
    <>
      <PageHead title={text('page.overview')}>
        <Live at={live} />
        <Segments
          label={text('overview.period')}
          names={PERIODS}
          present={period}
          titleOf={days => text('overview.days', { n: days })}
          onChoose={days => setQuery({ days: String(days) })}
        />
      </PageHead>
      <View of={{ ...profile, reload }} rows={3}>
        {({ data }) => <Tiles profile={data} cells={usage.data?.data ?? []} />}
      </View>
      <Budgets path="/api/budgets?limit=100" />
      {!(profile.error && usage.error) && (
        <View of={usage} rows={8}>
          {({ data }) =>
            data.length === 0 ? <NoCalls onKey={setSecret} /> : <Charts cells={data} from={from} />
          }
        </View>
      )}
      {secret && <FirstCall secret={secret} onClose={() => setSecret(undefined)} />}
    </>
  )
}
export default Overview

const Tiles = ({ profile, cells }: { profile: Profile; cells: readonly UsageCell[] }) => {
  const currency = useCurrency()
  const { input_tokens: input, cached_tokens: cached, output_tokens: output } = tokensOf(cells)
  const tiles = [
    {
      title: text('overview.balance'),
      value: <Money amount={profile.balance} isShort />,
      unit: currency,
      note:
        Number(profile.held) > 0 &&
        text('overview.held', { amount: formatMoney(profile.held, currency) }),
    },
    {
      title: text('overview.spent'),
      value: <Money amount={sum(cells, 'cost')} isShort />,
      unit: currency,
    },
    { title: text('overview.calls'), value: formatNumber(sum(cells, 'calls')) },
    {
      title: text('overview.failed'),
      value: formatNumber(sum(cells, 'failed')),
      note: text('overview.failed.note'),
      help: text('overview.failed.help'),
    },
    {
      title: text('overview.tokens'),
      value: formatNumber(input + output),
      note: text('overview.tokens.note', {
        input: formatNumber(input),
        output: formatNumber(output),
      }),
    },
    {
      title: text('overview.cached'),
      value: input > 0 ? formatPercent(cached / input) : '–',
    },
  ]
  return (
    <div class="tiles">
      {tiles.map(({ title, value, unit, note, help }) => (
        <div class="tile" key={title} title={help}>
          <p class="small muted">{title}</p>
          <p>
            <span class="tile-value">{value}</span> {unit && <span class="muted">{unit}</span>}
          </p>
          {note && <p class="small muted">{note}</p>}
        </div>
      ))}
    </div>
  )
}

const daysOf = (cells: readonly UsageCell[], from: string): readonly Day[] => {
  const byDay = Map.groupBy(cells, ({ day }) => day)
  const days: Day[] = []
  for (let at = Date.parse(from); at <= Date.now(); at += DAY) {
    const day = new Date(at).toISOString().slice(0, 10)
    const list = byDay.get(day) ?? []
    days.push({
      day,
      cost: sum(list, 'cost'),
      calls: sum(list, 'calls'),
      failed: sum(list, 'failed'),
      ...tokensOf(list),
    })
  }
  return days
}

interface ChartsProps {
  readonly cells: readonly UsageCell[]
  /** The first day. */
  readonly from: string
  /** Of another account, for operators. */
  readonly account?: number
}
export const Charts = ({ cells, from, account }: ChartsProps) => {
  const currency = useCurrency()
  const charts = useMemo(() => {
    const days = daysOf(cells, from)
    const at = days.map(({ day }) => Date.parse(day) / 1_000)
    const money = (value: number) => formatMoney(value, currency)
    const chart = (kind: ChartData['kind'], series: readonly Series[], format = money) => ({
      days: at,
      series,
      kind,
      format,
    })
    const series = (name: string, member: 'cost' | 'calls' | 'failed'): Series => ({
      name,
      values: days.map(day => day[member]),
    })
    return {
      days,
      spend: chart('bars', [series(text('overview.spent'), 'cost')]),
      models: chart('bars', seriesByModel(cells, days)),
      calls: chart(
        'lines',
        [
          series(text('column.calls'), 'calls'),
          { ...series(text('column.failed'), 'failed'), isError: true },
        ],
        value => formatNumber(value),
      ),
    }
  }, [cells, from, currency, document.documentElement.lang])
  return (
    <>
      <Chart
        title={text('overview.by-day')}
        data={charts.spend}
        table={<DayTable days={charts.days} account={account} />}
      />
      <div class="two">
        <Chart
          title={text('overview.by-model')}
          data={charts.models}
          table={<ModelTable cells={cells} from={from} account={account} />}
        />
        <Chart
          title={text('overview.calls-errors')}
          data={charts.calls}
          table={<DayTable days={charts.days} account={account} />}
        />
      </div>
    </>
  )
}

/** The models that cost most, and one series of all others. */
const seriesByModel = (cells: readonly UsageCell[], days: readonly Day[]): readonly Series[] => {
  const byModel = [...Map.groupBy(cells, ({ model }) => model)]
    .map(([model, list]) => ({ model, list, cost: sum(list, 'cost') }))
    .sort((a, b) => b.cost - a.cost)
  const others = byModel.slice(MOST_MODELS).flatMap(({ list }) => list)
  const groups = [
    ...byModel.slice(0, MOST_MODELS).map(({ model, list }) => [model, list] as const),
    ...(others.length > 0 ? [[text('overview.other'), others] as const] : []),
  ]
  return groups.map(([name, list]) => {
    const byDay = Map.groupBy(list, ({ day }) => day)
    return { name, values: days.map(({ day }) => sum(byDay.get(day) ?? [], 'cost')) }
  })
}
