/** A process that the store expels during a call goes on under another name: its holds are
 *  released, and the call neither uses the money of others nor leaves a hold behind. */
import t from 'tap'
import type { Exchange, Outcome } from '../../../engine/plugin.ts'
import { StatementGroups } from '../../../engine/request/writes.ts'
import { compileCurrency } from '../../../plugins/billing/currency.ts'
import { compileRule } from '../../../plugins/billing/rule.ts'
import { audit } from '../../../plugins/ledger/audit.ts'
import type { LedgerContext } from '../../../plugins/ledger/call-charge.ts'
import { MeteredCall } from '../../../plugins/ledger/metered-call.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { call, openBooks, payerOf } from '../../helpers/money/ledger.ts'
import { reapAll } from '../../helpers/store/membership.ts'
import { ENGINES } from '../../helpers/store/store.ts'

const currency = compileCurrency({ name: 'USD' }, [], () => {})
/** 1,000 nanos for each output token. */
const rule = compileRule(
  { price: { output: '0.000001' } },
  { currency, where: [], report: () => {} },
)
const booksByEngine = await Promise.all(ENGINES.map(engine => openBooks(t, engine)))

for (const [at, books] of booksByEngine.entries())
  t.test(`expelled process on ${ENGINES[at]}`, async t => {
    await t.test(
      'expelled process: reserves again when expelled between account and key quota',
      async t => {
        await books.credit(1, 1_000_000n)
        const ledger = await books.ledger()
        const caller = payerOf(1, 11, 1_000n)
        for (const [request, amount] of [
          ['a1', 300n],
          ['a2', 100n],
        ] as const)
          await (await call(books, ledger, request, caller, amount)).settle?.(amount)
        await reapAll(books.database)
        const other = await books.ledger()
        await (await call(books, other, 'a3', payerOf(1), 1_000n)).settle?.(0n)
        await (await call(books, ledger, 'a4', caller, 400n)).settle?.(400n)
        t.same(await audit(books.database), [])
      },
    )

    await t.test('expelled process: refuses a call when the key quota is used up', async t => {
      await books.credit(2, 1_000_000n)
      const ledger = await books.ledger()
      const caller = payerOf(2, 12, 500n)
      await (await call(books, ledger, 'b1', caller, 300n)).settle?.(300n)
      await reapAll(books.database)
      t.equal((await call(books, ledger, 'b2', caller, 400n)).shortfall, 'key')
      t.same(await audit(books.database), [])
    })

    await t.test(
      'expelled process: releases everything when expelled while overage is collected',
      async t => {
        await books.credit(3, 100_000n)
        const ledger = await books.ledger()
        const caller = payerOf(3)
        await ledger.take(caller, 1_000n)
        const process = await ledger.process()
        let end: (outcome: Outcome) => void = () => {}
        const writes = new StatementGroups(books.database, 'c1')
        const exchange = {
          id: 'c1',
          kind: 'http',
          slots: new Map(),
          progress: {},
          reply: { headers: {} },
          writes,
          route: { name: 'chat' },
          onEnd: (listener: typeof end) => {
            end = listener
          },
        } as unknown as Exchange
        const context = {
          ledger,
          log: { warn() {}, info() {} },
          metrics: { count() {} },
          refused: { add() {}, remove() {} },
        }
        const terms = {
          payer: caller,
          rule,
          facts: { at: 1 },
          model: 'm',
          version: 1,
          heldAmount: 1_000n,
        }
        const meteredCall = new MeteredCall(
          context as unknown as LedgerContext,
          exchange,
          terms as never,
          process,
        )
        await reapAll(books.database)
        await meteredCall.settle({ meters: { output: 60 }, estimated: false })
        await t.rejects(writes.commit(), { code: 'LEASE_GONE' })
        end({ end: 'refused', attempts: 1 } as Outcome)
        const free = async () => (await books.wallet(3)).reserved === 0n || undefined
        t.ok(await eventually(free), 'no hold remains')
        t.match(await books.wallet(3), { balance: 100_000n })
        t.same(await audit(books.database), [])
      },
    )
  })
