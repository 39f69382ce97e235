/** Windows with returns and overdraft, over workers and every order of messages. */
import t from 'tap'
import type { Supply } from '../../../engine/plugin.ts'
import fc from '../../helpers/property.ts'
import { shortOrLong } from '../../helpers/run-settings.ts'
import { Machine } from './allowance-machine.ts'

const returning = (amount: bigint): Supply => ({ window: { amount, ms: 100, returns: true } })
const LIMIT = 20n

t.test('window: a reading adds the units of the worker and of the owner', async t => {
  const machine = new Machine(1)
  const allowance = machine.open(0, returning(100n))
  t.equal(allowance.reading('a'), undefined, 'nothing was requested')
  await Promise.all([machine.use(0, returning(100n), 'a', 10n), machine.settle()])
  t.same(allowance.reading('a'), { remaining: 90n, ms: 100, window: 1_000 })
  machine.clock += 30
  t.equal(allowance.take('a', 5n), true)
  t.same(allowance.reading('a'), { remaining: 85n, ms: 70, window: 1_000 })
  machine.clock += 70
  t.equal(allowance.reading('a'), undefined, 'the window has ended')
})

t.test('window: returned units are available to any worker', async t => {
  const machine = new Machine(2)
  t.equal(await machine.exhaust('a', returning(LIMIT)), LIMIT)
  t.equal(await machine.exhaust('a', returning(LIMIT), 1), 0n)
  const allowance = machine.open(0, returning(LIMIT))
  allowance.returnUnits('a', 3n, allowance.reading('a')?.window)
  await machine.settle()
  t.equal(await machine.exhaust('a', returning(LIMIT), 1), 3n)
})

t.test('window: units return only to their own window', async t => {
  const machine = new Machine(2)
  t.equal(await machine.exhaust('a', returning(LIMIT)), LIMIT)
  const allowance = machine.open(0, returning(LIMIT))
  const window = allowance.reading('a')?.window
  allowance.returnUnits('a', 3n)
  await machine.settle()
  t.equal(await machine.exhaust('a', returning(LIMIT)), 0n)
  machine.clock += 100
  t.equal(await machine.exhaust('a', returning(LIMIT)), LIMIT)
  allowance.returnUnits('a', 3n, window)
  await machine.settle()
  t.equal(await machine.exhaust('a', returning(LIMIT)), 0n)
})

t.test('window: an overdraft refuses all workers until the next window', async t => {
  const machine = new Machine(2)
  const [one, other] = [machine.open(0, returning(LIMIT)), machine.open(1, returning(LIMIT))]
  one.spend('a', 50n)
  await machine.settle()
  t.equal(one.reading('a')?.remaining, -30n)
  t.equal(await machine.exhaust('a', returning(LIMIT), 1), 0n)
  t.equal(other.reading('a')?.remaining, -30n)
  machine.clock += 100
  t.equal(await machine.exhaust('a', returning(LIMIT), 1), LIMIT)
})

t.test('window: spending from the slice needs no message', async t => {
  const machine = new Machine(1)
  const allowance = machine.open(0, returning(100n))
  await Promise.all([machine.use(0, returning(100n), 'a', 1n), machine.settle()])
  allowance.spend('a', 7n)
  t.same(machine.workers[0]?.up.queue, [])
  t.equal(allowance.reading('a')?.remaining, 92n)
})

t.test('concurrency: spending takes units', async t => {
  const machine = new Machine(2)
  const supply: Supply = { concurrency: { amount: 5n } }
  const allowance = machine.open(0, supply)
  allowance.spend('a', 7n)
  await machine.settle()
  t.equal(await machine.exhaust('a', supply, 1), 0n)
  allowance.returnUnits('a', 7n)
  await machine.settle()
  t.equal(await machine.exhaust('a', supply, 1), 5n)
  t.equal(allowance.reading('a'), undefined)
})

t.test('window: takes, returns and overdrafts leave exactly the remaining units', async t => {
  const step = fc.record({
    do: fc.constantFrom('use' as const, 'use' as const, 'give' as const, 'spend' as const),
    worker: fc.nat(2),
    amount: fc.bigInt(1n, 4n),
    settle: fc.boolean(),
  })
  const property = fc.asyncProperty(fc.array(step, { maxLength: 40 }), async steps => {
    const machine = new Machine(3)
    let usedUnits = 0n
    const open: Promise<unknown>[] = []
    for (const { do: what, worker, amount, settle } of steps) {
      const allowance = machine.open(worker, returning(LIMIT))
      if (what === 'use') {
        const request = machine.use(worker, returning(LIMIT), 'a', amount).then(isAdmitted => {
          if (!isAdmitted) return
          usedUnits += amount
          if (usedUnits > LIMIT) throw new Error(`${usedUnits} of ${LIMIT}`)
        })
        open.push(request)
        if (settle) await machine.settle()
      } else {
        // Corrections come from calls that have ended: nothing else is in progress.
        await machine.settle()
        if (what === 'give' && usedUnits < amount) continue
        if (what === 'give') allowance.returnUnits('a', amount, 1_000)
        else allowance.spend('a', amount)
        await machine.settle()
        usedUnits += what === 'give' ? -amount : amount
      }
    }
    await machine.settle()
    await Promise.all(open)
    const remaining = LIMIT > usedUnits ? LIMIT - usedUnits : 0n
    const available = await machine.exhaust('a', returning(LIMIT), 1)
    if (available !== remaining) throw new Error(`${available} left, not ${remaining}`)
  })
  await t.resolves(fc.assert(property, { numRuns: shortOrLong(100, 5_000) }))
})
