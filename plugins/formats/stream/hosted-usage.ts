/** Counts hosted tool calls that the upstream's own counts omit. Bytes pass unchanged; only those
 *  with a mark are parsed. */
import { asBuffer } from '../../../engine/kit.ts'
import type { Bytes, Fault, Filter, Json, Out } from '../../../engine/plugin.ts'
import { isFields } from '../fields.ts'
import { eventFields, type HostedUsage } from '../format.ts'
import { eventsIn, Splitter } from './sse.ts'

/** Whether the request offers tools that the provider runs. Stored prompts and cached content may
 *  offer some invisibly. Answers of other requests are not inspected. */
export const offersHostedTools = (body: Json | undefined): boolean =>
  isFields(body) &&
  (STORED_FIELDS.some(name => body[name] !== undefined && body[name] !== null) ||
    (Array.isArray(body.tools) && body.tools.some(isHosted)))
const STORED_FIELDS = ['web_search_options', 'prompt', 'cachedContent', 'cached_content'] as const
const CLIENT_TOOLS: ReadonlySet<string> = new Set([
  'function',
  'custom',
  'functionDeclarations',
  'function_declarations',
])
/** Google names its tools by their key; other providers by their type, which a client's own tool
 *  may lack. */
const isHosted = (tool: Json): boolean => {
  if (!isFields(tool)) return false
  if (typeof tool.type === 'string') return !CLIENT_TOOLS.has(tool.type)
  if (typeof tool.name === 'string') return false
  return Object.keys(tool).some(name => !CLIENT_TOOLS.has(name))
}

/** The maximum size of a whole answer that is parsed, in bytes. */
const MAX_ANSWER = 64 * 1024 * 1024

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
