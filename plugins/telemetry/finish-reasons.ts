/** Finds why the answers of a response ended, as its bytes pass: in the words of the client's
 *  format. Texts cannot be taken for it, since their quotes are escaped; members of a call's
 *  arguments can, and change telemetry only. */
import { asBuffer } from '../../engine/kit.ts'
import type { Bytes, Fault, Filter, Out } from '../../engine/plugin.ts'
import type { FinishFacts, FinishMark } from '../formats/format.ts'

/** Bytes behind the mark that may hold the value. */
const WINDOW = 160
const NO_BYTES = Buffer.alloc(0)
/** Reasons of one response: it may have several answers. */
const MOST = 8

export class FinishReasons implements Filter {
  readonly #facts: FinishFacts
  readonly #reasons: string[] = []
  #otherwise: string | undefined
  /** The end of the bytes so far, if a mark may be cut there. */
  #rest: Buffer = NO_BYTES
  #hasEnded = false
  constructor(facts: FinishFacts) {
    this.#facts = facts
  }
  /** Undefined: the response names none. */
  get reasons(): readonly string[] | undefined {
    if (this.#reasons.length > 0) return this.#reasons
    return this.#hasEnded && this.#otherwise !== undefined ? [this.#otherwise] : undefined
  }
  write(chunk: Bytes, out: Out): void {
    this.#search(asBuffer(chunk))
    out.write(chunk)
  }
  end(tail: Bytes | undefined, out: Out): void {
    const bytes = this.#withRest(tail ? asBuffer(tail) : NO_BYTES)
    this.#hasEnded = true
    this.#take(bytes, bytes.length)
    out.end(tail)
  }
  fail(reason: Fault, out: Out): void {
    out.fail(reason)
  }
  #search(chunk: Buffer): void {
    const bytes = this.#withRest(chunk)
    const complete = Math.max(0, bytes.length - WINDOW)
    this.#take(bytes, complete)
    // A mark that begins later may have its value in the next bytes.
    this.#rest = Buffer.from(bytes.subarray(complete))
  }
  #withRest(chunk: Buffer): Buffer {
    return this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk
  }
  /** Takes the values of marks that begin before `end`. */
  #take(bytes: Buffer, end: number): void {
    const { otherwise } = this.#facts
    for (const reason of valuesIn(bytes, end, this.#facts))
      if (this.#reasons.length < MOST) this.#reasons.push(reason)
    if (otherwise) for (const reason of valuesIn(bytes, end, otherwise)) this.#otherwise = reason
  }
}
function* valuesIn(bytes: Buffer, end: number, { mark, value }: FinishMark): Generator<string> {
  for (let at = bytes.indexOf(mark); at >= 0 && at < end; ) {
    const [, reason] = value.exec(bytes.toString('latin1', at, at + WINDOW)) ?? []
    if (reason !== undefined) yield reason
    at = bytes.indexOf(mark, at + mark.length)
  }
}
