/** Budgets with what they have used: a bar each, and the end of the window. */
import type { BudgetView } from '../../../views.ts'
import { formatMoney, formatNumber, formatPercent, formatTime } from '../format.ts'
import { useData } from '../loading.ts'
import { View } from '../parts/states.tsx'
import { useCurrency } from '../parts/values.tsx'
import { text, textOr } from '../texts.ts'

/** The share of a budget from which its bar is a warning. */
const WARNING = 0.8

interface BudgetsProps {
  /** The endpoint that lists budgets. */
  readonly path: string
  /** The budgets that are shown; by default all. */
  only?(budget: BudgetView): boolean
}
/** Without any, nothing is shown. */
export const Budgets = ({ path, only = () => true }: BudgetsProps) => {
  const budgets = useData<{ data: readonly BudgetView[] }>(path)
  if (budgets.data?.data.some(only) === false) return null
  return (
    <>
      <h2>{text('budgets')}</h2>
      <View of={budgets} rows={2}>
        {({ data }) => (
          <ul class="budgets">
            {data.filter(only).map(budget => (
              <Budget key={`${budget.of} ${budget.owner} ${budget.name}`} budget={budget} />
            ))}
          </ul>
        )}
      </View>
    </>
  )
}

const Budget = ({ budget }: { budget: BudgetView }) => {
  const currency = useCurrency()
  const { name, problem, used, amount, tokens, resets } = budget
  const title = budget.of === 'account' ? name : `${name} · ${ownerOf(budget)}`
  if (problem !== null)
    return (
      <li class="card">
        <p>{title}</p>
        <p class="small error">{problem}</p>
      </li>
    )
  const share = Number(used) / Number(amount ?? tokens)
  return (
    <li class="card">
      <p class="row">
        <span class="ellipsis" title={title}>
          {title}
        </span>
        {budget.shadow && <span class="small muted">{text('budgets.shadow')}</span>}
      </p>
      <progress
        class={classOf(share)}
        max={1}
        value={Math.min(1, share)}
        aria-label={text('budgets.bar', { name: title })}
      />
      <p class="small">
        {amount === null
          ? text('budgets.used.tokens', {
              used: formatNumber(Number(used)),
              amount: formatNumber(tokens ?? 0),
              share: formatPercent(share),
            })
          : text('budgets.used', {
              used: formatMoney(used, currency),
              amount: formatMoney(amount, currency),
              share: formatPercent(share),
            })}
      </p>
      <p class="small muted">
        {textOr(`budgets.per.${budget.per}`, budget.per)}
        {resets !== null && ` · ${text('budgets.resets', { time: formatTime(resets) })}`}
      </p>
    </li>
  )
}
const classOf = (share: number): string => {
  if (share >= 1) return 'error'
  return share >= WARNING ? 'warning' : ''
}
const ownerOf = ({ of, owner_name: name, owner }: BudgetView): string =>
  of === 'tag' ? (name ?? '') : textOr(`budgets.of.${of}`, of, { name: name ?? String(owner) })
