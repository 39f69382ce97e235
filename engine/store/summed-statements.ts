/** Summed statements: replaces statements that only add to columns, and are equal in all other
 *  values, by one with the sums. */
import type { Value } from '../plugin.ts'

/** A statement of a list, as the store receives it. */
export interface Step {
  readonly text: string
  readonly values: readonly Value[]
  /** Expected rows: see `encodeRows`. */
  readonly rows: number
  /** Positions of the values that may be summed. */
  readonly sums?: readonly number[] | undefined
}
interface Sum extends Step {
  readonly values: Value[]
}
/** Statements of one text. Most of a commit concern the same rows as their predecessor and need no
 *  key. */
interface TextSums {
  last: Sum
  readonly byKey: Map<string, Sum>
}

export class StatementSums {
  #steps: Sum[] = []
  readonly #texts = new Map<string, TextSums>()

  /** Adds a step; false if it cannot be summed. */
  add(step: Step): boolean {
    const { text, values, sums } = step
    if (!sums) return false
    const alike = this.#texts.get(text)
    if (alike && isSummable(alike.last, step, sums)) addTo(alike.last, values, sums)
    else this.#addByKey(alike, step, sums)
    return true
  }
  #addByKey(alike: TextSums | undefined, step: Step, sums: readonly number[]): void {
    const key = keyOf(step, sums)
    const sum = alike?.byKey.get(key)
    if (sum) addTo(sum, step.values, sums)
    const last = sum ?? { ...step, values: [...step.values] }
    if (!sum) this.#steps.push(last)
    if (!alike) return void this.#texts.set(step.text, { last, byKey: new Map([[key, last]]) })
    alike.last = last
    alike.byKey.set(key, last)
  }
  /** Removes and returns the summed steps, in the order of their first appearance. */
  drain(): readonly Step[] {
    if (this.#steps.length === 0) return NONE
    const steps = this.#steps
    this.#steps = []
    this.#texts.clear()
    return steps
  }
}
const NONE: readonly Step[] = []

const isSummable = (sum: Sum, { values, rows }: Step, sums: readonly number[]): boolean =>
  sum.rows === rows &&
  sum.values.length === values.length &&
  values.every((value, at) => value === sum.values[at] || sums.includes(at))
const keyOf = ({ values, rows }: Step, sums: readonly number[]): string => {
  let key = String(rows)
  for (const [at, value] of values.entries())
    if (!sums.includes(at)) key += `\0${typeof value}${value}`
  return key
}
const addTo = ({ values }: Sum, more: readonly Value[], sums: readonly number[]): void => {
  for (const at of sums) values[at] = addValues(values[at], more[at])
}
/** The sum as a number where that is exact, otherwise as a bigint. */
const addValues = (one: Value | undefined, other: Value | undefined): number | bigint => {
  if (typeof one === 'number' && typeof other === 'number' && Number.isSafeInteger(one + other))
    return one + other
  return BigInt(one as number | bigint) + BigInt(other as number | bigint)
}
