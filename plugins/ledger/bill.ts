/** The money of one call: what is held for it, and the one way in which that ends. Knows amounts and prices, not replies. */
import type { Exchange, Fault, Outcome, Statement } from '../../engine/plugin.ts'
import { USAGE, type Usage } from '../slots.ts'
import { chargeAtOnce } from './at-once.ts'
import {
  alarmUncollected,
  alarmUnpriced,
  type BillFacts,
  type BillKit,
  bounded,
  type Charged,
  chargeOf,
  rowOf,
  settlementOf,
  uncharged,
} from './charged.ts'
import { isCode } from './faults.ts'
import type { Lack } from './ledger.ts'
import { takeMore, takeWhatIs } from './more.ts'
import { noteOf } from './noted.ts'
import {
  extendCharge,
  type Hold,
  holdAtLeast,
  openCharge,
  releaseCharge,
  settleCharge,
} from './statements.ts'
import { undo } from './undone.ts'

export class Bill {
  readonly #kit: BillKit
  readonly #exchange: Exchange
  readonly #facts: BillFacts
  /** Under whose name it is held. */
  readonly #process: string
  #held: bigint
  /** The store is told of the hold before it is told how it ends. */
  #written = false
  #extending: Promise<void> | undefined
  /** Whose money is at its end. */
  #lack: Lack | undefined
  /** The last usage asked about, and what it comes to: a receipt, a note and the settlement ask for the same one. */
  #priced: { readonly usage: Usage; readonly charge: Charged } | undefined
  /** What was charged, once that is decided. */
  #charged: bigint | undefined
  /** The same, as far as the balance is concerned: a receipt tells it before it is closed. */
  #decided = 0n
  /** The account was asked for what its usage costs beyond the hold. */
  #covered = false
  /** What it cost beyond that. */
  #uncollected = 0n
  /** From then on nothing changes it. */
  #closed = false
  /** What the store is told of that. */
  #closing: readonly Statement[] | undefined

