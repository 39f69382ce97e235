/** Where a body comes from: the push source, a pipe that keeps what nobody wanted yet, an iterable made to push. */
import { asFault } from '../errors.ts'
import type { Bytes, Fault, Out } from '../plugin.ts'

/** Where a body comes from. `start` once; then it pushes until `end` or `fail`, once. */
export interface Source {
  start(out: Out): void
  pause(): void
  resume(): void
  /** Ends it early: `fault` comes out of the source like a dead upstream. Harmless after the end. */
  abort(fault: Fault): void
}
export type Valve = Pick<Source, 'pause' | 'resume'>
export const OPEN: Valve = { pause() {}, resume() {} }

/** Keeps what a source pushed before anyone wanted it; at most a few chunks, then it pauses the source. */
export class Pipe implements Source, Out {
  readonly #owner: { told: Fault | undefined }
  #valve: Valve = OPEN
  #abort: (reason: Fault) => void = () => {}
  #queue: Bytes[] = []
  #out: Out | undefined
  #end: { readonly tail: Bytes | undefined } | undefined
  #fault: Fault | undefined
  #paused = false
  #wake: (() => void) | undefined

  constructor(owner: { told: Fault | undefined }) {
    this.#owner = owner
  }
  attach(valve: Valve, abort: (reason: Fault) => void): void {
    this.#valve = valve
    this.#abort = abort
    if (this.#paused) valve.pause()
  }
  write(chunk: Bytes): void {
    if (this.#fault || this.#end) return
    if (this.#out) return this.#out.write(chunk)
    if (this.#queue.push(chunk) >= PIPE_CHUNKS) this.pause()
    this.#wake?.()
  }
  end(tail?: Bytes, reason?: Fault): void {
    if (this.#fault || this.#end) return
    if (reason) this.#owner.told = reason
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
    this.#valve.pause()
  }
  resume(): void {
    if (!this.#paused) return
    this.#paused = false
    this.#valve.resume()
  }
  abort(reason: Fault): void {
    this.#abort(reason)
    this.fail(reason)
  }
  /** The first bytes, left in place: a chunk, or as many as `enough` asks for. */
  async first(enough?: (seen: Bytes) => boolean): Promise<Bytes | undefined> {
    for (;;) {
      if (enough && this.#queue.length > 1) this.#queue = [Buffer.concat(this.#queue)]
      const seen = this.#queue[0]
      if (seen && (!enough || enough(seen))) return seen
      if (this.#fault) throw this.#fault
      if (this.#end) return joined(seen, this.#end.tail)
      await this.#arrival()
    }
  }
  /** Takes the next bytes out, for readers that pull. */
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
      await this.#arrival()
    }
  }
  /** Listens first: a source may push, and be paused again, while it is being resumed. */
  #arrival(): Promise<void> {
    return new Promise(resolve => {
      this.#wake = resolve
      this.resume()
    })
  }
}
const PIPE_CHUNKS = 8
const joined = (seen: Bytes | undefined, tail: Bytes | undefined): Bytes | undefined =>
  seen && tail ? Buffer.concat([seen, tail]) : (seen ?? tail)

/** Any AsyncIterable as a Source: the simple way, a promise per chunk. The last chunk is kept back as the tail. */
export const fromIterable = (body: AsyncIterable<Bytes>): Source => {
  let gate: Promise<void> | undefined
  let open = (): void => {}
  let to: Out | undefined
  let early: Fault | undefined // aborted before anyone started it
  let over = false
  const run = async (out: Out): Promise<void> => {
    let kept: Bytes | undefined
    try {
      for await (const chunk of body) {
        if (over) return
        if (kept) out.write(kept)
        kept = chunk
        if (gate) await gate
      }
      if (!over) out.end(kept)
    } catch (thrown) {
      if (over) return
      if (kept) out.write(kept) // it was not the last one: there is none
      out.fail(asFault(thrown))
    } finally {
      over = true
    }
  }
  return {
    start(out) {
      if (early) return out.fail(early)
      to = out
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
      if (over) return
      over = true
      open()
      if (to) to.fail(reason)
      else early = reason
    },
  }
}
