/** Writes failed calls to the store in the background: a call only adds its row to a list. One per
 *  process.
 *
 *  list ──every second──▶ one transaction ──▶ rows, removed when they are old or too many
 *  Rows that the store does not take are lost, as are those of the last second of a killed
 *  process. */
import type { Host } from '../../engine/plugin.ts'
import { BackgroundWrites, type Parts } from './background-writes.ts'
import { type FailedCallRules, failedCallRules } from './section.ts'
import { addFailedCall, type FailedCall, removeFailedCalls } from './statements.ts'

/** Rows that wait for the store; further ones are lost. */
const MAX_ROWS = 1_000
/** Accounts whose failed calls are counted; the least recently added is forgotten. */
const MAX_ACCOUNTS = 10_000

interface Budget {
  /** When the window ends: ms since 1970. */
  ends: number
  remaining: bigint
  /** Failed calls that are not kept since the last one that is. */
  omitted: number
}

/** The failed calls of this process. The plugin `observe` writes them to the store. */
export const failedCallsOf = (
  host: Pick<Host, 'share' | 'config' | 'section'> & Parts,
): FailedCalls => {
  const { database, log, metrics } = host
  return host.share<FailedCalls>(
    'failed calls',
    host.config.hash,
    previous => new FailedCalls({ database, log, metrics }, failedCallRules(host), previous),
  )
}

export class FailedCalls {
  readonly #parts: Parts
  readonly #rules: FailedCallRules
  /** By account. Public: an earlier configuration may come from other plugin code, whose private
   *  members this class cannot read. */
  readonly budgets: Map<number, Budget>
  #rows: { readonly call: FailedCall; readonly omitted: number }[] = []
  readonly #writes: BackgroundWrites

  /** `previous`: of an earlier configuration. */
  constructor(parts: Parts, rules: FailedCallRules, previous?: FailedCalls) {
    this.#parts = parts
    this.#writes = new BackgroundWrites(parts, 'failed calls')
    this.#rules = rules
    this.budgets = previous?.budgets ?? new Map()
  }
  add(call: FailedCall): void {
    const budget = this.#budgetOf(call.account, call.at)
    if (budget.remaining <= 0n) {
      if (budget.omitted++ === 0) this.#reportRate(call.account)
      return this.#count('rate', 1)
    }
    if (this.#rows.length >= MAX_ROWS) return this.#count('store', 1)
    budget.remaining--
    this.#rows.push({ call, omitted: budget.omitted })
    budget.omitted = 0
  }
  async flush(): Promise<void> {
    const rows = this.#rows
    if (rows.length === 0) return
    this.#rows = []
    const list = rows.map(({ call, omitted }) => addFailedCall(call, omitted))
    if (!(await this.#writes.write(list))) this.#count('store', rows.length)
  }
  async remove(now: number): Promise<void> {
    const { keep, size } = this.#rules
    await this.#parts.database.write(removeFailedCalls(now - keep, size))
  }
  close(): Promise<void> {
    return this.flush()
  }
  #budgetOf(account: number, now: number): Budget {
    const { amount, ms } = this.#rules.rate
    const known = this.budgets.get(account)
    if (known && now < known.ends) return known
    const budget = { ends: now + ms, remaining: amount, omitted: known?.omitted ?? 0 }
    this.budgets.delete(account)
    this.budgets.set(account, budget)
    if (this.budgets.size > MAX_ACCOUNTS)
      this.budgets.delete(this.budgets.keys().next().value as number)
    return budget
  }
  #reportRate(account: number): void {
    this.#parts.log.warn(
      { account: account || null },
      'more calls of an account fail than failed_calls.rate keeps; further ones are counted only',
    )
  }
  #count(reason: 'rate' | 'store', calls: number): void {
    this.#parts.metrics.count('failed_calls_omitted_total', { reason }, calls)
  }
}
