/** Commits every list that has gathered as one transaction, so that they share an fsync; each still stands or falls alone. */
import type { Row, Value } from '../plugin.ts'
import type { Refused } from './frames.ts'
import { isFatal, isStoresOwn, type Sqlite, violated } from './sqlite.ts'
import { rowFromWire, rowToWire } from './values.ts'

export interface Step {
  readonly text: string
  readonly values: readonly Value[]
  /** Rows it must touch: -1 any, -2 some. */
  readonly rows: number
}
export interface List {
  readonly client: string
  /** Unique with the client; without one the list is the writer's own and nobody repeats it. */
  readonly number?: number
  /** Sent before, perhaps applied before. */
  readonly again: boolean
  readonly steps: readonly Step[]
}
export type Outcome = { readonly rows: readonly (readonly Row[])[] } | { readonly refused: Refused }

export const SEEN = 'SELECT rows FROM tollgate_lists WHERE client = ? AND number = ?'
const KEEP = 'INSERT INTO tollgate_lists (client, number, rows) VALUES (?, ?, ?)'

class Broken extends Error {
  readonly refused: Refused
  constructor(refused: Refused) {
    super(refused.kind)
    this.refused = refused
  }
}

/** One outcome per list. Throws only what a fresh process must recover from. */
export const createGroup = (store: Sqlite): ((lists: readonly List[]) => readonly Outcome[]) => {
  const { connection } = store
  const undo = (): void => {
    if (connection.isTransaction) connection.exec('ROLLBACK')
  }
  const transaction = (
    each: (list: List) => Outcome,
    lists: readonly List[],
  ): readonly Outcome[] => {
    let all = false
    try {
      connection.exec('BEGIN IMMEDIATE')
      const outcomes = lists.map(each)
      all = true
      connection.exec('COMMIT')
      return outcomes
    } catch (error) {
      undo()
      if (error instanceof Broken || isFatal(error)) throw error
      // Only a COMMIT that failed leaves a doubt; whoever repeats the list finds out by its number.
      const refused = {
        kind: all ? 'unknown' : 'unavailable',
        at: 0,
        message: String(error),
      } as const
      return lists.map(() => ({ refused }))
    }
  }
  const alone = (list: List): Outcome => {
    connection.exec('SAVEPOINT list')
    try {
      const outcome = apply(store, list)
      connection.exec('RELEASE list')
      return outcome
    } catch (error) {
      if (!(error instanceof Broken)) throw error
      connection.exec('ROLLBACK TO list; RELEASE list')
      return { refused: error.refused }
    }
  }
  return lists => {
    try {
      return transaction(list => apply(store, list), lists)
    } catch (error) {
      if (!(error instanceof Broken)) throw error
      // Rare, and paid for by everyone in the group: once more, each behind a savepoint of its own.
      return transaction(alone, lists)
    }
  }
}

const apply = (store: Sqlite, list: List): Outcome => {
  if (list.again && list.number !== undefined) {
    const [before] = store.run(SEEN, [list.client, list.number]).rows
    if (before) return { rows: kept(before.rows, list.steps.length) }
  }
  const rows = list.steps.map((step, at) => take(store, step, at))
  if (list.number !== undefined) {
    const any = rows.some(found => found.length > 0)
    const text = any ? JSON.stringify(rows.map(found => found.map(rowToWire))) : null
    store.run(KEEP, [list.client, list.number, text])
  }
  return { rows }
}
const take = (store: Sqlite, step: Step, at: number): readonly Row[] => {
  const { changes, rows } = run(store, step, at)
  const { rows: wanted } = step
  if (wanted === -1 || wanted === changes || (wanted === -2 && changes > 0)) return rows
  throw new Broken({ kind: 'rows', at, found: changes })
}
const run = (store: Sqlite, step: Step, at: number) => {
  try {
    return store.run(step.text, step.values)
  } catch (error) {
    if (isStoresOwn(error)) throw error
    const names = violated(error)
    if (names) throw new Broken({ kind: 'violation', at, names })
    throw new Broken({ kind: 'statement', at, message: (error as Error).message })
  }
}
const kept = (text: Value | undefined, statements: number): readonly (readonly Row[])[] =>
  typeof text === 'string'
    ? JSON.parse(text).map((rows: Parameters<typeof rowFromWire>[0][]) => rows.map(rowFromWire))
    : Array.from({ length: statements }, () => [])
