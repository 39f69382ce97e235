/** What the ledger should say after any history: plain entries, and every sum taken anew from them. Knows no SQL. */

export interface ModelCharge {
  readonly request: string
  readonly account: number
  readonly key: number | undefined
  readonly process: string
  state: 'open' | 'settled' | 'released'
  held: bigint
  amount: bigint
  uncollected: bigint
}
interface Purse {
  /** Given by credits, or the key's quota. */
  given: bigint
  overdraft: bigint
  readonly limited: boolean
}
interface Refund {
  readonly account: number
  readonly request: string | undefined
  readonly amount: bigint
}
type Refused = string | undefined

const sum = (amounts: Iterable<bigint>): bigint => {
  let total = 0n
  for (const amount of amounts) total += amount
  return total
}

export class Model {
  readonly #purses = new Map<number, Purse>()
  readonly #shares = new Map<string, Map<number, bigint>>()
  readonly #alive = new Set<string>()
  readonly #refunds: Refund[] = []
  readonly charges = new Map<string, ModelCharge>()

  open(wallet: number, quota: bigint | undefined): void {
    this.#purses.set(wallet, { given: quota ?? 0n, overdraft: 0n, limited: quota !== undefined })
  }
  enter(process: string): void {
    this.#alive.add(process)
  }
  isAlive(process: string): boolean {
    return this.#alive.has(process)
  }
  credit(account: number, amount: bigint): Refused {
    if (
      this.balance(account * 2) + amount - this.reserved(account * 2) <
      -this.#of(account * 2).overdraft
    )
      return 'OVERDRAWN'
    this.#of(account * 2).given += amount
    return undefined
  }
  refund(account: number, amount: bigint, request: string): Refused {
    if (this.#refunds.some(refund => refund.request === request)) return 'ALREADY_REFUNDED'
    this.#refunds.push({ account, amount, request })
    return undefined
  }
  overdraft(account: number, overdraft: bigint): Refused {
    if (this.balance(account * 2) - this.reserved(account * 2) < -overdraft) return 'OVERDRAWN'
    this.#of(account * 2).overdraft = overdraft
    return undefined
  }
  lease(process: string, wallet: number, least: bigint, wanted: bigint): bigint | string {
    const room = this.balance(wallet) + this.#of(wallet).overdraft - this.reserved(wallet)
    if (room < least) return 'INSUFFICIENT'
    if (!this.isAlive(process)) return 'SHARE_GONE'
    const part = room / 8n
    const most = wanted < part ? wanted : part
    const granted = part <= least ? least : most
    const shares = this.#shares.get(process) ?? new Map<number, bigint>()
    this.#shares.set(process, shares.set(wallet, (shares.get(wallet) ?? 0n) + granted))
    return granted
  }
  giveBack(process: string, wallet: number, amount: bigint): Refused {
    const shares = this.#shares.get(process)
    const share = shares?.get(wallet)
    if (shares === undefined || share === undefined) return 'SHARE_GONE'
    shares.set(wallet, share - amount)
    return undefined
  }
  hold(charge: Pick<ModelCharge, 'request' | 'account' | 'key' | 'process' | 'held'>): Refused {
    if (!this.isAlive(charge.process)) return 'SHARE_GONE'
    if (this.charges.has(charge.request)) return 'CHARGE_EXISTS'
    this.charges.set(charge.request, { ...charge, state: 'open', amount: 0n, uncollected: 0n })
    return undefined
  }
  extend(request: string, by: bigint): Refused {
    const charge = this.charges.get(request)
    if (charge?.state !== 'open') return 'CHARGE_CLOSED'
    charge.held += by
    return undefined
  }
  settle(request: string, amount: bigint, uncollected: bigint): Refused {
    const charge = this.charges.get(request)
    if (charge?.state !== 'open') return 'CHARGE_CLOSED'
    if (amount > charge.held) return 'STORE_VIOLATION'
    Object.assign(charge, { state: 'settled', amount, uncollected })
    const shares = this.#shares.get(charge.process)
    for (const wallet of walletsOf(charge)) {
      const share = shares?.get(wallet)
      if (shares !== undefined && share !== undefined) shares.set(wallet, share - amount)
    }
    return undefined
  }
  release(request: string): Refused {
    const charge = this.charges.get(request)
    if (charge?.state !== 'open') return 'CHARGE_CLOSED'
    charge.state = 'released'
    return undefined
  }
  bury(process: string): Refused {
    if (!this.#alive.delete(process)) return 'STILL_ALIVE'
    this.#shares.delete(process)
    for (const charge of this.charges.values())
      if (charge.process === process && charge.state === 'open') charge.state = 'released'
    return undefined
  }
  balance(wallet: number): bigint {
    const refunded = this.#refunds.filter(({ account }) => account * 2 === wallet)
    return this.#of(wallet).given - this.#spent(wallet) + sum(refunded.map(({ amount }) => amount))
  }
  reserved(wallet: number): bigint {
    return sum([...this.#shares.values()].map(shares => shares.get(wallet) ?? 0n))
  }
  /** Of one process, for no call. */
  free(process: string, wallet: number): bigint {
    const share = this.#shares.get(process)?.get(wallet) ?? 0n
    const open = [...this.charges.values()].filter(
      charge =>
        charge.process === process &&
        charge.state === 'open' &&
        walletsOf(charge).some(each => each === wallet),
    )
    return share - sum(open.map(({ held }) => held))
  }
  /** Every row there should be, in the order of its key. */
  wallets(): readonly (readonly unknown[])[] {
    const ids = [...this.#purses.keys()].sort((one, other) => one - other)
    return ids.map(id => {
      const refunded = this.#refunds.filter(({ account }) => account * 2 === id)
      const used = this.#spent(id) - sum(refunded.map(({ amount }) => amount))
      return [id, this.balance(id), this.reserved(id), this.#of(id).overdraft, used]
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
  #spent(wallet: number): bigint {
    const paid = [...this.charges.values()].filter(charge => walletsOf(charge).includes(wallet))
    return sum(paid.map(({ amount }) => amount))
  }
  #of(wallet: number): Purse {
    const purse = this.#purses.get(wallet)
    if (!purse) throw new Error(`there is no wallet ${wallet}`)
    return purse
  }
}

export const walletsOf = ({ account, key }: Pick<ModelCharge, 'account' | 'key'>): number[] => [
  account * 2,
  ...(key === undefined ? [] : [key * 2 + 1]),
]
