/** The actions of guards on one call: names and counts, never a text. */
import type { Exchange, Slot } from '../../engine/plugin.ts'
import { GUARD_VERDICT, GUARDED } from '../slots.ts'

/** The action of a guard on one call, by its `do:`. */
export const DONE = {
  block: 'blocked',
  mask: 'masked',
  flag: 'flagged',
  shadow: 'shadow',
} as const

type Verdicts = Map<string, { readonly did: string; readonly count: number }>
const VERDICTS: Slot<Verdicts> = { name: 'guard verdicts' }

/** `name`: of the guard, with the label that a model chose behind a slash. */
export const addVerdict = ({ slots }: Pick<Exchange, 'slots'>, name: string, did: string): void => {
  const verdicts: Verdicts = slots.get(VERDICTS) ?? new Map()
  const { count = 0 } = verdicts.get(name) ?? {}
  verdicts.set(name, { did, count: count + 1 })
  slots.set(VERDICTS, verdicts)
  slots.set(GUARDED, textOf(verdicts))
  const visible = [...verdicts].filter(([, verdict]) => verdict.did !== DONE.shadow)
  if (visible.length > 0) slots.set(GUARD_VERDICT, textOf(visible))
}

const textOf = (verdicts: Iterable<readonly [string, { did: string; count: number }]>): string =>
  [...verdicts].map(([name, { did, count }]) => `${name}=${did}(${count})`).join(', ')