  /** The amount was taken from the ledger before. */
  constructor(kit: BillKit, exchange: Exchange, facts: BillFacts, process: string) {
    this.#kit = kit
    this.#exchange = exchange
    this.#facts = facts
    this.#process = process
    this.#held = facts.held
    exchange.onEnd(outcome => this.#ended(outcome))
  }
  /** Writes the hold down, in the exchange's next group: before bytes of a reply leave whose end is not known yet. */
  hold(): void {
    if (this.#written || this.#closed) return
    this.#written = true
    this.#exchange.writes.add(openCharge(this.#row()))
  }
  /** What a usage comes to. */
  priceOf(usage: Usage): bigint {
    return this.#chargeFor(usage).nanos
  }
  /** What is charged for it: no more than is held. */
  dueFor(usage: Usage): bigint {
    const nanos = this.priceOf(usage)
    return nanos < this.#held ? nanos : this.#held
  }
  /** What the account has left behind a charge that is as good as decided. Undefined where that is not known. */
  balanceAfter(nanos: bigint): bigint | undefined {
    if (this.#closed) return undefined
    const more = nanos - this.#decided
    this.#decided = nanos
    return this.#kit.ledger.leftBehind(this.#facts.payer, more, this.#process)
  }
  release(): undefined {
    if (this.#closed) return undefined
    this.#closed = true
    this.#decide(0n)
    if (!this.#written) return undefined
    this.#closing = [releaseCharge(this.#exchange.id, Date.now())]
    this.#exchange.writes.add(...this.#closing)
    return undefined
  }
  /** Takes what a usage costs beyond what is held; undefined where it costs no more. What the account does not have is
   *  written down as uncollected. */
  cover(usage: Usage): Promise<void> | undefined {
    const beyond = bounded(this.priceOf(usage), this.#facts) - this.#held
    if (beyond <= 0n || this.#covered || this.#closed) return undefined
    return this.#collect(beyond)
  }
  async #collect(beyond: bigint): Promise<void> {
    const { payer } = this.#facts
    this.#covered = true
    const more = await takeWhatIs(this.#kit.ledger, payer, beyond, this.#process)
    if (this.#closed) return this.#kit.ledger.give(payer, more, this.#process)
    if (more > 0n) this.#extendBy(more)
  }
  /** Charges what was used. A promise only where that is more than is held, and nobody has covered it yet. */
  settle(usage: Usage): Promise<void> | undefined {
    if (this.#closed) return undefined
    const close = (): undefined => void this.#close(usage)
    return this.cover(usage)?.then(close) ?? close()
  }
  /** What was written so far, before it leaves: not lost with this process. */
  passed(output: number): void {
    if (this.#written && !this.#closed) this.#exchange.writes.progress(output)
  }
  /** Records the usage so far, for a settlement after a crash. Extends the hold once the call costs
   *  more than is held, and not before: what one call may not need can pay for another call. */
  note(usage: Usage): void {
    if (this.#closed || !this.#written) return
    const nanos = this.#will(usage, true)
    // A gauged usage is bounded by the request, and as much is held.
    if (usage.gauged || nanos <= this.#held || this.#lack || this.#extending) return
    this.#extending = this.#extend(nanos).finally(() => {
      this.#extending = undefined
    })
  }
  /** Of a call that goes on, once it has used this: as much as it began with stays held beyond that. A fault where nobody
   *  has so much; what was used is covered as far as it goes. */
  async ahead(usage: Usage): Promise<Fault | undefined> {
    if (this.#closed || this.#priced?.usage === usage) return undefined
    const { payer, held } = this.#facts
    const more = this.#will(usage, false) + held - this.#held
    if (more <= 0n) return undefined
    const lack = await takeMore(this.#kit.ledger, payer, more, this.#process)
    if (this.#closed) return void (lack ?? this.#kit.ledger.give(payer, more, this.#process))
    const short = lack && (await this.#kit.insufficient(lack, payer, held))
    if (short) return Promise.resolve(this.cover(usage)).then(() => short)
    this.#extendBy(more)
    this.#will(usage, false)
    return this.#exchange.writes.commit().then(() => undefined)
  }
  /** What it is settled at if this process dies without another word. */
  #will(usage: Usage, streaming: boolean): bigint {
    const nanos = this.priceOf(usage)
    const { id, writes } = this.#exchange
    writes.will(holdAtLeast(id, this.dueFor(usage)), noteOf(id, usage, this.#facts, streaming))
    return nanos
  }
  /** Holds the cost so far and half of the hold beyond that. Cuts the call where the account lacks it. */
  async #extend(nanos: bigint): Promise<void> {
    const { ledger } = this.#kit
    const { payer } = this.#facts
    const more = bounded(nanos + this.#held / 2n + 1n, this.#facts) - this.#held
    if (more <= 0n) return
    this.#lack = await takeMore(ledger, payer, more, this.#process)
    if (this.#closed) return void (this.#lack ?? ledger.give(payer, more, this.#process))
    if (this.#lack) {
      const reason = await this.#kit.insufficient(this.#lack, payer, nanos)
      return this.#closed ? undefined : this.#exchange.cut(reason)
    }
    this.#extendBy(more)
    await this.#exchange.writes.commit().catch(() => {}) // whoever waits for the reply's groups sees it
  }
  #extendBy(more: bigint): void {
    this.#held += more
    const { id, writes } = this.#exchange
    if (this.#written) writes.add(extendCharge(id, more))
  }
  #close(usage: Usage): void {
    if (this.#closed) return
    const amount = this.dueFor(usage)
    this.#closed = true
    this.#charged = amount
    this.#uncollected = this.priceOf(usage) - amount
    this.#decide(amount)
    this.#closing = this.#settlement(usage, amount)
    this.#exchange.writes.add(...this.#closing)
    alarmUnpriced(this.#kit, this.#exchange.id, this.#facts.model, this.#chargeFor(usage).unpriced)
  }
  #decide(amount: bigint): void {
    this.#kit.ledger.charged(this.#facts.payer, amount - this.#decided, this.#process)
    this.#decided = amount
  }
  #chargeFor(usage: Usage): Charged {
    if (this.#priced?.usage !== usage)
      this.#priced = { usage, charge: chargeOf(usage, this.#facts) }
    return this.#priced.charge
  }
  #settlement(usage: Usage, amount: bigint): readonly Statement[] {
    const charge = this.#chargeFor(usage)
    const settlement = settlementOf(this.#exchange.id, this.#facts.payer, usage, charge, amount)
    return this.#written ? [settleCharge(settlement)] : chargeAtOnce(this.#row(), settlement)
  }
  /** As the store is told of it. */
  #row(): Hold {
    return { ...rowOf(this.#exchange, this.#facts), process: this.#process, held: this.#held }
  }
  /** The exchange is over. Its groups may have failed, or it ended before anything closed this. */
  #ended({ end, attempts, fault: reason }: Outcome): void {
    const { id, kind, slots, writes } = this.#exchange
    // A conversation has no last byte to wait for: it is charged for what was said in it.
    const said = kind === 'websocket' && attempts > 0 ? slots.get(USAGE) : undefined
    if (said) this.#close(said)
    else this.release()
    const { ledger } = this.#kit
    const rest = (): bigint => this.#held - (this.#charged ?? 0n)
    const back = (): void => ledger.give(this.#facts.payer, rest(), this.#process)
    const settled = (): void => {
      alarmUncollected(this.#kit, id, this.#facts.model, this.#uncollected)
      back()
    }
    const left = end === 'hangup' || end === 'cut'
    if (this.#charged === undefined && attempts > 0 && left) uncharged(this.#kit, this.#facts.model)
    const closing = this.#closing
    // The last byte left, and had waited for the store.
    if (!closing || (end === 'complete' && kind === 'http')) return settled()
    const list = this.#written ? [holdAtLeast(id, this.#held), ...closing] : closing
    // A stage refused what was charged already: nobody pays for what the client did not get.
    const undone = end === 'refused' && this.#charged !== undefined && !reason?.paid
    const written = (): void => (undone ? this.#undo(back) : settled())
    writes.commit().then(written, thrown => {
      if (isCode(thrown, 'SHARE_GONE')) {
        ledger.lost(this.#process)
        if (!this.#written) uncharged(this.#kit, this.#facts.model)
      }
      // Refused in the end, since its charge could not be written: nobody pays for what nobody got.
      if (end === 'refused' && !reason?.paid) return this.#undo(back)
      // If this process dies before it could tell, the store closes it just so.
      writes.will(...list)
      ledger.ensureClosed(id, list, () => {
        writes.will()
        settled()
      })
    })
  }
  #undo(back: () => void): void {
    undo(this.#kit.ledger, this.#exchange, this.#facts.payer, refunded => {
      // Where it was charged after all, its share has paid, and the account has it back.
      if (!refunded) this.#charged = undefined
      if (!refunded) this.#decide(0n)
      back()
    })
  }
}
