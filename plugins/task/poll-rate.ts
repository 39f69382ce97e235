/** Limits the polls of each upstream over the whole installation, so that many open tasks do not
 *  flood it. A poll waits for its turn; nothing is written meanwhile. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Allowance, Host } from '../../engine/plugin.ts'

const RATE = /^([1-9][0-9]{0,5})\/s$/
const DEFAULT = '200/s'
/** ms of a window. */
const WINDOW = 1_000

export const POLLS = {
  description: 'Most polls of tasks at this upstream, over all workers and machines.',
  type: 'string',
  pattern: RATE.source,
  default: DEFAULT,
  examples: [DEFAULT],
}

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

  constructor(host: Pick<Host, 'allowance' | 'upstreams'>) {
    this.#host = host
  }
  /** Resolves when the upstream may be polled; rejects when the signal aborts. */
  async wait(upstream: string, signal: AbortSignal): Promise<void> {
    const allowance = this.#allowanceOf(upstream)
    for (;;) {
      const isTaken =
        allowance.take(upstream, 1n) ??
        // Without its primary a process gets no answer.
        (await abortable(allowance.request(upstream, 1n), signal))
      if (isTaken) return
      await pause(Math.max(20, allowance.retryAfter(upstream)), undefined, { signal })
    }
  }
  #allowanceOf(upstream: string): Allowance {
    const polls = this.#host.upstreams[upstream]?.options.polls
    const rate = typeof polls === 'string' ? polls : DEFAULT
    const amount = BigInt(RATE.exec(rate)?.[1] ?? 200)
    const name = `polls ${rate}`
    const allowance =
      this.#allowances.get(name) ?? this.#host.allowance(name, { window: { amount, ms: WINDOW } })
    this.#allowances.set(name, allowance)
    return allowance
  }
}
