/** A call that was refused after its charge costs nothing, whether its charge was written or not.
 *  Repeating the refund changes nothing. */
import t from 'tap'
import type { Statement, Writes } from '../../../../engine/plugin.ts'
import { audit } from '../../../../plugins/ledger/audit.ts'
import type { Ledger } from '../../../../plugins/ledger/ledger.ts'
import {
  refundStatements,
  refundUndelivered,
} from '../../../../plugins/ledger/refunds/refund-undelivered.ts'
import { call, openBooks, payerOf } from '../../../helpers/money/ledger.ts'
import { ENGINES } from '../../../helpers/store/store.ts'

const booksByEngine = await Promise.all(ENGINES.map(engine => openBooks(t, engine)))
for (const [at, books] of booksByEngine.entries())
  t.test(`refund: releases open charges and refunds settled ones on ${ENGINES[at]}`, async t => {
    await books.credit(1, 1_000n)
    const ledger = await books.ledger()
    const refund = (request: string) => books.database.write(refundStatements(request, 1, 11, 7))
    await call(books, ledger, 'a1', payerOf(1, 11), 100n)
    const chargedCall = await call(books, ledger, 'a2', payerOf(1, 11), 100n)
    await chargedCall.settle?.(60n)
    const freeCall = await call(books, ledger, 'a3', payerOf(1, 11), 100n)
    await freeCall.settle?.(0n)

    t.same((await refund('a1'))[1], [], 'an open charge is released')
    t.same((await refund('a2'))[1], [{ request: 'a2' }], 'a settled charge is refunded')
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
      ledger.ensureClosed('a5', refundStatements('a5', 1, undefined, 7), ([, refunds]) => {
        t.same(refunds, [], 'a call without a row has no refund')
        resolve()
      }),
    )

    // The process crashes after its first write, or before.
    for (const lists of [1, 0])
      t.test(`refund: is made once by a process that crashes after ${lists} writes`, async t => {
        const [request, before] = [`d${lists}`, await books.wallet(1)]
        const newCall = await call(books, ledger, request, payerOf(1), 100n)
        await newCall.settle?.(60n)
        let remainingWrites = lists
        let lastWrite: Promise<unknown> = Promise.resolve()
        let crashStatements: readonly Statement[] = []
        const crashingLedger: Pick<Ledger, 'ensureClosed'> = {
          ensureClosed(_, list, onClosed) {
            if (remainingWrites-- > 0) lastWrite = books.database.write(list).then(onClosed)
          },
        }
        const writes = {
          setCrashStatements(...list: readonly Statement[]) {
            crashStatements = list
          },
        } as Writes
        refundUndelivered(crashingLedger, { id: request, writes }, payerOf(1), () => {})
        await lastWrite
        // The store applies these statements after the crash.
        if (crashStatements.length > 0) await books.database.write(crashStatements)
        const { balance, used } = await books.wallet(1)
        t.same({ balance, used }, { balance: before.balance, used: before.used })
        t.same(await audit(books.database), [])
      })
  })
