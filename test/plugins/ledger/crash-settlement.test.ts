/** Crash settlement: charges the checkpoint of a crashed stream once, at the price of its hold and
 *  at most its hold. */
import t from 'tap'
import { freeze } from '../../../plugins/billing/rule.ts'
import { audit } from '../../../plugins/ledger/audit.ts'
import {
  attributesOf,
  checkpointCharge,
  checkpointOf,
  settleCheckpoints,
} from '../../../plugins/ledger/crash/crash-settlement.ts'
import { lateCharge } from '../../../plugins/ledger/crash/late-charge.ts'
import type { HeldPlan } from '../../../plugins/ledger/plans/part.ts'
import { overrideOf, ReducedPrices } from '../../../plugins/ledger/prices.ts'
import { openCharge, settleCharge } from '../../../plugins/ledger/statements.ts'
import { windowWallet } from '../../../plugins/ledger/wallet.ts'
import { SILENT_LOG } from '../../helpers/gateway/test-server.ts'
import { ruleIn } from '../../helpers/money/billing.ts'
import { openBooks, payerOf } from '../../helpers/money/ledger.ts'
import { reapAll } from '../../helpers/store/membership.ts'
import { ENGINES } from '../../helpers/store/store.ts'

const rule = ruleIn(`price:
  input: 1 / 1M
  output: [{ price: 2 / 1k, when: { tier: fast } }, 1 / 1k]`)
const booksByEngine = await Promise.all(ENGINES.map(engine => openBooks(t, engine)))

for (const [at, books] of booksByEngine.entries())
  t.test(`crash settlement: charges checkpoints on ${ENGINES[at]}`, async t => {
    const { database } = books
    const ledger = await books.ledger()
    const open = async (request: string, heldAmount: bigint, plan?: HeldPlan) => {
      t.equal(await ledger.take(payerOf(1), heldAmount - (plan?.amount ?? 0n)), undefined)
      const process = await ledger.process()
      const hold = {
        request,
        account: 1,
        key: undefined,
        holdsKeyQuota: false,
        process,
        heldAmount,
        route: 'chat',
        model: 'm',
        version: 1,
        rule: freeze(rule),
        openedAt: 1,
        plan,
      }
      await database.write([openCharge(hold)])
    }
    const checkpoint = (request: string, output: number, attributes: string | null = null) =>
      database.write([checkpointCharge({ request, output, usage: '{"input":5}', attributes })])
    const row = async (request: string) =>
      (await books.rows(`SELECT * FROM charges WHERE request = '${request}'`))[0]

    await books.credit(1, 10n ** 12n)
    await open('a1', 10n ** 9n)
    await open('a2', 10n ** 9n)
    await open('a3', 1_000n)
    await open('a4', 10n ** 9n)
    const facts = { at: 1, attributes: { tier: 'fast', user: 'ann@example.com' } }
    t.equal(attributesOf(rule, facts), '{"tier":"fast"}', 'other attributes are not stored')
    t.equal(attributesOf(rule, { at: 1 }), null)
    await checkpoint('a1', 3)
    await checkpoint('a2', 3, attributesOf(rule, facts))
    await checkpoint('a3', 3)
    await settleCheckpoints(database, SILENT_LOG, Date.now())
    t.match(await row('a1'), {
      state: 'settled',
      amount: 3_005_000,
      uncollected: 0,
      estimated: 1,
      usage: '{"input":5,"output":3}',
      lines: /"meter":"output","quantity":"3"/,
    })
    t.match(await row('a2'), { amount: 6_005_000, uncollected: 0 })
    t.match(await row('a3'), { amount: 1_000, uncollected: 3_004_000 })
    t.match(await row('a4'), { state: 'open' }, 'a hold without a checkpoint stays open')
    await open('parts', 10n ** 9n)
    const usage = {
      meters: { input: 30, output: 6 },
      parts: [
        { meters: { input: 10, output: 4 }, attributes: { tier: 'fast' } },
        { meters: { input: 20, output: 2 }, attributes: {} },
      ],
      estimated: false,
    }
    await database.write([checkpointOf('parts', usage, { rule, facts: { at: 1 } }, false)])
    await settleCheckpoints(database, SILENT_LOG, Date.now())
    t.match(
      await row('parts'),
      { amount: 10_030_000, usage: '{"input":30,"output":6}' },
      'each part of a session is priced by its own attributes',
    )
    await checkpoint('a1', 999)
    await settleCheckpoints(database, SILENT_LOG, Date.now())
    t.match(await row('a1'), { noted: 3 }, 'a closed charge keeps its checkpoint')
    await open('a5', 10n ** 9n)
    await checkpoint('a5', 7)
    await t.rejects(
      reapAll(database),
      { code: 'CHARGES_NOTED' },
      'checkpoints are charged before reaping',
    )
    t.match(await row('a4'), { state: 'open' }, 'no hold was released')
    await settleCheckpoints(database, SILENT_LOG, Date.now(), 'another process')
    t.match(await row('a5'), { state: 'open' })
    await settleCheckpoints(database, SILENT_LOG, Date.now(), await ledger.process())
    t.match(await row('a5'), { state: 'settled', amount: 7_005_000 })
    await open('own', 10n ** 9n)
    await database.write([
      settleCharge({
        request: 'own',
        amount: 1n,
        uncollected: 0n,
        isEstimated: false,
        usage: '{}',
        lines: '[]',
        closedAt: 2,
        wallets: [2],
      }),
    ])
    await open('a6', 10n ** 9n)
    await checkpoint('a6', Number.MAX_SAFE_INTEGER)
    await settleCheckpoints(database, SILENT_LOG, Date.now())
    const text =
      "SELECT state, amount, CAST(uncollected AS TEXT) AS rest FROM charges WHERE request = 'a6'"
    const most = String(2n ** 63n - 1n)
    t.match(await books.rows(text), [{ state: 'settled', amount: 1_000_000_000, rest: most }])
    const plan = { wallet: windowWallet('month'), amount: 6_000_000n }
    await open('a7', 10n ** 9n, plan)
    await checkpoint('a7', 3)
    await open('a8', 10n ** 9n, plan)
    await settleCheckpoints(database, SILENT_LOG, Date.now())
    await reapAll(database)
    t.match(await row('a4'), { state: 'released', amount: 0 })
    const late = (request: string, nanos: bigint) =>
      database.write([lateCharge(request, 1, nanos, Date.now())])
    const debits = () =>
      books.rows("SELECT request, amount FROM credits WHERE kind = 'debit' ORDER BY id")
    await late('a1', 3_005_000n)
    await late('own', 10n ** 9n)
    t.same(await debits(), [], 'no rest, or closed by its own process')
    for (let time = 0; time < 2; time++) {
      await late('a1', 5_000_000n)
      await late('a4', 2_000n)
      await late('a7', 6_000_000n)
      await late('a8', 6_000_500n)
    }
    const rests = [
      { request: 'late a1', amount: -1_995_000 },
      { request: 'late a4', amount: -2_000 },
      { request: 'late a8', amount: -500 },
    ]
    t.same(await debits(), rests, 'the rest of each reaped call, once, beyond what its plan held')
    t.same(await audit(database), [])
  })

