/** Holds and their closing: money is taken once, returned once, and never beyond the balance. */
import t from 'tap'
import { extendCharge, releaseCharge, settleCharge } from '../../../plugins/ledger/statements.ts'
import { call, openBooks, payerOf } from '../../helpers/money/ledger.ts'
import { ledgerOn, reapAll } from '../../helpers/store/membership.ts'
import { ENGINES } from '../../helpers/store/store.ts'

const booksByEngine = await Promise.all(ENGINES.map(engine => openBooks(t, engine)))

for (const [at, books] of booksByEngine.entries())
  t.test(`holds on ${ENGINES[at]}`, async t => {
    t.test('hold: a settled call lowers the balance by its cost', async t => {
      await books.credit(1, 1_000n)
      const ledger = await books.ledger()
      const openCall = await call(books, ledger, 'a1', payerOf(1, 11), 300n)
      t.match(await books.wallet(1), { balance: 1_000n, used: 0n })
      await openCall.settle?.(120n)
      t.match(await books.wallet(1), { balance: 880n, used: 120n })
      t.match(await books.rows('SELECT used, reserved FROM wallets WHERE id = 23'), [
        { used: 120, reserved: 0 },
      ])
      await ledger.close()
      t.match(await books.wallet(1), { balance: 880n, reserved: 0n }, 'nothing stays reserved')
    })

    t.test('hold: a released call costs nothing', async t => {
      await books.credit(2, 1_000n)
      const ledger = await books.ledger()
      const openCall = await call(books, ledger, 'b1', payerOf(2), 1_000n)
      t.equal(await ledger.take(payerOf(2), 1n), 'account', 'the whole balance is held')
      await openCall.release?.()
      t.equal(await ledger.take(payerOf(2), 1_000n), undefined)
    })

    t.test('hold: closes exactly once', async t => {
      await books.credit(3, 1_000n)
      const ledger = await books.ledger()
      const openCall = await call(books, ledger, 'c1', payerOf(3), 100n)
      await openCall.settle?.(100n)
      const again = {
        request: 'c1',
        amount: 5n,
        uncollected: 0n,
        isEstimated: false,
        closedAt: 1,
        wallets: [],
      }
      const closers = [
        settleCharge({ ...again, usage: '{}', lines: '[]' }),
        releaseCharge('c1', 1),
        extendCharge('c1', 5n),
      ]
      for (const statement of closers)
        await t.rejects(books.database.write([statement]), { code: 'CHARGE_CLOSED' })
      await t.rejects(openCall.settle?.(1n) ?? Promise.resolve(), { code: 'CHARGE_CLOSED' })
      const tamper = {
        name: 'tamper',
        text: "UPDATE charges SET amount = 1 WHERE request = 'c1'",
      }
      await t.rejects(books.database.write([{ sql: tamper, values: [] }]))
      t.match(await books.wallet(3), { balance: 900n, used: 100n })
      const twice = call(books, ledger, 'c1', payerOf(3), 1n)
      await t.rejects(twice, { code: 'CHARGE_EXISTS' }, 'a request has one row')
    })

    t.test('hold: charges at most the held amount', async t => {
      await books.credit(4, 1_000n)
      const ledger = await books.ledger()
      const openCall = await call(books, ledger, 'd1', payerOf(4), 100n)
      await t.rejects(openCall.settle?.(101n) ?? Promise.resolve(), { code: 'STORE_VIOLATION' })
      await openCall.settle?.(100n, 1n)
      t.match(await books.wallet(4), { balance: 900n }, 'the excess is recorded and not taken')
    })

    t.test(
      'hold: refuses without balance, without wallet, and beyond the quota of a key',
      async t => {
        const ledger = await books.ledger()
        t.equal(await ledger.take(payerOf(5), 1n), 'account', 'no wallet')
        await books.credit(5, 100n)
        t.equal(await ledger.take(payerOf(5), 101n), 'account')
        t.equal(
          await ledger.take(payerOf(5), 10n ** 30n),
          'account',
          'more than a column can store',
        )
        t.equal(await ledger.take(payerOf(5), 10n ** 18n), 'account')
        t.equal(await ledger.take(payerOf(5, 51, 60n), 61n), 'key')
        t.equal(await ledger.take(payerOf(5, 51, 60n), 60n), undefined)
        t.equal(await ledger.take(payerOf(5, 51, 60n), 1n), 'key')
        t.equal(
          await ledger.take(payerOf(5, 52), 40n),
          undefined,
          'a key without a quota can use the rest',
        )
        t.equal(await ledger.take(payerOf(5, 52), 1n), 'account')
        t.equal(await ledger.take(payerOf(5, 52), 0n), undefined, 'a free call needs no balance')
      },
    )

    t.test(
      'hold: admits ten of a hundred concurrent calls of two processes with money for ten',
      async t => {
        await books.credit(6, 10n)
        const ledgers = [await books.ledger(), await books.ledger()]
        const calls = Array.from({ length: 100 }, async (_, at) => {
          const ledger = ledgers[at % 2]
          const openCall = ledger && (await call(books, ledger, `f${at}`, payerOf(6), 1n))
          await openCall?.settle?.(1n)
          return openCall?.shortfall === undefined
        })
        const admittedCount = (await Promise.all(calls)).filter(Boolean).length
        t.equal(admittedCount, 10)
        t.match(await books.wallet(6), { balance: 0n, reserved: 0n, used: 10n })
      },
    )

    t.test('lease: unused money of one process is available to another', async t => {
      await books.credit(7, 1_000n)
      const [rich, poor] = [await books.ledger(), await books.ledger()]
      t.equal(await rich.take(payerOf(7), 100n), undefined)
      rich.give(payerOf(7), 100n, await rich.process())
      t.equal(await poor.take(payerOf(7), 1_000n), undefined)
    })

    t.test('lease: one of two waiting processes gets the unused money of both', async t => {
      await books.credit(20, 1_000n)
      const ledgers = [await books.ledger(), await books.ledger()]
      const both = (name: string, heldAmount: bigint) =>
        Promise.all(
          ledgers.map((ledger, at) => call(books, ledger, `${name}${at}`, payerOf(20), heldAmount)),
        )
      await both('both', 100n)
      // Each process leases a part of the remaining 800; 795 is more than one of them and the
      // wallet have.
      const shortages = (await both('either', 795n)).map(call => call.shortfall)
      t.same(shortages.toSorted(), ['account', undefined])
    })

    t.test('hold: is released when its process crashes', async t => {
      await books.credit(8, 1_000n)
      const crashedLedger = await books.ledger()
      const name = await crashedLedger.process()
      const openCall = await call(books, crashedLedger, 'h1', payerOf(8, 81, 500n), 400n)
      const settledCall = await call(books, crashedLedger, 'h2', payerOf(8, 81, 500n), 100n)
      await settledCall.settle?.(70n)
      t.ok((await reapAll(books.database)) > 0)
      t.match(await books.wallet(8), { balance: 930n, reserved: 0n, used: 70n })
      t.match(await books.rows(`SELECT * FROM shares WHERE process = '${name}'`), [])
      t.match(await books.rows("SELECT state FROM charges WHERE request = 'h1'"), [
        { state: 'released' },
      ])
      await t.rejects(openCall.settle?.(1n) ?? Promise.resolve(), { code: 'CHARGE_CLOSED' })
    })

    t.test('hold: a charge whose write failed is closed once the store is available', async t => {
      await books.credit(9, 1_000n)
      const ledger = await books.ledger()
      const openCall = await call(books, ledger, 'i1', payerOf(9), 100n)
      t.notOk(openCall.shortfall)
      const settlement = {
        request: 'i1',
        amount: 40n,
        uncollected: 0n,
        isEstimated: true,
        closedAt: 1,
        wallets: [],
      }
      await new Promise<void>(resolve => {
        const statement = settleCharge({ ...settlement, usage: '{}', lines: '[]' })
        ledger.ensureClosed('i1', [statement], () => resolve())
      })
      t.match(await books.wallet(9), { balance: 960n })
      await new Promise<void>(resolve =>
        ledger.ensureClosed('i1', [releaseCharge('i1', 1)], () => resolve()),
      )
      t.match(await books.wallet(9), { balance: 960n }, 'a closed charge does not change')
    })

    t.test('hold: the audit finds nothing afterwards', async t => {
      await new Promise(resolve => setTimeout(resolve, 1_100))
      const [sums] = await books.rows(`SELECT
      (SELECT sum(balance) FROM wallets WHERE id % 2 = 0) AS balances,
      (SELECT sum(amount) FROM credits) - (SELECT sum(amount) FROM charges WHERE state = 'settled') AS entries,
      (SELECT count(*) FROM wallets w WHERE w.reserved <>
        coalesce((SELECT sum(s.amount) FROM shares s WHERE s.wallet = w.id), 0)) AS unequal`)
      t.equal(sums?.balances, sums?.entries)
      t.equal(sums?.unequal, 0)
    })
  })

t.test('lease: a trial store that discards writes reports what it could grant', async t => {
  const room = { value: 100 }
  const discardingStore = {
    write: async (list: readonly unknown[]) => list.map(() => []),
    read: async () => [{ room: room.value }],
  }
  const ledger = ledgerOn(discardingStore)
  t.equal(await ledger.take(payerOf(1), 100n), undefined)
  t.equal(await ledger.take(payerOf(1), 101n), 'account')
  await ledger.close()
})
