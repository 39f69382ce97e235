/** A call that came to more than was held, and a store that does not answer at once: the rest is collected if it answers the
 *  second time. */
import t from 'tap'
import type { Exchange, Outcome, Statement } from '../../../engine/plugin.ts'
import { compileCurrency } from '../../../plugins/billing/currency.ts'
import { compileRule } from '../../../plugins/billing/rule.ts'
import type { LedgerContext } from '../../../plugins/ledger/call-charge.ts'
import type { Shortage } from '../../../plugins/ledger/ledger.ts'
import { MeteredCall } from '../../../plugins/ledger/metered-call.ts'
import type { Usage } from '../../../plugins/slots.ts'

const currency = compileCurrency({ name: 'USD' }, [], () => {})
const rule = compileRule({ price: { output: 1 } }, { currency, where: [], report: () => {} })
const NANOS = 10n ** 9n
const payer = { account: 1, key: undefined, quota: undefined }

/** `answers`: what the store says each time it is asked for more; an Error is what it throws. `room`: what there is; `limit`: nanos charged at most. */
const billOver = (
  answers: (Shortage | Error | undefined)[],
  room: bigint | Error = 0n,
  limit?: bigint,
) => {
  const told: Statement[] = []
  const warned: object[] = []
  const counted: string[] = []
  const ledger = {
    take: async () => {
      const answer = answers.shift()
      if (answer instanceof Error) throw answer
      return answer
    },
    async available() {
      if (room instanceof Error) throw room
      return room
    },
    give() {},
    recordCharge() {},
    isCurrentProcess: () => true,
  }
  const log = { warn: (fields: object) => void warned.push(fields), error() {}, info() {} }
  const kit = {
    ledger,
    log,
    metrics: { count: (name: string) => void counted.push(name) },
  } as unknown as LedgerContext
  const writes = { add: (...list: Statement[]) => void told.push(...list), will() {} }
  let end: (outcome: Outcome) => void = () => {}
  const onEnd = (listener: typeof end): void => {
    end = listener
  }
  const slots = { get: () => undefined }
  const exchange = { id: 'r1', kind: 'http', route: { name: 'chat' }, onEnd, slots, writes }
  if (!rule) throw new Error('no rule')
  const facts = { payer, rule, facts: { at: 0 }, model: 'm', version: '1', heldAmount: NANOS }
  const bill = new MeteredCall(
    kit,
    exchange as unknown as Exchange,
    { ...facts, limit } as never,
    'p1',
  )
  const settle = async (usage: Usage): Promise<void> => {
    await bill.settle(usage)
    end({ end: 'complete', status: 200, attempts: 1, bytes: 9 })
  }
  return { settle, told, warned, counted, answers }
}
const USED = { meters: { output: 3 }, estimated: false } as const
const away = () => new Error('STORE_UNAVAILABLE')
const closed = (told: readonly Statement[]) =>
  JSON.stringify(told, (_, value) => (typeof value === 'bigint' ? `${value}n` : value))

t.test('overage: is collected when the store fails once', async t => {
  const { settle, told, warned, answers } = billOver([away(), undefined])
  await settle(USED)
  t.same(answers, [], 'asked twice')
  t.match(closed(told), '"3000000000n"')
  t.same(warned, [])
})
t.test('overage: is recorded as uncollected when the store fails twice', async t => {
  const { settle, told, warned, counted } = billOver([away(), away()], away())
  await settle(USED)
  t.match(closed(told), '"2000000000n"')
  t.match(warned, [{ id: 'r1', model: 'm', uncollected: '2000000000' }])
  t.same(counted, ['uncollected_total'])
})
t.test('overage: an account without balance is not asked again', async t => {
  const { settle, warned, answers } = billOver(['account', undefined])
  await settle(USED)
  t.equal(answers.length, 1)
  t.equal(warned.length, 1)
})
t.test('overage: takes the available balance when it is smaller', async t => {
  const { settle, told, warned } = billOver(['account', undefined], NANOS / 2n)
  await settle(USED)
  t.match(closed(told), '"1500000000n","1500000000n"', 'charged, and not collected')
  t.match(warned, [{ uncollected: '1500000000' }])
})
t.test('overage: charges the hold when other calls took the balance', async t => {
  const { settle, told, warned } = billOver(
    ['account', 'account', 'account', 'account'],
    NANOS / 2n,
  )
  await settle(USED)
  t.match(closed(told), '"1000000000n","2000000000n"')
  t.equal(warned.length, 1)
})
t.test('metered call: charges at most twice its hold and reports the rest', async t => {
  const { settle, told, warned, counted, answers } = billOver([undefined], 0n, 2n * NANOS)
  await settle(USED)
  t.same(answers, [], 'one unit beyond the hold is asked for, not two')
  t.match(closed(told), '"2000000000n","1000000000n"', 'charged, and not collected')
  t.match(warned, [{ id: 'r1', model: 'm', uncollected: '1000000000' }])
  t.same(counted, ['uncollected_total'])
})
t.test('metered call: stores the largest column value for a larger cost', async t => {
  const { settle, told } = billOver([undefined], 0n, 2n * NANOS)
  await settle({ meters: { output: Number.MAX_SAFE_INTEGER }, estimated: false })
  t.match(closed(told), `"${2n ** 63n - 1n}n"`)
})