t.test('checkpoint: only that of a stream grows with its progress', async t => {
  const usage = { meters: { input: 5, output: 3 }, estimated: true }
  const checkpoint = (isStreaming: boolean) =>
    checkpointOf('r', usage, { rule, facts: { at: 1 } }, isStreaming)
  t.match(checkpoint(true), { progress: 0, values: [3, '{"input":5}', null, null, 'r'] })
  t.notOk('progress' in checkpoint(false))
})

t.test(
  'crash settlement: a charge that another process closed is left, other faults are not',
  async t => {
    const row = {
      request: 'r',
      noted: 3,
      usage: '{}',
      attributes: null,
      rule: freeze(rule),
      opened: 1,
      held: '9',
      account: 1,
      key: 5,
    }
    const settleWith = (code: string) =>
      settleCheckpoints(
        {
          read: async () => [row],
          write: () => Promise.reject(Object.assign(new Error(code), { code })),
        } as never,
        SILENT_LOG,
        2,
      )
    await t.resolves(settleWith('CHARGE_CLOSED'))
    await t.rejects(settleWith('LEASE_GONE'), { code: 'LEASE_GONE' })
  },
)

t.test('attributes: those of the condition of a discount are stored, too', async t => {
  const discounted = { ...rule, lines: [], discount: { when: [{ name: 'region' }, { days: 1 }] } }
  const facts = { at: 1, attributes: { region: 'eu', other: 'x' } }
  t.equal(attributesOf(discounted as never, facts), '{"region":"eu"}')
})

t.test('reduced prices: each factor of a rule is reduced once', async t => {
  const prices = new ReducedPrices()
  const price = { rule, output: undefined, context: undefined, refusesUnpriced: false } as never
  const half = prices.of(price, '0.5')
  t.equal(prices.of(price, '0.5'), half)
  t.not(prices.of(price, '0.25'), half)
  t.throws(() => overrideOf({ price: { nonsense: 1 } } as never, { name: 'USD' } as never))
})
