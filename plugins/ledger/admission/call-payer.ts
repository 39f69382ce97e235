/** The payer of one call in progress: takes money beyond its hold, and lets windows of budgets that
 *  calls may pass only count it from then on. */
import type { Usage } from '../../slots.ts'
import { countOnly, isPassable, markSpent } from '../budgets/at-limit.ts'
import type { BudgetWindow } from '../budgets/section.ts'
import { inUnitOf, tokensUsed } from '../budgets/tokens.ts'
import { budgetWallets, type CallTerms } from '../call-charge.ts'
import { extendHold, takeAvailable } from '../extend-hold.ts'
import type { Ledger, Payer, Shortage } from '../ledger.ts'
import { heldPlanOf, plannedOf, type SettledPart, settledPart, withPart } from '../plans/part.ts'
import { type Hold, recountCharge, type SettledTokens } from '../statements.ts'

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
  /** Tokens of the hold that its charge has used. */
  #usedTokens = 0n
  /** The part of the charge that a plan in tokens pays. */
  #settled: SettledPart | undefined
  /** The hold with a plan in tokens has ended: what is taken after that returns whole. */
  #hasEnded = false
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
  /** With the part that the plan pays: of the charge, once it is settled. */
  get payer(): Payer {
    const { amount, tokens } = this.#settled ?? {}
    return amount === undefined ? this.#payer : withPart(this.#payer, amount, tokens)
  }
  /** Takes nanos and tokens beyond the hold. Returns the shortage, or undefined. */
  async takeMore(more: bigint, tokens = 0n): Promise<Shortage | undefined> {
    for (;;) {
      const { budgets: before = [] } = this.#payer
      const paying = withTokens(this.#payer, tokens)
      const result = await extendHold(this.#ledger, paying, more, this.#process)
      const { shortage } = result
      const { budgets = [] } = this.#payer
      if (!shortage) {
        this.#add(more, plannedOf(more, result.payer.plan), tokens, result.payer.plan?.tokens)
        // Windows may have begun to only count the call meanwhile.
        for (const window of before)
          if (!budgets.includes(window))
            this.#ledger.giveTo(window.wallet, inUnitOf(window, more, tokens), this.#process)
      }
      if (!isPassable(shortage) || !this.#call.isOpen) return shortage
      markSpent(shortage, Date.now(), inUnitOf(shortage, more, tokens))
      if (budgets.includes(shortage)) this.#countOnly(shortage)
    }
  }
  /** Takes up to `more` nanos, and returns the amount result. */
  async takeAvailable(more: bigint): Promise<bigint> {
    const hasPassable = (this.#payer.budgets ?? []).some(isPassable)
    if (hasPassable && !(await this.takeMore(more))) return more
    for (const window of this.#payer.budgets ?? [])
      if (isPassable(window) && this.#call.isOpen) this.#countOnly(window)
    const paying = withTokens(this.#payer, 0n)
    const result = await takeAvailable(this.#ledger, paying, more, this.#process)
    this.#add(result.amount, result.planned, 0n)
    return result.amount
  }
  /** `planned` and `planTokens`: the part of the amount, and of the tokens, that the plan pays. */
  #add(amount: bigint, planned: bigint, tokens: bigint, planTokens = 0n): void {
    this.#amount += amount
    const { plan } = this.#payer
    if (plan) {
      const inPlan = plan.tokens === undefined ? undefined : plan.tokens + planTokens
      this.#payer = withPart(this.#payer, plan.amount + planned, inPlan)
    }
    this.#payer = withTokens(this.#payer, this.#tokens + tokens)
  }
  /** Tokens that the call holds of each window in tokens. */
  get #tokens(): bigint {
    return this.#payer.tokens ?? 0n
  }
  /** Gives back the part of the hold that the call does not need: nanos, those of the account
   *  first, and tokens. With a plan in tokens the whole rest is given back when the hold ends. */
  give(amount: bigint, tokens = 0n): void {
    if (this.#hasPlanTokens) return this.#hasEnded ? this.#endHold() : undefined
    this.#amount -= amount
    this.#ledger.give(withTokens(this.#payer, tokens), amount, this.#process, this.#amount)
    this.#payer = withPart(this.#payer, plannedOf(this.#amount, this.#payer.plan))
    this.#payer = withTokens(this.#payer, this.#tokens - tokens)
  }
  /** The tokens of a usage; 0 if no budget counts them. */
  tokensOf({ meters }: Usage): bigint {
    return this.#payer.tokens === undefined ? 0n : tokensUsed(meters)
  }
  /** The part of these tokens that the hold does not cover; 0 if no budget counts them. */
  tokensBeyond(tokens: bigint): bigint {
    const { tokens: heldTokens } = this.#payer
    return heldTokens === undefined || tokens <= heldTokens ? 0n : tokens - heldTokens
  }
  /** The charge uses the tokens of this usage: those of the hold leave the leases with it. Absent:
   *  nothing is charged after all. Undefined if no budget counts them. */
  useTokens(usage?: Usage): SettledTokens | undefined {
    const { tokens: heldTokens } = this.#payer
    if (heldTokens === undefined) return undefined
    const used = usage ? tokensUsed(usage.meters) : 0n
    if (!usage) this.#setPart(undefined)
    const leasedTokens = used < heldTokens ? used : heldTokens
    this.#ledger.recordTokens(this.#payer, leasedTokens - this.#usedTokens, this.#process)
    this.#usedTokens = leasedTokens
    return { used, heldTokens }
  }
  /** The plan's part of the hold, as its row has it. */
  get plan(): Hold['plan'] {
    return heldPlanOf(this.#payer)
  }
  /** The same of a row that is written when it is settled. */
  get settledPlan(): Hold['plan'] {
    const { plan } = this
    return plan && { ...plan, ...this.#settled }
  }
  /** A plan in tokens pays its part of a charge: nanos, at most the hold. Undefined: the call has
   *  none. */
  settlePlan({ meters }: Usage, amount: bigint): SettledPart | undefined {
    const { plan } = this.#payer
    if (!plan?.tokens) return undefined
    const used = tokensUsed(meters)
    const { amount: planned, tokens } = plan
    const charge = { heldAmount: this.#amount, amount, used }
    this.#setPart(settledPart({ amount: planned, tokens }, charge))
    return this.#settled
  }
  #setPart(part: SettledPart | undefined): void {
    const more = (part?.tokens ?? 0n) - (this.#settled?.tokens ?? 0n)
    this.#ledger.recordPlanTokens(this.#payer, more, this.#process)
    this.#settled = part
  }
  get #hasPlanTokens(): boolean {
    return this.#payer.plan?.tokens !== undefined
  }
  /** The books keep the hold of `amount` nanos: see `Ledger.keep`. */
  keep(amount: bigint): ReturnType<Ledger['keep']> {
    const onKept = this.#ledger.keep(this.#payer, amount, this.#process)
    if (this.#hasPlanTokens) this.#leaveHold(amount)
    return onKept
  }
  /** Returns the rest of a hold of `heldAmount` nanos at the end of the call. */
  giveRest(heldAmount: bigint, chargedAmount: bigint): void {
    if (this.#hasPlanTokens) this.#endHold(chargedAmount)
    else this.give(heldAmount - chargedAmount, this.#tokens - this.#usedTokens)
    this.giveReturns()
  }
  /** Returns all that a call with a plan in tokens holds and is not charged. */
  #endHold(chargedAmount = 0n): void {
    const { amount = 0n, tokens = 0n } = this.#settled ?? {}
    const { plan } = this.#payer
    const paying = withTokens(this.#payer, this.#tokens - this.#usedTokens)
    const rest = withPart(paying, (plan?.amount ?? 0n) - amount, (plan?.tokens ?? 0n) - tokens)
    this.#ledger.give(rest, this.#amount - chargedAmount, this.#process)
    this.#leaveHold(this.#amount)
  }
  /** `amount`: nanos that the call holds no more, with all of its tokens. */
  #leaveHold(amount: bigint): void {
    this.#amount -= amount
    this.#payer = withTokens(withPart(this.#payer, 0n, 0n), 0n)
    this.#usedTokens = 0n
    this.#settled = undefined
    this.#hasEnded = true
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
    const amount = inUnitOf(window, this.#amount, this.#tokens)
    this.#returns.push({ wallet: window.wallet, amount })
    this.#payer = countOnly(this.#payer, window)
    this.#call.onRecount()
  }
}

const withTokens = (payer: Payer, tokens: bigint): Payer =>
  payer.tokens === undefined || payer.tokens === tokens ? payer : { ...payer, tokens }
