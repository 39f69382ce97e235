/** The engine's Reply: a source, synchronous filters, one sink. Knows no sockets. */
import { causeOf, errors, textOf } from '../errors.ts'
import type { Body, Bytes, Fault, Filter, Headers, Out, Reply } from '../plugin.ts'
import { type FlowControl, fromIterable, Pipe, type Source, UNCONTROLLED } from './source.ts'

const fault = errors({
  STAGE_THREW: [500, 'a filter threw: %s', { expose: false }],
  REPLY_TOO_LARGE: [502, 'the reply is larger than %d bytes'],
  READER_LEFT: [499, 'the reader of the body left'],
})

/** One filter and the output behind it. Latched: after `end` or `fail` nothing passes, also when a
 *  filter re-enters (a cut within a write). A filter that throws is a fault of the reply, not of
 *  the process: the output gets `fail`, once. */
class FilterLink implements Out {
  readonly #filter: Filter
  readonly #out: Out
  readonly #owner: FilteredReply
  hasEnded = false
  constructor(filter: Filter, out: Out, owner: FilteredReply) {
    this.#filter = filter
    this.#out = out
    this.#owner = owner
  }
  write(chunk: Bytes): void {
    if (this.hasEnded) return
    if (!this.#filter.write) return this.#out.write(chunk)
    try {
      this.#filter.write(chunk, this.#out)
    } catch (error) {
      this.hasEnded = true
      this.#reportThrow(error)
    }
  }
  end(tail?: Bytes, reason?: Fault): void {
    if (this.hasEnded) return
    this.hasEnded = true
    if (reason) this.#owner.endFault = reason
    if (!this.#filter.end) return this.#out.end(tail)
    try {
      this.#filter.end(tail, this.#out)
    } catch (error) {
      this.#reportThrow(error)
    }
  }
  fail(reason: Fault): void {
    if (this.hasEnded) return
    this.hasEnded = true
    if (!this.#filter.fail) return this.#out.fail(reason)
    try {
      this.#filter.fail(reason, this.#out)
    } catch (error) {
      this.#reportThrow(error)
    }
  }
  #reportThrow(error: unknown): void {
    this.#out.fail(fault('STAGE_THREW', [textOf(error)], { cause: causeOf(error) }))
  }
}

const isBytes = (body: Body): body is Bytes => body instanceof Uint8Array

const NO_FILTERS: readonly Filter[] = []
const NO_CHAINS: readonly { readonly first: FilterLink; readonly last: FilterLink }[] = []
/** Passes everything on. */
const PASS: Filter = {}

/** A status, headers, and a body that is bytes, an iterable or a source. */
export class FilteredReply implements Reply {
  status: number
  headers: Headers
  /** The fault that the last bytes of the body report to the client. */
  endFault: Fault | undefined
  #body: Body
  /** The reply that gets `endFault`: the outer one, if this one was read early. */
  #owner: FilteredReply = this
  #source: Source | undefined
  #filters: readonly Filter[] = NO_FILTERS
  #chains = NO_CHAINS

  constructor(status: number, headers: Headers, body: Body, source?: Source) {
    this.status = status
    this.headers = headers
    this.#body = body
    this.#source = source
  }
  get source(): Source | undefined {
    return this.#source
  }
  /** Whether the source has ended, and a filter has not passed that on. */
  get isHeldByFilter(): boolean {
    return this.#chains.some(({ first, last }) => first.hasEnded && !last.hasEnded)
  }
  get body(): Body {
    if (this.#source === undefined && this.#filters.length === 0) return this.#body
    return readChunks(this.#pipe())
  }
  set body(body: Body) {
    this.#source = undefined
    this.#filters = NO_FILTERS
    this.#body = body
    delete this.headers['content-length']
  }
  through(filter: Filter): void {
    this.#filters = this.#filters.length === 0 ? [filter] : [...this.#filters, filter]
  }
  cut(reason: Fault): void {
    if (this.#source) return this.#source.abort(reason)
    if (this.#body === undefined || isBytes(this.#body)) return
    this.#source = fromIterable(this.#body)
    this.#source.abort(reason)
  }
  /** Connects source, filters and sink, the last filter next to the sink, and starts the source. */
  pipeTo(sink: Out): FlowControl {
    const out = this.#filters.length === 0 ? sink : this.#connect(sink)
    if (!this.#source && this.#body && !isBytes(this.#body)) this.#source = fromIterable(this.#body)
    if (this.#source) {
      this.#source.start(out)
      return this.#source
    }
    out.end(this.#body as Bytes | undefined)
    return UNCONTROLLED
  }
  /** Puts the filters before the sink. Returns the first. */
  #connect(sink: Out): Out {
    const last = new FilterLink(PASS, sink, this.#owner)
    let first = last
    for (let at = this.#filters.length - 1; at >= 0; at--)
      first = new FilterLink(this.#filters[at] as Filter, first, this.#owner)
    this.#filters = NO_FILTERS
    this.#chains = [...this.#chains, { first, last }]
    return first
  }
  async bytes(limit: number): Promise<Bytes> {
    const bytes = await collect(this, limit)
    this.body = bytes
    return bytes
  }
  peek(enough?: (bytes: Bytes) => boolean): Promise<Bytes | undefined> {
    if (!this.#source && this.#filters.length === 0 && (!this.#body || isBytes(this.#body)))
      return Promise.resolve(this.#body)
    return this.#pipe().peek(enough)
  }
  /** Pipes the body through the filters so far into a Pipe, which becomes the source. */
  #pipe(): Pipe {
    if (this.#source instanceof Pipe && this.#filters.length === 0) return this.#source
    const pipe = new Pipe(this.#owner)
    const inner = new FilteredReply(this.status, this.headers, this.#body, this.#source)
    inner.#owner = this.#owner
    for (const filter of this.#filters) inner.through(filter)
    this.#filters = NO_FILTERS
    this.#body = undefined
    this.#source = pipe
    pipe.attach(inner.pipeTo(pipe), reason => inner.cut(reason))
    this.#chains = inner.#chains
    return pipe
  }
}

async function* readChunks(pipe: Pipe): AsyncGenerator<Bytes> {
  let over = false
  try {
    for (;;) {
      const chunk = await pipe.next()
      if (chunk === undefined) break
      yield chunk
    }
    over = true
  } catch (error) {
    over = true
    throw error
  } finally {
    if (!over) pipe.abort(fault('READER_LEFT'))
  }
}

const collect = (answer: FilteredReply, limit: number): Promise<Bytes> =>
  new Promise((resolve, reject) => {
    const parts: Bytes[] = []
    let size = 0
    const addChunk = (chunk: Bytes): void => {
      size += chunk.length
      if (size <= limit) parts.push(chunk)
      else {
        const reason = fault('REPLY_TOO_LARGE', [limit])
        reject(reason)
        answer.cut(reason)
      }
    }
    answer.pipeTo({
      write: addChunk,
      end(tail, reason) {
        if (reason) answer.endFault = reason
        if (tail) addChunk(tail)
        resolve(parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts))
      },
      fail: reject,
    })
  })
