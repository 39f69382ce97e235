/** The life of an alert. Pure.
 *
 *  nothing ──broken──▶ pending ──`for`──▶ firing (message) ──kept for `clear`──▶ resolved (message)
 *  pending ──kept──▶ nothing; firing: broken again within `clear` changes nothing */

/** The result of a rule for one object, such as one upstream, at one look. */
export interface Observation {
  readonly object: string
  readonly isBroken: boolean
  /** A sentence for people. */
  readonly text: string
}
/** `isComplete`: the rule knows of every object, so an alert about one that is not among the
 *  observations ends. Otherwise it stays. */
export interface RuleReading {
  readonly observations: readonly Observation[]
  readonly isComplete: boolean
}
/** The stored state; times in ms since 1970. */
export interface AlertState {
  readonly state: 'pending' | 'firing' | 'resolved'
  /** Since when it has this state. */
  readonly since: number
  /** While it fires: since when the rule is kept. */
  readonly clearSince: number | null
}
export interface Step {
  /** Null: the row is removed. */
  readonly next: AlertState | null
  readonly message?: 'firing' | 'resolved'
}

/** `hold` and `clear`: ms. Undefined: nothing changes. */
export const transition = (
  before: AlertState | undefined,
  isBroken: boolean,
  { hold, clear, now }: { readonly hold: number; readonly clear: number; readonly now: number },
): Step | undefined => (isBroken ? whenBroken(before, hold, now) : whenKept(before, clear, now))

const fire = (now: number): Step => ({
  next: { state: 'firing', since: now, clearSince: null },
  message: 'firing',
})
const whenBroken = (
  before: AlertState | undefined,
  hold: number,
  now: number,
): Step | undefined => {
  if (before === undefined || before.state === 'resolved')
    return { next: { state: 'pending', since: now, clearSince: null } }
  if (before.state === 'pending') return now - before.since >= hold ? fire(now) : undefined
  return before.clearSince === null ? undefined : { next: { ...before, clearSince: null } }
}
const whenKept = (before: AlertState | undefined, clear: number, now: number): Step | undefined => {
  if (before === undefined || before.state === 'resolved') return undefined
  if (before.state === 'pending') return { next: null }
  if (before.clearSince === null) return { next: { ...before, clearSince: now } }
  if (now - before.clearSince < clear) return undefined
  return { next: { state: 'resolved', since: now, clearSince: null }, message: 'resolved' }
}
