/** A store whose results are late or lost: the lease in memory never exceeds the lease in the
 *  store, and equals it in the end. */
import t, { type Test } from 'tap'
import type { Database, Statement } from '../../../engine/plugin.ts'
import { audit } from '../../../plugins/ledger/audit.ts'
import type { Ledger, Payer } from '../../../plugins/ledger/ledger.ts'
import { refundStatements } from '../../../plugins/ledger/refunds/refund-undelivered.ts'
import { walletOf } from '../../../plugins/ledger/wallet.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { type Books, call, openBooks, payerOf } from '../../helpers/money/ledger.ts'
import { ledgerOn } from '../../helpers/store/membership.ts'
import { ENGINES } from '../../helpers/store/store.ts'

/** The same store with late results, or with results that are lost until a list is written
 *  again. */
const withLateResults = ({ database }: Books) => {
  const results = new Map<readonly Statement[], ReturnType<Database['write']>>()
  const state = { losesResults: false, gate: undefined as Promise<void> | undefined, writes: 0 }
  const write: Database['write'] = async list => {
    state.writes++
    if (state.gate) {
      // Each of two concurrent writes has its own result.
      const { gate, writes } = state
      const answer = await database.write([...list])
      if (writes === 1) await gate
      return answer
    }
    const answer = results.get(list) ?? database.write(list)
    results.set(list, answer)
    await answer
    if (state.losesResults) throw Object.assign(new Error('lost'), { code: 'STORE_UNKNOWN' })
    results.delete(list)
    return answer
  }
  return { state, database: { ...database, write } }
}
const booksByEngine = await Promise.all(ENGINES.map(engine => openBooks(t, engine)))
for (const [at, books] of booksByEngine.entries())
  t.test(`unknown write on ${ENGINES[at]}`, async t => {
    const arrange = async (account: number) => {
      await books.credit(account, 800n)
      const { state, database } = withLateResults(books)
      const ledger = ledgerOn(database)
      t.teardown(() => ledger.close())
      return { state, ledger, caller: payerOf(account) }
    }
    const leasedBy = async (account: number) =>
      Number(
        (await books.rows(`SELECT sum(amount) AS has FROM shares WHERE wallet = ${account * 2}`))[0]
          ?.has ?? 0,
      )
    /** Checks that the whole balance can be spent, and no more. */
    const spendAll = async (t: Test, ledger: Ledger, caller: Payer, amount: bigint) => {
      const { account } = caller
      t.equal(await ledger.take(caller, amount + 1n), 'account')
      const all = await eventually(async () => {
        const newCall = await call(books, ledger, `all ${account}`, caller, amount)
        return newCall.shortfall ? undefined : newCall
      })
      await all.settle?.(amount)
      t.match(await books.wallet(account), { balance: 0n })
      t.same(await audit(books.database), [])
    }

    t.test(
      'unknown write: a call is released once when the result arrives after the retry',
      async t => {
        const { state, ledger, caller } = await arrange(1)
        const newCall = await call(books, ledger, 'a1', caller, 100n)
        await newCall.settle?.(100n)
        const gate = Promise.withResolvers<void>()
        Object.assign(state, { gate: gate.promise, writes: 0 })
        const refund = new Promise(resolve =>
          ledger.ensureClosed('a1', refundStatements('a1', [2], 7), ([, , rows]) => resolve(rows)),
        )
        // Longer than the interval after which a ledger retries a pending charge.
        await new Promise(resolve => setTimeout(resolve, 1_500))
        gate.resolve()
        t.same(await refund, [{ request: 'a1' }])
        state.gate = undefined
        await spendAll(t, ledger, caller, 800n)
      },
    )

    t.test('unknown write: a lease that is being returned is not spent', async t => {
      const { state, ledger, caller } = await arrange(2)
      t.equal(await ledger.take(caller, 50n), undefined)
      state.losesResults = true
      ledger.give(caller, 50n, await ledger.process())
      await eventually(async () => ((await leasedBy(2)) === 0 ? true : undefined))
      t.notOk(ledger.takeNow(caller, 1n))
      state.losesResults = false
      await spendAll(t, ledger, caller, 800n)
    })

    t.test('unknown write: an unconfirmed lease is used once it is known', async t => {
      const { state, ledger, caller } = await arrange(3)
      await ledger.process()
      state.losesResults = true
      await t.rejects(ledger.take(caller, 50n), { code: 'STORE_UNKNOWN' })
      t.ok((await leasedBy(3)) > 0)
      state.losesResults = false
      await spendAll(t, ledger, caller, 800n)
    })

    t.test(
      'unknown write: a call that gets no quota of its key returns the money of its account',
      async t => {
        await books.credit(4, 800n)
        const state = { isAway: false }
        const ofKey = walletOf.key(44)
        const ledger = ledgerOn({
          ...books.database,
          write: list =>
            state.isAway && list.some(({ values }) => values.includes(ofKey))
              ? Promise.reject(Object.assign(new Error('away'), { code: 'STORE_UNAVAILABLE' }))
              : books.database.write(list),
        })
        t.teardown(() => ledger.close())
        const caller = payerOf(4, 44, 700n)
        t.equal(await ledger.take(caller, 100n), undefined)
        ledger.give(caller, 100n, await ledger.process())
        state.isAway = true
        await t.rejects(ledger.take(caller, 600n), { code: 'STORE_UNAVAILABLE' })
        state.isAway = false
        await spendAll(t, ledger, payerOf(4), 800n)
      },
    )
  })
