/** The local balance on receipts: exact where one process serves the account, refreshed for changes
 *  of others. */
import t from 'tap'
import { Balances } from '../../../plugins/ledger/balances.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { call, openBooks, payerOf } from '../../helpers/money/ledger.ts'
import { createChance, seed } from '../../helpers/run-settings.ts'
import { ENGINES } from '../../helpers/store/store.ts'

const booksByEngine = await Promise.all(ENGINES.map(engine => openBooks(t, engine)))

for (const [at, books] of booksByEngine.entries())
  t.test(`local balance on ${ENGINES[at]}`, async t => {
    t.test('local balance: is exact after forty concurrent calls while leases change', async t => {
      const chance = createChance()
      const random = (below: number): number => Math.floor(chance() * below)
      await books.credit(1, 3_000n)
      const ledger = await books.ledger()
      let expected = 3_000n
      const one = async (number: number): Promise<void> => {
        const heldAmount = BigInt(1 + random(200))
        const newCall = await call(books, ledger, `a${number}`, payerOf(1), heldAmount)
        if (newCall.shortfall) return
        const amount = BigInt(random(Number(heldAmount) + 1))
        const process = await ledger.process()
        expected -= amount
        ledger.recordCharge(payerOf(1), amount, process)
        const balance = ledger.balance(1)
        if (balance !== undefined)
          t.equal(balance, expected, `after call ${number}, seed ${seed()}`)
        await newCall.settle?.(amount)
      }
      for (let round = 0; round < 4; round++)
        await Promise.all(Array.from({ length: 10 }, (_, at) => one(round * 10 + at)))
      t.match(await books.wallet(1), { balance: expected })
      await call(books, ledger, 'last', payerOf(1), 1n)
      t.equal(ledger.balance(1), expected)
    })

    t.test(
      'local balance: corrects a changed charge, and is unknown after the process is reaped',
      async t => {
        await books.credit(2, 1_000n)
        const ledger = await books.ledger()
        t.equal(ledger.balance(2), undefined, 'no balance was read yet')
        const owner = await ledger.process()
        t.equal(ledger.balanceAfter(payerOf(2), 0n, owner), undefined, 'nor after a charge')
        t.equal(await ledger.available(payerOf(2)), 1_000n)
        // More than the charges below: what is left of a lease may be returned at any time, and a
        // balance without a lease is unknown.
        await call(books, ledger, 'b1', payerOf(2, 21, 500n), 200n)
        // While a lease is returned its part is missing.
        await eventually(async () => (await ledger.available(payerOf(2, 21, 500n))) === 300n)
        await eventually(async () => (await ledger.available(payerOf(2, 21))) === 800n)
        const process = await ledger.process()
        // A change of the lease leaves the balance unknown until it is read again.
        await eventually(() => ledger.balance(2) === 1_000n)
        ledger.recordCharge(payerOf(2, 21, 500n), 100n, process)
        t.equal(ledger.balance(2), 900n)
        ledger.recordCharge(payerOf(2, 21, 500n), -60n, process)
        t.equal(ledger.balance(2), 960n)
        ledger.recordCharge(payerOf(2), 500n, 'another process')
        t.equal(ledger.balance(2), 960n)
        t.equal(
          ledger.balanceAfter(payerOf(2), 960n, process),
          0n,
          'the last charge uses up the balance',
        )
        ledger.onExpelled(process)
        t.equal(ledger.balance(2), undefined)
      },
    )
  })

t.test(
  'local balance: is read again once after a second, and not during a lease change',
  async t => {
    const reads: number[] = []
    let now = 0
    let outside = 70
    const balances = new Balances(
      async wallet => {
        reads.push(wallet)
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
    t.same(reads, [2])
    t.equal(balances.of(2), 200n, 'a credit of another process')
    now = 3_000
    const endChange = balances.beginLeaseChange(2)
    balances.of(2)
    t.same(reads, [2], 'a read during a change is ambiguous')
    endChange(-30n)
    t.equal(balances.of(2), undefined, 'a balance without a lease is unknown')
    const [first, second] = [balances.beginLeaseChange(2), balances.beginLeaseChange(2)]
    first(10n, 90n)
    t.equal(balances.of(2), undefined, 'it may include the other change or not')
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

t.test('local balance: of a wallet without a lease is read once a second', async t => {
  const reads: number[] = []
  let now = 0
  let outside = 70
  let delay = Promise.resolve()
  const balances = new Balances(
    async wallet => {
      reads.push(wallet)
      const row = { outside }
      await delay
      return row
    },
    () => now,
  )
  const twice = () => Promise.all([balances.read(2), balances.read(2)])
  t.same(await twice(), [70n, 70n])
  balances.recordCharge(2, 0n)
  outside = 60
  now = 1_000
  t.same(await twice(), [70n, 70n], 'a charge that a plan pays changes nothing')
  t.same(reads, [2])
  now = 1_001
  t.equal(await balances.read(2), 60n)
  balances.beginLeaseChange(2)(30n, 30n)
  balances.recordCharge(2, 10n)
  balances.beginLeaseChange(2)(-20n)
  t.equal(balances.of(2), undefined, 'nothing is leased any more')
  outside = 50
  t.equal(await balances.read(2), 50n, 'a charge of this process is not older than the read')

  // A lease begins while the balance is read: what was read may be without it.
  outside = 40
  now = 3_000
  const read = Promise.withResolvers<void>()
  delay = read.promise
  const balance = balances.read(2)
  const endChange = balances.beginLeaseChange(2)
  delay = Promise.resolve()
  read.resolve()
  await new Promise(setImmediate)
  outside = 15
  endChange(25n)
  t.equal(await balance, 40n, 'it is read again')
})

t.test('local balance: is unknown while the store does not answer', async t => {
  const balances = new Balances(() => Promise.reject(new Error('away')))
  t.equal(await balances.read(2), undefined)
  t.equal(balances.of(2), undefined)
})
