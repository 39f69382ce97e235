/** The writer's queue of statement lists that are not committed yet, each applied as a whole or not
 *  at all, and the on-crash statements of its clients. */
import type { EncodedStatement } from '../values.ts'
import { createGroupCommit, type List, type Outcome } from './group-commit.ts'
import type { Sqlite } from './sqlite.ts'

// Lists per transaction: the first of a long queue must not wait for the last.
const MAX_GROUP = 512

const FORGET = 'DELETE FROM tollgate_lists WHERE client = ?'
const FORGET_BELOW = `DELETE FROM tollgate_lists WHERE client = ? AND number < ?
  AND number NOT IN (SELECT value FROM json_each(?))`
const SET_CRASH_STATEMENTS = `INSERT INTO tollgate_wills (client, name, statements) VALUES (?, ?, ?)
  ON CONFLICT (client, name) DO UPDATE SET statements = excluded.statements`
const CLEAR_CRASH_STATEMENTS = 'DELETE FROM tollgate_wills WHERE client = ? AND name = ?'
const CLEAR_ALL = 'DELETE FROM tollgate_wills WHERE client = ?'
const RECORDED_CLIENTS = 'SELECT DISTINCT client FROM tollgate_lists'

export interface Queue {
  add(list: List, onOutcome?: (outcome: Outcome) => void): void
  /** Commits all queued lists now. */
  flush(): void
  setCrashStatements(client: string, name: string, statements: readonly EncodedStatement[]): void
  clearCrashStatements(client: string): void
  forget(client: string, numbers: readonly number[]): void
  /** The client will repeat no list. */
  forgetAll(client: string): void
  /** Clients with recorded lists. */
  recordedClients(): readonly string[]
}

export const createQueue = (store: Sqlite, fatal: (error: unknown) => void): Queue => {
  const commit = createGroupCommit(store)
  let pending: { list: List; onOutcome: ((outcome: Outcome) => void) | undefined }[] = []
  let isScheduled = false

  const flush = (): void => {
    isScheduled = false
    while (pending.length > 0) {
      const group = pending.slice(0, MAX_GROUP)
      pending = pending.slice(MAX_GROUP)
      try {
        const outcomes = commit(group.map(({ list }) => list))
        for (const [index, { onOutcome }] of group.entries())
          onOutcome?.(outcomes[index] as Outcome)
      } catch (error) {
        return fatal(error)
      }
    }
  }
  const add: Queue['add'] = (list, onOutcome) => {
    pending.push({ list, onOutcome })
    // No timer: lists that other sockets deliver in this turn of the event loop join the group.
    if (!isScheduled) setImmediate(flush)
    isScheduled = true
  }
  const addOwn = (client: string, text: string, ...values: (string | number)[]): void =>
    add({ client, isRepeat: false, steps: [{ text, rows: -1, values: [client, ...values] }] })

  return {
    add,
    flush,
    setCrashStatements: (client, name, statements) =>
      statements.length === 0
        ? addOwn(client, CLEAR_CRASH_STATEMENTS, name)
        : addOwn(client, SET_CRASH_STATEMENTS, name, JSON.stringify(statements)),
    clearCrashStatements: client => addOwn(client, CLEAR_ALL),
    forget: (client, [below = 0, ...save]) =>
      addOwn(client, FORGET_BELOW, below, JSON.stringify(save)),
    forgetAll: client => addOwn(client, FORGET),
    recordedClients: () => store.run(RECORDED_CLIENTS, []).rows.map(row => String(row.client)),
  }
}
