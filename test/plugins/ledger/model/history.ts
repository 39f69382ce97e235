/** Plays one history on the ledger's SQL and on the model, and reports the first difference. */
import fc from '../../../helpers/property.ts'
import type { Memory } from './memory.ts'
import { isLimited, OPERATIONS, type Order, Simulation } from './operations.ts'

const text = (rows: readonly (readonly unknown[])[]): string =>
  rows.map(row => row.map(String).join(' ')).join('\n')
/** Selects the rows of a table in this order as one text: thousands of row objects would cost more
 *  than the ledger. */
const rowsAsText = (table: string, order: string, ...columns: readonly string[]): string =>
  `(SELECT group_concat(row, char(10)) FROM
    (SELECT ${columns.map(each => `coalesce(${each}, 'null')`).join(" || ' ' || ")} AS row FROM ${table} ORDER BY ${order}))`
const STATE = `SELECT ${[
  rowsAsText('wallets', 'id', 'id', 'balance', 'reserved', 'overdraft', 'used'),
  rowsAsText('shares', 'process, wallet', 'process', 'wallet', 'amount'),
  rowsAsText('charges', 'rowid', 'request', 'state', 'held', 'amount', 'uncollected'),
].map((each, at) => `${each} AS part${at}`)}`
/** Returns the difference between ledger and model, or the violated invariant; empty if there is
 *  none. */
const findDifference = ({ model, memory, clients }: Simulation): string => {
  const charges = [...model.charges.values()].map(each => [
    each.request,
    each.state,
    each.heldAmount,
    each.amount,
    each.uncollected,
  ])
  const actual = Object.values(memory.rows(STATE)[0] ?? {})
  for (const [at, rows] of [model.wallets(), model.shares(), charges].entries())
    if ((actual[at] ?? '') !== text(rows))
      return `the ledger:\n${actual[at]}\nthe model:\n${text(rows)}`
  for (const [id, balance, reserved, overdraft] of model.wallets())
    if (isLimited(Number(id)) && Number(balance) - Number(reserved) < -Number(overdraft))
      return `wallet ${id} is overdrawn`
  for (const { name, free } of clients)
    for (const [wallet, amount] of free)
      if (model.isAlive(name) && model.free(name, wallet) !== amount)
        return `${name} thinks it has ${amount} of ${wallet}, and has ${model.free(name, wallet)}`
  return ''
}

/** Returns undefined if both agreed at every step. `runAudit` runs at the end, or after every step
 *  if `every` is set. */
export const play = async (
  memory: Memory,
  orders: readonly Order[],
  runAudit: () => Promise<string | undefined>,
  every: boolean,
): Promise<string | undefined> => {
  const play = new Simulation(memory)
  for (const [index, order] of orders.entries()) {
    play.now++
    const operation = OPERATIONS[order.what]?.(play, order)
    if (!operation) continue
    const { code, rows } = memory.apply(operation.list)
    const granted = rows[0]?.granted
    const outcome = code ?? (granted === undefined ? undefined : BigInt(String(granted)))
    if (outcome !== operation.expected)
      return `${order.what}: the ledger said ${outcome}, the model ${operation.expected}`
    if (code === undefined) operation.onApplied?.()
    // The process was reaped: it registers again.
    if (code === 'LEASE_GONE') play.enter(play.client(order))
    const wrong = findDifference(play) || (every && (await runAudit()))
    if (wrong) return `after ${order.what}, the ${index + 1}. step: ${wrong}`
  }
  return runAudit()
}

const often = Object.keys(OPERATIONS).flatMap(what =>
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
const historiesUpTo = (maxLength: number): fc.Arbitrary<readonly Order[]> =>
  fc.array(order, { minLength: 1, maxLength, size: 'max' })
/** Most histories are short: many starts find as much as few long histories. */
export const histories: fc.Arbitrary<readonly Order[]> = fc.oneof(
  { weight: 3, arbitrary: historiesUpTo(5) },
  { weight: 1, arbitrary: historiesUpTo(16) },
)

/** One in so many steps is left out, so that shrinking can drop the steps that do not matter. */
const LEFT_OUT = 1_000
/** Histories of a hundred steps. */
export const longHistories: fc.Arbitrary<readonly Order[]> = fc
  .array(fc.option(order, { nil: undefined, freq: LEFT_OUT }), {
    minLength: 100,
    maxLength: 100,
    size: 'max',
  })
  .map(steps => steps.filter(step => step !== undefined))
