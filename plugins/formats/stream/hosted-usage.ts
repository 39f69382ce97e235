/** Counts hosted tool calls that the upstream's own counts omit. Bytes pass unchanged; only those
 *  with a mark are parsed. */
import { asBuffer } from '../../../engine/kit.ts'
import type { Bytes, Fault, Filter, Json, Out } from '../../../engine/plugin.ts'
import { isFields } from '../fields.ts'
import { eventFields, type HostedUsage } from '../format.ts'
import { eventsIn, Splitter } from './sse.ts'

/** The maximum size of a whole answer that is parsed, in bytes. */
const MAX_ANSWER = 128 * 1024 * 1024

export class AnswerUsageFilter implements Filter {
  readonly #hostedUsage: HostedUsage
  #parts: Bytes[] = []
  #size = 0
  constructor(hostedUsage: HostedUsage) {
    this.#hostedUsage = hostedUsage
  }
  write(chunk: Bytes, out: Out): void {
    this.#buffer(chunk)
    out.write(chunk)
  }
  end(tail: Bytes | undefined, out: Out): void {
    if (tail) this.#buffer(tail)
    this.#read()
    out.end(tail)
  }
  fail(reason: Fault, out: Out): void {
    out.fail(reason)
  }
  #buffer(chunk: Bytes): void {
    this.#size += chunk.length
    if (this.#size <= MAX_ANSWER) this.#parts.push(chunk)
    else this.#parts = []
  }
  #read(): void {
    try {
      const body = JSON.parse(Buffer.concat(this.#parts).toString()) as Json
      // Google's streams without `alt=sse` are a list of answers.
      for (const each of Array.isArray(body) ? body : [body])
        if (isFields(each)) this.#hostedUsage.observe(each)
    } catch {
      // Not JSON: the reader of the answer reports that.
    }
    this.#parts = []
  }
}

export class StreamUsageFilter implements Filter {
  readonly #hostedUsage: HostedUsage
  readonly #marks: readonly Buffer[]
  readonly #splitter = new Splitter()
  constructor(hostedUsage: HostedUsage, marks: readonly string[]) {
    this.#hostedUsage = hostedUsage
    this.#marks = marks.map(mark => Buffer.from(mark))
  }
  write(chunk: Bytes, out: Out): void {
    const events = this.#splitter.push(chunk)
    if (events) this.#read(events)
    out.write(chunk)
  }
  end(tail: Bytes | undefined, out: Out): void {
    const events = tail && this.#splitter.push(tail)
    if (events) this.#read(events)
    const rest = this.#splitter.take()
    if (rest) this.#read(rest)
    out.end(tail)
  }
  fail(reason: Fault, out: Out): void {
    out.fail(reason)
  }
  #read(bytes: Bytes): void {
    if (!this.#marks.some(mark => asBuffer(bytes).includes(mark))) return
    for (const event of eventsIn(bytes)) {
      const fields = eventFields(event)
      if (fields) this.#hostedUsage.observe(fields)
    }
  }
}
