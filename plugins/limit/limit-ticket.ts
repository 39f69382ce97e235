/** One exchange behind its gates: what it took, what it tells, what goes back when it ends. */
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
    const admitted = allowance.take(caller, amount) ?? (await allowance.ask(caller, amount))
    this.#keepTightest(gate, gate.stateOf(caller))
    if (!admitted) throw this.#withHeaders(gate.refusal(caller, amount), addHeaders)
    const taken = { gate, caller, amount, window: allowance.reading(caller)?.window }
    // The client may have left while the owner was asked: what comes after its end goes straight back.
    if (this.#outcome) this.#release(taken, this.#outcome)
    else this.#taken.push(taken)
  }
  /** Onto the answer, over what an upstream says of its own limits. */
  tell(tell: RateLimitHeaders): void {
    if (this.#exchange.answered) Object.assign(this.#exchange.reply.headers, tell(this.#standings))
  }
  #withHeaders(reason: Fault, tell: RateLimitHeaders): Fault {
    return withRateLimitHeaders(reason, tell(this.#standings))
  }
  /** Of several limits of a kind a client is told the one that it will meet first. */
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
