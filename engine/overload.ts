/** Whether this process has more to do than it can: judged by how late its timers come. */

const EVERY = 50
/** Later than this twice in a row, ms: new requests are turned away, so that those under way are served in time. */
const LATE = 250

export class Overload {
  #late = 0
  readonly #timer: NodeJS.Timeout
  constructor() {
    let due = performance.now() + EVERY
    this.#timer = setInterval(() => {
      const now = performance.now()
      this.#late = now - due > LATE ? this.#late + 1 : 0
      due = now + EVERY
    }, EVERY)
    this.#timer.unref()
  }
  get shedding(): boolean {
    return this.#late >= 2
  }
  close(): void {
    clearInterval(this.#timer)
  }
}
