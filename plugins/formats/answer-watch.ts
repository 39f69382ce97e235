/** Passes a whole answer through unchanged and reads its usage counts. */
import type { Bytes, Fault, Filter, Json, Out } from '../../engine/plugin.ts'
import { type Fields, isFields } from './fields.ts'
import { Skimmer } from './skim.ts'
import type { Marks, Watch } from './watch.ts'

export class AnswerWatch implements Filter {
  /** Undefined if the answer is not JSON. */
  readonly #skimmer: Skimmer | undefined
  readonly #watch: Watch
  readonly #tally: ReturnType<NonNullable<Marks['count']['tally']>> | undefined
  constructor(marks: Marks, watch: Watch, json = true) {
    this.#skimmer = json ? new Skimmer(marks.key) : undefined
    this.#watch = watch
    this.#tally = marks.count.tally?.()
  }
  write(chunk: Bytes, out: Out): void {
    this.#see(chunk)
    out.write(chunk)
  }
  end(tail: Bytes | undefined, out: Out): void {
    if (tail) this.#see(tail)
    const counts = parse(this.#skimmer?.value)
    this.#watch.counted(this.#tally ? { ...counts, ...this.#tally.counts } : counts, true)
    out.end(tail)
  }
  #see(chunk: Bytes): void {
    this.#skimmer?.push(chunk)
    this.#tally?.push(chunk)
    this.#watch.passed?.(chunk, false)
  }
  fail(reason: Fault, out: Out): void {
    this.#watch.counted(undefined, false)
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
