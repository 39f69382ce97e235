/** One exchange behind its gates: what it took, what it tells, what goes back when it ends. */
import type { Exchange, Fault, Outcome } from '../../engine/plugin.ts'
import { asRefused } from './faults.ts'
import type { Gate } from './gates.ts'
import type { Standing, Standings, Tell } from './headers.ts'
import { estimate, used } from './tokens.ts'

interface Taken {
  readonly gate: Gate
  readonly caller: string
  readonly amount: bigint
  readonly window: number | undefined
}

export class Stay {
  readonly #exchange: Exchange
  readonly #taken: Taken[] = []
  readonly #standings: Standings = {}
  #outcome: Outcome | undefined

  constructor(exchange: Exchange) {
    this.#exchange = exchange
    exchange.onEnd(outcome => {
      this.#outcome = outcome
      for (const taken of this.#taken) this.#leave(taken, outcome)
    })
  }
  async pass(gate: Gate, caller: string, tell: Tell): Promise<void> {
    const { allowance, inTokens } = gate
    const amount = inTokens ? await estimate(this.#exchange) : 1n
    const admitted = allowance.take(caller, amount) ?? (await allowance.ask(caller, amount))
    this.#note(gate, gate.standing(caller))
    if (!admitted) throw this.#refused(gate.refusal(caller, amount), tell)
    const taken = { gate, caller, amount, window: allowance.reading(caller)?.window }
    // The client may have left while the owner was asked: what comes after its end goes straight back.
    if (this.#outcome) this.#leave(taken, this.#outcome)
    else this.#taken.push(taken)
  }
  /** Onto the answer, over what an upstream says of its own limits. */
  tell(tell: Tell): void {
    if (this.#exchange.answered) Object.assign(this.#exchange.reply.headers, tell(this.#standings))
  }
  #refused(reason: Fault, tell: Tell): Fault {
    return asRefused(reason, tell(this.#standings))
  }
  /** Of several limits of a kind a client is told the one that it will meet first. */
  #note({ counted }: Gate, standing: Standing | undefined): void {
    if (!counted || !standing) return
    const before = this.#standings[counted]
    if (!before || standing.left < before.left) this.#standings[counted] = standing
  }
  #leave({ gate, caller, amount, window }: Taken, outcome: Outcome): void {
    gate.leave(caller, amount, window, gate.inTokens ? used(this.#exchange, outcome, amount) : 0n)
  }
}
