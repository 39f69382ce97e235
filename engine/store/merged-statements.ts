/** Merged statements: replaces statements of one commit by fewer. INSERTs of one row become one of
 *  several rows; statements that only add to columns, and are equal in all other values, become one
 *  with the sums. */
import type { Value } from '../plugin.ts'

/** A statement of a list, as the store receives it. */
export interface Step {
  readonly text: string
  readonly values: readonly Value[]
  /** Expected rows: see `encodeRows`. */
  readonly rows: number
  /** Positions of the values that may be summed. */
  readonly sums?: readonly number[] | undefined
  /** See `Sql.joins`. */
  readonly joins?: true | undefined
  /** The same object for statements that are known to differ in summed values only. */
  readonly sumKey?: object | undefined
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

export class MergedStatements {
  readonly #joinedTexts: JoinedTexts
  /** The values of all rows, by the text of the INSERT. */
  readonly #rows = new Map<string, (readonly Value[])[]>()
  #sums: Sum[] = []
  readonly #texts = new Map<string, TextSums>()

  constructor(joinedTexts: JoinedTexts) {
    this.#joinedTexts = joinedTexts
  }
  /** Adds a step; false if it cannot be merged. */
  add(step: Step): boolean {
    const { text, values, sums, joins } = step
    if (joins) return this.#addRow(text, values)
    if (!sums) return false
    const alike = this.#texts.get(text)
    if (alike && isSummable(alike.last, step, sums)) addTo(alike.last, values, sums)
    else this.#addByKey(alike, step, sums)
    return true
  }
  #addRow(text: string, values: readonly Value[]): true {
    const rows = this.#rows.get(text)
    if (rows) rows.push(values)
    else this.#rows.set(text, [values])
    return true
  }
  #addByKey(alike: TextSums | undefined, step: Step, sums: readonly number[]): void {
    const key = keyOf(step, sums)
    const sum = alike?.byKey.get(key)
    if (sum) addTo(sum, step.values, sums)
    const last = sum ?? { ...step, values: [...step.values] }
    if (!sum) this.#sums.push(last)
    if (!alike) return void this.#texts.set(step.text, { last, byKey: new Map([[key, last]]) })
    alike.last = last
    alike.byKey.set(key, last)
  }
  /** Removes and returns the merged steps: INSERTs first, then sums, each in the order of their
   *  first appearance. */
  drain(): readonly Step[] {
    if (this.#sums.length === 0 && this.#rows.size === 0) return NONE
    const steps: Step[] = []
    for (const [text, rows] of this.#rows) this.#joinedTexts.join(text, rows, steps)
    steps.push(...this.#sums)
    this.#rows.clear()
    this.#sums = []
    this.#texts.clear()
    return steps
  }
}
const NONE: readonly Step[] = []

/** Numbers of rows that are inserted at once: few texts to prepare. */
const SIZES = [64, 32, 16, 8, 4, 2, 1]

/** The texts of joined INSERTs, by text and number of rows. */
export class JoinedTexts {
  readonly #texts = new Map<string, readonly string[]>()

  /** Adds the INSERTs of all rows to `steps`. */
  join(text: string, rows: readonly (readonly Value[])[], steps: Step[]): void {
    const texts = this.#textsOf(text)
    let at = 0
    for (const [index, size] of SIZES.entries())
      for (; at + size <= rows.length; at += size) {
        const values = rows.slice(at, at + size).flat()
        steps.push({ text: texts[index] as string, values, rows: size })
      }
  }
  #textsOf(text: string): readonly string[] {
    const existing = this.#texts.get(text)
    if (existing) return existing
    const row = text.slice(text.lastIndexOf('VALUES') + 'VALUES'.length)
    const texts = SIZES.map(size => text + `,${row}`.repeat(size - 1))
    this.#texts.set(text, texts)
    return texts
  }
}

const isSummable = (sum: Sum, step: Step, sums: readonly number[]): boolean =>
  (sum.sumKey !== undefined && sum.sumKey === step.sumKey) ||
  (sum.rows === step.rows &&
    sum.values.length === step.values.length &&
    step.values.every((value, at) => value === sum.values[at] || sums.includes(at)))
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
