/** Plays one history twice, on the ledger's SQL and on the model, and says where they part. */

import { DEEDS, isLimited, type Order, Play } from './ledger-deeds.ts'
import type { Memory } from './ledger-memory.ts'
import fc from './property.ts'

const text = (rows: readonly (readonly unknown[])[]): string =>
  rows.map(row => row.map(String).join(' ')).join('\n')
/** Its rows in this order, as one text: many thousand times, rows would cost more than the ledger does. */
const kept = (table: string, order: string, ...columns: readonly string[]): string =>
  `(SELECT group_concat(row, char(10)) FROM
    (SELECT ${columns.map(each => `coalesce(${each}, 'null')`).join(" || ' ' || ")} AS row FROM ${table} ORDER BY ${order}))`
const STATE = `SELECT ${[
  kept('wallets', 'id', 'id', 'balance', 'reserved', 'overdraft', 'used'),
  kept('shares', 'process, wallet', 'process', 'wallet', 'amount'),
  kept('charges', 'rowid', 'request', 'state', 'held', 'amount', 'uncollected'),
].map((each, at) => `${each} AS part${at}`)}`
/** Empty when the ledger says what the model says, and nothing it may never say. */
const difference = ({ model, memory, clients }: Play): string => {
  const charges = [...model.charges.values()].map(each => [
    ...[each.request, each.state, each.held, each.amount, each.uncollected],
  ])
  const found = Object.values(memory.rows(STATE)[0] ?? {})
  for (const [at, rows] of [model.wallets(), model.shares(), charges].entries())
    if ((found[at] ?? '') !== text(rows))
      return `the ledger:\n${found[at]}\nthe model:\n${text(rows)}`
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
const order: fc.Arbitrary<Order> = fc.record({
  what: fc.constantFrom(...often),
  process: fc.nat(2),
  account: fc.integer({ min: 1, max: 2 }),
  key: fc.nat(3),
  amount: fc.nat(1_500),
  pick: fc.nat(7),
})
const upTo = (maxLength: number): fc.Arbitrary<readonly Order[]> =>
  fc.array(order, { minLength: 1, maxLength, size: 'max' })
/** Most are short: many beginnings cost as much as few long ways. */
export const orders: fc.Arbitrary<readonly Order[]> = fc.oneof(
  { weight: 3, arbitrary: upTo(5) },
  { weight: 1, arbitrary: upTo(16) },
)

/** One in so many steps is left out: so that of a long history that goes wrong the few steps are found that matter. */
const SELDOM = 1_000
/** Of a hundred steps. */
export const longWays: fc.Arbitrary<readonly Order[]> = fc
  .array(fc.option(order, { nil: undefined, freq: SELDOM }), {
    ...{ minLength: 100, maxLength: 100, size: 'max' },
  })
  .map(steps => steps.filter(step => step !== undefined))
