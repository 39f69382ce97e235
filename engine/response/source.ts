/** Sources of a body: push source, pipe of early chunks, iterable as a push source. */
import { asFault } from '../errors.ts'
import type { Bytes, Fault, Out } from '../plugin.ts'

/** Pushes a body. `start` is called once; then it pushes until one `end` or `fail`. */
export interface Source {
  start(out: Out): void
  pause(): void
  resume(): void
  /** Ends the body early with a fault, as if the upstream broke off. Nothing after the end. */
  abort(fault: Fault): void
}
export type FlowControl = Pick<Source, 'pause' | 'resume'>
export const UNCONTROLLED: FlowControl = { pause() {}, resume() {} }

/** Buffers the first chunks until it is started, then pauses the source. */
export class Pipe implements Source, Out {
  readonly #owner: { endFault: Fault | undefined }
  #flow: FlowControl = UNCONTROLLED
  #abort: (reason: Fault) => void = () => {}
  #queue: Bytes[] = []
  #out: Out | undefined
  #end: { readonly tail: Bytes | undefined } | undefined
  #fault: Fault | undefined
  #paused = false
  #wake: (() => void) | undefined

  constructor(owner: { endFault: Fault | undefined }) {
    this.#owner = owner
  }
  attach(flow: FlowControl, abort: (reason: Fault) => void): void {
    this.#flow = flow
    this.#abort = abort
    if (this.#paused) flow.pause()
  }
  write(chunk: Bytes): void {
    if (this.#fault || this.#end) return
    if (this.#out) return this.#out.write(chunk)
    if (this.#queue.push(chunk) >= PIPE_CHUNKS) this.pause()
    this.#wake?.()
  }
  end(tail?: Bytes, reason?: Fault): void {
    if (this.#fault || this.#end) return
    if (reason) this.#owner.endFault = reason
    this.#end = { tail }
    if (this.#out) return this.#out.end(tail)
    this.#wake?.()
  }
  fail(reason: Fault): void {
    if (this.#fault || this.#end) return
    this.#fault = reason
    if (this.#out) return this.#out.fail(reason)
    this.#wake?.()
  }
  start(out: Out): void {
    for (const chunk of this.#queue.splice(0)) out.write(chunk)
    this.#out = out
    if (this.#fault) return out.fail(this.#fault)
    if (this.#end) return out.end(this.#end.tail)
    this.resume()
  }
  pause(): void {
    this.#paused = true
    this.#flow.pause()
  }
  resume(): void {
    if (!this.#paused) return
    this.#paused = false
    this.#flow.resume()
  }
  abort(reason: Fault): void {
    this.#abort(reason)
    this.fail(reason)
  }
  /** The first bytes, not consumed: one chunk, or as many as `enough` accepts. */
  async peek(enough?: (bytes: Bytes) => boolean): Promise<Bytes | undefined> {
    for (;;) {
      if (enough && this.#queue.length > 1) this.#queue = [Buffer.concat(this.#queue)]
      const bytes = this.#queue[0]
      if (bytes && (!enough || enough(bytes))) return bytes
      if (this.#fault) throw this.#fault
      if (this.#end) return concat(bytes, this.#end.tail)
      await this.#nextEvent()
    }
  }
  /** Consumes the next bytes; undefined at the end. */
  async next(): Promise<Bytes | undefined> {
    for (;;) {
      const chunk = this.#queue.shift()
      if (chunk) return chunk
      if (this.#fault) throw this.#fault
      if (this.#end) {
        const { tail } = this.#end
        this.#end = { tail: undefined }
        return tail
      }
      await this.#nextEvent()
    }
  }
  /** Resolves at the next write, end or fault. Listens first: `resume` may push. */
  #nextEvent(): Promise<void> {
    return new Promise(resolve => {
      this.#wake = resolve
      this.resume()
    })
  }
}
const PIPE_CHUNKS = 8
const concat = (bytes: Bytes | undefined, tail: Bytes | undefined): Bytes | undefined =>
  bytes && tail ? Buffer.concat([bytes, tail]) : (bytes ?? tail)

/** Makes a Source of an AsyncIterable. Holds one chunk back, so that the last is the tail. */
export const fromIterable = (body: AsyncIterable<Bytes>): Source => {
  let gate: Promise<void> | undefined
  let open = (): void => {}
  let target: Out | undefined
  let abortedWith: Fault | undefined
  let ended = false
  const run = async (out: Out): Promise<void> => {
    let previous: Bytes | undefined
    try {
      for await (const chunk of body) {
        if (ended) return
        if (previous) out.write(previous)
        previous = chunk
        if (gate) await gate
      }
      if (!ended) out.end(previous)
    } catch (error) {
      if (ended) return
      if (previous) out.write(previous) // without an end no chunk is the tail
      out.fail(asFault(error))
    } finally {
      ended = true
    }
  }
  return {
    start(out) {
      if (abortedWith) return out.fail(abortedWith)
      target = out
      void run(out)
    },
    pause() {
      gate ??= new Promise(resolve => {
        open = () => {
          gate = undefined
          resolve()
        }
      })
    },
    resume: () => open(),
    abort(reason) {
      if (ended) return
      ended = true
      open()
      if (target) target.fail(reason)
      else abortedWith = reason
    },
  }
}
