/** Commits lists that gathered as one transaction, so that they share an fsync; each still stands or falls alone. */
import type { Row } from '../../plugin.ts'
import type { Refused } from '../sqlite/frames.ts'
import type { Outcome } from '../sqlite/group-commit.ts'
import { locksOf } from './locks.ts'
import { isStale, refusalOf } from './refused-statement.ts'
import type { Heard, Session, Told } from './session.ts'
import type { Step } from './steps.ts'

export interface Group {
  readonly lists: readonly (readonly Step[])[]
  /** What goes with them, whatever becomes of them. */
  readonly own: readonly Told[]
  /** The last statement before COMMIT. */
  seal(outcomes: readonly Outcome[]): Told
  /** Now or never: false takes everything back. */
  committing(outcomes: readonly Outcome[]): boolean
}

const BEGIN: Told = { text: 'BEGIN' }
const SAVE: Told = { text: 'SAVEPOINT lists' }
const BACK: Told = { text: 'ROLLBACK TO lists' }
const ROLLBACK: Told = { text: 'ROLLBACK' }

/** One outcome per list, or undefined if all was taken back. Rejects when the connection is lost or must be made anew. */
export const commitGroup = async (
  session: Session,
  group: Group,
  within: number,
): Promise<readonly Outcome[] | undefined> => {
  const first = await together(session, group, within)
  const good = first.outcomes.length
  const { outcomes, rest } = first.broken
    ? await apart(session, group, within, good)
    : { ...first, rest: [] }
  if (!group.committing(outcomes)) {
    await session.flight([ROLLBACK], within)
    return undefined
  }
  const heard = await session.flight([...rest, group.seal(outcomes), { text: 'COMMIT' }], within)
  for (const each of heard) if ('error' in each) throw each.error
  return outcomes
}

/** Halts at the first that breaks. */
const together = (session: Session, { lists, own }: Group, within: number): Promise<Flown> =>
  fly(session, [BEGIN, ...own, ...locksOf(lists)], lists, within)

/** Rare: once more, in flights behind a savepoint. One that breaks is judged alone, after those before it; not one that
 *  waited for a lock, since that would be waited for again. */
const apart = async (
  session: Session,
  { lists, own }: Group,
  within: number,
  good: number,
): Promise<{ readonly outcomes: readonly Outcome[]; readonly rest: readonly Told[] }> => {
  const [, ...begun] = await session.flight([ROLLBACK, BEGIN, ...own], within)
  for (const each of begun) if ('error' in each) throw each.error
  const outcomes: Outcome[] = []
  let before: readonly Told[] = []
  let size = Math.max(1, good)
  let growing = false
  let waited: Outcome | undefined
  while (outcomes.length < lists.length) {
    const next = lists.slice(outcomes.length, outcomes.length + size)
    const flight = await fly(session, [...before, SAVE], next, within)
    before = flight.broken ? [BACK] : []
    const at = flight.outcomes.length
    if (!flight.broken) {
      outcomes.push(...flight.outcomes, ...(waited ? [waited] : []))
      waited = undefined
      size = growing ? size * 2 : 1
    } else if (at === 0 && (next.length === 1 || isWait(flight.broken))) {
      outcomes.push(flight.broken)
    } else {
      if (isWait(flight.broken)) waited = flight.broken
      size = Math.max(1, at)
    }
    growing = !flight.broken
  }
  return { outcomes, rest: before }
}
const isWait = (outcome: Outcome): boolean =>
  'refused' in outcome && outcome.refused.kind === 'unavailable'

interface Flown {
  /** Of the lists before the one that broke. */
  readonly outcomes: readonly Outcome[]
  readonly broken?: Outcome
}
const fly = async (
  session: Session,
  before: readonly Told[],
  lists: readonly (readonly Step[])[],
  within: number,
): Promise<Flown> => {
  const told = lists.flat().flatMap(step => ('told' in step ? [step.told] : []))
  const heard = await session.flight([...before, ...told], within)
  // What comes after the first error says nothing: the transaction is at its end.
  const at = heard.findIndex(each => 'error' in each)
  const failed = heard[at]
  if (failed && 'error' in failed) {
    if (isStale(failed.error)) throw failed.error
    if (at < before.length) {
      return { outcomes: [], broken: { refused: refusalOf(failed.error, 0) } }
    }
  }
  const answers = heard.slice(before.length).values()
  const outcomes: Outcome[] = []
  for (const list of lists) {
    const outcome = judge(list, answers)
    if ('refused' in outcome) return { outcomes, broken: outcome }
    outcomes.push(outcome)
  }
  return { outcomes }
}
const judge = (list: readonly Step[], answers: Iterator<Heard>): Outcome => {
  const rows: (readonly Row[])[] = []
  for (const [at, step] of list.entries()) {
    const found = 'wrong' in step ? step : answers.next().value
    const refused = refusedBy(step, found, at)
    if (refused) return { refused }
    rows.push(found && 'rows' in found ? found.rows : [])
  }
  return { rows }
}
const refusedBy = (
  step: Step,
  found: Heard | { readonly wrong: string } | undefined,
  at: number,
): Refused | undefined => {
  if ('wrong' in step) return { kind: 'statement', at, message: step.wrong }
  if (!found || 'wrong' in found) return { kind: 'unavailable', at, message: 'no answer' }
  if ('error' in found) return refusalOf(found.error, at)
  const fits =
    step.rows === -1 || step.rows === found.count || (step.rows === -2 && found.count > 0)
  return fits ? undefined : { kind: 'rows', at, found: found.count }
}
