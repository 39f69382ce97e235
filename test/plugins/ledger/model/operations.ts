/** The operations of processes on the ledger: each as the statements it sends, and as its effect on
 *  the model. */
import type { Statement } from '../../../../engine/plugin.ts'
import { registration } from '../../../../engine/store/membership.ts'
import { reapingList } from '../../../../engine/store/reaper.ts'
import { releaseProcess } from '../../../../plugins/ledger/crash/processes.ts'
import { singleRowCharge } from '../../../../plugins/ledger/single-row-charge.ts'
import {
  addCredit,
  extendCharge,
  grantLease,
  openCharge,
  openWallet,
  releaseCharge,
  returnLease,
  setOverdraft,
  settleCharge,
} from '../../../../plugins/ledger/statements.ts'
import type { Memory } from './memory.ts'
import { Model, type ModelCharge, walletsOf } from './model.ts'

/** Account 1 has one key with a quota and one without; account 2 has one with a quota. */
const KEYS = [undefined, 1, 2, 3] as const
const QUOTAS = new Map<number, bigint | undefined>([
  ...([
    [2, 0n],
    [4, 0n],
    [3, 700n],
    [5, undefined],
    [7, 400n],
  ] as const),
])
const ownerOf = (key: number | undefined, account: number): number =>
  key === undefined ? account : key === 3 ? 2 : 1

