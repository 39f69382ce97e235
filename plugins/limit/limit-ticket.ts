/** The units that one exchange took from its limits. Releases them when the exchange ends. */
import type { Exchange, Fault, Outcome } from '../../engine/plugin.ts'
import { withRateLimitHeaders } from './faults.ts'
import type { Gate } from './gates.ts'
import type { RateLimitHeaders, WindowState, WindowStates } from './headers.ts'
import { countUsedTokens, estimateTokens } from './tokens.ts'

interface Admission {
  readonly gate: Gate
  readonly caller: string
  readonly amount: bigint
  readonly window: number | undefined
}

export class LimitTicket {
  readonly #exchange: Exchange
  readonly #admissions: Admission[] = []
  readonly #states: WindowStates = {}
  #outcome: Outcome | undefined

  constructor(exchange: Exchange) {
    this.#exchange = exchange
    exchange.onEnd(outcome => {
      this.#outcome = outcome
      for (const admission of this.#admissions) this.#release(admission, outcome)
    })
  }
  async pass(gate: Gate, caller: string, toHeaders: RateLimitHeaders): Promise<void> {
    const { allowance, inTokens } = gate
    const amount = inTokens ? await estimateTokens(this.#exchange) : 1n
    const isAdmitted = allowance.take(caller, amount) ?? (await allowance.request(caller, amount))
    this.#keepTightest(gate, gate.stateOf(caller))
    if (!isAdmitted) throw this.#withHeaders(gate.refusal(caller, amount), toHeaders)
    const admission = { gate, caller, amount, window: allowance.reading(caller)?.window }
    // The exchange may have ended while the allowance was requested: release the units at once.
    if (this.#outcome) this.#release(admission, this.#outcome)
    else this.#admissions.push(admission)
  }
  /** Adds the rate-limit headers to the response, replacing those of the upstream. */
  addHeaders(toHeaders: RateLimitHeaders): void {
    if (this.#exchange.hasReply)
      Object.assign(this.#exchange.reply.headers, toHeaders(this.#states))
  }
  #withHeaders(reason: Fault, toHeaders: RateLimitHeaders): Fault {
    return withRateLimitHeaders(reason, toHeaders(this.#states))
  }
  /** The headers show the tightest of several limits of a unit. */
  #keepTightest({ unit }: Gate, state: WindowState | undefined): void {
    if (!unit || !state) return
    const before = this.#states[unit]
    if (!before || state.remaining < before.remaining) this.#states[unit] = state
  }
  #release({ gate, caller, amount, window }: Admission, outcome: Outcome): void {
    gate.release(
      caller,
      amount,
      window,
      gate.inTokens ? countUsedTokens(this.#exchange, outcome, amount) : 0n,
    )
  }
}
