/** What the writer has been asked for and not yet committed, and the last wills of clients that die. */

import { progressIn, removeProgress } from '../progress.ts'
import { fromWire, progressed, type Spelled } from '../values.ts'
import { createGroup, type List, type Outcome } from './group-commit.ts'
import type { Sqlite } from './sqlite.ts'

// So that the first of a great many does not wait for the last.
const TOGETHER = 512
const WILL_RETRY = 1_000

const FORGET = 'DELETE FROM tollgate_lists WHERE client = ?'
const FORGET_BELOW = `DELETE FROM tollgate_lists WHERE client = ? AND number < ?
  AND number NOT IN (SELECT value FROM json_each(?))`
const WILL = `INSERT INTO tollgate_wills (client, name, statements) VALUES (?, ?, ?)
  ON CONFLICT (client, name) DO UPDATE SET statements = excluded.statements`
const WITHDRAW = 'DELETE FROM tollgate_wills WHERE client = ? AND name = ?'
const WITHDRAW_ALL = 'DELETE FROM tollgate_wills WHERE client = ?'
const WILLS = 'SELECT name, statements FROM tollgate_wills WHERE client = ?'
const KNOWN = 'SELECT client FROM tollgate_wills UNION SELECT client FROM tollgate_lists'

export interface Queue {
  add(list: List, done?: (outcome: Outcome) => void): void
  /** Commits all there is, now. */
  flush(): void
  will(client: string, name: string, statements: readonly Spelled[]): void
  withdraw(client: string): void
  forget(client: string, numbers: readonly number[]): void
  /** The client is gone. Without a `bye` its wills are applied. */
  bury(client: string, bye: boolean): void
  /** Everyone who left something behind. */
  known(): readonly string[]
}

export const createQueue = (
  store: Sqlite,
  /** Where clients left how far they had come. */
  folder: string,
  report: (text: string) => void,
  fatal: (error: unknown) => void,
): Queue => {
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

  const applyWill = (client: string, name: string, statements: readonly Spelled[]): void => {
    const withdraw = { text: WITHDRAW, rows: -1, values: [client, name] }
    add({ client, again: false, steps: [...statements.map(toStep), withdraw] }, outcome => {
      if (!('refused' in outcome)) return
      const { kind } = outcome.refused
      // Its exchange was settled after all, or the rows are gone: it has had its say. A full disk is another matter.
      if (kind === 'unavailable' || kind === 'unknown') setTimeout(bury, WILL_RETRY, client, false)
      else own(client, WITHDRAW, name)
      report(`the will "${name}" was refused: ${JSON.stringify(outcome.refused)}`)
    })
  }
  const bury = (client: string, bye: boolean): void => {
    flush()
    const wills = bye ? [] : store.run(WILLS, [client]).rows
    const progress = wills.length > 0 ? progressIn(folder, client) : undefined
    for (const { name, statements } of wills) {
      const last = progress?.get(String(name))
      applyWill(client, String(name), progressed(JSON.parse(String(statements)), last))
    }
    if (bye) own(client, WITHDRAW_ALL)
    add({ client, again: false, steps: [{ text: FORGET, rows: -1, values: [client] }] }, () => {
      // One that could not be applied yet is tried again, and needs it then.
      if (store.run(WILLS, [client]).rows.length === 0) removeProgress(folder, client)
    })
  }
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
    bury,
    known: () => store.run(KNOWN, []).rows.map(row => String(row.client)),
  }
}

const toStep = ([text, rows, ...values]: Spelled) => ({
  text,
  rows,
  values: values.map(fromWire),
})
