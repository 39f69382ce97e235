/** Group commit: applies all gathered lists in one transaction, so that they share an fsync. A list
 *  that fails does not affect the others. */
import type { Row, Value } from '../../plugin.ts'
import { StatementSums, type Step } from '../summed-statements.ts'
import { rowFromWire, rowToWire } from '../values.ts'
import type { Refusal } from './frames.ts'
import { isDuplicateRow, isFatal, isStoreError, type Sqlite, violatedNames } from './sqlite.ts'

export interface List {
  readonly client: string
  /** Unique per client. A list without a number is the writer's own and is never repeated. */
  readonly number?: number
  /** Sent before, and perhaps applied. */
  readonly isRepeat: boolean
  /** A unique key admits its first step only once, so the table shows whether it was applied. */
  readonly once?: boolean
  readonly steps: readonly Step[]
}
export type Outcome = { readonly rows: readonly (readonly Row[])[] } | { readonly refusal: Refusal }

const NO_ROWS: readonly Row[] = []
const FIND_LIST = 'SELECT rows FROM tollgate_lists WHERE client = ? AND number = ?'
const RECORD_LIST = 'INSERT INTO tollgate_lists (client, number, rows) VALUES (?, ?, ?)'

/** Returns a function that commits lists, with one outcome per list. It throws only errors from
 *  which a new process must recover. */
export const createGroup = (store: Sqlite): ((lists: readonly List[]) => readonly Outcome[]) => {
  const { connection } = store
  const begin = connection.prepare('BEGIN IMMEDIATE')
  const commit = connection.prepare('COMMIT')
  return lists => {
    let kind: Refusal['kind'] = 'unavailable'
    try {
      begin.run()
      let outcomes = applyAll(store, lists)
      if (!outcomes) {
        connection.exec('ROLLBACK; BEGIN IMMEDIATE')
        outcomes = applySeparately(store, lists)
      }
      // Only a failed COMMIT has an unknown result; a repetition of the list finds out by its
      // number.
      kind = 'unknown'
      commit.run()
      return outcomes
    } catch (error) {
      if (connection.isTransaction) connection.exec('ROLLBACK')
      if (isFatal(error)) throw error
      return lists.map(() => ({ refusal: { kind, at: 0, message: String(error) } }))
    }
  }
}

/** Applies all lists; undefined as soon as one fails. */
const applyAll = (store: Sqlite, lists: readonly List[]): readonly Outcome[] | undefined => {
  const outcomes: Outcome[] = []
  const sums = new StatementSums()
  for (const list of lists) {
    const outcome = apply(store, list, sums)
    if ('refusal' in outcome) return undefined
    outcomes.push(outcome)
  }
  return applySums(store, sums, 0) ? undefined : outcomes
}
/** Applies the sums so far, before a statement that may read the rows. */
const applySums = (store: Sqlite, sums: StatementSums, at: number): Refusal | undefined => {
  for (const step of sums.drain()) {
    const result = applyStep(store, step, at)
    if ('kind' in result) return result
  }
  return undefined
}
/** Applies all lists again, each behind its own savepoint; rare. */
const applySeparately = (store: Sqlite, lists: readonly List[]): readonly Outcome[] =>
  lists.map(list => {
    store.connection.exec('SAVEPOINT list')
    const outcome = apply(store, list)
    if ('refusal' in outcome) store.connection.exec('ROLLBACK TO list')
    store.connection.exec('RELEASE list')
    return outcome
  })

/** Applies one list. `sums`: collects summed statements; only where a failure rolls back the whole
 *  group. */
const apply = (
  store: Sqlite,
  { client, number, isRepeat, once = false, steps }: List,
  sums?: StatementSums,
): Outcome => {
  const isRecorded = number !== undefined && !once
  if (isRepeat && isRecorded) {
    const [before] = store.run(FIND_LIST, [client, number]).rows
    if (before) return { rows: decodeRows(before.rows, steps.length) }
  }
  const rows: (readonly Row[])[] = []
  for (const [at, step] of steps.entries()) {
    if (sums?.add(step)) {
      rows.push(NO_ROWS)
      continue
    }
    const isFirst = once && at === 0
    const sumsRefusal = sums && !isFirst ? applySums(store, sums, at) : undefined
    const result = sumsRefusal ?? applyStep(store, step, at)
    if ('kind' in result) {
      if (isRepeat && isFirst && result.unique) return { rows: steps.map(() => []) }
      return { refusal: result }
    }
    rows.push(result)
  }
  if (isRecorded) {
    const hasRows = rows.some(statementRows => statementRows.length > 0)
    const text = hasRows
      ? JSON.stringify(rows.map(statementRows => statementRows.map(rowToWire)))
      : null
    store.run(RECORD_LIST, [client, number, text])
  }
  return { rows }
}
const applyStep = (
  store: Sqlite,
  { text, values, rows: expected }: Step,
  at: number,
): readonly Row[] | Refusal => {
  try {
    const { changes, rows } = store.run(text, values)
    if (expected === -1 || expected === changes || (expected === -2 && changes > 0)) return rows
    return { kind: 'rows', at, affectedRows: changes }
  } catch (error) {
    if (isStoreError(error)) throw error
    const names = violatedNames(error)
    if (names)
      return { kind: 'violation', at, names, ...(isDuplicateRow(error) && { unique: true }) }
    return { kind: 'statement', at, message: (error as Error).message }
  }
}
const decodeRows = (text: Value | undefined, statements: number): readonly (readonly Row[])[] =>
  typeof text === 'string'
    ? JSON.parse(text).map((rows: Parameters<typeof rowFromWire>[0][]) => rows.map(rowFromWire))
    : Array.from({ length: statements }, () => [])
