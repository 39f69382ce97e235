/** A store whose answers are late or lost: what a process believes to have of an account is what the store has written down for
 *  it, never more and, in the end, never less. */
import t, { type Test } from 'tap'
import type { Database, Statement } from '../../../engine/plugin.ts'
import { audit } from '../../../plugins/ledger/audit.ts'
import type { Ledger, Payer } from '../../../plugins/ledger/ledger.ts'
import { refundStatements } from '../../../plugins/ledger/refund-undelivered.ts'
import { type Books, call, openBooks, payer } from '../../helpers/ledger.ts'
import { ledgerOn } from '../../helpers/membership.ts'
import { eventually } from '../../helpers/primary.ts'
import { ENGINES } from '../../helpers/store.ts'

/** The same store: what is written is written, but its answers are held back, or lost until the list is asked about again. */
const behind = ({ database }: Books) => {
  const written = new Map<readonly Statement[], ReturnType<Database['write']>>()
  const state = { lost: false, held: undefined as Promise<void> | undefined, asked: 0 }
  const write: Database['write'] = async list => {
    state.asked++
    if (state.held) {
      // Each of two that are under way stands by itself.
      const { held, asked } = state
      const answer = await database.write([...list])
      if (asked === 1) await held
      return answer
    }
    const answer = written.get(list) ?? database.write(list)
    written.set(list, answer)
    await answer
    if (state.lost) throw Object.assign(new Error('lost'), { code: 'STORE_UNKNOWN' })
    written.delete(list)
    return answer
  }
  return { state, database: { ...database, write } }
}
const opened = await Promise.all(ENGINES.map(engine => openBooks(t, engine)))
for (const [at, books] of opened.entries())
  t.test(`on ${ENGINES[at]}`, async t => {
    const stand = async (account: number) => {
      await books.credit(account, 800n)
      const { state, database } = behind(books)
      const ledger = ledgerOn(database)
      t.teardown(() => ledger.close())
      return { state, ledger, who: payer(account) }
    }
    const own = async (account: number) =>
      Number(
        (await books.rows(`SELECT sum(amount) AS has FROM shares WHERE wallet = ${account * 2}`))[0]
          ?.has ?? 0,
      )
    /** All that the account has can be spent, and no more. */
    const spendAll = async (t: Test, ledger: Ledger, who: Payer, amount: bigint) => {
      const { account } = who
      t.equal(await ledger.take(who, amount + 1n), 'account')
      const all = await eventually(async () => {
        const made = await call(books, ledger, `all ${account}`, who, amount)
        return made.lack ? undefined : made
      })
      await all.settle?.(amount)
      t.match(await books.wallet(account), { balance: 0n })
      t.same(await audit(books.database), [])
    }

    t.test('an answer that takes longer than the next try: a call is given back once', async t => {
      const { state, ledger, who } = await stand(1)
      const made = await call(books, ledger, 'a1', who, 100n)
      await made.settle?.(100n)
      const gate = Promise.withResolvers<void>()
      Object.assign(state, { held: gate.promise, asked: 0 })
      const refunded = new Promise(resolve =>
        ledger.ensureClosed('a1', refundStatements('a1', 1, undefined, 7), ([, rows]) =>
          resolve(rows),
        ),
      )
      // Longer than a ledger waits before it tries again what it could not close.
      await new Promise(resolve => setTimeout(resolve, 1_500))
      gate.resolve()
      t.same(await refunded, [{ request: 'a1' }])
      state.held = undefined
      await spendAll(t, ledger, who, 800n)
    })

    t.test('a share on its way back is not spent again', async t => {
      const { state, ledger, who } = await stand(2)
      t.equal(await ledger.take(who, 50n), undefined)
      state.lost = true
      ledger.give(who, 50n, await ledger.process())
      await eventually(async () => ((await own(2)) === 0 ? true : undefined))
      t.notOk(ledger.takeNow(who, 1n))
      state.lost = false
      await spendAll(t, ledger, who, 800n)
    })

    t.test('a share that was granted without a word is found', async t => {
      const { state, ledger, who } = await stand(3)
      await ledger.process()
      state.lost = true
      await t.rejects(ledger.take(who, 50n), { code: 'STORE_UNKNOWN' })
      t.ok((await own(3)) > 0)
      state.lost = false
      await spendAll(t, ledger, who, 800n)
    })
  })
