/** The checkpoint of a stream has what its answer has said so far: a crash charges the served tier,
 *  and the requested one before the answer names any. */
import t from 'tap'
import type { Exchange, Statement } from '../../../engine/plugin.ts'
import { price } from '../../../plugins/billing/price.ts'
import { toExactUsage } from '../../../plugins/billing/usage.ts'
import type { LedgerContext } from '../../../plugins/ledger/call-charge.ts'
import { keptHoldOf, priceKept } from '../../../plugins/ledger/kept-hold.ts'
import { MeteredCall } from '../../../plugins/ledger/metered-call.ts'
import { SERVED, type Served } from '../../../plugins/slots.ts'
import { ruleIn } from '../../helpers/money/billing.ts'

const rule = ruleIn(
  'price: { output: [{ price: 4, when: { service_tier: priority } }, { price: 1, when: { service_tier: flex } }, 2] }',
)
const USAGE = { meters: { output: 3 }, estimated: true } as const

/** A held call that requests `auto`; returns the checkpoints that it stores. */
const startCall = (requested: string) => {
  let served: Served | undefined
  const crashStatements: Statement[] = []
  const exchange = {
    id: 'r1',
    kind: 'http',
    route: { name: 'chat' },
    progress: {},
    startedAt: 0,
    onEnd() {},
    slots: { get: (slot: object) => (slot === SERVED ? served : undefined), set() {} },
    writes: {
      add() {},
      setCrashStatements: (...list: Statement[]) => {
        crashStatements.splice(0, crashStatements.length, ...list)
      },
    },
  }
  const terms = {
    payer: { account: 1, key: undefined, quota: undefined },
    rule,
    facts: { at: 0, attributes: { service_tier: requested } },
    model: 'm',
    version: 1,
    heldAmount: 10n ** 12n,
  }
  const ledger = { takeNow: () => true } as unknown as LedgerContext
  const call = new MeteredCall(ledger, exchange as unknown as Exchange, terms as never, 'p1')
  call.hold()
  return {
    call,
    /** The attributes of the last checkpoint. */
    checkpointAfter(answer: Served | undefined): unknown {
      served = answer
      call.checkpoint(USAGE)
      const values = crashStatements.at(-1)?.values ?? []
      const text = values.find(each => typeof each === 'string' && each.includes('service_tier'))
      return text === undefined ? undefined : JSON.parse(String(text))
    },
  }
}

t.test('checkpoint: the served tier replaces the requested one', async t => {
  const { call, checkpointAfter } = startCall('priority')
  t.same(checkpointAfter(undefined), { service_tier: 'priority' })
  t.equal(call.priceOf(USAGE), 12n * 10n ** 9n)
  t.same(checkpointAfter({ attributes: { service_tier: 'default' } }), { service_tier: 'default' })
  t.equal(call.priceOf(USAGE), 6n * 10n ** 9n, 'the same usage is priced again')
  t.same(checkpointAfter({ attributes: { service_tier: 'flex' } }), { service_tier: 'flex' })
  t.equal(call.priceOf(USAGE), 3n * 10n ** 9n)
})

t.test('kept hold: the attributes of a usage replace those of the hold', async t => {
  const row = {
    request: 'r1',
    account: 1,
    key: undefined,
    heldAmount: 10n ** 12n,
    openedAt: 0,
    rule: rule.text,
  }
  const hold = keptHoldOf(row as never, '{"service_tier":"auto"}')
  t.equal(priceKept(hold, USAGE).charged, 6n * 10n ** 9n, 'a tier that nobody names')
  for (const [tier, cost] of [
    ['priority', 12n],
    ['flex', 3n],
    ['standard', 6n],
  ] as const) {
    const usage = { ...USAGE, attributes: { service_tier: tier } }
    t.equal(priceKept(hold, usage).charged, cost * 10n ** 9n, tier)
  }
  const facts = { at: 0, attributes: { service_tier: 'priority' } }
  t.equal(price(toExactUsage(USAGE), rule, facts).nanos, 12n * 10n ** 9n)
})
