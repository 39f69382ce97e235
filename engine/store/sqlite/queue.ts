/** What the writer has been asked for and not yet committed, and the on-crash statements that its
 *  clients leave with it. */

import type { Spelled } from '../values.ts'
import { createGroup, type List, type Outcome } from './group-commit.ts'
import type { Sqlite } from './sqlite.ts'

// So that the first of a great many does not wait for the last.
const TOGETHER = 512

const FORGET = 'DELETE FROM tollgate_lists WHERE client = ?'
const FORGET_BELOW = `DELETE FROM tollgate_lists WHERE client = ? AND number < ?
  AND number NOT IN (SELECT value FROM json_each(?))`
const WILL = `INSERT INTO tollgate_wills (client, name, statements) VALUES (?, ?, ?)
  ON CONFLICT (client, name) DO UPDATE SET statements = excluded.statements`
const WITHDRAW = 'DELETE FROM tollgate_wills WHERE client = ? AND name = ?'
const WITHDRAW_ALL = 'DELETE FROM tollgate_wills WHERE client = ?'
const KNOWN = 'SELECT DISTINCT client FROM tollgate_lists'

export interface Queue {
  add(list: List, done?: (outcome: Outcome) => void): void
  /** Commits all there is, now. */
  flush(): void
  will(client: string, name: string, statements: readonly Spelled[]): void
  withdraw(client: string): void
  forget(client: string, numbers: readonly number[]): void
  /** The client is gone for good: it repeats no list. */
  forgetAll(client: string): void
  /** Clients whose lists are remembered. */
  known(): readonly string[]
}

export const createQueue = (store: Sqlite, fatal: (error: unknown) => void): Queue => {
  const commit = createGroup(store)
  let waiting: { list: List; done: ((outcome: Outcome) => void) | undefined }[] = []
  let scheduled = false

  const flush = (): void => {
    scheduled = false
    while (waiting.length > 0) {
      const group = waiting.slice(0, TOGETHER)
      waiting = waiting.slice(TOGETHER)
      try {
        const outcomes = commit(group.map(({ list }) => list))
        for (const [index, { done }] of group.entries()) done?.(outcomes[index] as Outcome)
      } catch (error) {
        return fatal(error)
      }
    }
  }
  const add: Queue['add'] = (list, done) => {
    waiting.push({ list, done })
    // No timer: whatever the other sockets bring in this turn of the loop joins the group.
    if (!scheduled) setImmediate(flush)
    scheduled = true
  }
  const own = (client: string, text: string, ...values: (string | number)[]): void =>
    add({ client, again: false, steps: [{ text, rows: -1, values: [client, ...values] }] })

  return {
    add,
    flush,
    will: (client, name, statements) =>
      statements.length === 0
        ? own(client, WITHDRAW, name)
        : own(client, WILL, name, JSON.stringify(statements)),
    withdraw: client => own(client, WITHDRAW_ALL),
    forget: (client, [below = 0, ...save]) =>
      own(client, FORGET_BELOW, below, JSON.stringify(save)),
    forgetAll: client => own(client, FORGET),
    known: () => store.run(KNOWN, []).rows.map(row => String(row.client)),
  }
}
