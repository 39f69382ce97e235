/** Group commit: applies gathered lists in one transaction, so that they share an fsync. A list
 *  that fails does not affect the others. */
import type { Row } from '../../plugin.ts'
import type { Refusal } from '../sqlite/frames.ts'
import type { Outcome } from '../sqlite/group-commit.ts'
import { locksOf } from './locks.ts'
import { isStale, refusalOf } from './refused-statement.ts'
import type { Query, QueryResult, Session } from './session.ts'
import type { Step } from './steps.ts'

export interface Group {
  readonly lists: readonly (readonly Step[])[]
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
  const applied = first.outcomes.length
  const { outcomes, rest } = first.failure
    ? await applySeparately(session, group, within, applied)
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

/** Applies all lists; stops at the first that fails. */
const applyAll = (session: Session, { lists, own }: Group, within: number): Promise<BatchResult> =>
  runBatch(session, [BEGIN, ...own, ...locksOf(lists)], lists, within)

/** Applies the lists again in batches behind a savepoint; rare. A list that fails is retried alone
 *  after those before it, except after a lock timeout, which would only repeat the wait. */
const applySeparately = async (
  session: Session,
  { lists, own }: Group,
  within: number,
  applied: number,
): Promise<{ readonly outcomes: readonly Outcome[]; readonly rest: readonly Query[] }> => {
  const [, ...beginResults] = await session.pipeline([ROLLBACK, BEGIN, ...own], within)
  for (const each of beginResults) if ('error' in each) throw each.error
  const outcomes: Outcome[] = []
  let before: readonly Query[] = []
  let size = Math.max(1, applied)
  let growing = false
  let waited: Outcome | undefined
  while (outcomes.length < lists.length) {
    const next = lists.slice(outcomes.length, outcomes.length + size)
    const flight = await runBatch(session, [...before, SAVE], next, within)
    before = flight.failure ? [ROLLBACK_TO] : []
    const at = flight.outcomes.length
    if (!flight.failure) {
      outcomes.push(...flight.outcomes, ...(waited ? [waited] : []))
      waited = undefined
      size = growing ? size * 2 : 1
    } else if (at === 0 && (next.length === 1 || isLockTimeout(flight.failure))) {
      outcomes.push(flight.failure)
    } else {
      if (isLockTimeout(flight.failure)) waited = flight.failure
      size = Math.max(1, at)
    }
    growing = !flight.failure
  }
  return { outcomes, rest: before }
}
const isLockTimeout = (outcome: Outcome): boolean =>
  'refused' in outcome && outcome.refused.kind === 'unavailable'

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
  const failed = results[at]
  if (failed && 'error' in failed) {
    if (isStale(failed.error)) throw failed.error
    if (at < before.length) {
      return { outcomes: [], failure: { refused: refusalOf(failed.error, 0) } }
    }
  }
  const answers = results.slice(before.length).values()
  const outcomes: Outcome[] = []
  for (const list of lists) {
    const outcome = readOutcome(list, answers)
    if ('refused' in outcome) return { outcomes, failure: outcome }
    outcomes.push(outcome)
  }
  return { outcomes }
}
const readOutcome = (list: readonly Step[], answers: Iterator<QueryResult>): Outcome => {
  const rows: (readonly Row[])[] = []
  for (const [at, step] of list.entries()) {
    const found = 'wrong' in step ? step : answers.next().value
    const refused = refusalOfStep(step, found, at)
    if (refused) return { refused }
    rows.push(found && 'rows' in found ? found.rows : [])
  }
  return { rows }
}
const refusalOfStep = (
  step: Step,
  found: QueryResult | { readonly wrong: string } | undefined,
  at: number,
): Refusal | undefined => {
  if ('wrong' in step) return { kind: 'statement', at, message: step.wrong }
  if (!found || 'wrong' in found) return { kind: 'unavailable', at, message: 'no result' }
  if ('error' in found) return refusalOf(found.error, at)
  const fits =
    step.rows === -1 || step.rows === found.count || (step.rows === -2 && found.count > 0)
  return fits ? undefined : { kind: 'rows', at, found: found.count }
}
