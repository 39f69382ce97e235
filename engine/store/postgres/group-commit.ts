/** Group commit: applies gathered lists in one transaction, so that they share an fsync. A list
 *  that fails does not affect the others. */
import type { Row } from '../../plugin.ts'
import type { Refusal } from '../sqlite/frames.ts'
import type { Outcome } from '../sqlite/group-commit.ts'
import { hasExpectedRows } from '../values.ts'
import { isStale, refusalOf } from './error-codes.ts'
import { locksOf } from './locks.ts'
import type { MergeLists } from './merge-lists.ts'
import type { Query, QueryResult, Session } from './session.ts'
import type { Step } from './steps.ts'

export interface Group {
  readonly lists: readonly (readonly Step[])[]
  readonly mergeLists: MergeLists
  /** Statements of the client itself, applied whether the lists fail or not. */
  readonly own: readonly Query[]
  /** The last statement before COMMIT. */
  sealQuery(outcomes: readonly Outcome[]): Query
  /** Called before COMMIT; false rolls everything back. */
  beforeCommit(outcomes: readonly Outcome[]): boolean
}

const BEGIN: Query = { text: 'BEGIN' }
const SAVE: Query = { text: 'SAVEPOINT lists' }
const ROLLBACK_TO: Query = { text: 'ROLLBACK TO lists' }
const ROLLBACK: Query = { text: 'ROLLBACK' }

/** Resolves to one outcome per list, or to undefined if everything was rolled back. Rejects if the
 *  connection is lost or must be replaced. */
export const commitGroup = async (
  session: Session,
  group: Group,
  within: number,
): Promise<readonly Outcome[] | undefined> => {
  const first = await applyAll(session, group, within)
  const appliedCount = first.outcomes.length
  const { outcomes, rest } = first.failure
    ? await applySeparately(session, group, within, appliedCount)
    : { ...first, rest: [] }
  if (!group.beforeCommit(outcomes)) {
    await session.pipeline([ROLLBACK], within)
    return undefined
  }
  const results = await session.pipeline(
    [...rest, group.sealQuery(outcomes), { text: 'COMMIT' }],
    within,
  )
  for (const each of results) if ('error' in each) throw each.error
  return outcomes
}

/** Applies all lists, merged. A merged statement that fails does not show which list it came
 *  from. */
const applyAll = async (
  session: Session,
  { lists, mergeLists, own }: Group,
  within: number,
): Promise<BatchResult> => {
  const merged = mergeLists(lists)
  const before = [BEGIN, ...own, ...locksOf(lists)]
  const { outcomes, failure } = await runBatch(session, before, merged.lists, within)
  if (failure) return { outcomes: [], failure }
  const outcomeAt = (at: number): Outcome => {
    const index = merged.indexes[at]
    const outcome = index === undefined ? undefined : outcomes[index]
    return outcome ?? { rows: (lists[at] ?? []).map(() => []) }
  }
  return { outcomes: lists.map((_, at) => outcomeAt(at)) }
}

/** Applies the lists again in batches behind a savepoint; rare. A list that fails is retried alone
 *  after those before it, except after a lock timeout, which would only repeat the wait. */
const applySeparately = async (
  session: Session,
  { lists, own }: Group,
  within: number,
  appliedCount: number,
): Promise<{ readonly outcomes: readonly Outcome[]; readonly rest: readonly Query[] }> => {
  const [, ...beginResults] = await session.pipeline([ROLLBACK, BEGIN, ...own], within)
  for (const each of beginResults) if ('error' in each) throw each.error
  const outcomes: Outcome[] = []
  let rollback: readonly Query[] = []
  let size = Math.max(1, appliedCount)
  let isGrowing = false
  let lockTimeout: Outcome | undefined
  while (outcomes.length < lists.length) {
    const next = lists.slice(outcomes.length, outcomes.length + size)
    const batch = await runBatch(session, [...rollback, SAVE], next, within)
    rollback = batch.failure ? [ROLLBACK_TO] : []
    const at = batch.outcomes.length
    if (!batch.failure) {
      outcomes.push(...batch.outcomes, ...(lockTimeout ? [lockTimeout] : []))
      lockTimeout = undefined
      size = isGrowing ? size * 2 : 1
    } else if (at === 0 && (next.length === 1 || isLockTimeout(batch.failure))) {
      outcomes.push(batch.failure)
    } else {
      if (isLockTimeout(batch.failure)) lockTimeout = batch.failure
      size = Math.max(1, at)
    }
    isGrowing = !batch.failure
  }
  return { outcomes, rest: rollback }
}
const isLockTimeout = (outcome: Outcome): boolean =>
  'refusal' in outcome && outcome.refusal.kind === 'unavailable'

interface BatchResult {
  /** Outcomes of the lists before the one that failed. */
  readonly outcomes: readonly Outcome[]
  readonly failure?: Outcome
}
const runBatch = async (
  session: Session,
  before: readonly Query[],
  lists: readonly (readonly Step[])[],
  within: number,
): Promise<BatchResult> => {
  const queries = lists.flat().flatMap(step => ('query' in step ? [step.query] : []))
  const results = await session.pipeline([...before, ...queries], within)
  // Results after the first error have no meaning: the transaction is aborted.
  const at = results.findIndex(each => 'error' in each)
  const failure = results[at]
  if (failure && 'error' in failure) {
    if (isStale(failure.error)) throw failure.error
    if (at < before.length) {
      return { outcomes: [], failure: { refusal: refusalOf(failure.error, 0) } }
    }
  }
  const listResults = results.slice(before.length).values()
  const outcomes: Outcome[] = []
  for (const list of lists) {
    const outcome = readOutcome(list, listResults)
    if ('refusal' in outcome) return { outcomes, failure: outcome }
    outcomes.push(outcome)
  }
  return { outcomes }
}
const readOutcome = (list: readonly Step[], results: Iterator<QueryResult>): Outcome => {
  const rows: (readonly Row[])[] = []
  for (const [at, step] of list.entries()) {
    const result = 'problem' in step ? step : results.next().value
    const refusal = refusalOfStep(step, result, at)
    if (refusal) return { refusal }
    rows.push(result && 'rows' in result ? result.rows : [])
  }
  return { rows }
}
const refusalOfStep = (
  step: Step,
  result: QueryResult | { readonly problem: string } | undefined,
  at: number,
): Refusal | undefined => {
  if ('problem' in step) return { kind: 'statement', at, message: step.problem }
  if (!result || 'problem' in result) return { kind: 'unavailable', at, message: 'no result' }
  if ('error' in result) return refusalOf(result.error, at)
  return hasExpectedRows(step.rows, result.count)
    ? undefined
    : { kind: 'rows', at, affectedRows: result.count }
}
