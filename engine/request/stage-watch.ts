/** Watches the stages of a call that have not called `next()`; ends the innermost one when stuck.
 *
 *  open ──stall──▶ stalled: the innermost waiting stage is rejected, and none may begin */
import type { Fault } from '../plugin.ts'

export class StageWatch {
  /** Waiting stages, the innermost last; also some that have ended since. */
  #waiting: { readonly name: string | undefined; reject(reason: Fault): void }[] | undefined
  #stallReason: Fault | undefined
  #firstEnded: string | undefined
  /** Requests beside the pipeline that a stage waits for. */
  #sends = 0

  /** Why no stage may begin any more; undefined while stages may. */
  get stallReason(): Fault | undefined {
    return this.#stallReason
  }
  /** The stage that owes the reply, for messages: the first that ended of those that had not called
   *  `next()` when they first waited. */
  get owner(): string {
    return this.#firstEnded === undefined ? 'a stage' : `the stage "${this.#firstEnded}"`
  }
  get sending(): boolean {
    return this.#sends > 0
  }
  /** Returns a promise of the stage's end that `stall` can reject. */
  guard(stage: Promise<void>, name: string | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting ??= []
      this.#waiting.push({ name, reject })
      stage.then(() => {
        this.#firstEnded ??= name
        resolve()
      }, reject)
    })
  }
  /** Rejects the innermost waiting stage. `makeFault` gets its name. */
  stall(makeFault: (stage: string | undefined) => Fault): { fault: Fault; wasRejected: boolean } {
    const stage = this.#waiting?.pop()
    const fault = makeFault(stage?.name)
    this.#stallReason = fault
    stage?.reject(fault)
    return { fault, wasRejected: stage !== undefined }
  }
  /** Counts a request beside the pipeline. Returns a function to call when its reply has ended. */
  beginSend(): () => void {
    this.#sends++
    let ended = false
    return () => {
      if (!ended) this.#sends--
      ended = true
    }
  }
}
