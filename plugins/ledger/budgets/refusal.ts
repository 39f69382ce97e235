/** The refusal of a call that does not fit into a budget. */
import { errors } from '../../../engine/errors.ts'
import type { Fault } from '../../../engine/plugin.ts'
import { roundMoney } from '../../billing/money.ts'
import type { Funds } from '../budget-leases.ts'
import type { Unit } from '../wallet.ts'
import { describeOwner } from './owner.ts'
import type { BudgetWindow } from './section.ts'
import { nameOfUnit, printIn } from './tokens.ts'
import { printInstant } from './window.ts'

const fault = errors({
  BUDGET_EXCEEDED: [
    429,
    'The budget "%s" of %s does not cover this call, which may %s up to %s: %s of %s is used%s.%s',
  ],
})

interface Refused {
  /** Nanos or tokens: the most that the call may cost or use. */
  readonly cost: bigint
  readonly currency: string
  /** Undefined: the store does not answer. */
  readonly funds: Funds | undefined
  /** ms since 1970. */
  readonly now: number
}
export const budgetExceeded = ({ budget, owner, end }: BudgetWindow, refused: Refused): Fault => {
  const { state, headers } = describeShortage({ ...budget, end }, refused)
  const verb = budget.unit === 'tokens' ? 'use' : 'cost'
  const values = [budget.name, describeOwner(budget.of, owner), verb, ...state]
  return fault('BUDGET_EXCEEDED', values, {
    headers: { 'x-tollgate-budget': headers.window, ...headers.others },
  })
}

interface Short {
  readonly name: string
  /** Nanos or tokens. */
  readonly amount: bigint
  /** Absent: money. */
  readonly unit?: Unit
  readonly zone: string
  /** ms since 1970; undefined: never. */
  readonly end: number | undefined
}
/** `state`: the cost, what is used, the amount, who has the rest, and when the window ends.
 *  `headers.window`: `monthly; used=1999.9; limit=2000; resets=…`. */
export const describeShortage = (
  { name, amount, unit = 'money', zone, end }: Short,
  { cost, currency, funds, now }: Refused,
) => {
  const limit = printIn(unit, amount)
  const used = printIn(unit, funds ? amount - funds.total : 0n)
  const most = unit === 'tokens' ? String(cost) : roundMoney(cost, 'up')
  const unitName = nameOfUnit(unit, currency)
  const resets = end === undefined ? undefined : printInstant(end, zone)
  // Other calls hold what is left: it may be free again when they end.
  const isHeld = funds === undefined || funds.total >= cost
  const renewal = resets === undefined ? '' : ` It begins anew at ${resets}.`
  const seconds = end === undefined ? undefined : Math.max(1, Math.ceil((end - now) / 1_000))
  const described = [
    `used=${used}`,
    `limit=${limit}`,
    ...(unit === 'tokens' ? ['unit=tokens'] : []),
    ...(resets ? [`resets=${resets}`] : []),
  ]
  const final = {
    'x-should-retry': 'false',
    ...(seconds !== undefined && { 'retry-after': String(seconds) }),
  }
  return {
    state: [
      `${most} ${unitName}`,
      used,
      `${limit} ${unitName}`,
      isHeld ? ', and other calls hold the rest' : '',
      isHeld ? '' : renewal,
    ],
    headers: {
      window: [name, ...described].join('; '),
      others: isHeld ? { 'retry-after': '1' } : final,
    },
  }
}
