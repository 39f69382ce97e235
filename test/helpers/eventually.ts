/** Waits for what another process does. */
import { scaled } from './machine-speed.ts'

/** ms of pauses, ten times as long as it should take; at most five minutes: what has not come by
 *  then does not come. */
export const PATIENCE = Math.min(scaled(60_000), 300_000)
const FIRST_PAUSE = 20
const LONGEST_PAUSE = 150

export interface Waiting {
  /** ms of pauses between looks until the wait fails. */
  readonly patience?: number
  /** The text of the error. */
  failure?(): string
}

/** Waits for a value other than `undefined` and `false`. Each look may be a request: the pauses
 *  between looks grow with the wait. Only pauses are counted, at the length that was asked for: if
 *  the machine does not run this process for a while, the wait takes so much longer. */
export const eventually = async <T>(
  look: () => T | undefined | false | Promise<T | undefined | false>,
  { patience = PATIENCE, failure = () => 'it never came' }: Waiting = {},
): Promise<T> => {
  let pause = FIRST_PAUSE
  for (let waited = 0; ; waited += pause) {
    const value = await look()
    if (value !== undefined && value !== false) return value
    if (waited > patience) throw new Error(failure())
    await new Promise(resolve => setTimeout(resolve, pause))
    pause = Math.min(pause * 1.3, LONGEST_PAUSE)
  }
}
