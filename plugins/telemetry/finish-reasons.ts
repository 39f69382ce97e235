/** Finds why the answers of a response ended, as its bytes pass: in the words of the client's
 *  format. Text of a model cannot be taken for it: quotes within a text are escaped. */
import { asBuffer } from '../../engine/kit.ts'
import type { Bytes, Fault, Filter, Out } from '../../engine/plugin.ts'
import type { FinishFacts } from '../formats/format.ts'

/** Bytes behind the mark that may hold the value. */
const WINDOW = 96
/** Reasons of one response: it may have several answers. */
const MOST = 8

export class FinishReasons implements Filter {
  readonly #facts: FinishFacts
  readonly #reasons: string[] = []
  /** The end of the bytes so far, if a mark may be cut there. */
  #rest: Buffer = Buffer.alloc(0)
  #hasEnded = false
  constructor(facts: FinishFacts) {
    this.#facts = facts
  }
  /** Undefined: the response names none. */
  get reasons(): readonly string[] | undefined {
    const { otherwise } = this.#facts
    if (this.#reasons.length > 0) return this.#reasons
    return this.#hasEnded && otherwise !== undefined ? [otherwise] : undefined
  }
  write(chunk: Bytes, out: Out): void {
    this.#search(asBuffer(chunk))
    out.write(chunk)
  }
  end(tail: Bytes | undefined, out: Out): void {
    this.#search(tail ? asBuffer(tail) : Buffer.alloc(0))
    this.#hasEnded = true
    this.#take(this.#rest, this.#rest.length)
    out.end(tail)
  }
  fail(reason: Fault, out: Out): void {
    out.fail(reason)
  }
  #search(chunk: Buffer): void {
    const bytes = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk
    const complete = Math.max(0, bytes.length - WINDOW)
    // A mark that begins later may have its value in the next bytes.
    const next = this.#take(bytes, complete)
    this.#rest = Buffer.from(bytes.subarray(Math.max(next, complete)))
  }
  /** Takes the values of marks that begin before `end`. Returns where the next one may begin. */
  #take(bytes: Buffer, end: number): number {
    const { mark, value } = this.#facts
    let next = 0
    for (let at = bytes.indexOf(mark); at >= 0 && at < end; at = bytes.indexOf(mark, next)) {
      next = at + mark.length
      const [, reason] = value.exec(bytes.toString('latin1', at, at + WINDOW)) ?? []
      if (reason !== undefined && this.#reasons.length < MOST) this.#reasons.push(reason)
    }
    return next
  }
}
