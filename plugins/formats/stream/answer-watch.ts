/** Passes a whole answer through unchanged and reads its usage counts. An answer that should be
 *  JSON and is not, or is cut off, becomes a fault. */
import { asBuffer } from '../../../engine/kit.ts'
import type { Bytes, Fault, Filter, Json, Out } from '../../../engine/plugin.ts'
import { type Fields, isFields } from '../fields.ts'
import { FieldExtractor } from './field-extractor.ts'
import type { ResponseListener, WatchedMarks } from './stream-watch.ts'

export class AnswerFilter implements Filter {
  /** Undefined if the answer is not JSON. */
  readonly #extractor: FieldExtractor | undefined
  readonly #marks: WatchedMarks
  readonly #isChecked: boolean
  readonly #listener: ResponseListener
  readonly #counter: ReturnType<NonNullable<WatchedMarks['count']['countAnswer']>> | undefined
  #hasFailed = false
  /** `json`: the answer may have counts. `isChecked`: it must be an object or an array. */
  constructor(
    marks: WatchedMarks,
    listener: ResponseListener,
    { json, isChecked }: { readonly json: boolean; readonly isChecked: boolean },
  ) {
    this.#extractor = json ? new FieldExtractor(marks.key, marks.servedKeys) : undefined
    this.#marks = marks
    this.#isChecked = isChecked
    this.#listener = listener
    this.#counter = marks.count.countAnswer?.()
  }
  write(chunk: Bytes, out: Out): void {
    if (this.#hasFailed) return
    this.#observe(chunk)
    // A page is refused before any of its bytes is sent, so the client pays nothing.
    if (this.#isChecked && this.#extractor?.isForeign)
      return this.fail(this.#listener.unreadableFault(), out)
    out.write(chunk)
  }
  end(tail: Bytes | undefined, out: Out): void {
    if (this.#hasFailed) return
    if (tail) this.#observe(tail)
    if (this.#isChecked && !this.#extractor?.isWhole)
      return this.fail(this.#listener.unreadableFault(), out)
    const usage = parse(this.#extractor?.value)
    const counts = isFields(usage) ? usage : undefined
    this.#reportServed(counts)
    this.#listener.onUsage(this.#counter ? { ...counts, ...this.#counter.counts } : counts, true)
    out.end(tail)
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
    this.#extractor?.push(chunk)
    this.#counter?.push(chunk)
    this.#listener.onBytes?.(chunk, false)
  }
  fail(reason: Fault, out: Out): void {
    if (this.#hasFailed) return
    this.#hasFailed = true
    this.#listener.onUsage(undefined, false)
    out.fail(reason)
  }
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
