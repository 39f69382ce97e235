/** A process that slept, was taken for dead and wakes up: nothing it remembers of its money is true any more. */
import t, { type Test } from 'tap'
import { audit } from '../../../plugins/ledger/audit.ts'
import { call, openBooks, payer } from '../../helpers/ledger.ts'
import { reapAll } from '../../helpers/membership.ts'
import { ENGINES } from '../../helpers/store.ts'

const opened = await Promise.all(ENGINES.map(engine => openBooks(t, engine)))

for (const [index, books] of opened.entries()) {
  const bury = () => reapAll(books.database)
  const balanced = async (t: Test) => t.same(await audit(books.database), [])

  t.test(`${ENGINES[index]}: it cannot hold from a share that went back`, async t => {
    await books.credit(1, 1_000n)
    const ledger = await books.ledger()
    await call(books, ledger, 'a1', payer(1), 1n)
    await bury()
    const asleep = call(books, ledger, 'a2', payer(1), 1n)
    await t.rejects(asleep, { code: 'SHARE_GONE' })
    t.match(await books.wallet(1), { balance: 1_000n, reserved: 0n })
    await balanced(t)
  })

  t.test(`${ENGINES[index]}: it leases under a new name, at once`, async t => {
    await books.credit(2, 1_000n)
    const ledger = await books.ledger()
    const before = await ledger.process()
    await bury()
    const held = await call(books, ledger, 'b1', payer(2), 900n)
    t.not(await ledger.process(), before)
    await held.settle?.(900n)
    t.match(await books.wallet(2), { balance: 100n })
    await balanced(t)
  })

  t.test(
    `${ENGINES[index]}: what a call of its old life did not need is not given to the new one`,
    async t => {
      // Enough for a share with room in it: what is given stays there for the next call.
      await books.credit(3, 1_000_000n)
      const ledger = await books.ledger()
      const old = await call(books, ledger, 'c1', payer(3), 800n)
      const before = await ledger.process()
      await bury()
      await t.rejects(old.settle?.(1n) ?? Promise.resolve(), { code: 'CHARGE_CLOSED' })
      ledger.onExpelled(before)
      await ledger.process()
      ledger.give(payer(3), 799n, before)
      const held = await call(books, ledger, 'c2', payer(3), 700n)
      await held.settle?.(700n)
      t.match(await books.wallet(3), { balance: 999_300n })
      await balanced(t)
    },
  )
}
