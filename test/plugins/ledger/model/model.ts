/** A model of the ledger: plain entries, with every sum computed from them. It uses no SQL. */

export interface ModelCharge {
  readonly request: string
  readonly account: number
  readonly key: number | undefined
  readonly process: string
  state: 'open' | 'settled' | 'released'
  heldAmount: bigint
  amount: bigint
  uncollected: bigint
}
interface WalletState {
  /** Credits, or the key's quota. */
  funds: bigint
  overdraft: bigint
  readonly isLimited: boolean
}
interface Refund {
  readonly account: number
  readonly request: string | undefined
  readonly amount: bigint
}
type RefusalCode = string | undefined

const sum = (amounts: Iterable<bigint>): bigint => {
  let total = 0n
  for (const amount of amounts) total += amount
  return total
}

export class Model {
  readonly #purses = new Map<number, WalletState>()
  readonly #shares = new Map<string, Map<number, bigint>>()
  readonly #alive = new Set<string>()
  readonly #refunds: Refund[] = []
  readonly charges = new Map<string, ModelCharge>()

  open(wallet: number, quota: bigint | undefined): void {
    this.#purses.set(wallet, { funds: quota ?? 0n, overdraft: 0n, isLimited: quota !== undefined })
  }
  enter(process: string): void {
    this.#alive.add(process)
  }
  isAlive(process: string): boolean {
    return this.#alive.has(process)
  }
  credit(account: number, amount: bigint): RefusalCode {
    if (
      this.balance(account * 2) + amount - this.reservedAmount(account * 2) <
      -this.#of(account * 2).overdraft
    )
      return 'OVERDRAWN'
    this.#of(account * 2).funds += amount
    return undefined
  }
  refund(account: number, amount: bigint, request: string): RefusalCode {
    if (this.#refunds.some(refund => refund.request === request)) return 'ALREADY_REFUNDED'
    this.#refunds.push({ account, amount, request })
    return undefined
  }
  overdraft(account: number, overdraft: bigint): RefusalCode {
    if (this.balance(account * 2) - this.reservedAmount(account * 2) < -overdraft)
      return 'OVERDRAWN'
    this.#of(account * 2).overdraft = overdraft
    return undefined
  }
  lease(process: string, wallet: number, least: bigint, upTo: bigint): bigint | string {
    const room = this.balance(wallet) + this.#of(wallet).overdraft - this.reservedAmount(wallet)
    if (room < least) return 'INSUFFICIENT'
    if (!this.isAlive(process)) return 'LEASE_GONE'
    const part = room / 8n
    const most = upTo < part ? upTo : part
    const grant = part <= least ? least : most
    const shares = this.#shares.get(process) ?? new Map<number, bigint>()
    this.#shares.set(process, shares.set(wallet, (shares.get(wallet) ?? 0n) + grant))
    return grant
  }
  giveBack(process: string, wallet: number, amount: bigint): RefusalCode {
    const shares = this.#shares.get(process)
    const share = shares?.get(wallet)
    if (shares === undefined || share === undefined) return 'LEASE_GONE'
    shares.set(wallet, share - amount)
    return undefined
  }
  hold(
    charge: Pick<ModelCharge, 'request' | 'account' | 'key' | 'process' | 'heldAmount'>,
  ): RefusalCode {
    if (!this.isAlive(charge.process)) return 'LEASE_GONE'
    if (this.charges.has(charge.request)) return 'CHARGE_EXISTS'
    this.charges.set(charge.request, { ...charge, state: 'open', amount: 0n, uncollected: 0n })
    return undefined
  }
  extend(request: string, by: bigint): RefusalCode {
    const charge = this.charges.get(request)
    if (charge?.state !== 'open') return 'CHARGE_CLOSED'
    charge.heldAmount += by
    return undefined
  }
  settle(request: string, amount: bigint, uncollected: bigint): RefusalCode {
    const charge = this.charges.get(request)
    if (charge?.state !== 'open') return 'CHARGE_CLOSED'
    if (amount > charge.heldAmount) return 'STORE_VIOLATION'
    Object.assign(charge, { state: 'settled', amount, uncollected })
    const shares = this.#shares.get(charge.process)
    for (const wallet of walletsOf(charge)) {
      const share = shares?.get(wallet)
      if (shares !== undefined && share !== undefined) shares.set(wallet, share - amount)
    }
    return undefined
  }
  release(request: string): RefusalCode {
    const charge = this.charges.get(request)
    if (charge?.state !== 'open') return 'CHARGE_CLOSED'
    charge.state = 'released'
    return undefined
  }
  reap(process: string): RefusalCode {
    if (!this.#alive.delete(process)) return 'STILL_ALIVE'
    this.#shares.delete(process)
    for (const charge of this.charges.values())
      if (charge.process === process && charge.state === 'open') charge.state = 'released'
    return undefined
  }
  balance(wallet: number): bigint {
    const refunds = this.#refunds.filter(({ account }) => account * 2 === wallet)
    return (
      this.#of(wallet).funds -
      this.#chargedAmount(wallet) +
      sum(refunds.map(({ amount }) => amount))
    )
  }
  reservedAmount(wallet: number): bigint {
    return sum([...this.#shares.values()].map(shares => shares.get(wallet) ?? 0n))
  }
  /** The leased amount of a process that no call holds. */
  free(process: string, wallet: number): bigint {
    const share = this.#shares.get(process)?.get(wallet) ?? 0n
    const open = [...this.charges.values()].filter(
      charge =>
        charge.process === process &&
        charge.state === 'open' &&
        walletsOf(charge).some(each => each === wallet),
    )
    return share - sum(open.map(({ heldAmount }) => heldAmount))
  }
  /** Every expected row, in the order of its key. */
  wallets(): readonly (readonly unknown[])[] {
    const ids = [...this.#purses.keys()].sort((one, other) => one - other)
    return ids.map(id => {
      const refunds = this.#refunds.filter(({ account }) => account * 2 === id)
      const usedAmount = this.#chargedAmount(id) - sum(refunds.map(({ amount }) => amount))
      return [id, this.balance(id), this.reservedAmount(id), this.#of(id).overdraft, usedAmount]
    })
  }
  shares(): readonly (readonly unknown[])[] {
    const all = [...this.#shares].flatMap(([process, shares]) =>
      [...shares].map(([wallet, amount]) => [process, wallet, amount] as const),
    )
    return all.sort((one, other) =>
      one[0] === other[0] ? one[1] - other[1] : one[0] < other[0] ? -1 : 1,
    )
  }
  #chargedAmount(wallet: number): bigint {
    const charges = [...this.charges.values()].filter(charge => walletsOf(charge).includes(wallet))
    return sum(charges.map(({ amount }) => amount))
  }
  #of(wallet: number): WalletState {
    const purse = this.#purses.get(wallet)
    if (!purse) throw new Error(`there is no wallet ${wallet}`)
    return purse
  }
}

export const walletsOf = ({ account, key }: Pick<ModelCharge, 'account' | 'key'>): number[] => [
  account * 2,
  ...(key === undefined ? [] : [key * 2 + 1]),
]
