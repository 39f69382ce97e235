/** The money of one call: what is held for it, and the one way in which that ends. Knows amounts and prices, not replies. */
import type { Exchange, Log, Metrics, Statement } from '../../engine/plugin.ts'
import { printMoney } from '../billing/money.ts'
import { type Charge, price } from '../billing/price.ts'
import { freeze, type Rule } from '../billing/rule.ts'
import { counted, type Facts } from '../billing/usage.ts'
import type { Usage } from '../slots.ts'
import { fault, isCode } from './faults.ts'
import type { Lack, Ledger, Payer } from './ledger.ts'
import { extendCharge, holdAtLeast, openCharge, releaseCharge, settleCharge } from './statements.ts'
import { walletsOf } from './wallet.ts'

export interface BillFacts {
  readonly payer: Payer
  readonly rule: Rule
  readonly facts: Facts
  readonly model: string
  readonly version: number
  /** Nanos. */
  readonly held: bigint
}
export interface BillKit {
  readonly ledger: Ledger
  readonly log: Log
  readonly metrics: Metrics
}

export class Bill {
  readonly #kit: BillKit
  readonly #exchange: Exchange
  readonly #facts: BillFacts
  /** Under whose name it is held. */
  readonly #process: string
  #held: bigint
  #extending: Promise<void> | undefined
  /** Whose money is at its end. */
  #lack: Lack | undefined
  /** The last usage asked about, and what it comes to: a receipt, a note and the settlement ask for the same one. */
  #priced: { readonly usage: Usage; readonly charge: Charge } | undefined
  /** What was charged, once that is decided. */
  #charged: bigint | undefined
  /** How it is closed; from then on nothing changes it. */
  #closing: Statement | undefined

  /** The amount was taken from the ledger before. */
  constructor(kit: BillKit, exchange: Exchange, facts: BillFacts, process: string) {
    this.#kit = kit
    this.#exchange = exchange
    this.#facts = facts
    this.#process = process
    this.#held = facts.held
    const { payer, rule, model, version, held } = facts
    const { id, route, writes } = exchange
    writes.add(
      openCharge({
        ...{ request: id, account: payer.account, key: payer.key, process },
        ...{ route: route.name, model, version, rule: freeze(rule), held, opened: facts.facts.at },
      }),
    )
    exchange.onEnd(() => this.#ended())
  }
  /** What a usage comes to. */
  priceOf(usage: Usage): bigint {
    return this.#chargeFor(usage).nanos
  }
  release(): undefined {
    if (this.#closing) return undefined
    this.#closing = releaseCharge(this.#exchange.id, Date.now())
    this.#exchange.writes.add(this.#closing)
    return undefined
  }
  /** Charges what was used. A promise only where that is more than is held: the account is asked for the rest, and what
   *  it does not have is written down as uncollected. */
  settle(usage: Usage): Promise<void> | undefined {
    if (this.#closing) return undefined
    const nanos = this.priceOf(usage)
    if (nanos > this.#held) return this.#settleBeyond(usage, nanos)
    this.#close(usage, nanos, 0n)
    return undefined
  }
  /** How far it has come: what the store settles at if this process dies without another word. Near its hold more is
   *  held; where the account has no more, what goes beyond is cut. */
  note(usage: Usage): void {
    if (this.#closing) return
    const nanos = this.priceOf(usage)
    const most = nanos < this.#held ? nanos : this.#held
    const { id, writes } = this.#exchange
    writes.will(holdAtLeast(id, most), this.#settlement(usage, most, nanos - most))
    if (nanos >= this.#held && this.#lack)
      return this.#exchange.cut(fault('INSUFFICIENT', [printMoney(nanos)]))
    if (!this.#extending && !this.#lack && nanos * 10n > this.#held * 9n)
      this.#extending = this.#extend().finally(() => {
        this.#extending = undefined
      })
  }
  async #extend(): Promise<void> {
    const { ledger } = this.#kit
    const { payer } = this.#facts
    const more = this.#held / 2n + 1n
    this.#lack = await ledger.take(payer, more).catch(() => 'account' as const)
    if (this.#lack) return
    if (this.#closing) return ledger.give(payer, more, this.#process)
    this.#held += more
    const { id, writes } = this.#exchange
    writes.add(extendCharge(id, more))
    await writes.commit().catch(() => {}) // whoever waits for the reply's groups sees it
  }
  async #settleBeyond(usage: Usage, nanos: bigint): Promise<void> {
    const { ledger, log } = this.#kit
    const { payer } = this.#facts
    const beyond = nanos - this.#held
    const lack = await ledger.take(payer, beyond).catch(() => 'account' as const)
    if (this.#closing) return void (lack ?? ledger.give(payer, beyond, this.#process))
    if (lack) {
      const uncollected = String(beyond)
      log.warn({ id: this.#exchange.id, uncollected }, 'a call cost more than could be collected')
      return this.#close(usage, this.#held, beyond)
    }
    this.#held += beyond
    const { id, writes } = this.#exchange
    writes.add(extendCharge(id, beyond))
    this.#close(usage, nanos, 0n)
  }
  #close(usage: Usage, amount: bigint, uncollected: bigint): void {
    this.#charged = amount
    this.#closing = this.#settlement(usage, amount, uncollected)
    this.#exchange.writes.add(this.#closing)
    const { unpriced } = this.#chargeFor(usage)
    if (unpriced.length > 0) this.#alarm(unpriced)
  }
  #chargeFor(usage: Usage): Charge {
    if (this.#priced?.usage !== usage) {
      const { rule, facts } = this.#facts
      this.#priced = { usage, charge: price(counted(usage), rule, facts) }
    }
    return this.#priced.charge
  }
  #settlement(usage: Usage, amount: bigint, uncollected: bigint): Statement {
    const { payer } = this.#facts
    const { lines } = this.#chargeFor(usage)
    return settleCharge({
      ...{ request: this.#exchange.id, amount, uncollected, estimated: usage.estimated },
      wallets: walletsOf(payer.account, payer.key),
      ...{ closed: Date.now(), usage: JSON.stringify(usage.meters), lines: JSON.stringify(lines) },
    })
  }
  #alarm(unpriced: readonly string[]): void {
    const { log, metrics } = this.#kit
    const { id } = this.#exchange
    const { model } = this.#facts
    for (const meter of unpriced) metrics.count('unpriced_total', { model, meter })
    log.warn({ id, model, unpriced }, 'a call used what has no price')
  }
  /** The exchange is over. Its groups may have failed, or it ended before anything closed this. */
  #ended(): void {
    this.release()
    const closing = this.#closing
    if (!closing) return
    const { id, writes } = this.#exchange
    const back = (): void => this.#kit.ledger.give(this.#facts.payer, this.#rest(), this.#process)
    writes.commit().then(back, thrown => {
      if (isCode(thrown, 'SHARE_GONE')) this.#kit.ledger.lost(this.#process)
      this.#kit.ledger.ensureClosed(id, [holdAtLeast(id, this.#held), closing], back)
    })
  }
  /** What was held and not charged. */
  #rest(): bigint {
    return this.#held - (this.#charged ?? 0n)
  }
}
