/** Passes a whole answer through unchanged and reads its usage counts. An answer that should be
 *  JSON and is not, or is cut off, becomes a fault. */
import { asBuffer } from '../../../engine/kit.ts'
import type { Bytes, Fault, Filter, Json, Out } from '../../../engine/plugin.ts'
import { type Fields, isFields } from '../fields.ts'
import { FieldExtractor } from './field-extractor.ts'
import type { ResponseListener } from './response-listener.ts'
import type { WatchedMarks } from './stream-watch.ts'

/** How a plain answer is kept back until it is known to be one. */
export interface AnswerHold {
  /** ms after its first bytes; then it passes. */
  readonly ms: number
  /** The fault of a body that is an error in place of an answer. */
  faultOf(body: Bytes): Fault | undefined
}
/** Bytes: a longer body is an answer. */
const HOLD_LIMIT = 64 * 1024

export class AnswerFilter implements Filter {
  /** Undefined if the answer is not JSON. */
  readonly #extractor: FieldExtractor | undefined
  readonly #marks: WatchedMarks
  readonly #isChecked: boolean
  readonly #needsBytes: boolean
  #isEmpty = true
  readonly #listener: ResponseListener
  readonly #counter: ReturnType<NonNullable<WatchedMarks['count']['countAnswer']>> | undefined
  #hasFailed = false
  /** Undefined: the body is an answer. */
  #hold: AnswerHold | undefined
  /** It was kept back for long enough. */
  #isPassing = false
  /** Bytes so far, while the body may be an error. */
  #start: Bytes[] = []
  #size = 0
  #timer: NodeJS.Timeout | undefined
  /** `json`: the answer may have counts. `isChecked`: it must be an object or an array.
   *  `needsBytes`: it must not be empty. */
  constructor(
    marks: WatchedMarks,
    listener: ResponseListener,
    { json, isChecked, needsBytes = false, hold }: AnswerOptions,
  ) {
    this.#extractor = json ? new FieldExtractor(marks.key, marks.servedKeys) : undefined
    this.#marks = marks
    this.#hold = hold
    this.#isChecked = isChecked
    this.#needsBytes = needsBytes
    this.#listener = listener
    this.#counter = marks.count.countAnswer?.()
  }
  write(chunk: Bytes, out: Out): void {
    if (this.#hasFailed) return
    this.#observe(chunk)
    // A page is refused before any of its bytes is sent, so the client pays nothing.
    if (this.#isChecked && this.#extractor?.isForeign)
      return this.fail(this.#listener.faultOf('UPSTREAM_UNREADABLE'), out)
    if (this.#hold) this.#keep(chunk, this.#hold, out)
    else out.write(chunk)
  }
  #keep(chunk: Bytes, { ms }: AnswerHold, out: Out): void {
    this.#start.push(chunk)
    this.#size += chunk.length
    if (this.#isPassing) out.write(chunk)
    else if (this.#size > HOLD_LIMIT) this.#pass(out)
    else this.#timer ??= setTimeout(() => this.#pass(out), ms)
    if (this.#size > HOLD_LIMIT) this.#hold = undefined
  }
  #pass(out: Out): void {
    clearTimeout(this.#timer)
    this.#isPassing = true
    for (const chunk of this.#start) out.write(chunk)
  }
  end(tail: Bytes | undefined, out: Out): void {
    if (this.#hasFailed) return
    if (tail) this.#observe(tail)
    if (this.#isChecked && !this.#extractor?.isWhole)
      return this.fail(this.#listener.faultOf('UPSTREAM_UNREADABLE'), out)
    if (this.#needsBytes && this.#isEmpty)
      return this.fail(this.#listener.faultOf('UPSTREAM_EMPTY'), out)
    clearTimeout(this.#timer)
    if (this.#hold) return this.#endHeld(this.#hold, tail, out)
    this.#reportCounts()
    out.end(tail)
  }
  #endHeld({ faultOf }: AnswerHold, tail: Bytes | undefined, out: Out): void {
    const parts = tail ? [...this.#start, tail] : this.#start
    const body = parts.length === 1 ? parts[0] : Buffer.concat(parts)
    const reason = body && body.length <= HOLD_LIMIT ? faultOf(body) : undefined
    if (reason && !this.#isPassing) return this.fail(reason, out)
    if (reason) this.#listener.onUnanswered()
    this.#reportCounts()
    out.end(this.#isPassing ? tail : body)
  }
  #reportCounts(): void {
    const usage = parse(this.#extractor?.value)
    const counts = isFields(usage) ? usage : undefined
    this.#reportServed(counts)
    const all = this.#counter ? { ...counts, ...this.#counter.counts } : counts
    this.#listener.onUsage({ counts: all }, true)
  }
  #reportServed(counts: Fields | undefined): void {
    const { count, served } = this.#marks
    const fields: { [key: string]: Json } = counts ? { [count.key]: counts } : {}
    const { members } = served.facts
    for (let index = 0; index < members.length; index++) {
      const value = parse(this.#extractor?.valueAt(index))
      if (value !== undefined) fields[members[index] as string] = value
    }
    this.#listener.onServed(served.facts.read(fields))
  }
  #observe(chunk: Bytes): void {
    if (chunk.length > 0) this.#isEmpty = false
    this.#extractor?.push(chunk)
    this.#counter?.push(chunk)
    this.#listener.onBytes(chunk, false)
  }
  fail(reason: Fault, out: Out): void {
    if (this.#hasFailed) return
    this.#hasFailed = true
    clearTimeout(this.#timer)
    this.#listener.onUsage({}, false)
    out.fail(reason)
  }
}
interface AnswerOptions {
  readonly json: boolean
  readonly isChecked: boolean
  readonly needsBytes?: boolean
  readonly hold?: AnswerHold | undefined
}
const parse = (value: Bytes | undefined): Json | undefined => {
  if (!value) return undefined
  const text = asBuffer(value).toString()
  // Most values are short texts without an escape.
  if (text.startsWith('"') && text.endsWith('"') && !text.includes('\\')) return text.slice(1, -1)
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}
