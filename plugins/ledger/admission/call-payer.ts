/** The payer of one call in progress: takes money beyond its hold, and lets windows of budgets that
 *  calls may pass only count it from then on. */
import { countOnly, isPassable, markSpent } from '../budgets/at-limit.ts'
import type { BudgetWindow } from '../budgets/section.ts'
import { budgetWallets, type CallTerms } from '../call-charge.ts'
import { extendHold, takeAvailable } from '../extend-hold.ts'
import type { Ledger, Payer, Shortage } from '../ledger.ts'
import { heldPlanOf, plannedOf, withPart } from '../plans/part.ts'
import { recountCharge } from '../statements.ts'

interface PaidCall {
  readonly isOpen: boolean
  /** Called when a window stops holding money for the call and only counts it. */
  onRecount(): void
}

export class CallPayer {
  readonly #ledger: Ledger
  /** The process name under which the call took its money. */
  readonly #process: string
  readonly #call: PaidCall
  #payer: Payer
  /** Nanos that the call holds of each wallet. */
  #amount: bigint
  /** Amounts of leases that the call no longer needs, but holds until it ends. */
  readonly #returns: { readonly wallet: number; readonly amount: bigint }[] = []

  /** Requires that the caller has reserved `heldAmount`. */
  constructor(
    ledger: Ledger,
    { payer, heldAmount }: Pick<CallTerms, 'payer' | 'heldAmount'>,
    process: string,
    call: PaidCall,
  ) {
    this.#ledger = ledger
    this.#payer = payer
    this.#amount = heldAmount
    this.#process = process
    this.#call = call
  }
  get payer(): Payer {
    return this.#payer
  }
  /** Takes nanos beyond the hold. Returns the shortage, or undefined. */
  async takeMore(more: bigint): Promise<Shortage | undefined> {
    for (;;) {
      const { budgets: before = [] } = this.#payer
      const result = await extendHold(this.#ledger, this.#payer, more, this.#process)
      const { shortage } = result
      const { budgets = [] } = this.#payer
      if (!shortage) {
        this.#add(more, plannedOf(more, result.payer.plan))
        // Windows may have begun to only count the call meanwhile.
        for (const window of before)
          if (!budgets.includes(window)) this.#ledger.giveTo(window.wallet, more, this.#process)
      }
      if (!isPassable(shortage) || !this.#call.isOpen) return shortage
      markSpent(shortage, Date.now(), more)
      if (budgets.includes(shortage)) this.#countOnly(shortage)
    }
  }
  /** Takes up to `more` nanos, and returns the amount result. */
  async takeAvailable(more: bigint): Promise<bigint> {
    const hasPassable = (this.#payer.budgets ?? []).some(isPassable)
    if (hasPassable && !(await this.takeMore(more))) return more
    for (const window of this.#payer.budgets ?? [])
      if (isPassable(window) && this.#call.isOpen) this.#countOnly(window)
    const result = await takeAvailable(this.#ledger, this.#payer, more, this.#process)
    this.#add(result.amount, result.planned)
    return result.amount
  }
  /** `planned`: the part of the amount that the plan pays. */
  #add(amount: bigint, planned: bigint): void {
    this.#amount += amount
    const { plan } = this.#payer
    if (plan) this.#payer = withPart(this.#payer, plan.amount + planned)
  }
  /** Returns nanos that were taken and are not needed: those of the account first. */
  give(amount: bigint): void {
    this.#amount -= amount
    this.#ledger.give(this.#payer, amount, this.#process, this.#amount)
    this.#payer = withPart(this.#payer, plannedOf(this.#amount, this.#payer.plan))
  }
  /** The plan's part of the hold, as its row has it. */
  get plan(): ReturnType<typeof heldPlanOf> {
    return heldPlanOf(this.#payer)
  }
  /** The same at the end of the call. */
  giveRest(amount: bigint): void {
    this.give(amount)
    this.giveReturns()
  }
  /** Returns what windows that only count the call have held. */
  giveReturns(): void {
    for (const { wallet, amount } of this.#returns.splice(0))
      this.#ledger.giveTo(wallet, amount, this.#process)
  }
  /** The statements that the row of the hold needs after `onRecount`. */
  recount(request: string): ReturnType<typeof recountCharge>[] {
    return this.#returns.length === 0 ? [] : [recountCharge(request, budgetWallets(this.#payer))]
  }
  /** The lease keeps the amount until the call ends: the row may still say that it is held. */
  #countOnly(window: BudgetWindow): void {
    this.#returns.push({ wallet: window.wallet, amount: this.#amount })
    this.#payer = countOnly(this.#payer, window)
    this.#call.onRecount()
  }
}
