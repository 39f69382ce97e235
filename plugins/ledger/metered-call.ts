/** The charge lifecycle of one call: holds money for it and closes the hold exactly once. */
import type { Exchange, Fault, Outcome, Row, Statement } from '../../engine/plugin.ts'
import { withServed } from '../billing/pricing-facts.ts'
import { type Attributes, CHARGE, type KeptHold, SERVED, USAGE, type Usage } from '../slots.ts'
import { isUndelivered, Undo } from '../undo/undo.ts'
import { CallPayer } from './admission/call-payer.ts'
import {
  type CallCharge,
  type CallTerms,
  capCharge,
  countUncharged,
  holdOf,
  type LedgerContext,
  priceUsage,
  reportUncollected,
  reportUnpriced,
  settlementOf,
  walletsPaying,
} from './call-charge.ts'
import { attributesOf, checkpointOf, nameServed } from './crash/crash-settlement.ts'
import { lateCharge } from './crash/late-charge.ts'
import { isCode } from './faults.ts'
import { IS_KEPT, keepHold, keptHoldOf } from './kept-hold.ts'
import { refundStatements, releaseUnlessSettled } from './refunds/refund-undelivered.ts'
import { singleRowCharge } from './single-row-charge.ts'
import {
  extendCharge,
  type Hold,
  holdAtLeast,
  openCharge,
  releaseCharge,
  settleCharge,
} from './statements.ts'
import { servedByOf } from './views/served-by.ts'

/**
 *   admitted ──hold()────────────────────▶ held      its row is queued for the store
 *   admitted, held ──settle(usage)───────▶ closing   the charge is queued as an update or one row
 *   admitted, held ──release()───────────▶ closing   nothing is charged
 *   admitted, held ──exchange ends───────▶ closing   released; a WebSocket is charged
 *   admitted, held ──keep()──────────────▶ kept      a task owns the hold; nothing is charged here
 *   closing ──the store confirms─────────▶ closed    the rest of the hold returns to the lease
 */
type State =
  | { readonly at: 'admitted' | 'held' | 'kept' | 'closed' }
  | {
      readonly at: 'closing'
      /** Whether the hold has a row of its own. */
      readonly hasRow: boolean
      /** Nanos. Undefined: released. */
      readonly chargedAmount: bigint | undefined
      /** Nanos that the call cost beyond the charge. */
      readonly uncollected: bigint
      /** Undefined: the store has no row of this call. */
      readonly statements: readonly Statement[] | undefined
    }
type Closing = Extract<State, { at: 'closing' }>
type Rows = readonly (readonly Row[])[]

export class MeteredCall {
  readonly #context: LedgerContext
  readonly #exchange: Exchange
  readonly #terms: CallTerms
  /** The process name under which the ledger reserved the money. */
  readonly #process: string
  #state: State = { at: 'admitted' }
  /** Nanos. */
  #heldAmount: bigint
  readonly #payer: CallPayer
  #extension: 'none' | 'running' | 'refused' = 'none'
  #isOverageCollected = false
  /** Tells the ledger whether the books keep the hold. */
  #onKept: ((isKept: boolean) => void) | undefined
  /** The price of the last usage: receipt, checkpoint and settlement price the same one. */
  #lastPrice:
    | {
        readonly usage: Usage
        readonly served: Attributes | undefined
        readonly charge: CallCharge
      }
    | undefined
  /** Nanos that the local balance already counts as charged: a receipt counts them before the
   *  end. */
  #recordedAmount = 0n
  /** When the first content of a stream or a session was delivered: a time of
   *  `performance.now()`; 0 before. */
  #firstContentAt = 0

