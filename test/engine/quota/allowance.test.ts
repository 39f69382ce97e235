/** Allowances case by case: slices, revocations, windows, crashes, memory. The property test mixes
 *  them. */
import t from 'tap'
import type { Supply } from '../../../engine/plugin.ts'
import { createAllowances, createLocalAllowances } from '../../../engine/quota/allowance.ts'
import type {
  LeaseResult,
  Revocation,
  StoreOperation,
  UnitGrant,
  UnitRequest,
  UnitReturn,
} from '../../../engine/quota/channel.ts'
import { createAllowanceOwner } from '../../../engine/quota/counter-owner.ts'
import { Machine } from './allowance-machine.ts'

type ToWorker = UnitGrant | Revocation
const concurrency = (amount: bigint): Supply => ({ concurrency: { amount } })
const window = (amount: bigint): Supply => ({ window: { amount, ms: 100 } })

t.test(
  'allowance: the owner grants large slices far from the limit, single units near it',
  async t => {
    const machine = new Machine(2)
    const allowance = machine.open(0, concurrency(100n))
    const first = allowance.request('a', 1n)
    await machine.settle()
    t.equal(await first, true)
    let free = 0
    while (allowance.take('a', 1n)) free++
    t.equal(free, 24, 'a quarter of the 99 left, since there are two workers')
    await machine.exhaust('a', concurrency(96n), 1)
    const near = machine.open(1, concurrency(97n))
    const last = near.request('a', 1n)
    await machine.settle()
    t.equal(await last, true)
    t.equal(near.take('a', 1n), undefined, 'no spare unit: the next take needs a request')
  },
)

t.test('allowance: taking from a slice needs no message', async t => {
  const machine = new Machine(1)
  const allowance = machine.open(0, concurrency(100n))
  const first = allowance.request('a', 1n)
  await machine.settle()
  await first
  t.equal(allowance.take('a', 5n), true)
  allowance.returnUnits('a', 5n)
  t.same(machine.workers[0]?.up.queue, [])
})

t.test('allowance: a slice under another amount is not used', async t => {
  const machine = new Machine(1)
  const before = machine.open(0, concurrency(100n))
  const first = before.request('a', 1n)
  await machine.settle()
  await first
  const after = machine.open(0, concurrency(2n))
  t.equal(after.take('a', 1n), undefined)
  t.equal(await machine.exhaust('a', concurrency(2n)), 1n, 'the unit in use still counts')
})

t.test(
  'window: an exhausted one is refused without a request, with the ms until it ends',
  async t => {
    const machine = new Machine(2)
    t.equal(await machine.exhaust('a', window(7n)), 7n)
    const allowance = machine.open(0, window(7n))
    machine.clock += 30
    t.equal(allowance.take('a', 1n), false)
    t.equal(allowance.retryAfter('a'), 70)
    t.equal(machine.open(0, window(8n)).take('a', 1n), undefined, 'a raised amount needs a request')
    allowance.returnUnits('a', 7n)
    t.equal(allowance.take('a', 1n), false, 'a window accepts no return')
    machine.clock += 70
    t.equal(allowance.take('a', 1n), undefined)
    t.equal(allowance.retryAfter('a'), 0)
    t.equal(await machine.exhaust('a', window(7n)), 7n)
  },
)

t.test('window: a grant of an ended window admits nothing', async t => {
  const machine = new Machine(1)
  const allowance = machine.open(0, window(10n))
  const request = allowance.request('a', 1n)
  machine.deliver(0, 'up')
  machine.clock += 100
  machine.deliver(0, 'down')
  await machine.settle()
  t.equal(await request, true, 'admitted by the current window')
  t.same([...(machine.windowStarts.get('a') ?? [])], [1_000, 1_100])
})

t.test('window: a request is refused after three grants of ended windows', async t => {
  const machine = new Machine(1)
  const request = machine.open(0, window(10n)).request('a', 1n)
  for (let tries = 0; tries < 3; tries++) {
    t.equal(machine.deliver(0, 'up'), true)
    machine.clock += 100
    machine.deliver(0, 'down')
  }
  t.equal(await request, false)
})

t.test('allowance: a crash of a worker frees concurrency units, but no window units', async t => {
  const machine = new Machine(2)
  t.equal(await machine.exhaust('a', concurrency(5n), 0), 5n)
  t.equal(await machine.exhaust('w', window(5n), 0), 5n)
  t.equal(await machine.exhaust('a', concurrency(5n), 1), 0n)
  machine.kill(0)
  t.equal(await machine.exhaust('a', concurrency(5n)), 5n)
  t.equal(await machine.exhaust('w', window(5n)), 0n)
})

t.test('allowance: a crash of a worker completes a pending revocation', async t => {
  const machine = new Machine(2)
  const setup = machine.open(0, concurrency(8n)).request('a', 1n)
  await machine.settle()
  await setup
  const request = machine.open(1, concurrency(8n)).request('a', 7n)
  machine.deliver(1, 'up')
  t.equal(machine.workers[0]?.down.queue.length, 1, 'the revocation is pending')
  machine.kill(0)
  await machine.settle()
  t.equal(await request, true, 'all eight are free')
})

