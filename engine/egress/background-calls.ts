/** Calls under way that no client waits for. A process that drains waits for them, or cuts them. */
import { errors } from '../errors.ts'
import type { Call } from '../request/exchange.ts'

const fault = errors({
  TURN_DRAINED: [
    503,
    'The gateway stopped before this request was finished. Retry.',
    { headers: { 'retry-after': '1' } },
  ],
})

export class BackgroundCalls {
  readonly #calls = new Set<Call>()
  #waiting: (() => void)[] = []
  /** The grace of the drain is over: `begin` throws. */
  #over = false

  begin(call: Call): void {
    if (this.#over) throw fault('TURN_DRAINED')
    this.#calls.add(call)
  }
  end(call: Call): void {
    this.#calls.delete(call)
    if (this.#calls.size > 0) return
    for (const resolve of this.#waiting.splice(0)) resolve()
  }
  /** Resolves when no call is under way. */
  async whenIdle(): Promise<void> {
    if (this.#calls.size > 0) await new Promise<void>(resolve => this.#waiting.push(resolve))
  }
  cut(): void {
    this.#over = true
    for (const call of [...this.#calls]) call.abandon(fault('TURN_DRAINED'))
  }
}
