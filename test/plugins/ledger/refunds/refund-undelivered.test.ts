/** A call that was refused after its charge costs nothing, whether its charge was written or not.
 *  Repeating the refund changes nothing. */
import t from 'tap'
import { freeze } from '../../../../plugins/billing/rule.ts'
import { audit } from '../../../../plugins/ledger/audit.ts'
import { keptHoldOf, releaseKept, settleKept } from '../../../../plugins/ledger/kept-hold.ts'
import { refundStatements } from '../../../../plugins/ledger/refunds/refund-undelivered.ts'
import { addCredit } from '../../../../plugins/ledger/statements.ts'
import { chargeLate } from '../../../../plugins/ledger/views/task-charges.ts'
import { walletsOf } from '../../../../plugins/ledger/wallet.ts'
import { ruleIn } from '../../../helpers/money/billing.ts'
import { call, HELD_CALL, openBooks, payerOf } from '../../../helpers/money/ledger.ts'
import { ENGINES } from '../../../helpers/store/store.ts'

const booksByEngine = await Promise.all(ENGINES.map(engine => openBooks(t, engine)))
for (const [at, books] of booksByEngine.entries())
  t.test(`refund: releases open charges and refunds settled ones on ${ENGINES[at]}`, async t => {
    await books.credit(1, 1_000n)
    const ledger = await books.ledger()
    const refund = (request: string) => books.database.write(refundStatements(request, [2, 23], 7))
    await call(books, ledger, 'a1', payerOf(1, 11), 100n)
    const chargedCall = await call(books, ledger, 'a2', payerOf(1, 11), 100n)
    await chargedCall.settle?.(60n)
    const freeCall = await call(books, ledger, 'a3', payerOf(1, 11), 100n)
    await freeCall.settle?.(0n)

    t.same((await refund('a1'))[2], [], 'an open charge is released')
    t.same((await refund('a2'))[2], [{ request: 'a2' }], 'a settled charge is refunded')
    for (const request of ['a1', 'a2', 'a3', 'a4', "' OR 1=1 --"]) await refund(request)
    t.match(await books.rows('SELECT request, state, amount FROM charges ORDER BY request'), [
      { request: 'a1', state: 'released', amount: 0 },
      { request: 'a2', state: 'settled', amount: 60 },
      { request: 'a3', state: 'settled', amount: 0 },
    ])
    t.match(await books.rows("SELECT request, amount FROM credits WHERE kind = 'refund'"), [
      { request: 'a2', amount: 60 },
    ])
    t.match(await books.wallet(1), { balance: 1_000n, used: 0n })
    t.same(await audit(books.database), [])
    await new Promise<void>(resolve =>
      ledger.ensureClosed('a5', refundStatements('a5', [2], 7), ([, , refunds]) => {
        t.same(refunds, [], 'a call without a row has no refund')
        resolve()
      }),
    )
  })

t.test('locks: every statement that changes windows of budgets declares them', t => {
  const credit = { account: 1, kind: 'refund', amount: 1n, request: 'r', note: '', at: 1 } as const
  const hold = {
    ...keptHoldOf({ ...HELD_CALL, budgets: [-9, 7] }, null),
    rule: freeze(ruleIn('free: true')),
  }
  const used = { meters: {}, estimated: false }
  const lists = [
    [addCredit({ ...credit, windows: [-9, 7] })],
    refundStatements('r', walletsOf(1, undefined, [-9, 7]), 1),
    [settleKept(hold, used, 1)],
    [releaseKept(hold, 1)],
    chargeLate(hold, used, 1),
  ]
  for (const list of lists)
    t.same(
      list.flatMap(({ locks = [] }) => locks.map(({ value }) => value)),
      [2, -9, -7],
    )
  t.end()
})
