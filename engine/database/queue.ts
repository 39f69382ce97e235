/** What the writer has been asked for and not yet committed, and the last wills of clients that die. */

import type { WireStatement } from './frames.ts'
import { createGroup, type List, type Outcome } from './group.ts'
import type { Sqlite } from './sqlite.ts'
import { fromWire, type Wire } from './values.ts'

// So that the first of a great many does not wait for the last.
const TOGETHER = 512

const FORGET = 'DELETE FROM tollgate_lists WHERE client = ?'
const FORGET_BELOW = `DELETE FROM tollgate_lists WHERE client = ? AND number < ?
  AND number NOT IN (SELECT value FROM json_each(?))`
const WILL = `INSERT INTO tollgate_wills (client, name, statements) VALUES (?, ?, ?)
  ON CONFLICT (client, name) DO UPDATE SET statements = excluded.statements`
const WITHDRAW = 'DELETE FROM tollgate_wills WHERE client = ? AND name = ?'
const WITHDRAW_ALL = 'DELETE FROM tollgate_wills WHERE client = ?'
const WILLS = 'SELECT name, statements FROM tollgate_wills WHERE client = ?'
const KNOWN = 'SELECT client FROM tollgate_wills UNION SELECT client FROM tollgate_lists'

/** A statement with its text, as a will keeps it: the writer that applies it may never have met the client. */
export type Spelled = readonly [text: string, rows: number, ...values: Wire[]]

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
  report: (error: unknown) => void,
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
    const steps = [...statements.map(toStep), withdraw]
    add({ client, again: false, steps }, outcome => {
      if (!('refused' in outcome)) return
      // Its exchange was settled after all, or the rows are gone: either way it has had its say.
      report(new Error(`the will "${name}" was refused: ${JSON.stringify(outcome.refused)}`))
      own(client, WITHDRAW, name)
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
    bury(client, bye) {
      flush()
      const wills = bye ? [] : store.run(WILLS, [client]).rows
      for (const will of wills) {
        applyWill(client, String(will.name), JSON.parse(String(will.statements)))
      }
      if (bye) own(client, WITHDRAW_ALL)
      own(client, FORGET)
    },
    known: () => store.run(KNOWN, []).rows.map(row => String(row.client)),
  }
}

export const toStep = ([text, rows, ...values]: Spelled) => ({
  text,
  rows,
  values: values.map(fromWire),
})
/** Puts the text in the place of its number on one connection. */
export const spell = (
  texts: readonly string[],
  [number, rows, ...values]: WireStatement,
): Spelled => [texts[number] ?? '', rows, ...values]
