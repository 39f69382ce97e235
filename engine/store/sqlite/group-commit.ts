/** Commits every list that has gathered as one transaction, so that they share an fsync; each still stands or falls alone. */
import type { Row, Value } from '../../plugin.ts'
import { type Step, Sums } from '../summed-statements.ts'
import { rowFromWire, rowToWire } from '../values.ts'
import type { Refused } from './frames.ts'
import { isFatal, isRepeated, isStoresOwn, type Sqlite, violated } from './sqlite.ts'

export interface List {
  readonly client: string
  /** Unique with the client; without one the list is the writer's own and nobody repeats it. */
  readonly number?: number
  /** Sent before, perhaps applied before. */
  readonly again: boolean
  /** Its first step comes through once only, by a unique key of its own: whether it was applied before, the table says. */
  readonly once?: boolean
  readonly steps: readonly Step[]
}
export type Outcome = { readonly rows: readonly (readonly Row[])[] } | { readonly refused: Refused }

const NO_ROWS: readonly Row[] = []
const SEEN = 'SELECT rows FROM tollgate_lists WHERE client = ? AND number = ?'
const KEEP = 'INSERT INTO tollgate_lists (client, number, rows) VALUES (?, ?, ?)'

/** One outcome per list. Throws only what a fresh process must recover from. */
export const createGroup = (store: Sqlite): ((lists: readonly List[]) => readonly Outcome[]) => {
  const { connection } = store
  const begin = connection.prepare('BEGIN IMMEDIATE')
  const commit = connection.prepare('COMMIT')
  return lists => {
    let kind: Refused['kind'] = 'unavailable'
    try {
      begin.run()
      let outcomes = together(store, lists)
      if (!outcomes) {
        connection.exec('ROLLBACK; BEGIN IMMEDIATE')
        outcomes = apart(store, lists)
      }
      // Only a COMMIT that failed leaves a doubt; whoever repeats the list finds out by its number.
      kind = 'unknown'
      commit.run()
      return outcomes
    } catch (error) {
      if (connection.isTransaction) connection.exec('ROLLBACK')
      if (isFatal(error)) throw error
      return lists.map(() => ({ refused: { kind, at: 0, message: String(error) } }))
    }
  }
}

/** Undefined as soon as one of them breaks. */
const together = (store: Sqlite, lists: readonly List[]): readonly Outcome[] | undefined => {
  const outcomes: Outcome[] = []
  const sums = new Sums()
  for (const list of lists) {
    const outcome = apply(store, list, sums)
    if ('refused' in outcome) return undefined
    outcomes.push(outcome)
  }
  return settle(store, sums, 0) ? undefined : outcomes
}
/** Applies what has been added up so far, before anything that may look at it. */
const settle = (store: Sqlite, sums: Sums, at: number): Refused | undefined => {
  for (const step of sums.take()) {
    const found = take(store, step, at)
    if ('kind' in found) return found
  }
  return undefined
}
/** Rare, and paid for by everyone in the group: once more, each behind a savepoint of its own. */
const apart = (store: Sqlite, lists: readonly List[]): readonly Outcome[] =>
  lists.map(list => {
    store.connection.exec('SAVEPOINT list')
    const outcome = apply(store, list)
    if ('refused' in outcome) store.connection.exec('ROLLBACK TO list')
    store.connection.exec('RELEASE list')
    return outcome
  })

/** `sums`: where statements may be added up, since a list that breaks takes the whole group back. */
const apply = (
  store: Sqlite,
  { client, number, again, once = false, steps }: List,
  sums?: Sums,
): Outcome => {
  const remembered = number !== undefined && !once
  if (again && remembered) {
    const [before] = store.run(SEEN, [client, number]).rows
    if (before) return { rows: kept(before.rows, steps.length) }
  }
  const rows: (readonly Row[])[] = []
  for (const [at, step] of steps.entries()) {
    if (sums?.add(step)) {
      rows.push(NO_ROWS)
      continue
    }
    const first = once && at === 0
    const broken = sums && !first ? settle(store, sums, at) : undefined
    const found = broken ?? take(store, step, at)
    if ('kind' in found) {
      if (again && first && found.unique) return { rows: steps.map(() => []) }
      return { refused: found }
    }
    rows.push(found)
  }
  if (remembered) {
    const any = rows.some(found => found.length > 0)
    const text = any ? JSON.stringify(rows.map(found => found.map(rowToWire))) : null
    store.run(KEEP, [client, number, text])
  }
  return { rows }
}
const take = (
  store: Sqlite,
  { text, values, rows: wanted }: Step,
  at: number,
): readonly Row[] | Refused => {
  try {
    const { changes, rows } = store.run(text, values)
    if (wanted === -1 || wanted === changes || (wanted === -2 && changes > 0)) return rows
    return { kind: 'rows', at, found: changes }
  } catch (error) {
    if (isStoresOwn(error)) throw error
    const names = violated(error)
    if (names) return { kind: 'violation', at, names, ...(isRepeated(error) && { unique: true }) }
    return { kind: 'statement', at, message: (error as Error).message }
  }
}
const kept = (text: Value | undefined, statements: number): readonly (readonly Row[])[] =>
  typeof text === 'string'
    ? JSON.parse(text).map((rows: Parameters<typeof rowFromWire>[0][]) => rows.map(rowFromWire))
    : Array.from({ length: statements }, () => [])
