/** Budgets in tokens: what a call may use, what it has used, and how amounts are printed. */
import type { Bounds } from '../../billing/bounds.ts'
import { isToolMeter, SUM_OF, SUMS, type Sum } from '../../billing/meters.ts'
import { printMoney } from '../../billing/money.ts'
import type { Rule } from '../../billing/rule.ts'
import { MAX_BOUND } from '../../billing/usage.ts'
import type { Meter, Meters } from '../../slots.ts'
import { countsTokens, type Unit } from '../wallet.ts'

/** The most tokens that one call counts, so that the sum of many calls fits into a column. */
const MAX_TOKENS = MAX_BOUND
/** The largest budget in tokens. */
export const MAX_BUDGET = 1e15

const TOKEN_METERS: readonly Meter[] = Object.values(SUMS).flat()
const countOf = (count: number | undefined): number =>
  count !== undefined && count > 0 && count <= Number.MAX_SAFE_INTEGER ? count : 0
/** The tokens of a usage, input and output, cached input included. Counts that no price would take
 *  are none. */
export const tokensUsed = (meters: Meters): bigint =>
  wholeTokens(TOKEN_METERS.reduce((sum, meter) => sum + countOf(meters[meter]), 0))
const wholeTokens = (tokens: number): bigint => BigInt(Math.ceil(Math.min(tokens, MAX_TOKENS)))

const BOTH: readonly Sum[] = ['prompt', 'completion']
/** The sums that a call holds tokens of. Calls at a price by pieces, such as images, hold none; the
 *  price of embeddings is of their input alone. */
const sumsHeld = ({ pricedMeters }: Pick<Rule, 'pricedMeters'>): readonly Sum[] => {
  const meters = [...pricedMeters.keys()]
  const sums = new Set(meters.map(meter => SUM_OF[meter]))
  if (sums.has('completion')) return BOTH
  if (sums.has('prompt')) return ['prompt']
  return meters.every(meter => meter === 'calls' || isToolMeter(meter)) ? BOTH : []
}
/** The most tokens that a call within these bounds may use. */
export const tokensHeld = (rule: Pick<Rule, 'pricedMeters'>, bounds: Bounds): bigint =>
  wholeTokens(sumsHeld(rule).reduce((total, sum) => total + (bounds[sum] ?? 0), 0))
/** The same of a plan in tokens. It pays by tokens, so it pays no call whose price counts none:
 *  0. */
export const planTokensHeld = (rule: Pick<Rule, 'pricedMeters'>, bounds: Bounds): bigint =>
  [...rule.pricedMeters.keys()].some(meter => SUM_OF[meter]) ? tokensHeld(rule, bounds) : 0n
/** The part of one sum that `tokens` cover, beside the bound of the other; 0 if they do not cover
 *  that. Undefined tokens: no budget in tokens bounds it. */
export const coverableSum = (
  rule: Pick<Rule, 'pricedMeters'>,
  bounds: Bounds,
  tokens: bigint | undefined,
  sum: Sum,
): number => {
  if (tokens === undefined) return Infinity
  const rest = tokens - tokensHeld(rule, { ...bounds, [sum]: 0 })
  if (rest < 0n) return 0
  return sumsHeld(rule).includes(sum) ? Number(rest) : Infinity
}

/** The amount that a window takes of a call: its tokens, or its nanos. */
export const inUnitOf = (
  { wallet }: { readonly wallet: number },
  nanos: bigint,
  tokens: bigint | undefined,
): bigint => (countsTokens(wallet) ? (tokens ?? 0n) : nanos)

/** An amount of a budget without its unit. */
export const printIn = (unit: Unit, amount: bigint): string =>
  unit === 'tokens' ? String(amount) : printMoney(amount)
/** The name of the unit. */
export const nameOfUnit = (unit: Unit, currency: string): string =>
  unit === 'tokens' ? 'tokens' : currency
