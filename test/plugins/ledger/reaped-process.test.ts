/** A process that was suspended and reaped: all leases in its memory are void. */
import t, { type Test } from 'tap'
import { audit } from '../../../plugins/ledger/audit.ts'
import { call, openBooks, payerOf } from '../../helpers/money/ledger.ts'
import { reapAll } from '../../helpers/store/membership.ts'
import { ENGINES } from '../../helpers/store/store.ts'

const booksByEngine = await Promise.all(ENGINES.map(engine => openBooks(t, engine)))

for (const [index, books] of booksByEngine.entries()) {
  const reap = () => reapAll(books.database)
  const auditClean = async (t: Test) => t.same(await audit(books.database), [])

  t.test(
    `reaped process on ${ENGINES[index]}: cannot hold from a lease that was returned`,
    async t => {
      await books.credit(1, 1_000n)
      // A ledger that returns no unused lease, however long the reaping takes.
      const stopped = setInterval(() => {}, 2 ** 30).unref()
      const timers = t.intercept(globalThis, 'setInterval', { value: () => stopped })
      const ledger = await books.ledger()
      timers.restore()
      await call(books, ledger, 'a1', payerOf(1), 1n)
      await reap()
      const staleCall = call(books, ledger, 'a2', payerOf(1), 1n)
      await t.rejects(staleCall, { code: 'LEASE_GONE' })
      t.match(await books.wallet(1), { balance: 1_000n, reserved: 0n })
      await auditClean(t)
    },
  )

  t.test(`reaped process on ${ENGINES[index]}: leases under a new name at once`, async t => {
    await books.credit(2, 1_000n)
    const ledger = await books.ledger()
    const before = await ledger.process()
    await reap()
    const openCall = await call(books, ledger, 'b1', payerOf(2), 900n)
    t.not(await ledger.process(), before)
    await openCall.settle?.(900n)
    t.match(await books.wallet(2), { balance: 100n })
    await auditClean(t)
  })

  t.test(
    `reaped process on ${ENGINES[index]}: the rest of an old hold does not return to the new lease`,
    async t => {
      // Enough that the lease keeps returned money for the next call.
      await books.credit(3, 1_000_000n)
      const ledger = await books.ledger()
      const oldCall = await call(books, ledger, 'c1', payerOf(3), 800n)
      const before = await ledger.process()
      await reap()
      await t.rejects(oldCall.settle?.(1n) ?? Promise.resolve(), { code: 'CHARGE_CLOSED' })
      ledger.onExpelled(before)
      await ledger.process()
      ledger.give(payerOf(3), 799n, before)
      const openCall = await call(books, ledger, 'c2', payerOf(3), 700n)
      await openCall.settle?.(700n)
      t.match(await books.wallet(3), { balance: 999_300n })
      await auditClean(t)
    },
  )
}
