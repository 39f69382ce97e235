/** A key that gets a quota of its own, loses it and gets another, while calls of every kind are under way: they end as they
 *  began, and what the books say of the key is what its calls have cost. */
import t from 'tap'
import { audit } from '../../../plugins/ledger/audit.ts'
import { changeQuota } from '../../../plugins/ledger/views/wallets.ts'
import { call, openBooks, payer } from '../../helpers/ledger.ts'
import { reapAll } from '../../helpers/membership.ts'
import { createChance, seed } from '../../helpers/seeded.ts'
import { ENGINES } from '../../helpers/store.ts'

const opened = await Promise.all(ENGINES.map(engine => openBooks(t, engine)))

for (const [at, books] of opened.entries())
  t.test(`on ${ENGINES[at]}`, async t => {
    const { database } = books
    const key = async (id: number) => {
      const [row] = await books.rows(
        `SELECT balance, used, reserved, limited FROM wallets WHERE id = ${id * 2 + 1}`,
      )
      return row
    }

    t.test(
      'a call that held of the quota, one that did not, each charged under the other',
      async t => {
        await books.credit(1, 1_000n)
        const ledger = await books.ledger()
        const [limited, free] = [payer(1, 11, 500n), payer(1, 11)]
        const first = await call(books, ledger, 'a1', limited, 100n)
        await database.write(changeQuota(11, 500n, undefined))
        await first.settle?.(40n)
        const second = await call(books, ledger, 'a2', free, 300n)
        await database.write(changeQuota(11, undefined, 60n))
        await second.settle?.(300n)
        t.match(
          await key(11),
          { used: 340, balance: -280 },
          'more than its quota: it began without',
        )
        await ledger.close()
        const anew = await books.ledger()
        t.equal((await call(books, anew, 'a4', payer(1, 11, 60n), 1n)).lack, 'key')
        await t.rejects(database.write(changeQuota(11, 60n, 339n)), { code: 'QUOTA_IN_USE' })
        await database.write(changeQuota(11, 60n, 342n))
        t.equal((await call(books, anew, 'a5', payer(1, 11, 342n), 3n)).lack, 'key')
        t.equal((await call(books, anew, 'a6', payer(1, 11, 342n), 1n)).lack, undefined)
      },
    )

    t.test(
      'quota change: applies to an unused key before a process creates its wallet without one',
      async t => {
        await books.credit(2, 1_000n)
        const ledger = await books.ledger()
        await database.write(changeQuota(21, undefined, 50n))
        const late = await call(books, ledger, 'b1', payer(2, 21), 70n)
        await late.settle?.(70n)
        t.match(await key(21), { used: 70, balance: -20, reserved: 0 })
        await database.write(changeQuota(21, 50n, undefined))
        t.match(await key(21), { used: 70, limited: 0 })
      },
    )

    t.test('quota change: reaping releases calls with and without a quota', async t => {
      await books.credit(3, 1_000n)
      const ledger = await books.ledger()
      await call(books, ledger, 'c1', payer(3, 31, 500n), 100n)
      await database.write(changeQuota(31, 500n, undefined))
      await call(books, ledger, 'c2', payer(3, 31), 100n)
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
      const heard: (bigint | undefined)[] = [quota, quota]
      let spent = 0n
      const open: (() => Promise<void>)[] = []
      const end = async () => open.splice(below(open.length), 1)[0]?.()
      for (let step = 0; step < 120; step++) {
        const which = below(2)
        const ledger = ledgers[which]
        if (chance() < 0.15) {
          const next: bigint | undefined = chance() < 0.5 ? undefined : BigInt(3_000 + below(9_000))
          const done = await database.write(changeQuota(41, quota, next)).catch(thrown => {
            if (thrown.code !== 'QUOTA_IN_USE') throw thrown
          })
          if (done) quota = next
        } else if (chance() < 0.4) await end()
        else if (ledger) {
          // A process hears of a change some time later.
          if (chance() < 0.5) heard[which] = quota
          const held = BigInt(1 + below(100))
          const made = await call(books, ledger, `d${step}`, payer(4, 41, heard[which]), held)
          const amount = BigInt(below(Number(held) + 1))
          if (made.lack) continue
          open.push(async () => {
            await made.settle?.(amount)
            spent += amount
          })
        }
      }
      while (open.length > 0) await end()
      await Promise.all(ledgers.map(ledger => ledger.close()))
      const row = await key(41)
      t.equal(BigInt(row?.used as number), spent, `used, seed ${seed()}`)
      t.equal(row?.reserved, 0, 'nothing stays held')
      if (quota !== undefined)
        t.equal(BigInt(row?.balance as number), quota - spent, 'what is left')
      t.match(await books.wallet(4), { balance: 100_000n - spent, reserved: 0n })
    })

    t.test('quota change: the audit finds nothing afterwards', async t => {
      t.same(await audit(database), [])
    })
  })
