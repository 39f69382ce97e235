/** Follows the rows of a table that operators change and calls use: a job of each process reads the
 *  changes, so that calls need not. */
import type { Statement } from '../../../engine/plugin.ts'
import { ChangeCheck } from '../../credentials/change-check.ts'

/** ms between two checks for changes, in the background. */
export const FOLLOW_INTERVAL = 500
/** ms after a check from which calls wait for the next one: only if the background is late. */
const STALE = 900

/** The counter of the changes of a table. `count`: locks it, so that changes become visible in
 *  their order; `number`: that of the change, in SQL of the same list. */
export const changesOf = (noun: 'budget' | 'plan') => {
  const table = `${noun}_changes`
  const count: Statement = {
    sql: {
      name: `${noun}s: count change`,
      text: `UPDATE ${table} SET number = number + 1 WHERE id = 1`,
    },
    values: [],
    rows: 1,
  }
  return { count, number: `(SELECT number FROM ${table} WHERE id = 1)` }
}

export class RowFollower {
  readonly #check: ChangeCheck

  /** `read`: reads the changes since the last time. `now`: ms, monotonic. */
  constructor(read: () => Promise<void>, now = () => performance.now()) {
    this.#check = new ChangeCheck(read, now)
  }
  /** A promise if the rows must be read before they are used. It rejects if they were never read.
   *  While the store is away, the known ones apply: no call can be charged then. */
  refresh(): Promise<void> | undefined {
    const { age, sinceFailure } = this.#check
    if (age <= STALE) return undefined
    const isKnown = age !== Number.POSITIVE_INFINITY
    if (isKnown && sinceFailure <= STALE) return undefined
    const checked = this.check()
    return isKnown ? checked.catch(() => {}) : checked
  }
  /** Reads changes, or waits for the check that does. */
  check(): Promise<void> {
    return this.#check.run()
  }
  /** For the job. While the store is away, the next run reads them. */
  async follow(): Promise<void> {
    await this.check().catch(() => {})
  }
}
