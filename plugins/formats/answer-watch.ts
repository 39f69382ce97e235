/** Passes a whole answer through unchanged and reads its usage counts. */
import type { Bytes, Fault, Filter, Json, Out } from '../../engine/plugin.ts'
import { FieldExtractor } from './field-extractor.ts'
import { type Fields, isFields } from './fields.ts'
import type { ResponseListener, WatchedMarks } from './stream-watch.ts'

export class AnswerFilter implements Filter {
  /** Undefined if the answer is not JSON. */
  readonly #extractor: FieldExtractor | undefined
  readonly #watch: ResponseListener
  readonly #tally: ReturnType<NonNullable<WatchedMarks['count']['countAnswer']>> | undefined
  constructor(marks: WatchedMarks, watch: ResponseListener, json = true) {
    this.#extractor = json ? new FieldExtractor(marks.key) : undefined
    this.#watch = watch
    this.#tally = marks.count.countAnswer?.()
  }
  write(chunk: Bytes, out: Out): void {
    this.#see(chunk)
    out.write(chunk)
  }
  end(tail: Bytes | undefined, out: Out): void {
    if (tail) this.#see(tail)
    const counts = parse(this.#extractor?.value)
    this.#watch.onUsage(this.#tally ? { ...counts, ...this.#tally.counts } : counts, true)
    out.end(tail)
  }
  #see(chunk: Bytes): void {
    this.#extractor?.push(chunk)
    this.#tally?.push(chunk)
    this.#watch.onBytes?.(chunk, false)
  }
  fail(reason: Fault, out: Out): void {
    this.#watch.onUsage(undefined, false)
    out.fail(reason)
  }
}
const parse = (value: Bytes | undefined): Fields | undefined => {
  if (!value) return undefined
  try {
    const counts = JSON.parse(Buffer.from(value).toString()) as Json
    return isFields(counts) ? counts : undefined
  } catch {
    return undefined
  }
}
