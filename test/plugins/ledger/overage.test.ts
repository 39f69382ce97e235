/** A call that costs more than its hold while the store fails: the overage is collected if the
 *  second attempt succeeds. */
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

/** A metered call. `answers`: the result of each attempt to take more; an Error is thrown. `room`:
 *  the available balance; `limit`: the maximum charge in nanos. */
const startCall = (
  answers: (Shortage | Error | undefined)[],
  room: bigint | Error = 0n,
  limit?: bigint,
) => {
  const statements: Statement[] = []
  const warnings: object[] = []
  const counters: string[] = []
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
  const log = { warn: (fields: object) => void warnings.push(fields), error() {}, info() {} }
  const context = {
    ledger,
    log,
    metrics: { count: (name: string) => void counters.push(name) },
  } as unknown as LedgerContext
  const writes = { add: (...list: Statement[]) => void statements.push(...list), will() {} }
  let end: (outcome: Outcome) => void = () => {}
  const onEnd = (listener: typeof end): void => {
    end = listener
  }
  const slots = { get: () => undefined, set() {} }
  const route = { name: 'chat' }
  const exchange = { id: 'r1', kind: 'http', route, progress: {}, onEnd, slots, writes }
  if (!rule) throw new Error('no rule')
  const terms = { payer, rule, facts: { at: 0 }, model: 'm', version: '1', heldAmount: NANOS }
  const meteredCall = new MeteredCall(
    context,
    exchange as unknown as Exchange,
    { ...terms, limit } as never,
    'p1',
  )
  const settle = async (usage: Usage): Promise<void> => {
    await meteredCall.settle(usage)
    end({ end: 'complete', status: 200, attempts: 1, bytes: 9, ms: { whole: 1, waited: 0 } })
  }
  return { settle, statements, warnings, counters, answers }
}
const USAGE = { meters: { output: 3 }, estimated: false } as const
const unavailable = () => new Error('STORE_UNAVAILABLE')
const printStatements = (statements: readonly Statement[]) =>
  JSON.stringify(statements, (_, value) => (typeof value === 'bigint' ? `${value}n` : value))

t.test('overage: is collected when the store fails once', async t => {
  const { settle, statements, warnings, answers } = startCall([unavailable(), undefined])
  await settle(USAGE)
  t.same(answers, [], 'two attempts')
  t.match(printStatements(statements), '"3000000000n"')
  t.same(warnings, [])
})
t.test('overage: is recorded as uncollected when the store fails twice', async t => {
  const { settle, statements, warnings, counters } = startCall(
    [unavailable(), unavailable()],
    unavailable(),
  )
  await settle(USAGE)
  t.match(printStatements(statements), '"2000000000n"')
  t.match(warnings, [{ id: 'r1', model: 'm', uncollected: '2' }])
  t.same(counters, ['uncollected_total'])
})
t.test('overage: an account without balance is not asked again', async t => {
  const { settle, warnings, answers } = startCall(['account', undefined])
  await settle(USAGE)
  t.equal(answers.length, 1)
  t.equal(warnings.length, 1)
})
t.test('overage: takes the available balance when it is smaller', async t => {
  const { settle, statements, warnings } = startCall(['account', undefined], NANOS / 2n)
  await settle(USAGE)
  t.match(printStatements(statements), '"1500000000n","1500000000n"', 'charged and uncollected')
  t.match(warnings, [{ uncollected: '1.5' }])
})
t.test('overage: charges the hold when other calls took the balance', async t => {
  const { settle, statements, warnings } = startCall(
    ['account', 'account', 'account', 'account'],
    NANOS / 2n,
  )
  await settle(USAGE)
  t.match(printStatements(statements), '"1000000000n","2000000000n"')
  t.equal(warnings.length, 1)
})
t.test('metered call: charges at most twice its hold and reports the rest', async t => {
  const { settle, statements, warnings, counters, answers } = startCall([undefined], 0n, 2n * NANOS)
  await settle(USAGE)
  t.same(answers, [], 'takes one unit beyond the hold, not two')
  t.match(printStatements(statements), '"2000000000n","1000000000n"', 'charged and uncollected')
  t.match(warnings, [{ id: 'r1', model: 'm', uncollected: '1' }])
  t.same(counters, ['uncollected_total'])
})
t.test('metered call: stores the largest column value for a larger cost', async t => {
  const { settle, statements } = startCall([undefined], 0n, 2n * NANOS)
  await settle({ meters: { output: Number.MAX_SAFE_INTEGER }, estimated: false })
  t.match(printStatements(statements), `"${2n ** 63n - 1n}n"`)
})
