/** Group commit: applies all queued lists in one transaction, so that they share an fsync. A list
 *  that fails does not affect the others. */
import type { Row, Value } from '../../plugin.ts'
import { JoinedTexts, MergedStatements, type Step } from '../merged-statements.ts'
import { hasExpectedRows, rowFromWire, rowToWire } from '../values.ts'
import type { Refusal } from './frames.ts'
import { isDuplicateRow, isFatal, isStoreError, type Sqlite, violatedNames } from './sqlite.ts'

/** Statements that are applied together or not at all: one write of a client, or of
 *  the writer itself. */
export interface List {
  readonly client: string
  /** Unique per client. A list without a number is the writer's own and is never repeated. */
  readonly number?: number
  /** The client has sent this list before, and it may have been applied. */
  readonly isRepeat: boolean
  /** The first statement inserts a unique key. A repetition of an applied list fails there, so the
   *  list needs no record. */
  readonly once?: boolean
  readonly steps: readonly Step[]
}
export type Outcome = { readonly rows: readonly (readonly Row[])[] } | { readonly refusal: Refusal }

const NO_ROWS: readonly Row[] = []
const FIND_LIST = 'SELECT rows FROM tollgate_lists WHERE client = ? AND number = ?'
const RECORD_LIST = 'INSERT INTO tollgate_lists (client, number, rows) VALUES (?, ?, ?)'

/** Returns a function that commits lists, with one outcome per list. It throws only fatal
 *  errors: those from which a new process must recover. */
export const createGroupCommit = (
  store: Sqlite,
): ((lists: readonly List[]) => readonly Outcome[]) => {
  const { connection } = store
  const begin = connection.prepare('BEGIN IMMEDIATE')
  const commit = connection.prepare('COMMIT')
  const joinedTexts = new JoinedTexts()
  return lists => {
    let refusalKind: Refusal['kind'] = 'unavailable'
    try {
      begin.run()
      let outcomes = applyAll(store, lists, new MergedStatements(joinedTexts))
      if (!outcomes) {
        connection.exec('ROLLBACK; BEGIN IMMEDIATE')
        outcomes = applySeparately(store, lists)
      }
      // The result is unknown only if COMMIT fails. The client then repeats the list, and the
      // record of its number shows whether it was applied.
      refusalKind = 'unknown'
      commit.run()
      return outcomes
    } catch (error) {
      if (connection.isTransaction) connection.exec('ROLLBACK')
      if (isFatal(error)) throw error
      return lists.map(() => ({ refusal: { kind: refusalKind, at: 0, message: String(error) } }))
    }
  }
}

/** Applies all lists; undefined as soon as one fails. */
const applyAll = (
  store: Sqlite,
  lists: readonly List[],
  merged: MergedStatements,
): readonly Outcome[] | undefined => {
  const outcomes: Outcome[] = []
  for (const list of lists) {
    const outcome = apply(store, list, merged)
    if ('refusal' in outcome) return undefined
    outcomes.push(outcome)
  }
  return applyMerged(store, merged, 0) ? undefined : outcomes
}
/** Applies the merged statements so far: before a statement that may read their rows, and at the
 *  end. */
const applyMerged = (store: Sqlite, merged: MergedStatements, at: number): Refusal | undefined => {
  for (const step of merged.drain()) {
    const result = applyStep(store, step, at)
    if ('kind' in result) return result
  }
  return undefined
}
/** Applies all lists again, each with its own savepoint. This is slower, and rarely needed. */
const applySeparately = (store: Sqlite, lists: readonly List[]): readonly Outcome[] =>
  lists.map(list => {
    store.connection.exec('SAVEPOINT list')
    const outcome = apply(store, list)
    if ('refusal' in outcome) store.connection.exec('ROLLBACK TO list')
    store.connection.exec('RELEASE list')
    return outcome
  })

/** Applies one list. `merged`: collects statements to merge; absent when lists are applied
 *  separately, because a merged statement that fails does not show which list it came from. */
const apply = (
  store: Sqlite,
  { client, number, isRepeat, once = false, steps }: List,
  merged?: MergedStatements,
): Outcome => {
  const isRecorded = number !== undefined && !once
  if (isRepeat && isRecorded) {
    const [record] = store.run(FIND_LIST, [client, number]).rows
    if (record) return { rows: decodeRows(record.rows, steps.length) }
  }
  const rows: (readonly Row[])[] = []
  for (const [at, step] of steps.entries()) {
    const isFirst = once && at === 0
    // The key of a repeated list shows whether the list was applied before.
    if (!(isRepeat && isFirst) && merged?.add(step)) {
      rows.push(NO_ROWS)
      continue
    }
    const mergedRefusal = merged && !isFirst ? applyMerged(store, merged, at) : undefined
    const result = mergedRefusal ?? applyStep(store, step, at)
    if ('kind' in result) {
      // The key exists: the list was applied before. A `once` list returns no rows.
      if (isRepeat && isFirst && result.unique) return { rows: steps.map(() => []) }
      return { refusal: result }
    }
    rows.push(result)
  }
  if (isRecorded) {
    // Most lists return no rows: null needs less space than a list of empty lists.
    const hasRows = rows.some(statementRows => statementRows.length > 0)
    const rowsText = hasRows
      ? JSON.stringify(rows.map(statementRows => statementRows.map(rowToWire)))
      : null
    store.run(RECORD_LIST, [client, number, rowsText])
  }
  return { rows }
}
const applyStep = (
  store: Sqlite,
  { text, values, rows: expectedRows }: Step,
  at: number,
): readonly Row[] | Refusal => {
  try {
    const { changes, rows } = store.run(text, values)
    if (hasExpectedRows(expectedRows, changes)) return rows
    return { kind: 'rows', at, affectedRows: changes }
  } catch (error) {
    if (isStoreError(error)) throw error
    const names = violatedNames(error)
    if (names)
      return { kind: 'violation', at, names, ...(isDuplicateRow(error) && { unique: true }) }
    return { kind: 'statement', at, message: (error as Error).message }
  }
}
const decodeRows = (
  text: Value | undefined,
  statementCount: number,
): readonly (readonly Row[])[] =>
  typeof text === 'string'
    ? JSON.parse(text).map((rows: Parameters<typeof rowFromWire>[0][]) => rows.map(rowFromWire))
    : Array.from({ length: statementCount }, () => [])