  /** The caller has reserved `terms.heldAmount` before. */
  constructor(context: LedgerContext, exchange: Exchange, terms: CallTerms, process: string) {
    this.#context = context
    this.#exchange = exchange
    this.#terms = terms
    this.#process = process
    this.#heldAmount = terms.heldAmount
    this.#payer = new CallPayer(context.ledger, terms, process, this)
    Undo.of(exchange)
    exchange.onEnd(outcome => this.#onEnd(outcome))
  }
  /** Queues the row of the hold with the next writes of the exchange. A response whose cost is
   *  unknown needs it before its first byte leaves. */
  hold(): void {
    if (this.#state.at !== 'admitted') return
    this.#state = { at: 'held' }
    this.#exchange.writes.add(openCharge(this.#row()))
  }
  /** Hands the hold over to a task: see `HoldOwner`. */
  keep(): KeptHold {
    if (!this.isOpen) throw new Error(`the hold of call ${this.#exchange.id} is closed`)
    const row = this.#row()
    this.#exchange.writes.add(...keepHold(row, this.#state.at === 'held'))
    this.#state = { at: 'kept' }
    this.#onKept = this.#payer.keep(this.#heldAmount)
    return keptHoldOf(row, attributesOf(this.#terms.rule, this.#terms.facts))
  }
  get isKept(): boolean {
    return this.#state.at === 'kept'
  }
  /** Nanos that this usage costs. */
  priceOf(usage: Usage): bigint {
    return this.#chargeOf(usage).nanos
  }
  /** Nanos that this usage is charged: at most the hold. */
  dueFor(usage: Usage): bigint {
    const nanos = this.priceOf(usage)
    return nanos < this.#heldAmount ? nanos : this.#heldAmount
  }
  /** The account's balance after the charge of this usage, in nanos. Undefined: unknown. A promise
   *  only where the call holds nothing of the balance, such as one that a plan pays. */
  balanceAfter(usage: Usage): bigint | undefined | Promise<bigint | undefined> {
    if (!this.isOpen) return undefined
    const nanos = this.dueFor(usage)
    this.#payer.settlePlan(usage, nanos)
    const before = this.#recordedAmount
    this.#recordedAmount = nanos
    const { ledger } = this.#context
    const { payer } = this.#payer
    return (
      ledger.balanceAfter(payer, nanos, this.#process, before) ?? ledger.readBalance(payer.account)
    )
  }
  release(): undefined {
    if (this.isOpen) this.#closeUncharged()
    return undefined
  }
  /** Takes the cost of a usage beyond the hold. Undefined: there is none. Settling records the part
   *  that the balance does not cover as uncollected. */
  collectOverage(usage: Usage): Promise<void> | undefined {
    const overage = capCharge(this.priceOf(usage), this.#terms) - this.#heldAmount
    if (overage <= 0n || this.#isOverageCollected || !this.isOpen) return undefined
    return this.#collect(overage)
  }
  async #collect(overage: bigint): Promise<void> {
    this.#isOverageCollected = true
    const more = await this.#payer.takeAvailable(overage)
    if (!this.isOpen) return this.#payer.give(more)
    if (more > 0n) this.#extendBy(more)
  }
  /** Charges a usage. Returns a promise only if overage must be collected first. */
  settle(usage: Usage): Promise<void> | undefined {
    if (!this.isOpen) return undefined
    const charge = (): undefined => {
      if (this.isOpen) this.#closeCharged(usage)
    }
    return this.collectOverage(usage)?.then(charge) ?? charge()
  }
  /** Content is delivered. */
  onContent(): void {
    this.#firstContentAt ||= performance.now()
  }
  /** Records the number of delivered output tokens, for the settlement after a crash. */
  reportProgress(output: number): void {
    if (output > 0) this.onContent()
    if (this.#state.at === 'held') this.#exchange.writes.progress(output)
  }
  /** Records the usage so far, for the settlement after a crash. Extends the hold once the call
   *  costs more, and not before: money that one call may not need can pay for another. */
  checkpoint(usage: Usage): void {
    if (this.#state.at !== 'held') return
    const nanos = this.#setCheckpoint(usage, true)
    // The request bounds a final estimate, and the hold covers it.
    if (usage.isFinalEstimate || this.#extension !== 'none') return
    const tokens = this.#payer.tokensOf(usage)
    if (nanos <= this.#heldAmount && this.#payer.tokensBeyond(tokens) === 0n) return
    this.#extension = 'running'
    void this.#extend(nanos, tokens).finally(() => {
      if (this.#extension === 'running') this.#extension = 'none'
    })
  }
  /** Records the usage of an answer that is complete, and its target, for the settlement after a
   *  crash. The store has both before the first byte: the row is written in one group with what
   *  a crash runs. */
  checkpointBeforeHead(usage: Usage): void {
    if (this.#state.at !== 'held') return
    this.#setCheckpoint(usage, true)
    const served = servedByOf(this.#exchange, this.#firstContentAt)
    this.#exchange.writes.add(nameServed(this.#exchange.id, served))
  }
  /** For a call that goes on after this usage: holds the initial amount again on top of the usage.
   *  Returns a fault if the balance does not cover it; then the hold covers as much of the usage as
   *  possible. */
  async preAuthorise(usage: Usage): Promise<Fault | undefined> {
    if (!this.isOpen || this.#lastPrice?.usage === usage) return undefined
    const { heldAmount } = this.#terms
    const initialTokens = this.#terms.payer.tokens ?? 0n
    const least = this.#setCheckpoint(usage, false) + heldAmount - this.#heldAmount
    const tokens = this.#payer.tokensBeyond(this.#payer.tokensOf(usage) + initialTokens)
    if (least <= 0n && tokens === 0n) return undefined
    const more = least > 0n ? least : 0n
    const shortage = await this.#payer.takeMore(more, tokens)
    if (!this.isOpen) return void (shortage ?? this.#payer.give(more, tokens))
    if (shortage) {
      const { insufficient } = this.#context
      const reason = await insufficient(shortage, this.#terms.payer, heldAmount)
      await this.collectOverage(usage)
      return reason
    }
    this.#extendBy(more)
    this.#setCheckpoint(usage, false)
    return this.#exchange.writes.commit().then(() => undefined)
  }
  get isOpen(): boolean {
    return this.#state.at === 'admitted' || this.#state.at === 'held'
  }
  /** Sets the usage that the store charges if this process crashes. Returns its price. */
  #setCheckpoint(usage: Usage, isStreaming: boolean): bigint {
    const nanos = this.priceOf(usage)
    const { id, writes } = this.#exchange
    const served = servedByOf(this.#exchange, this.#firstContentAt)
    const checkpoint = checkpointOf(id, usage, this.#servedTerms(usage), isStreaming, served)
    const hold = [...this.#payer.recount(id), holdAtLeast(id, this.dueFor(usage), this.#payer.plan)]
    writes.setCrashStatements(...hold, checkpoint)
    return nanos
  }
  /** Holds the cost so far and half of the hold beyond that. Cuts the call if the balance does not
   *  cover it. */
  async #extend(nanos: bigint, used: bigint): Promise<void> {
    const isLacking = nanos > this.#heldAmount
    const most = isLacking ? capCharge(nanos + this.#heldAmount / 2n + 1n, this.#terms) : 0n
    const more = most > this.#heldAmount ? most - this.#heldAmount : 0n
    const beyond = this.#payer.tokensBeyond(used)
    const tokens = beyond > 0n ? beyond + used / 2n + 1n : 0n
    if (more === 0n && tokens === 0n) return
    const shortage = await this.#payer.takeMore(more, tokens)
    if (shortage) this.#extension = 'refused'
    if (!this.isOpen) return void (shortage ?? this.#payer.give(more, tokens))
    if (shortage) {
      const { insufficient } = this.#context
      const payer = { ...this.#payer.payer, tokens: used }
      const reason = await insufficient(shortage, payer, nanos)
      return this.isOpen ? this.#exchange.cut(reason) : undefined
    }
    this.#extendBy(more)
    await this.#exchange.writes.commit().catch(() => {}) // the commit of the response reports it
  }
  /** A window of a budget only counts this call from now on. */
  onRecount(): void {
    const { id, writes } = this.#exchange
    if (this.#state.at === 'held') writes.add(...this.#payer.recount(id))
  }
  #extendBy(more: bigint): void {
    this.#heldAmount += more
    const { id, writes } = this.#exchange
    if (this.#state.at === 'held' && more > 0n) writes.add(extendCharge(id, more, this.#payer.plan))
  }
  #closeCharged(usage: Usage): Closing {
    const chargedAmount = this.dueFor(usage)
    const charge = this.#chargeOf(usage)
    const { id } = this.#exchange
    const served = servedByOf(this.#exchange, this.#firstContentAt)
    const planned = this.#payer.settlePlan(usage, chargedAmount)
    const tokens = this.#payer.useTokens(usage)
    const money = settlementOf(id, this.#payer.payer, usage, charge, chargedAmount, served)
    const settlement = tokens ? { ...money, tokens, planned } : money
    const end =
      this.#state.at === 'held'
        ? [settleCharge(settlement)]
        : singleRowCharge(this.#row(), settlement, usage.meters)
    reportUnpriced(this.#context, id, this.#terms.model, charge.unpriced)
    const uncollected = charge.nanos - chargedAmount
    const { lines } = charge
    const { estimated } = usage
    this.#exchange.slots.set(CHARGE, {
      nanos: chargedAmount,
      uncollected,
      lines,
      estimated,
      ...(this.#firstContentAt > 0 && {
        firstContentMs: this.#firstContentAt - this.#exchange.startedAt,
      }),
    })
    return this.#close(end, chargedAmount, uncollected)
  }
  #closeUncharged(): Closing {
    const hasRow = this.#state.at === 'held'
    return this.#close(hasRow ? [releaseCharge(this.#exchange.id, Date.now())] : undefined)
  }
  #close(
    statements: readonly Statement[] | undefined,
    chargedAmount?: bigint,
    uncollected = 0n,
  ): Closing {
    const hasRow = this.#state.at === 'held'
    const closing: Closing = { at: 'closing', hasRow, chargedAmount, uncollected, statements }
    this.#state = closing
    this.#recordCharge(chargedAmount ?? 0n)
    if (statements) this.#exchange.writes.add(...statements)
    if (hasRow && chargedAmount) this.#exchange.writes.oweNext(() => this.#lateList(chargedAmount))
    return closing
  }
  /** If another gateway has ended the call meanwhile. */
  #lateList(amount: bigint): readonly Statement[] {
    return [lateCharge(this.#exchange.id, this.#payer.payer.account, amount, Date.now())]
  }
  #recordCharge(amount: bigint): void {
    const { payer } = this.#payer
    this.#context.ledger.recordCharge(payer, amount, this.#process, this.#recordedAmount)
    this.#recordedAmount = amount
  }
  #forgetCharge(): void {
    this.#recordCharge(0n)
    this.#payer.useTokens()
  }
  #chargeOf(usage: Usage): CallCharge {
    const served = this.#exchange.slots.get(SERVED)?.attributes
    if (this.#lastPrice?.usage !== usage || this.#lastPrice.served !== served)
      this.#lastPrice = { usage, served, charge: priceUsage(usage, this.#servedTerms(usage)) }
    return this.#lastPrice.charge
  }
  /** Facts of the answer so far replace those of the request. Parts have facts of their own. */
  #servedTerms({ parts }: Usage): CallTerms {
    const served = this.#exchange.slots.get(SERVED)?.attributes
    const terms = this.#terms
    const { fastPrice, tiers } = terms.rule
    // A price by counts alone.
    if (!served || parts || (fastPrice && tiers.size === 0)) return terms
    return { ...terms, facts: withServed(terms.facts, served) }
  }
  #row(): Hold {
    return {
      ...holdOf(this.#exchange, this.#terms, this.#payer.payer),
      plan: this.#payer.settledPlan,
      process: this.#process,
      heldAmount: this.#heldAmount,
    }
  }
  /** Closes the call when its exchange ends: its writes may have failed, or it may be open. */
  #onEnd(outcome: Outcome): void {
    const { end, attempts } = outcome
    const { id, kind, slots, writes } = this.#exchange
    // A WebSocket has no last byte that waits for the charge: it is charged here.
    const usage = kind === 'websocket' && attempts > 0 ? slots.get(USAGE) : undefined
    const state = this.#state
    if (state.at === 'kept') return this.#finishKept(outcome)
    if (state.at === 'closed') return
    const earlier = state.at === 'closing' ? state : undefined
    const closing = earlier ?? (usage ? this.#closeCharged(usage) : this.#closeUncharged())
    const { hasRow, chargedAmount, statements } = closing
    const isInterrupted = end === 'hangup' || end === 'cut'
    if (chargedAmount === undefined && attempts > 0 && isInterrupted) this.#countUncharged()
    // The last byte was sent after the store had confirmed, or after the charge was on disk.
    if (!statements || (end === 'complete' && kind === 'http')) return this.#finish(closing)
    // A stage refused the call after it was charged, or its charge could not be written.
    if (isUndelivered(outcome)) {
      slots.set(CHARGE, undefined)
      if (kind === 'turn' && !writes.isConfirmed) return this.#closeAsWritten(closing)
      if (chargedAmount !== undefined || !writes.isConfirmed) return this.#refund(closing)
    }
    const hold = [...this.#payer.recount(id), holdAtLeast(id, this.#heldAmount, this.#payer.plan)]
    const list = hasRow ? [...hold, ...statements] : statements
    writes.commit().then(
      () => this.#finish(closing),
      error => {
        this.#checkExpelled(error, hasRow)
        // If this process crashes before the write succeeds, the store closes the charge the same
        // way.
        writes.setCrashStatements(...list)
        const onClosed = (): void => {
          writes.setCrashStatements()
          this.#finish(closing)
        }
        const late = hasRow && chargedAmount ? this.#lateList(chargedAmount) : undefined
        this.#context.ledger.ensureClosed(id, list, onClosed, late)
      },
    )
  }
  #checkExpelled(error: unknown, hasRow: boolean): void {
    if (!isCode(error, 'LEASE_GONE')) return
    this.#context.ledger.onExpelled(this.#process)
    if (!hasRow) this.#countUncharged()
  }
  /** The hold left this process if its list was applied. After a failure the store is asked. */
  #finishKept(outcome: Outcome): void {
    const { id, writes } = this.#exchange
    this.#state = { at: 'closed' }
    this.#payer.giveReturns()
    if (isUndelivered(outcome)) {
      const onKept = (): void => this.#onKept?.(true)
      const onUndo = ([rows = []]: Rows): void => this.#onKept?.(rows.length > 0)
      return Undo.of(this.#exchange).add({ undo: this.#refundStatements(), onUndo, onKept })
    }
    const isKept = [{ sql: IS_KEPT, values: [id] }]
    writes.commit().then(
      () => this.#onKept?.(true),
      () =>
        this.#context.ledger.ensureClosed(id, isKept, ([rows = []]) =>
          this.#onKept?.(rows.length > 0),
        ),
    )
  }
  #countUncharged(): void {
    countUncharged(this.#context, this.#terms.model)
  }
  #finish({ chargedAmount = 0n, uncollected }: Closing): void {
    const { account } = this.#payer.payer
    const { model } = this.#terms
    const call = { id: this.#exchange.id, account, model }
    reportUncollected(this.#context, call, uncollected)
    this.#returnRest(chargedAmount)
  }
  /** Nobody was told of a failure: the charge stays if the store has written it, with everything
   *  written beside it. */
  #closeAsWritten(closing: Closing): void {
    const { id, writes } = this.#exchange
    writes.owe({
      lists: [releaseUnlessSettled(id, Date.now())],
      onDone: ({ rows }) => {
        writes.setCrashStatements()
        if ((rows.at(-1)?.length ?? 0) > 0) return this.#finish(closing)
        this.#forgetCharge()
        this.#returnRest(0n)
      },
    })
  }
  /** An undelivered response is free. */
  #refund(closing: Closing): void {
    this.#exchange.writes.commit().catch(error => this.#checkExpelled(error, closing.hasRow))
    Undo.of(this.#exchange).add({
      undo: this.#refundStatements(),
      onUndo: rows => {
        this.#exchange.writes.setCrashStatements()
        const isRefunded = (rows.at(-1)?.length ?? 0) > 0
        // A written charge was paid from the lease, and its refund went to the account.
        if (!isRefunded) this.#forgetCharge()
        this.#returnRest(isRefunded ? (closing.chargedAmount ?? 0n) : 0n)
      },
      onKept: () => this.#finish(closing),
    })
  }
  #refundStatements(): readonly Statement[] {
    return refundStatements(this.#exchange.id, walletsPaying(this.#payer.payer), Date.now())
  }
  #returnRest(chargedAmount: bigint): void {
    this.#state = { at: 'closed' }
    this.#payer.giveRest(this.#heldAmount, chargedAmount)
  }
}
