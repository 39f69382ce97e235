/** Budget leases of a machine: what it asks the store for, what it grants while the store is away,
 *  and what it gives back. */
import t, { type Test } from 'tap'
import type { StoreOperation, StoreResult, UnitRequest } from '../../../engine/quota/channel.ts'
import { MachineLeases } from '../../../engine/quota/machine-leases.ts'
import { createCounter, type SharedCounter } from '../../../engine/quota/shared-counter.ts'

type Kind = SharedCounter['kind']
const requestOf = (kind: Kind, limit = 10): UnitRequest => ({
  type: 'allowance',
  verb: 'request',
  kind,
  id: 1,
  name: 'n',
  key: 'k',
  free: '0',
  since: 0,
  amount: '1',
  limit: String(limit),
  ms: 1000,
})
/** Leases with a clock that the test moves; what they send, and whom they wake. */
const start = (t: Test, kind: Kind = 'window', interval = 1_000_000) => {
  const clock = { now: 1000 }
  const counter = createCounter(requestOf(kind), clock.now)
  const operations: (StoreOperation & { readonly to: number })[] = []
  const detached = new Set<number>()
  const wakes: SharedCounter[] = []
  let outages = 0
  const leases = new MachineLeases({
    now: () => clock.now,
    storeTimeout: 20,
    retryDelay: 500,
    interval,
    onUnavailable: () => void outages++,
    channelOf: worker =>
      detached.has(worker)
        ? undefined
        : { send: each => operations.push({ ...(each as StoreOperation), to: worker }), on() {} },
    find: number => (number === 'n\nk' ? counter : undefined),
    all: () => [counter],
    wake: each => void wakes.push(each),
  })
  t.teardown(() => leases.close())
  const last = () => operations.at(-1) as StoreOperation & { id: number; to: number }
  const lease = (result: object, worker = 1): void =>
    leases.onMessage(worker, {
      type: 'allowance',
      verb: 'leased',
      id: last().id,
      ...result,
    } as StoreResult)
  const ask = (amount = 1n, worker = 1) =>
    leases.requestMore(counter, worker, requestOf(kind), amount)
  return {
    clock,
    counter,
    operations,
    detached,
    wakes,
    leases,
    last,
    lease,
    ask,
    outages: () => outages,
  }
}

t.test('leases: units of the store are granted, up to the limit', t => {
  const { counter, leases, lease, ask, operations, clock } = start(t)
  t.equal(ask(), true)
  t.match(operations, [{ verb: 'lease', least: '1', debt: '0', limit: '10', to: 1 }])
  lease({ units: '4', remaining: '6', windowStart: '7', requestedAt: 990, ms: 900, machines: 2 })
  t.equal(leases.limitOf(counter, requestOf('window')), 4n)
  t.equal(counter.since, 890, 'the window counts from the request')
  t.equal(ask(3n), false, 'it has enough')
  counter.unitsInUse = 4n
  t.equal(ask(2n), true)
  lease({ units: '1', remaining: '0', windowStart: '7' })
  t.equal(counter.lease.units, 5n)
  counter.unitsInUse = 5n
  t.equal(ask(), false, 'the store had less: it is asked later')
  clock.now += 2_000_000
  t.equal(ask(), true)
  t.equal(leases.limitOf(counter, requestOf('window', 3)), 3n, 'a lower limit counts at once')
  t.end()
})

t.test('leases: an overdraft is told to the store, once', t => {
  const { counter, leases, lease, operations } = start(t)
  leases.reportOverdraft(counter, 1, requestOf('window'))
  t.same(operations, [], 'nothing is owed')
  counter.unitsInUse = 3n
  leases.reportOverdraft(counter, 1, requestOf('window'))
  leases.reportOverdraft(counter, 1, requestOf('window'))
  t.match(operations, [{ verb: 'lease', least: '0', debt: '3' }])
  lease({ units: '0', windowStart: '1', requestedAt: 1000 })
  t.equal(counter.lease.units, 3n)
  t.equal(counter.unitsInUse, 3n)
  t.end()
})

