/** The actions of guards on one call: names and counts, never a text. */
import type { Exchange, Slot } from '../../engine/plugin.ts'
import { GUARD_VERDICT, GUARDED } from '../slots.ts'

/** The action of a guard on one call, by its `do:`. */
export const VERDICT_WORDS = {
  block: 'blocked',
  mask: 'masked',
  flag: 'flagged',
  shadow: 'shadow',
} as const

interface Verdict {
  /** One of `VERDICT_WORDS`. */
  readonly word: string
  readonly count: number
}
type Verdicts = Map<string, Verdict>
const VERDICTS: Slot<Verdicts> = { name: 'guard verdicts' }

/** `name`: of the guard, with the label that a model chose behind a slash. */
export const addVerdict = (
  { slots }: Pick<Exchange, 'slots'>,
  name: string,
  word: string,
): void => {
  const verdicts: Verdicts = slots.get(VERDICTS) ?? new Map()
  const { count = 0 } = verdicts.get(name) ?? {}
  verdicts.set(name, { word, count: count + 1 })
  slots.set(VERDICTS, verdicts)
  slots.set(GUARDED, textOf(verdicts))
  const visible = [...verdicts].filter(([, verdict]) => verdict.word !== VERDICT_WORDS.shadow)
  if (visible.length > 0) slots.set(GUARD_VERDICT, textOf(visible))
}

const textOf = (verdicts: Iterable<readonly [string, Verdict]>): string =>
  [...verdicts].map(([name, { word, count }]) => `${name}=${word}(${count})`).join(', ')
