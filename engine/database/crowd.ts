/** Whether so many lists come that they had better wait for each other: a frame, a wake-up and an fsync cost the same for
 *  one list as for thirty. Measured, not set: where few come, none waits. */

/** ms: a commit of a hundred lists costs the writer half as much for each as one of twenty. */
const MOMENT = 5
/** Lists a ms that make waiting worth it. */
const WORTH = 4
/** Lists without an answer: whoever joins them waits for those before him anyway. */
const QUEUE = 16

export class Crowd {
  #last = 0
  /** ms to wait before the next frame; 0: none. */
  wait = 0

  /** A frame of so many lists leaves, and so many wait for an answer then: on a machine that has other work few come, and
   *  many wait. */
  sent(lists: number, now: number, waiting: number): void {
    const since = Math.max(now - this.#last, 1)
    this.#last = now
    const many = lists / since >= WORTH || waiting >= QUEUE
    this.wait = many ? MOMENT : 0
  }
}
