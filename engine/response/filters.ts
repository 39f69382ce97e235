/** A reply's body on its way: a push source, synchronous filters, one sink. Knows nothing of sockets. */
import { causeOf, errors, textOf } from '../errors.ts'
import type { Body, Bytes, Fault, Filter, Headers, Out, Reply } from '../plugin.ts'
import { fromIterable, OPEN, Pipe, type Source, type Valve } from './source.ts'

const fault = errors({
  STAGE_THREW: [500, 'a filter threw: %s', { expose: false }],
  REPLY_TOO_LARGE: [502, 'the reply is larger than %d bytes'],
  READER_LEFT: [499, 'the reader of the body left'],
})

/** One joint of the chain. Latched: after `end` or `fail` nothing passes, whoever re-enters (a cut from within a write).
 *  A filter that throws is a fault of the reply, not of the process: what is downstream sees `fail`, once. */
class Joint implements Out {
  readonly #filter: Filter
  readonly #out: Out
  readonly #owner: Answer
  #over = false
  constructor(filter: Filter, out: Out, owner: Answer) {
    this.#filter = filter
    this.#out = out
    this.#owner = owner
  }
  write(chunk: Bytes): void {
    if (this.#over) return
    if (!this.#filter.write) return this.#out.write(chunk)
    try {
      this.#filter.write(chunk, this.#out)
    } catch (thrown) {
      this.#over = true
      this.#blame(thrown)
    }
  }
  end(tail?: Bytes, reason?: Fault): void {
    if (this.#over) return
    this.#over = true
    if (reason) this.#owner.told = reason
    if (!this.#filter.end) return this.#out.end(tail)
    try {
      this.#filter.end(tail, this.#out)
    } catch (thrown) {
      this.#blame(thrown)
    }
  }
  fail(reason: Fault): void {
    if (this.#over) return
    this.#over = true
    if (!this.#filter.fail) return this.#out.fail(reason)
    try {
      this.#filter.fail(reason, this.#out)
    } catch (thrown) {
      this.#blame(thrown)
    }
  }
  #blame(thrown: unknown): void {
    this.#out.fail(fault('STAGE_THREW', [textOf(thrown)], { cause: causeOf(thrown) }))
  }
}

const isBytes = (body: Body): body is Bytes => body instanceof Uint8Array

const NONE: readonly Filter[] = []

/** The engine's Reply: a status, headers, and a body that is bytes, an iterable or a source. */
export class Answer implements Reply {
  status: number
  headers: Headers
  /** What its last bytes tell the client went wrong. */
  told: Fault | undefined
  #body: Body
  /** The one it is a part of, if it was read before it was sent. */
  #owner: Answer = this
  #source: Source | undefined
  #filters: readonly Filter[] = NONE

  constructor(status: number, headers: Headers, body: Body, source?: Source) {
    this.status = status
    this.headers = headers
    this.#body = body
    this.#source = source
  }
  get source(): Source | undefined {
    return this.#source
  }
  get body(): Body {
    if (this.#source === undefined && this.#filters.length === 0) return this.#body
    return pull(this.#divert())
  }
  set body(body: Body) {
    this.#source = undefined
    this.#filters = NONE
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
  /** Composes the filters, the last one next to the sink, and lets the source run. */
  pour(sink: Out): Valve {
    let out = sink
    for (let at = this.#filters.length - 1; at >= 0; at--)
      out = new Joint(this.#filters[at] as Filter, out, this.#owner)
    this.#filters = NONE
    if (!this.#source && this.#body && !isBytes(this.#body)) this.#source = fromIterable(this.#body)
    if (this.#source) {
      this.#source.start(out)
      return this.#source
    }
    out.end(this.#body as Bytes | undefined)
    return OPEN
  }
  async bytes(limit: number): Promise<Bytes> {
    const whole = await collect(this, limit)
    this.body = whole
    return whole
  }
  peek(enough?: (seen: Bytes) => boolean): Promise<Bytes | undefined> {
    if (!this.#source && this.#filters.length === 0 && (!this.#body || isBytes(this.#body)))
      return Promise.resolve(this.#body)
    return this.#divert().first(enough)
  }
  /** Pours what there is so far into a pipe, which becomes the source. */
  #divert(): Pipe {
    if (this.#source instanceof Pipe && this.#filters.length === 0) return this.#source
    const pipe = new Pipe(this.#owner)
    const before = new Answer(this.status, this.headers, this.#body, this.#source)
    before.#owner = this.#owner
    for (const filter of this.#filters) before.through(filter)
    this.#filters = NONE
    this.#body = undefined
    this.#source = pipe
    const valve = before.pour(pipe)
    pipe.attach(valve, reason => before.cut(reason))
    return pipe
  }
}

async function* pull(pipe: Pipe): AsyncGenerator<Bytes> {
  let over = false
  try {
    for (;;) {
      const chunk = await pipe.next()
      if (chunk === undefined) break
      yield chunk
    }
    over = true
  } catch (thrown) {
    over = true
    throw thrown
  } finally {
    if (!over) pipe.abort(fault('READER_LEFT'))
  }
}

const collect = (answer: Answer, limit: number): Promise<Bytes> =>
  new Promise((resolve, reject) => {
    const parts: Bytes[] = []
    let size = 0
    const keep = (chunk: Bytes): void => {
      size += chunk.length
      if (size <= limit) parts.push(chunk)
      else {
        const large = fault('REPLY_TOO_LARGE', [limit])
        reject(large)
        answer.cut(large)
      }
    }
    answer.pour({
      write: keep,
      end(tail, reason) {
        if (reason) answer.told = reason
        if (tail) keep(tail)
        resolve(parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts))
      },
      fail: reject,
    })
  })
