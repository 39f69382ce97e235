/** Allowances that machines share in a store: together they never exceed the limit while the store
 *  responds, and the units of a dead machine are free again. */
import t, { type Test } from 'tap'
import type { Supply } from '../../../engine/plugin.ts'
import { type Machine, startMachine } from '../../helpers/gateway/machines.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { reaperOn } from '../../helpers/store/membership.ts'
import { ENGINES, startAnyStore } from '../../helpers/store/store.ts'

const HOUR = 3_600_000
const window = (amount: bigint, ms = HOUR): Supply => ({ window: { amount, ms } })
const returningWindow = (amount: bigint): Supply => ({
  window: { amount, ms: HOUR, returns: true },
})
const concurrency = (amount: bigint): Supply => ({ concurrency: { amount } })

for (const engine of ENGINES) {
  // Not awaited here: tap ends a file that has no pending test.
  const starting = startAnyStore(t, engine)
  const machines: Machine[] = []
  /** An empty installation for each test, since all tests use the same counter. */
  const begin = async (t: Test, every?: number) => {
    const database = await (await starting).open()
    await database.migrate('standing', [
      {
        number: 1,
        text: 'CREATE TABLE tollgate_processes (id TEXT PRIMARY KEY, beat BIGINT NOT NULL)',
      },
    ])
    const machine = () => {
      const newMachine = startMachine(t, database, every === undefined ? {} : { every })
      machines.push(newMachine)
      return newMachine
    }
    return { one: machine(), two: machine(), database, machine }
  }
  const test = (name: string, run: (t: Test) => Promise<void>) =>
    t.test(`${engine}: ${name}`, async t => {
      await run(t)
      for (const machine of machines.splice(0)) machine.kill()
      const database = await (await starting).open()
      for (const table of ['tollgate_numbers', 'tollgate_slices', 'tollgate_processes'])
        await database.write([{ sql: { name: table, text: `DELETE FROM ${table}` }, values: [] }])
    })

  test('machines: concurrent requests at two machines get exactly the units of the window', async t => {
    const { one, two } = await begin(t)
    const counts = await Promise.all([one.use(window(37n), 150), two.use(window(37n), 150)])
    t.equal(counts[0] + counts[1], 37)
    t.equal((await one.use(window(37n), 5)) + (await two.use(window(37n), 5)), 0)
  })

  test('machines: a machine leases slices, not single units', async t => {
    const { one } = await begin(t)
    t.equal(await one.use(window(1_000n), 1), 1)
    const before = one.lists
    for (let at = 0; at < 900; at++) await one.use(window(1_000n), 1)
    t.ok(one.lists - before <= 4, `${one.lists - before} lists for 900`)
  })

  test('machines: concurrency units are exclusive, and returned units go to the other machine', async t => {
    const { one, two } = await begin(t)
    const counts = await Promise.all([one.use(concurrency(9n), 30), two.use(concurrency(9n), 30)])
    t.equal(counts[0] + counts[1], 9)
    one.give(concurrency(9n), counts[0])
    let more = 0
    await eventually(async () => {
      more += await two.use(concurrency(9n), 1)
      return more === counts[0] || undefined
    })
    t.equal(await two.use(concurrency(9n), 5), 0)
  })

  test('machines: an unused slice is returned for a refused machine', async t => {
    const { one, two } = await begin(t)
    t.equal(await one.use(window(100n), 1), 1, 'it has half of the rest')
    let units = 0
    await eventually(async () => {
      units += await two.use(window(100n), 10)
      return units === 99 || undefined
    })
    t.equal((await one.use(window(100n), 5)) + (await two.use(window(100n), 5)), 0)
  })

  test('machines: use beyond the window counts for all machines', async t => {
    const { one, two } = await begin(t)
    t.equal(await one.use(returningWindow(100n), 1, 10n), 1)
    one.spend(returningWindow(100n), 400n)
    await eventually(async () => (await two.use(returningWindow(100n), 1, 1n)) === 0 || undefined)
    t.equal(await one.use(returningWindow(100n), 1, 1n), 0)
  })

  test('machines: the next window begins for both machines', async t => {
    const { one, two } = await begin(t)
    const short = window(8n, 400)
    t.equal((await one.use(short, 20)) + (await two.use(short, 20)), 8)
    let more = 0
    await eventually(async () => {
      more += (await one.use(short, 1)) + (await two.use(short, 1))
      return more >= 8 || undefined
    })
    t.ok(more >= 8)
  })

  test('machines: after a worker crash another worker acts for the machine', async t => {
    const { one, two } = await begin(t)
    t.equal(await one.use(concurrency(9n), 9), 9)
    one.kill(0)
    const free = async () =>
      (await two.use(concurrency(9n), 1)) + (await one.use(concurrency(9n), 1))
    // The five of nine units that the crashed worker held are free again.
    let units = 0
    await eventually(async () => {
      units += await free()
      return units === 5 || undefined
    })
    t.equal(await free(), 0)
  })

  test('machines: a machine that the store has removed joins again as it leases', async t => {
    // No heartbeat finds it out before.
    const { one, database } = await begin(t, 60_000)
    t.equal(await one.use(concurrency(1_000n), 1), 1)
    const remove = { name: 'remove machines', text: 'DELETE FROM tollgate_processes' }
    await database.write([{ sql: remove, values: [] }])
    const count = { name: 'count machines', text: 'SELECT id FROM tollgate_processes' }
    await eventually(async () => {
      await one.use(concurrency(1_000n), 100)
      return (await database.read(count, [])).length > 0 || undefined
    })
  })

  test('machines: the slices of a dead machine are released', async t => {
    const { one, database, machine } = await begin(t, 40)
    t.equal(await one.use(concurrency(9n), 9), 9)
    one.kill()
    reaperOn(t, database, 40)
    const two = machine()
    let units = 0
    await eventually(async () => {
      units += await two.use(concurrency(9n), 1)
      return units === 9 || undefined
    })
    t.equal(await two.use(concurrency(9n), 5), 0)
  })

  test('machines: use fair shares while the store is unavailable, and exact counts afterwards', async t => {
    const { one, two } = await begin(t)
    t.equal(
      (await one.use(window(40n), 2)) + (await two.use(window(40n), 2)),
      4,
      'they know each other',
    )
    await one.use(window(40n), 1)
    one.isCut = true
    two.isCut = true
    const units = (await one.use(window(40n), 60)) + (await two.use(window(40n), 60)) + 5
    t.ok(units >= 40 - 2 && units <= 2 * 40, `${units} of 40`)
    one.isCut = false
    two.isCut = false
    await eventually(async () => {
      const units = (await one.use(window(40n), 1)) + (await two.use(window(40n), 1))
      return units === 0 || undefined
    })
  })
}
