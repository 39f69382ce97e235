/** A limit ticket: what one exchange took of its limits, and what it releases when it ends. */
import type { Exchange, Fault, Outcome } from '../../engine/plugin.ts'
import { withRateLimitHeaders } from './faults.ts'
import type { Gate } from './gates.ts'
import type { RateLimitHeaders, WindowState, WindowStates } from './headers.ts'
import { estimateTokens, tokensUsed } from './tokens.ts'

interface Admission {
  readonly gate: Gate
  readonly caller: string
  readonly amount: bigint
  readonly window: number | undefined
}

export class LimitTicket {
  readonly #exchange: Exchange
  readonly #taken: Admission[] = []
  readonly #standings: WindowStates = {}
  #outcome: Outcome | undefined

  constructor(exchange: Exchange) {
    this.#exchange = exchange
    exchange.onEnd(outcome => {
      this.#outcome = outcome
      for (const taken of this.#taken) this.#release(taken, outcome)
    })
  }
  async pass(gate: Gate, caller: string, addHeaders: RateLimitHeaders): Promise<void> {
    const { allowance, inTokens } = gate
    const amount = inTokens ? await estimateTokens(this.#exchange) : 1n
    const admitted = allowance.take(caller, amount) ?? (await allowance.request(caller, amount))
    this.#keepTightest(gate, gate.stateOf(caller))
    if (!admitted) throw this.#withHeaders(gate.refusal(caller, amount), addHeaders)
    const taken = { gate, caller, amount, window: allowance.reading(caller)?.window }
    // The exchange may have ended while the allowance was asked: release at once.
    if (this.#outcome) this.#release(taken, this.#outcome)
    else this.#taken.push(taken)
  }
  /** Adds the rate-limit headers to the response, replacing those of the upstream. */
  tell(tell: RateLimitHeaders): void {
    if (this.#exchange.hasReply) Object.assign(this.#exchange.reply.headers, tell(this.#standings))
  }
  #withHeaders(reason: Fault, tell: RateLimitHeaders): Fault {
    return withRateLimitHeaders(reason, tell(this.#standings))
  }
  /** Of several limits of a unit the headers show the tightest. */
  #keepTightest({ counted }: Gate, standing: WindowState | undefined): void {
    if (!counted || !standing) return
    const before = this.#standings[counted]
    if (!before || standing.left < before.left) this.#standings[counted] = standing
  }
  #release({ gate, caller, amount, window }: Admission, outcome: Outcome): void {
    gate.release(
      caller,
      amount,
      window,
      gate.inTokens ? tokensUsed(this.#exchange, outcome, amount) : 0n,
    )
  }
}
