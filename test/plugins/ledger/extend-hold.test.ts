/** A call that extended its hold while the store was unavailable: its charge closes with all the
 *  money that it took. */
import t from 'tap'
import { audit } from '../../../plugins/ledger/audit.ts'
import { holdAtLeast, settleCharge } from '../../../plugins/ledger/statements.ts'
import { call, openBooks, payer } from '../../helpers/ledger.ts'
import { ENGINES } from '../../helpers/store.ts'

const booksByEngine = await Promise.all(ENGINES.map(engine => openBooks(t, engine)))
const settlement = (request: string, amount: bigint) =>
  settleCharge({
    request,
    amount,
    uncollected: 0n,
    isEstimated: false,
    closedAt: Date.now(),
    wallets: [2],
    usage: '{}',
    lines: '[]',
  })

for (const [index, books] of booksByEngine.entries()) {
  t.test(`extend hold on ${ENGINES[index]}: closing a charge repeats a lost extension`, async t => {
    await books.credit(1, 1_000n)
    const ledger = await books.ledger()
    await call(books, ledger, 'a1', payer(1), 100n)
    t.equal(await ledger.take(payer(1), 50n), undefined)
    const alone = books.database.write([settlement('a1', 150n)])
    await t.rejects(alone, { code: 'STORE_VIOLATION' }, 'the store lacks the extension')
    await new Promise<void>(resolve =>
      ledger.ensureClosed('a1', [holdAtLeast('a1', 150n), settlement('a1', 150n)], () => resolve()),
    )
    t.match(await books.wallet(1), { balance: 850n })
    t.same(await audit(books.database), [])
  })

  t.test(
    `extend hold on ${ENGINES[index]}: neither lowers a hold nor changes a closed charge`,
    async t => {
      const ledger = await books.ledger()
      await call(books, ledger, 'a2', payer(1), 100n)
      await books.database.write([holdAtLeast('a2', 10n)])
      await books.database.write([holdAtLeast('a1', 999n)])
      const rows = await books.rows('SELECT held FROM charges ORDER BY request')
      t.match(rows, [{ held: 150 }, { held: 100 }])
    },
  )
}