t.test('leases: while the store is away each machine has its fair share', async t => {
  const { counter, leases, lease, ask, outages, wakes, clock } = start(t)
  ask()
  lease({ units: '2', windowStart: '1', machines: 3 })
  counter.unitsInUse = 2n
  ask()
  lease({})
  t.equal(outages(), 1)
  t.equal(leases.limitOf(counter, requestOf('window')), 4n)
  t.equal(ask(), false)
  counter.lease.units = 9n
  t.equal(leases.limitOf(counter, requestOf('window')), 9n)
  counter.lease.isReturnRequested = true
  leases.release(counter)
  t.equal(counter.lease.units, 9n, 'nothing can be given back')
  clock.now += 500
  counter.lease.units = 2n
  const before = wakes.length
  ask()
  while (wakes.length === before) await new Promise(resolve => setTimeout(resolve, 5))
  t.equal(outages(), 2, 'a store that does not answer is away')
  lease({ units: '5' })
  t.equal(counter.lease.units, 2n, 'a late answer counts no more')
})

t.test('leases: units are given back if another machine was refused', t => {
  const { counter, leases, lease, ask, last, operations } = start(t)
  ask()
  lease({ units: '6', windowStart: '5' })
  counter.unitsInUse = 2n
  const refusals = { type: 'allowance', verb: 'refusals', at: '9' } as const
  leases.onMessage(1, { ...refusals, numbers: ['n\nk', 'unknown'] })
  leases.release(counter)
  t.match(last(), { verb: 'unlease', amount: '4', windowStart: '5' })
  const sends = operations.length
  leases.release(counter)
  leases.onMessage(1, { ...refusals, numbers: ['n\nk'] })
  counter.unitsInUse = 9n
  leases.release(counter)
  counter.unitsInUse = -1n
  counter.lease.windowStart = ''
  leases.onMessage(1, { ...refusals, numbers: ['n\nk'] })
  leases.release(counter)
  t.match(operations.slice(sends), [{ verb: 'unlease', amount: '2', windowStart: '0' }])
  t.end()
})

t.test('leases: another worker acts for the machine after the first has ended', t => {
  const { counter, leases, lease, ask, last, detached, operations } = start(t, 'held')
  ask(1n, 1)
  lease({ slice: '3', units: '3' })
  t.equal(counter.lease.units, 3n)
  counter.unitsInUse = 3n
  ask(1n, 2)
  t.equal(last().to, 1, 'the first one asks for all')
  leases.detach(1)
  t.match(last(), { verb: 'join', to: 2 })
  leases.onMessage(2, { type: 'allowance', verb: 'resign' })
  const sends = operations.length
  leases.onMessage(3, { type: 'allowance', verb: 'resign' })
  t.equal(operations.length, sends)
  ask(1n, 4)
  lease({ slice: '4', units: '1' }, 4)
  detached.add(4)
  counter.unitsInUse = 4n
  ask(1n, 5)
  t.equal(last().to, 5, 'an agent without a channel is passed over')
  const { machine } = last() as unknown as { machine: string }
  leases.onMessage(5, { type: 'allowance', verb: 'expelled', machine: 'another' })
  t.equal(counter.lease.units, 4n)
  leases.onMessage(5, { type: 'allowance', verb: 'expelled', machine })
  t.equal(counter.lease.units, 0n)
  t.end()
})

t.test('leases: held units that nobody uses are given back', async t => {
  const { counter, lease, ask, leases, wakes, clock, operations } = start(t, 'held', 5)
  ask()
  lease({ slice: '3', units: '3' })
  const before = wakes.length
  clock.now += 60_001
  while (wakes.length === before) await new Promise(resolve => setTimeout(resolve, 5))
  t.ok(operations.some(({ verb }) => verb === 'check-refusals'))
  leases.release(counter)
  t.match(operations.at(-1), { verb: 'unlease', amount: '0' })
})
