/** Counts what hosted tools did where the upstream's own counts do not tell: bytes pass, and what carries a mark is read. */
import type { Bytes, Fault, Filter, Json, Out } from '../../engine/plugin.ts'
import { isFields } from './fields.ts'
import { fieldsOf, type Tally } from './format.ts'
import { eventsIn, Splitter } from './sse.ts'

/** Whether this request offers tools that whoever answers runs. What is kept by its provider may offer some unseen. Only
 *  their answers are tallied: those of ordinary calls are not looked at. */
export const offersHosted = (body: Json | undefined): boolean =>
  isFields(body) &&
  (KEPT.some(name => body[name] !== undefined && body[name] !== null) ||
    (Array.isArray(body.tools) && body.tools.some(isHosted)))
const KEPT = ['web_search_options', 'prompt', 'cachedContent', 'cached_content'] as const
const OWN: ReadonlySet<string> = new Set([
  'function',
  'custom',
  'functionDeclarations',
  'function_declarations',
])
/** Google's tools are named by their key; everybody else's by their type, which a client's own may lack. */
const isHosted = (tool: Json): boolean => {
  if (!isFields(tool)) return false
  if (typeof tool.type === 'string') return !OWN.has(tool.type)
  if (typeof tool.name === 'string') return false
  return Object.keys(tool).some(name => !OWN.has(name))
}

/** A plain answer longer than this is not read. */
const MOST = 64 * 1024 * 1024

export class AnswerTally implements Filter {
  readonly #tally: Tally
  #parts: Bytes[] = []
  #size = 0
  constructor(tally: Tally) {
    this.#tally = tally
  }
  write(chunk: Bytes, out: Out): void {
    this.#keep(chunk)
    out.write(chunk)
  }
  end(tail: Bytes | undefined, out: Out): void {
    if (tail) this.#keep(tail)
    this.#read()
    out.end(tail)
  }
  fail(reason: Fault, out: Out): void {
    out.fail(reason)
  }
  #keep(chunk: Bytes): void {
    this.#size += chunk.length
    if (this.#size <= MOST) this.#parts.push(chunk)
    else this.#parts = []
  }
  #read(): void {
    try {
      const body = JSON.parse(Buffer.concat(this.#parts).toString()) as Json
      // Google's streams without events are a list of answers.
      for (const each of Array.isArray(body) ? body : [body])
        if (isFields(each)) this.#tally.saw(each)
    } catch {
      // No answer: whoever reads it next says so.
    }
    this.#parts = []
  }
}

export class StreamTally implements Filter {
  readonly #tally: Tally
  readonly #marks: readonly Buffer[]
  readonly #splitter = new Splitter()
  constructor(tally: Tally, marks: readonly string[]) {
    this.#tally = tally
    this.#marks = marks.map(mark => Buffer.from(mark))
  }
  write(chunk: Bytes, out: Out): void {
    const whole = this.#splitter.push(chunk)
    if (whole) this.#read(whole)
    out.write(chunk)
  }
  end(tail: Bytes | undefined, out: Out): void {
    const whole = tail && this.#splitter.push(tail)
    if (whole) this.#read(whole)
    const rest = this.#splitter.take()
    if (rest) this.#read(rest)
    out.end(tail)
  }
  fail(reason: Fault, out: Out): void {
    out.fail(reason)
  }
  #read(bytes: Bytes): void {
    if (
      !this.#marks.some(mark =>
        Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).includes(mark),
      )
    )
      return
    for (const event of eventsIn(bytes)) {
      const fields = fieldsOf(event)
      if (fields) this.#tally.saw(fields)
    }
  }
}
