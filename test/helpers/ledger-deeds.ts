/** What processes do to the ledger: each deed as the statements it sends, and as what the model makes of it. */
import type { Statement } from '../../engine/plugin.ts'
import { registration } from '../../engine/store/membership.ts'
import { reapingList } from '../../engine/store/reaper.ts'
import { releaseProcess } from '../../plugins/ledger/processes.ts'
import { singleRowCharge } from '../../plugins/ledger/single-row-charge.ts'
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
} from '../../plugins/ledger/statements.ts'
import type { Memory } from './ledger-memory.ts'
import { Model, type ModelCharge, walletsOf } from './ledger-model.ts'

/** Account 1 has a key with a quota and one without, account 2 one with a quota. */
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
/** A process as it knows itself: what it may spend, and whether it has heard of its own burial. */
interface Client {
  name: string
  readonly free: Map<number, bigint>
}
export class Play {
  readonly model = new Model()
  readonly memory: Memory
  readonly clients: readonly Client[]
  #names = 0
  now = 0
  constructor(memory: Memory) {
    this.memory = memory
    memory.clear()
    for (const [wallet, quota] of QUOTAS) this.model.open(wallet, quota)
    this.clients = [0, 1, 2].map(() => this.#named({ name: '', free: new Map() }))
    // In one list: ten thousand histories begin so.
    memory.apply([
      ...[...QUOTAS].map(([wallet, quota]) => openWallet(wallet, quota)),
      ...this.clients.map(({ name }) => registration(name)),
    ])
  }
  /** Under a name that nobody had. */
  enter(client: Client): void {
    this.memory.apply([registration(this.#named(client).name)])
  }
  #named(client: Client): Client {
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
  /** What it holds for no call, in each wallet of these that is limited. */
  least(client: Client, wallets: readonly number[]): bigint {
    const free = wallets.filter(isLimited).map(wallet => client.free.get(wallet) ?? 0n)
    return free.reduce((least, each) => (each < least ? each : least))
  }
  move(client: Client, wallets: readonly number[], amount: bigint): void {
    for (const wallet of wallets.filter(isLimited))
      client.free.set(wallet, (client.free.get(wallet) ?? 0n) + amount)
  }
  /** Whoever holds a charge, as long as it goes by the name it was held under. */
  holder({ process }: ModelCharge): Client | undefined {
    return this.clients.find(({ name }) => name === process)
  }
}
const keyHeld = (key: number | undefined): boolean => key !== undefined && isLimited(key * 2 + 1)
export const isLimited = (wallet: number): boolean => QUOTAS.get(wallet) !== undefined

type Deed = (
  play: Play,
  order: Order,
) =>
  | {
      readonly list: readonly Statement[]
      readonly expected: string | bigint | undefined
      readonly done?: (() => void) | undefined
    }
  | undefined

const settlement = (charge: ModelCharge, amount: bigint, uncollected: bigint, closed: number) =>
  settleCharge({
    ...{ request: charge.request, amount, uncollected, closedAt: closed },
    ...{ isEstimated: false, usage: '{}', lines: '[]', wallets: [] },
  })
const part = (whole: bigint, amount: number): bigint => (whole * BigInt(amount % 101)) / 100n

const open: Deed = (play, order) => {
  const client = play.client(order)
  const key = KEYS[order.key]
  const account = ownerOf(key, order.account)
  const wallets = walletsOf({ account, key })
  const held = part(play.least(client, wallets), order.amount)
  const again = order.pick === 0 ? play.charge(order)?.request : undefined
  const request = again ?? `r${play.model.charges.size}`
  const charge = { request, account, key, process: client.name, held }
  const expected = play.model.hold(charge)
  if (!expected) play.move(client, wallets, -held)
  const facts = { route: 'r', model: 'm', version: 1, rule: '{}', openedAt: play.now }
  return {
    list: [openCharge({ ...charge, heldAmount: held, holdsKeyQuota: keyHeld(key), ...facts })],
    expected,
  }
}
/** One that the model refuses to open: of a name that is taken, or of a process that is gone. */
const stranger = (play: Play, order: Order) => {
  const request = (order.pick === 0 && play.charge(order)?.request) || 'r-never'
  return {
    request,
    account: order.account,
    key: undefined,
    process: play.client(order).name,
    held: 0n,
  }
}
/** Undefined: there is nothing to do it to. */
export const DEEDS: Readonly<Record<string, Deed>> = {
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
    const owned = KEYS[order.key]
    const wallet = owned === undefined ? order.account * 2 : owned * 2 + 1
    const least = BigInt(order.pick * 9 + 1)
    const expected = play.model.lease(client.name, wallet, least, least + BigInt(order.amount))
    const list = grantLease(client.name, wallet, least, least + BigInt(order.amount))
    const done = () => typeof expected === 'bigint' && play.move(client, [wallet], expected)
    return { list, expected, done }
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
    const amount = beyond ? charge.held + 1n : part(charge.held, order.amount)
    const uncollected = BigInt(order.pick)
    const expected = play.model.settle(charge.request, amount, uncollected)
    const client = play.holder(charge)
    if (client && !expected) play.move(client, walletsOf(charge), charge.held - amount)
    return { list: [settlement(charge, amount, uncollected, play.now)], expected }
  },
  release(play, order) {
    const charge = play.charge(order)
    if (!charge) return undefined
    const expected = play.model.release(charge.request)
    const client = play.holder(charge)
    if (client && !expected) play.move(client, walletsOf(charge), charge.held)
    return { list: [releaseCharge(charge.request, play.now)], expected }
  },
  /** Held and closed in one list, as a short call is. */
  whole(play, order) {
    const opened = open(play, { ...order, pick: 1 })
    const charge = [...play.model.charges.values()].at(-1)
    if (!opened || opened.expected || !charge) return opened
    const amount = part(charge.held, order.amount)
    play.model.settle(charge.request, amount, 0n)
    play.move(play.client(order), walletsOf(charge), charge.held - amount)
    return { ...opened, list: [...opened.list, settlement(charge, amount, 0n, play.now)] }
  },
  /** Held in memory only, and told to the store as it ends. */
  atOnce(play, order) {
    const opened = open(play, order)
    const charge = opened?.expected ? undefined : [...play.model.charges.values()].at(-1)
    const row = charge ?? stranger(play, order)
    const amount = order.pick === 7 && charge ? row.held + 1n : part(row.held, order.amount)
    const facts = { route: 'r', model: 'm', version: 1, rule: '{}', openedAt: play.now }
    const how = { isEstimated: false, usage: '{}', lines: '[]', wallets: [], closedAt: play.now }
    const hold = { ...row, ...facts, heldAmount: row.held, holdsKeyQuota: keyHeld(row.key) }
    const list = singleRowCharge(hold, { ...how, amount, uncollected: 0n })
    if (!charge) return { list, expected: opened?.expected }
    const expected = play.model.settle(charge.request, amount, 0n)
    const back = expected ? charge.held : charge.held - amount
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
    return { list, expected, done: () => play.move(client, [wallet], -amount) }
  },
  bury(play, order) {
    const { name } = play.client(order)
    // Somebody looked at it before its last sign of life: it is left alone.
    const ledger = { reapStatements: () => releaseProcess(name, play.now) }
    if (order.pick > 3) return { list: reapingList(name, 1, [ledger]), expected: 'STILL_ALIVE' }
    return { list: reapingList(name, 0, [ledger]), expected: play.model.bury(name) }
  },
}
