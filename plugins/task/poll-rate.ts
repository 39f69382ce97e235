/** Limits the polls of each upstream over the whole installation, and spaces those of one process:
 *  calls would else wait behind many polls at once. A poll waits for its turn; nothing is written
 *  meanwhile. */
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import { parsed, readerOf, schemasOf } from '../../engine/config/shape.ts'
import type { Allowance, Host } from '../../engine/plugin.ts'

/** ms of a window. */
const WINDOW = 1_000

const POLLS = {
  polls: parsed(
    'Most polls of tasks at this upstream, over all workers and machines.',
    '^([1-9][0-9]{0,5})\\/s$',
    rate => Number.parseInt(rate, 10),
    { default: '200/s', examples: ['200/s'] },
  ),
}
export const upstreamSchemas = schemasOf(POLLS)
const readPolls = readerOf(POLLS)

/** The same promise, but rejected when the signal aborts. Leaves no listener behind. */
const abortable = <T>(promise: Promise<T>, signal: AbortSignal): Promise<T> =>
  new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason)
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })

export class PollRate {
  readonly #host: Pick<Host, 'allowance' | 'upstreams'>
  readonly #allowances = new Map<string, Allowance>()
  /** Resolves when this process may begin its next poll of an upstream. */
  readonly #turns = new Map<string, Promise<void>>()

  constructor(host: Pick<Host, 'allowance' | 'upstreams'>) {
    this.#host = host
  }
  /** Resolves when the upstream may be polled; rejects when the signal aborts. */
  async wait(upstream: string, signal: AbortSignal): Promise<void> {
    const rate = this.#rateOf(upstream)
    // Timers end late: with the whole gap a process would stay below its rate.
    await this.#space(upstream, WINDOW / rate / 2, signal)
    const allowance = this.#allowanceOf(rate)
    for (;;) {
      const isTaken =
        allowance.take(upstream, 1n) ??
        // Without its primary a process gets no answer.
        (await abortable(allowance.request(upstream, 1n), signal))
      if (isTaken) return
      await pause(Math.max(20, allowance.retryAfter(upstream)), undefined, { signal })
    }
  }
  /** Resolves at once where no poll began within the last `gap` ms. */
  #space(upstream: string, gap: number, signal: AbortSignal): Promise<void> {
    const turn = this.#turns.get(upstream) ?? Promise.resolve()
    const wait = (): Promise<void> =>
      gap < 1 ? nextTurn() : pause(gap, undefined, { signal }).catch(() => {})
    const next = turn.then(wait)
    this.#turns.set(upstream, next)
    return abortable(turn, signal)
  }
  /** Polls in a window. */
  #rateOf(upstream: string): number {
    return readPolls((this.#host.upstreams[upstream]?.options ?? {}) as object).polls
  }
  #allowanceOf(rate: number): Allowance {
    const name = `polls ${rate}/s`
    const window = { amount: BigInt(rate), ms: WINDOW }
    const allowance = this.#allowances.get(name) ?? this.#host.allowance(name, { window })
    this.#allowances.set(name, allowance)
    return allowance
  }
}