t.test('allowance: a hanging worker delays a refusal by the revoke timeout only', async t => {
  const messages: [ToWorker[], ToWorker[]] = [[], []]
  const listeners: ((message: unknown) => void)[] = []
  const owner = createAllowanceOwner({ revokeTimeout: 10 })
  const refusal = new Promise<void>(resolve => {
    for (const worker of [0, 1] as const)
      owner.attach(worker, {
        send(message) {
          messages[worker].push(message as ToWorker)
          if (worker === 1) resolve()
        },
        on: listener => void listeners.push(listener),
      })
  })
  const address = { type: 'allowance', kind: 'held', name: 'n', key: 'k' } as const
  const sendRequest = (worker: number, id: number, amount: string): void => {
    const terms = { amount, limit: '9', ms: 0, free: '0', since: 0 }
    listeners[worker]?.({ ...address, verb: 'request', id, ...terms } satisfies UnitRequest)
  }
  const sendReturn = (round: number, free: string): void =>
    listeners[0]?.({ ...address, verb: 'return', round, free, since: 0 } satisfies UnitReturn)
  const alive = setTimeout(() => {}, 60_000) // the timer of the owner is unreferenced

  sendRequest(0, 1, '1')
  t.match(messages[0][0], { verb: 'grant', units: '3' }, 'one, and two spare units')
  sendRequest(1, 1, '8')
  await refusal
  clearTimeout(alive)
  t.match(messages[1][0], { verb: 'grant', units: '0' })
  const revocation = messages[0][1] as Revocation
  sendRequest(0, 2, '1')
  t.match(messages[0][2], { verb: 'grant', units: '2' }, 'one, and one spare unit')
  sendReturn(revocation.round, '2')
  sendRequest(1, 2, '7')
  t.match(messages[0][3], { verb: 'revoke' }, 'the late answer did not concern the second slice')
  sendReturn(revocation.round + 1, '1')
  t.match(messages[1][1], { verb: 'grant', units: '7' }, 'no unit is lost')
})

t.test('allowance: a closed channel refuses pending and later requests', async t => {
  const allowances = createAllowances({ send() {}, on() {} })
  const allowance = allowances.open('n', concurrency(5n))
  const waiting = allowance.request('a', 1n)
  allowances.close()
  t.equal(await waiting, false)
  t.equal(await allowance.request('a', 1n), false)
  t.doesNotThrow(() => allowance.returnUnits('a', 1n))
})

t.test('window: ended windows are forgotten, beyond the bound the oldest first', async t => {
  let clock = 0
  const listeners: ((message: unknown) => void)[] = []
  const grants: UnitGrant[] = []
  const owner = createAllowanceOwner({ now: () => clock, keys: 3 })
  owner.attach(0, {
    send: message => void grants.push(message as UnitGrant),
    on: listener => void listeners.push(listener),
  })
  const spend = (key: string): string | undefined => {
    const address = { type: 'allowance', kind: 'window', name: 'n', key } as const
    const terms = { amount: '1', limit: '1', ms: 100, free: '0', since: 0 }
    listeners[0]?.({ ...address, verb: 'request', id: 1, ...terms } satisfies UnitRequest)
    return grants.pop()?.units
  }
  t.same(['a', 'b', 'c', 'a'].map(spend), ['1', '1', '1', '0'])
  t.equal(spend('d'), '1', 'a made room')
  t.same(['b', 'c'].map(spend), ['0', '0'])
  t.equal(spend('a'), '1', 'a was forgotten for b')
  clock += 100
  t.same(['a', 'b', 'c', 'd'].map(spend), ['1', '1', '1', '1'])
})

t.test('allowance: a local owner serves CLI commands', async t => {
  const allowances = createLocalAllowances()
  const allowance = allowances.open('n', concurrency(2n))
  t.equal(await allowance.request('a', 2n), true)
  t.equal(await allowance.request('a', 1n), false)
  allowance.returnUnits('a', 2n)
  t.equal(await allowance.request('a', 1n), true)
})

t.test('window: a new window requests units from the store at once after a refusal', async t => {
  let clock = 0
  const listeners: ((message: unknown) => void)[] = []
  const messages: (UnitGrant | StoreOperation)[] = []
  const machines = { interval: 60_000 }
  const owner = createAllowanceOwner({ now: () => clock, machines })
  t.teardown(() => owner.close())
  owner.attach(0, {
    send: message => void messages.push(message as UnitGrant | StoreOperation),
    on: listener => void listeners.push(listener),
  })
  const address = { type: 'allowance', kind: 'window', name: 'n', key: 'k' } as const
  const terms = { amount: '1', limit: '9', ms: 100, free: '0', since: 0 }
  const request = (): UnitGrant | StoreOperation | undefined => {
    listeners[0]?.({ ...address, verb: 'request', id: 1, ...terms } satisfies UnitRequest)
    return messages.at(-1)
  }
  t.match(request(), { verb: 'lease', id: 1 })
  listeners[0]?.({ type: 'allowance', verb: 'leased', id: 1, units: '0' } satisfies LeaseResult)
  t.match(messages.at(-1), { verb: 'grant', units: '0' })
  clock += 50
  t.match(request(), { verb: 'grant', units: '0' }, 'no second request in the same window')
  clock += 50
  t.match(request(), { verb: 'lease', id: 2 })
})

t.test('local allowance: its owner keeps the time that it is given', async t => {
  let clock = 1_000
  const allowance = createLocalAllowances({ now: () => clock }).open('number', {
    window: { amount: 1n, ms: 60_000 },
  })
  const take = async () => allowance.take('a', 1n) ?? (await allowance.request('a', 1n))
  t.ok(await take())
  t.notOk(await take())
  clock += 60_001
  t.ok(await take(), 'the next window')
})
