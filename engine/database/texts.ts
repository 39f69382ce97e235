/** Which SQL texts the writer has been told on this connection, and under what number. */
import type { Sql, Statement } from '../plugin.ts'
import type { WireStatement } from './frames.ts'
import { type Wire, wanted } from './values.ts'

export class Texts {
  readonly #known = new Map<string, { readonly text: string; readonly number: number }>()
  #untold: [number: number, text: string][] = []
  #next = 0

  statement(statement: Statement, values: readonly Wire[]): WireStatement {
    return [this.#number(statement.sql), wanted(statement), ...values]
  }
  /** What must be told before the statements made since the last time. */
  untold(): readonly (readonly [number: number, text: string])[] {
    const untold = this.#untold
    this.#untold = []
    return untold
  }
  #number({ name, text }: Sql): number {
    const known = this.#known.get(name)
    // A reload may bring another text under the same name.
    if (known?.text === text) return known.number
    const number = this.#next++
    this.#known.set(name, { text, number })
    this.#untold.push([number, text])
    return number
  }
}
