/** Plays one history twice, on the ledger's SQL and on the model, and says where they part. */

import { DEEDS, isLimited, type Order, Play } from './ledger-deeds.ts'
import type { Memory } from './ledger-memory.ts'
import fc from './property.ts'

const text = (rows: readonly (readonly unknown[])[]): string =>
  rows.map(row => row.map(String).join(' ')).join('\n')
const WALLETS = 'SELECT id, balance, reserved, overdraft, used FROM wallets ORDER BY id'
const SHARES = 'SELECT process, wallet, amount FROM shares ORDER BY process, wallet'
const CHARGES = 'SELECT request, state, held, amount, uncollected FROM charges ORDER BY rowid'
const kept = (memory: Memory, query: string): string =>
  text(memory.rows(query).map(row => Object.values(row)))

/** Empty when the ledger says what the model says, and nothing it may never say. */
const difference = ({ model, memory, clients }: Play): string => {
  const charges = [...model.charges.values()].map(each => [
    ...[each.request, each.state, each.held, each.amount, each.uncollected],
  ])
  const pairs = [
    [kept(memory, WALLETS), text(model.wallets())],
    [kept(memory, SHARES), text(model.shares())],
    [kept(memory, CHARGES), text(charges)],
  ]
  for (const [found, expected] of pairs)
    if (found !== expected) return `the ledger:\n${found}\nthe model:\n${expected}`
  for (const [id, balance, reserved, overdraft] of model.wallets())
    if (isLimited(Number(id)) && Number(balance) - Number(reserved) < -Number(overdraft))
      return `wallet ${id} is overdrawn`
  for (const { name, free } of clients)
    for (const [wallet, amount] of free)
      if (model.isAlive(name) && model.free(name, wallet) !== amount)
        return `${name} thinks it has ${amount} of ${wallet}, and has ${model.free(name, wallet)}`
  return ''
}

/** Undefined: they agreed at every step. `audited` is asked at the end, or of every prefix. */
export const play = async (
  memory: Memory,
  orders: readonly Order[],
  audited: () => Promise<string | undefined>,
  every: boolean,
): Promise<string | undefined> => {
  const play = new Play(memory)
  for (const [index, order] of orders.entries()) {
    play.now++
    const deed = DEEDS[order.what]?.(play, order)
    if (!deed) continue
    const { code, rows } = memory.apply(deed.list)
    const granted = rows[0]?.granted
    const found = code ?? (granted === undefined ? undefined : BigInt(String(granted)))
    if (found !== deed.expected)
      return `${order.what}: the ledger said ${found}, the model ${deed.expected}`
    if (code === undefined) deed.done?.()
    // It has been told of its own burial, and begins anew.
    if (code === 'SHARE_GONE') play.enter(play.client(order))
    const wrong = difference(play) || (every && (await audited()))
    if (wrong) return `after ${order.what}, the ${index + 1}. step: ${wrong}`
  }
  return audited()
}

const often = Object.keys(DEEDS).flatMap(what =>
  ['open', 'lease', 'settle', 'credit', 'atOnce'].includes(what) ? [what, what] : [what],
)
export const orders: fc.Arbitrary<readonly Order[]> = fc.array(
  fc.record({
    what: fc.constantFrom(...often),
    process: fc.nat(2),
    account: fc.integer({ min: 1, max: 2 }),
    key: fc.nat(3),
    amount: fc.nat(1_500),
    pick: fc.nat(7),
  }),
  { minLength: 1, maxLength: 16, size: 'max' },
)
