/** A call that was refused in the end costs nothing, whether its charge was written or not; and twice is once. */
import t from 'tap'
import type { Statement, Writes } from '../../../engine/plugin.ts'
import { audit } from '../../../plugins/ledger/audit.ts'
import type { Ledger } from '../../../plugins/ledger/ledger.ts'
import { refundStatements, refundUndelivered } from '../../../plugins/ledger/refund-undelivered.ts'
import { call, openBooks, payer } from '../../helpers/ledger.ts'
import { ENGINES } from '../../helpers/store.ts'

const opened = await Promise.all(ENGINES.map(engine => openBooks(t, engine)))
for (const [at, books] of opened.entries())
  t.test(`on ${ENGINES[at]}`, async t => {
    await books.credit(1, 1_000n)
    const ledger = await books.ledger()
    const undone = (request: string) => books.database.write(refundStatements(request, 1, 11, 7))
    await call(books, ledger, 'a1', payer(1, 11), 100n)
    const charged = await call(books, ledger, 'a2', payer(1, 11), 100n)
    await charged.settle?.(60n)
    const free = await call(books, ledger, 'a3', payer(1, 11), 100n)
    await free.settle?.(0n)

    t.same((await undone('a1'))[1], [], 'it was open')
    t.same((await undone('a2'))[1], [{ request: 'a2' }], 'it was not')
    for (const request of ['a1', 'a2', 'a3', 'a4', "' OR 1=1 --"]) await undone(request)
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
      ledger.ensureClosed('a5', refundStatements('a5', 1, undefined, 7), ([, refunded]) => {
        t.same(refunded, [], 'of a call that was never written down')
        resolve()
      }),
    )

    // With its first list, or before.
    for (const lists of [1, 0])
      t.test(`a process that dies over it: ${lists} written`, async t => {
        const [request, before] = [`d${lists}`, await books.wallet(1)]
        const made = await call(books, ledger, request, payer(1), 100n)
        await made.settle?.(60n)
        let left = lists
        let told: Promise<unknown> = Promise.resolve()
        let will: readonly Statement[] = []
        const dying: Pick<Ledger, 'ensureClosed'> = {
          ensureClosed(_, list, done) {
            if (left-- > 0) told = books.database.write(list).then(done)
          },
        }
        const writes = {
          setCrashStatements(...list: readonly Statement[]) {
            will = list
          },
        } as Writes
        refundUndelivered(dying, { id: request, writes }, payer(1), () => {})
        await told
        // The store does this for it.
        if (will.length > 0) await books.database.write(will)
        const { balance, used } = await books.wallet(1)
        t.same({ balance, used }, { balance: before.balance, used: before.used })
        t.same(await audit(books.database), [])
      })
  })
