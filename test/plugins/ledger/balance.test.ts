/** The balance that a receipt tells: exact where one process serves the account, and caught up with others soon. */
import t from 'tap'
import { Balances } from '../../../plugins/ledger/balances.ts'
import { call, openBooks, payer } from '../../helpers/ledger.ts'
import { createChance, seed } from '../../helpers/seeded.ts'
import { ENGINES } from '../../helpers/store.ts'

const opened = await Promise.all(ENGINES.map(engine => openBooks(t, engine)))

for (const [at, books] of opened.entries())
  t.test(`on ${ENGINES[at]}`, async t => {
    t.test('local balance: is exact after forty concurrent calls while leases change', async t => {
      const chance = createChance()
      const random = (below: number): number => Math.floor(chance() * below)
      await books.credit(1, 3_000n)
      const ledger = await books.ledger()
      let expected = 3_000n
      const one = async (number: number): Promise<void> => {
        const held = BigInt(1 + random(200))
        const made = await call(books, ledger, `a${number}`, payer(1), held)
        if (made.lack) return
        const amount = BigInt(random(Number(held) + 1))
        const process = await ledger.process()
        expected -= amount
        ledger.recordCharge(payer(1), amount, process)
        const told = ledger.balance(1)
        if (told !== undefined) t.equal(told, expected, `after call ${number}, seed ${seed()}`)
        await made.settle?.(amount)
      }
      for (let round = 0; round < 4; round++)
        await Promise.all(Array.from({ length: 10 }, (_, at) => one(round * 10 + at)))
      t.match(await books.wallet(1), { balance: expected })
      await call(books, ledger, 'last', payer(1), 1n)
      t.equal(ledger.balance(1), expected)
    })

    t.test(
      'local balance: corrects a changed charge, and is unknown after the process is reaped',
      async t => {
        await books.credit(2, 1_000n)
        const ledger = await books.ledger()
        t.equal(ledger.balance(2), undefined, 'nothing was asked yet')
        await call(books, ledger, 'b1', payer(2, 21, 500n), 100n)
        const process = await ledger.process()
        ledger.recordCharge(payer(2, 21, 500n), 100n, process)
        t.equal(ledger.balance(2), 900n)
        ledger.recordCharge(payer(2, 21, 500n), -60n, process)
        t.equal(ledger.balance(2), 960n)
        ledger.recordCharge(payer(2), 500n, 'somebody else')
        t.equal(ledger.balance(2), 960n)
        t.equal(ledger.balanceAfter(payer(2), 960n, process), 0n, 'also when all of it is spent')
        ledger.onExpelled(process)
        t.equal(ledger.balance(2), undefined)
      },
    )
  })

t.test(
  'the store is asked again after a second, once, and not while a share is on its way',
  async t => {
    const asked: number[] = []
    let now = 0
    let outside = 70
    const balances = new Balances(
      async wallet => {
        asked.push(wallet)
        return { outside }
      },
      () => now,
    )
    balances.beginLeaseChange(2)(30n, 70n)
    t.equal(balances.of(2), 100n)
    outside = 170
    now = 1_000
    t.equal(balances.of(2), 100n, 'fresh enough')
    now = 1_001
    balances.of(2)
    balances.of(2)
    await new Promise(setImmediate)
    t.same(asked, [2])
    t.equal(balances.of(2), 200n, 'a credit of another process')
    now = 3_000
    const moved = balances.beginLeaseChange(2)
    balances.of(2)
    t.same(asked, [2], 'its answer could not be told from one before the change')
    moved(-30n)
    t.equal(balances.of(2), undefined, 'no share, nothing to follow it by')
    const [first, second] = [balances.beginLeaseChange(2), balances.beginLeaseChange(2)]
    first(10n, 90n)
    t.equal(balances.of(2), undefined, 'the other may be in it, or not')
    second(5n, 85n)
    t.equal(balances.of(2), undefined)
  },
)

t.test('local balance: keeps its value while the store does not answer', async t => {
  let now = 0
  const balances = new Balances(
    () => Promise.reject(new Error('away')),
    () => now,
  )
  balances.beginLeaseChange(2)(30n, 70n)
  now = 5_000
  balances.of(2)
  await new Promise(setImmediate)
  t.equal(balances.of(2), 100n)
})
