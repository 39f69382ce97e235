/** The operator's cost of copies in the store: it is reserved in the window of the budget before a
 *  copy is sent, so that a process that is killed has not spent more than the budget knows. */
import { isCode } from '../../engine/kit.ts'
import type { HostBase } from '../../engine/plugin.ts'
import { parseMoney } from '../billing/money.ts'
import { price } from '../billing/price.ts'
import type { Rule } from '../billing/rule.ts'
import { toExactUsage } from '../billing/usage.ts'
import { windowOf } from '../ledger/budgets/window.ts'
import type { Meters } from '../slots.ts'
import { areAlike } from './answer-facts.ts'
import type { CallFacts, Copy } from './copy.ts'
import { addToDay, correct, type MirrorWindow, reserve } from './tables.ts'

/** The calendar of budgets. */
const ZONE = 'UTC'

/** Nanos. */
export const costOf = (meters: Meters, rule: Rule, at: number): bigint =>
  price(toExactUsage({ meters }), rule, { at }).nanos

/** Of a copy that is under way. Undefined: its model has no budget. */
export type Reservation = { readonly window: MirrorWindow; readonly amount: bigint } | undefined

export class CostBook {
  readonly #host: Pick<HostBase, 'database' | 'log'>
  constructor(host: Pick<HostBase, 'database' | 'log'>) {
    this.#host = host
  }
  /** Resolves to the reason why the copy may not be sent: `budget` or `store`. */
  async reserve({ own, first }: Copy): Promise<Reservation | 'budget' | 'store'> {
    const { model, budget, price: rule } = own
    if (!budget || !rule) return undefined
    const now = Date.now()
    const window = { model, begins: windowOf(now, budget.per, ZONE).start }
    // The prompt is the same, and so may be the length of the answer.
    const amount = first.usage ? costOf(first.usage, rule, now) : 0n
    try {
      await this.#host.database.write(reserve(window, amount, budget.amount))
      return { window, amount }
    } catch (error) {
      return isCode(error, 'MIRROR_SPENT') ? 'budget' : 'store'
    }
  }
  /** Writes what the copy was. Never rejects. */
  async record(copy: Copy, mirror: CallFacts, reservation: Reservation): Promise<void> {
    const { own, first } = copy
    const cost = nanosOf(mirror)
    const statements = [
      addToDay(Date.now(), { model: own.model, target: mirror.target }, sumsOf(first, mirror)),
      // The cost of a failed copy is unknown: its reservation stays.
      ...(reservation && mirror.cost !== null
        ? [correct(reservation.window, cost - reservation.amount)]
        : []),
    ]
    try {
      await this.#host.database.write(statements)
    } catch (error) {
      this.#host.log.warn({ request: copy.request, error }, 'the cost of a copy was not written')
    }
  }
}

const nanosOf = ({ cost }: CallFacts): bigint => (cost === null ? 0n : parseMoney(cost))
const hasFailed = ({ error, status }: CallFacts): boolean => error !== null || status >= 300

const sumsOf = (first: CallFacts, mirror: CallFacts) => {
  const areWhole = !hasFailed(first) && !hasFailed(mirror)
  const alike =
    areWhole && first.answer && mirror.answer ? areAlike(first.answer, mirror.answer) : undefined
  return {
    calls: 1,
    first_failed: hasFailed(first) ? 1 : 0,
    failed: hasFailed(mirror) ? 1 : 0,
    first_ms: first.ms,
    ms: mirror.ms,
    first_input: first.usage?.input ?? 0,
    first_output: first.usage?.output ?? 0,
    input: mirror.usage?.input ?? 0,
    output: mirror.usage?.output ?? 0,
    first_cost: nanosOf(first),
    cost: nanosOf(mirror),
    compared: alike === undefined ? 0 : 1,
    agreed: alike ? 1 : 0,
  }
}
