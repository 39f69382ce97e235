/** Statements that only add to what stands in a row: of many with the same other values one is left, with the sums. */
import type { Value } from '../plugin.ts'

export interface Step {
  readonly text: string
  readonly values: readonly Value[]
  /** Rows it must touch: -1 any, -2 some. */
  readonly rows: number
  /** Places of values that many of them may be applied as one with. */
  readonly sums?: readonly number[] | undefined
}

export class Sums {
  #steps = new Map<string, { readonly step: Step; readonly values: Value[] }>()

  /** False: it is no such statement. */
  add(step: Step): boolean {
    const { text, values, rows, sums } = step
    if (!sums) return false
    let key = `${rows} ${text}`
    for (const [at, value] of values.entries()) if (!sums.includes(at)) key += `\0${value}`
    const found = this.#steps.get(key)
    if (!found) this.#steps.set(key, { step, values: [...values] })
    else for (const at of sums) found.values[at] = whole(found.values[at]) + whole(values[at])
    return true
  }
  /** Those so far, in the order in which they first came. */
  take(): readonly Step[] {
    if (this.#steps.size === 0) return NONE
    const steps = [...this.#steps.values()].map(({ step, values }) => ({ ...step, values }))
    this.#steps = new Map()
    return steps
  }
}
const NONE: readonly Step[] = []
const whole = (value: Value | undefined): bigint => BigInt(value as number | bigint)
