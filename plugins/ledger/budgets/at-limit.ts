/** Calls that do not fit into a budget and go on: `at_limit` and `shadow`. */
import type { Fault } from '../../../engine/plugin.ts'
import type { Payer, Shortage } from '../ledger.ts'
import { countsTokens } from '../wallet.ts'
import type { BudgetWindow } from './section.ts'
import { inUnitOf, printIn } from './tokens.ts'
import { printInstant } from './window.ts'

/** Windows that only count a call: it was refused there, and goes on. */
export type Passed = readonly BudgetWindow[]

/** ms after a call did not fit in which calls of that cost or more are only counted, without a
 *  query. */
const SPENT = 1_000

const canPass = ({ budget: { isShadow, atLimit } }: BudgetWindow): boolean =>
  isShadow || atLimit !== 'refuse'
/** Whether the budget lets calls that do not fit continue. */
export const isPassable = (shortage: Shortage | undefined): shortage is BudgetWindow =>
  typeof shortage === 'object' && canPass(shortage)

/** `amount`: nanos or tokens that did not fit; calls that need less are tried. */
export const markSpent = (window: BudgetWindow, at: number, amount: bigint): void => {
  const { spent } = window
  const isSmaller = !spent || spent.until <= at || amount < spent.amount
  window.spent = { until: at + SPENT, amount: isSmaller ? amount : spent.amount }
}
export const includesWindow = (windows: Passed, { wallet }: BudgetWindow): boolean =>
  windows.some(each => each.wallet === wallet)
/** The payer, with this window changed to count only. */
export const countOnly = (payer: Payer, window: BudgetWindow): Payer => ({
  ...payer,
  budgets: payer.budgets?.filter(each => each !== window),
  counted: [...(payer.counted ?? []), window],
})
/** The payer without windows that calls may pass. */
export const onlyHard = (payer: Payer): Payer => ({
  ...payer,
  budgets: payer.budgets?.filter(each => !canPass(each)),
})
/** The need of a call of its windows. */
interface Needs {
  readonly at: number
  /** Nanos. */
  readonly cost: bigint
  readonly passed: Passed
  /** Called if a window counts tokens. */
  tokensHeld(): bigint
}
export const withWindows = (
  payer: Payer,
  windows: readonly BudgetWindow[],
  { at, cost, passed, tokensHeld }: Needs,
): Payer => {
  const tokens = windows.some(({ wallet }) => countsTokens(wallet)) ? tokensHeld() : undefined
  const paying = tokens === undefined ? payer : { ...payer, tokens }
  const isSpent = (window: BudgetWindow): boolean => {
    const { spent } = window
    return spent !== undefined && spent.until > at && inUnitOf(window, cost, tokens) >= spent.amount
  }
  const counts = (window: BudgetWindow): boolean =>
    includesWindow(passed, window) || (isSpent(window) && canPass(window))
  return windows.some(counts)
    ? { ...paying, budgets: windows.filter(each => !counts(each)), counted: windows.filter(counts) }
    : { ...paying, budgets: windows }
}

/** In place of a refusal: the call goes to another model. */
export interface ModelChange {
  readonly window: BudgetWindow
  readonly model: string
  /** A header. */
  readonly warning: string
  /** The refusal, if the call cannot go to that model. */
  readonly refusal: () => Promise<Fault>
}
/** The model that a call goes to, if the budget says so and it does not go there already. */
export const otherModel = (
  { budget: { atLimit, isShadow } }: BudgetWindow,
  entry: string,
): string | undefined =>
  isShadow || typeof atLimit === 'string' || atLimit.use === entry ? undefined : atLimit.use

/** A label of `budgets_total`. */
export const resultOf = ({ budget: { atLimit, isShadow } }: BudgetWindow): string => {
  if (isShadow) return 'shadow'
  if (typeof atLimit === 'object') return 'changed'
  return atLimit === 'warn' ? 'warned' : 'refused'
}

/** The header of a call that went on, for the windows that do not only watch; undefined: none. */
export const warningOf = (passed: Passed): string | undefined => {
  const windows = passed.filter(({ budget }) => !budget.isShadow)
  return windows.length === 0 ? undefined : windows.map(describeWindow).join(', ')
}
/** `monthly; limit=2000; resets=2026-12-01T00:00:00+01:00`; `unit=tokens` if it is in tokens. */
export const describeWindow = ({
  budget: { name, amount, unit, zone },
  end,
}: BudgetWindow): string =>
  [
    name,
    `limit=${printIn(unit, amount)}`,
    ...(unit === 'tokens' ? ['unit=tokens'] : []),
    ...(end === undefined ? [] : [`resets=${printInstant(end, zone)}`]),
  ].join('; ')
