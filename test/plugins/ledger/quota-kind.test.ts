/** A quota that is set, removed and changed during calls: each call ends under its terms, and the
 *  wallet of the key has the cost of its calls. */
import t from 'tap'
import { audit } from '../../../plugins/ledger/audit.ts'
import { changeQuota } from '../../../plugins/ledger/views/wallets.ts'
import { call, openBooks, payerOf } from '../../helpers/money/ledger.ts'
import { createChance, seed } from '../../helpers/run-settings.ts'
import { reapAll } from '../../helpers/store/membership.ts'
import { ENGINES } from '../../helpers/store/store.ts'

const booksByEngine = await Promise.all(ENGINES.map(engine => openBooks(t, engine)))

for (const [at, books] of booksByEngine.entries())
  t.test(`quota change on ${ENGINES[at]}`, async t => {
    const { database } = books
    const key = async (id: number) => {
      const [row] = await books.rows(
        `SELECT balance, used, reserved, limited FROM wallets WHERE id = ${id * 2 + 1}`,
      )
      return row
    }

    t.test(
      'quota change: calls with and without a hold of the quota are charged under changed terms',
      async t => {
        await books.credit(1, 1_000n)
        const ledger = await books.ledger()
        const [withQuota, withoutQuota] = [payerOf(1, 11, 500n), payerOf(1, 11)]
        const first = await call(books, ledger, 'a1', withQuota, 100n)
        await database.write(changeQuota(11, 500n, undefined))
        await first.settle?.(40n)
        const second = await call(books, ledger, 'a2', withoutQuota, 300n)
        await database.write(changeQuota(11, undefined, 60n))
        await second.settle?.(300n)
        t.match(await key(11), { used: 340, balance: -280 }, 'the call began without a quota')
        await ledger.close()
        const newLedger = await books.ledger()
        t.equal((await call(books, newLedger, 'a4', payerOf(1, 11, 60n), 1n)).shortfall, 'key')
        await t.rejects(database.write(changeQuota(11, 60n, 339n)), { code: 'QUOTA_IN_USE' })
        await database.write(changeQuota(11, 60n, 342n))
        t.equal((await call(books, newLedger, 'a5', payerOf(1, 11, 342n), 3n)).shortfall, 'key')
        t.equal((await call(books, newLedger, 'a6', payerOf(1, 11, 342n), 1n)).shortfall, undefined)
      },
    )

    t.test(
      'quota change: applies to an unused key before a process creates its wallet without one',
      async t => {
        await books.credit(2, 1_000n)
        const ledger = await books.ledger()
        await database.write(changeQuota(21, undefined, 50n))
        const lateCall = await call(books, ledger, 'b1', payerOf(2, 21), 70n)
        await lateCall.settle?.(70n)
        t.match(await key(21), { used: 70, balance: -20, reserved: 0 })
        await database.write(changeQuota(21, 50n, undefined))
        t.match(await key(21), { used: 70, limited: 0 })
      },
    )

    t.test('quota change: reaping releases calls with and without a quota', async t => {
      await books.credit(3, 1_000n)
      const ledger = await books.ledger()
      await call(books, ledger, 'c1', payerOf(3, 31, 500n), 100n)
      await database.write(changeQuota(31, 500n, undefined))
      await call(books, ledger, 'c2', payerOf(3, 31), 100n)
      await reapAll(database)
      t.match(await key(31), { used: 0, reserved: 0 })
      t.match(await books.wallet(3), { balance: 1_000n, reserved: 0n })
    })

    t.test('quota change: is exact in any order of calls, settlements and changes', async t => {
      const chance = createChance()
      const below = (most: number): number => Math.floor(chance() * most)
      await books.credit(4, 100_000n)
      const ledgers = [await books.ledger(), await books.ledger()]
      let quota: bigint | undefined = 4_000n
      const knownQuotas: (bigint | undefined)[] = [quota, quota]
      let totalSettled = 0n
      const open: (() => Promise<void>)[] = []
      const end = async () => open.splice(below(open.length), 1)[0]?.()
      for (let step = 0; step < 120; step++) {
        const index = below(2)
        const ledger = ledgers[index]
        if (chance() < 0.15) {
          const next: bigint | undefined = chance() < 0.5 ? undefined : BigInt(3_000 + below(9_000))
          const result = await database.write(changeQuota(41, quota, next)).catch(error => {
            if (error.code !== 'QUOTA_IN_USE') throw error
          })
          if (result) quota = next
        } else if (chance() < 0.4) await end()
        else if (ledger) {
          // A process learns of a change some time later.
          if (chance() < 0.5) knownQuotas[index] = quota
          const heldAmount = BigInt(1 + below(100))
          const newCall = await call(
            books,
            ledger,
            `d${step}`,
            payerOf(4, 41, knownQuotas[index]),
            heldAmount,
          )
          const amount = BigInt(below(Number(heldAmount) + 1))
          if (newCall.shortfall) continue
          open.push(async () => {
            await newCall.settle?.(amount)
            totalSettled += amount
          })
        }
      }
      while (open.length > 0) await end()
      await Promise.all(ledgers.map(ledger => ledger.close()))
      const row = await key(41)
      t.equal(BigInt(row?.used as number), totalSettled, `used, seed ${seed()}`)
      t.equal(row?.reserved, 0, 'no hold remains')
      if (quota !== undefined)
        t.equal(BigInt(row?.balance as number), quota - totalSettled, 'the remaining quota')
      t.match(await books.wallet(4), { balance: 100_000n - totalSettled, reserved: 0n })
    })

    t.test('quota change: the audit finds nothing afterwards', async t => {
      t.same(await audit(database), [])
    })
  })