export interface Order {
  readonly what: string
  readonly process: number
  readonly account: number
  readonly key: number
  readonly amount: number
  readonly pick: number
}
/** A process as it sees itself: its name and the free amounts of its leases. */
interface Client {
  name: string
  readonly free: Map<number, bigint>
}
export class Simulation {
  readonly model = new Model()
  readonly memory: Memory
  readonly clients: readonly Client[]
  #names = 0
  now = 0
  constructor(memory: Memory) {
    this.memory = memory
    memory.clear()
    for (const [wallet, quota] of QUOTAS) this.model.open(wallet, quota)
    this.clients = [0, 1, 2].map(() => this.#assignName({ name: '', free: new Map() }))
    // One list, because ten thousand histories start with it.
    memory.apply([
      ...[...QUOTAS].map(([wallet, quota]) => openWallet(wallet, quota)),
      ...this.clients.map(({ name }) => registration(name)),
    ])
  }
  /** Registers a process under a new name. */
  enter(client: Client): void {
    this.memory.apply([registration(this.#assignName(client).name)])
  }
  #assignName(client: Client): Client {
    client.name = `p${String(this.#names++).padStart(3, '0')}`
    client.free.clear()
    this.model.enter(client.name)
    return client
  }
  client({ process }: Order): Client {
    const client = this.clients[process]
    if (!client) throw new Error(`no client ${process}`)
    return client
  }
  charge({ pick }: Order): ModelCharge | undefined {
    const all = [...this.model.charges.values()]
    return all[pick % (all.length || 1)]
  }
  /** The smallest free amount of a process in those of these wallets that are limited. */
  least(client: Client, wallets: readonly number[]): bigint {
    const free = wallets.filter(isLimited).map(wallet => client.free.get(wallet) ?? 0n)
    return free.reduce((least, each) => (each < least ? each : least))
  }
  move(client: Client, wallets: readonly number[], amount: bigint): void {
    for (const wallet of wallets.filter(isLimited))
      client.free.set(wallet, (client.free.get(wallet) ?? 0n) + amount)
  }
  /** The process that holds a charge, while it has the name it held it under. */
  holder({ process }: ModelCharge): Client | undefined {
    return this.clients.find(({ name }) => name === process)
  }
}
const keyHeld = (key: number | undefined): boolean => key !== undefined && isLimited(key * 2 + 1)
export const isLimited = (wallet: number): boolean => QUOTAS.get(wallet) !== undefined

type Operation = (
  play: Simulation,
  order: Order,
) =>
  | {
      readonly list: readonly Statement[]
      readonly expected: string | bigint | undefined
      readonly onApplied?: (() => void) | undefined
    }
  | undefined

const settlement = (charge: ModelCharge, amount: bigint, uncollected: bigint, closed: number) =>
  settleCharge({
    request: charge.request,
    amount,
    uncollected,
    closedAt: closed,
    isEstimated: false,
    usage: '{}',
    lines: '[]',
    wallets: [],
  })
const part = (whole: bigint, amount: number): bigint => (whole * BigInt(amount % 101)) / 100n

const open: Operation = (play, order) => {
  const client = play.client(order)
  const key = KEYS[order.key]
  const account = ownerOf(key, order.account)
  const wallets = walletsOf({ account, key })
  const heldAmount = part(play.least(client, wallets), order.amount)
  const again = order.pick === 0 ? play.charge(order)?.request : undefined
  const request = again ?? `r${play.model.charges.size}`
  const charge = { request, account, key, process: client.name, heldAmount }
  const expected = play.model.hold(charge)
  if (!expected) play.move(client, wallets, -heldAmount)
  const facts = { route: 'r', model: 'm', version: 1, rule: '{}', openedAt: play.now }
  return {
    list: [
      openCharge({ ...charge, heldAmount: heldAmount, holdsKeyQuota: keyHeld(key), ...facts }),
    ],
    expected,
  }
}
/** A charge that the model refuses to open: its request exists, or its process is gone. */
const unknownCharge = (play: Simulation, order: Order) => {
  const request = (order.pick === 0 && play.charge(order)?.request) || 'r-never'
  return {
    request,
    account: order.account,
    key: undefined,
    process: play.client(order).name,
    heldAmount: 0n,
  }
}
/** An operation returns undefined if it has no object. */
export const OPERATIONS: Readonly<Record<string, Operation>> = {
  open,
  credit({ model, now }, { account, amount }) {
    const nanos = BigInt(amount - 400) || 1n
    const kind = nanos < 0n ? 'debit' : 'credit'
    const credit = { account, kind, amount: nanos, note: '', at: now } as const
    return { list: [addCredit(credit)], expected: model.credit(account, nanos) }
  },
  refund(play, order) {
    const charge = play.charge(order)
    if (charge?.state !== 'settled') return undefined
    const amount = part(charge.amount, order.amount) || 1n
    const { account, request } = charge
    const refund = { account, kind: 'refund', amount, request, note: '', at: play.now } as const
    return { list: [addCredit(refund)], expected: play.model.refund(account, amount, request) }
  },
  overdraft({ model }, { account, amount }) {
    const nanos = BigInt(amount % 300)
    return { list: [setOverdraft(account * 2, nanos)], expected: model.overdraft(account, nanos) }
  },
  lease(play, order) {
    const client = play.client(order)
    const keyId = KEYS[order.key]
    const wallet = keyId === undefined ? order.account * 2 : keyId * 2 + 1
    const least = BigInt(order.pick * 9 + 1)
    const expected = play.model.lease(client.name, wallet, least, least + BigInt(order.amount))
    const list = grantLease(client.name, wallet, least, least + BigInt(order.amount))
    const onApplied = () => typeof expected === 'bigint' && play.move(client, [wallet], expected)
    return { list, expected, onApplied }
  },
  extend(play, order) {
    const charge = play.charge(order)
    const client = charge && play.holder(charge)
    if (!client) return undefined
    const by = part(play.least(client, walletsOf(charge)), order.amount)
    const expected = play.model.extend(charge.request, by)
    if (!expected) play.move(client, walletsOf(charge), -by)
    return { list: [extendCharge(charge.request, by)], expected }
  },
  settle(play, order) {
    const charge = play.charge(order)
    if (!charge) return undefined
    const beyond = order.pick === 7
    const amount = beyond ? charge.heldAmount + 1n : part(charge.heldAmount, order.amount)
    const uncollected = BigInt(order.pick)
    const expected = play.model.settle(charge.request, amount, uncollected)
    const client = play.holder(charge)
    if (client && !expected) play.move(client, walletsOf(charge), charge.heldAmount - amount)
    return { list: [settlement(charge, amount, uncollected, play.now)], expected }
  },
  release(play, order) {
    const charge = play.charge(order)
    if (!charge) return undefined
    const expected = play.model.release(charge.request)
    const client = play.holder(charge)
    if (client && !expected) play.move(client, walletsOf(charge), charge.heldAmount)
    return { list: [releaseCharge(charge.request, play.now)], expected }
  },
  /** Holds and settles in one list, as a short call does. */
  whole(play, order) {
    const opening = open(play, { ...order, pick: 1 })
    const charge = [...play.model.charges.values()].at(-1)
    if (!opening || opening.expected || !charge) return opening
    const amount = part(charge.heldAmount, order.amount)
    play.model.settle(charge.request, amount, 0n)
    play.move(play.client(order), walletsOf(charge), charge.heldAmount - amount)
    return { ...opening, list: [...opening.list, settlement(charge, amount, 0n, play.now)] }
  },
  /** Holds in memory only, and writes one row at the end. */
  atOnce(play, order) {
    const opening = open(play, order)
    const charge = opening?.expected ? undefined : [...play.model.charges.values()].at(-1)
    const row = charge ?? unknownCharge(play, order)
    const amount =
      order.pick === 7 && charge ? row.heldAmount + 1n : part(row.heldAmount, order.amount)
    const facts = { route: 'r', model: 'm', version: 1, rule: '{}', openedAt: play.now }
    const how = { isEstimated: false, usage: '{}', lines: '[]', wallets: [], closedAt: play.now }
    const hold = { ...row, ...facts, heldAmount: row.heldAmount, holdsKeyQuota: keyHeld(row.key) }
    const list = singleRowCharge(hold, { ...how, amount, uncollected: 0n }, {})
    if (!charge) return { list, expected: opening?.expected }
    const expected = play.model.settle(charge.request, amount, 0n)
    const back = expected ? charge.heldAmount : charge.heldAmount - amount
    play.move(play.client(order), walletsOf(charge), back)
    if (expected) play.model.charges.delete(charge.request)
    return { list, expected }
  },
  giveBack(play, order) {
    const client = play.client(order)
    const key = KEYS[order.key]
    const wallet = key === undefined ? order.account * 2 : key * 2 + 1
    const amount = part(client.free.get(wallet) ?? 0n, order.amount)
    if (amount === 0n) return undefined
    const expected = play.model.giveBack(client.name, wallet, amount)
    const list = returnLease(client.name, wallet, amount)
    return { list, expected, onApplied: () => play.move(client, [wallet], -amount) }
  },
  reap(play, order) {
    const { name } = play.client(order)
    // The process was read before its last heartbeat: it is not reaped.
    const ledger = { reapStatements: () => releaseProcess(name, play.now) }
    if (order.pick > 3) return { list: reapingList(name, 1, [ledger]), expected: 'STILL_ALIVE' }
    return { list: reapingList(name, 0, [ledger]), expected: play.model.reap(name) }
  },
}
