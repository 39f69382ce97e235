/** The refusal of a call that does not fit into a budget. */
import { errors } from '../../../engine/errors.ts'
import type { Fault } from '../../../engine/plugin.ts'
import { printMoney, roundMoney } from '../../billing/money.ts'
import type { Funds } from '../budget-leases.ts'
import { describeOwner } from './owner.ts'
import type { BudgetWindow } from './section.ts'
import { printInstant } from './window.ts'

const fault = errors({
  BUDGET_EXCEEDED: [
    429,
    'The budget "%s" of %s does not cover this call, which may cost up to %s: %s of %s is used%s.%s',
  ],
})

interface Refused {
  /** Nanos: the most that the call may cost. */
  readonly cost: bigint
  readonly currency: string
  /** Undefined: the store does not answer. */
  readonly funds: Funds | undefined
  /** ms since 1970. */
  readonly now: number
}
export const budgetExceeded = ({ budget, owner, end }: BudgetWindow, refused: Refused): Fault => {
  const { state, headers } = describeShortage({ ...budget, end }, refused)
  const values = [budget.name, describeOwner(budget.of, owner), ...state]
  return fault('BUDGET_EXCEEDED', values, {
    headers: { 'x-tollgate-budget': headers.window, ...headers.others },
  })
}

interface Short {
  readonly name: string
  /** Nanos. */
  readonly amount: bigint
  readonly zone: string
  /** ms since 1970; undefined: never. */
  readonly end: number | undefined
}
/** `state`: the cost, what is used, the amount, who has the rest, and when the window ends.
 *  `headers.window`: `monthly; used=1999.9; limit=2000; resets=…`. */
export const describeShortage = (
  { name, amount, zone, end }: Short,
  { cost, currency, funds, now }: Refused,
) => {
  const limit = printMoney(amount)
  const used = printMoney(funds ? amount - funds.total : 0n)
  const resets = end === undefined ? undefined : printInstant(end, zone)
  // Other calls hold what is left: it may be free again when they end.
  const isHeld = funds === undefined || funds.total >= cost
  const renewal = resets === undefined ? '' : ` It begins anew at ${resets}.`
  const seconds = end === undefined ? undefined : Math.max(1, Math.ceil((end - now) / 1_000))
  const described = [`used=${used}`, `limit=${limit}`, ...(resets ? [`resets=${resets}`] : [])]
  const final = {
    'x-should-retry': 'false',
    ...(seconds !== undefined && { 'retry-after': String(seconds) }),
  }
  return {
    state: [
      `${roundMoney(cost, 'up')} ${currency}`,
      used,
      `${limit} ${currency}`,
      isHeld ? ', and other calls hold the rest' : '',
      isHeld ? '' : renewal,
    ],
    headers: {
      window: [name, ...described].join('; '),
      others: isHeld ? { 'retry-after': '1' } : final,
    },
  }
}
