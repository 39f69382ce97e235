/** Connection distributor: every connection reaches a worker, also when workers exit. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import {
  ConnectionDistributor,
  type ConnectionReceiver,
} from '../../../engine/processes/connection-distributor.ts'
import { scaled } from '../../helpers/machine-speed.ts'

interface Offer {
  readonly id: number
  readonly socket: Socket
}
class Worker implements ConnectionReceiver {
  open = true
  readonly offers: Offer[] = []
  offer(id: number, socket: Socket): void {
    this.offers.push({ id, socket })
  }
}
const startDistributor = async (t: Test) => {
  const clock = { time: 0 }
  const distributor = new ConnectionDistributor(() => clock.time)
  t.teardown(() => distributor.close())
  const port = await distributor.listen('127.0.0.1', 0)
  const clients: Socket[] = []
  t.teardown(() => {
    for (const client of clients) client.destroy()
  })
  const arrive = async (count: number, countOffers: () => number) => {
    const before = countOffers()
    for (let each = 0; each < count; each++) {
      const client = connect(port, '127.0.0.1')
      client.on('error', () => {})
      clients.push(client)
      await once(client, 'connect')
    }
    while (countOffers() < before + count) await new Promise(resolve => setImmediate(resolve))
  }
  return { distributor, arrive, clients, port, clock }
}
const addWorkers = (distributor: ConnectionDistributor, ...workers: readonly Worker[]) => {
  for (const worker of workers) distributor.addWorker(worker)
}

t.test('connection distributor: offers connections to workers in turn', async t => {
  const { distributor, arrive } = await startDistributor(t)
  const [one, two] = [new Worker(), new Worker()]
  addWorkers(distributor, one, two)
  await arrive(4, () => one.offers.length + two.offers.length)
  t.equal(one.offers.length, 2)
  t.equal(two.offers.length, 2)
})

t.test(
  'connection distributor: a worker that acknowledges nothing gets few connections',
  async t => {
    const { distributor, arrive } = await startDistributor(t)
    const [stuck, quick] = [new Worker(), new Worker()]
    quick.offer = (id, socket) => {
      quick.offers.push({ id, socket })
      setImmediate(() => distributor.acknowledge(quick, id))
    }
    addWorkers(distributor, stuck, quick)
    await arrive(60, () => stuck.offers.length + quick.offers.length)
    const stuckCount = stuck.offers.length
    t.ok(stuckCount <= 2, `${stuckCount} of 60`)
    stuck.open = false
    await arrive(5, () => quick.offers.length)
    t.equal(stuck.offers.length, stuckCount, 'none once it is marked as stuck')
  },
)

t.test('connection distributor: a single worker has at most 32 unacknowledged offers', async t => {
  const { distributor, arrive } = await startDistributor(t)
  const alone = new Worker()
  addWorkers(distributor, alone)
  await arrive(32, () => alone.offers.length)
  for (const { id } of alone.offers.slice(0, 3))
    setImmediate(() => distributor.acknowledge(alone, id))
  await arrive(3, () => alone.offers.length)
  await arrive(5, () => Number.POSITIVE_INFINITY)
  t.equal(alone.offers.length, 35, 'one more for each acknowledgement')
})

t.test(
  'connection distributor: offers of a crashed worker go to another worker, unread',
  async t => {
    const { distributor, arrive, clients } = await startDistributor(t)
    const [first, other] = [new Worker(), new Worker()]
    addWorkers(distributor, first)
    await arrive(2, () => first.offers.length)
    distributor.acknowledge(first, first.offers[0]?.id ?? 0)
    await arrive(1, () => first.offers.length)
    for (const client of clients) client.write('hello')
    addWorkers(distributor, other)
    t.equal(other.offers.length, 0)
    distributor.removeWorker(first)
    t.equal(other.offers.length, 2)
    for (const { socket } of other.offers) {
      socket.resume()
      const [bytes] = await once(socket, 'data')
      t.equal(String(bytes), 'hello')
    }
  },
)

t.test('connection distributor: connections wait while no worker is open', async t => {
  const { distributor, arrive } = await startDistributor(t)
  const late = new Worker()
  const first = arrive(1, () => late.offers.length)
  addWorkers(distributor, late)
  await first
  late.open = false
  const second = arrive(1, () => late.offers.length)
  late.open = true
  distributor.distribute()
  await second
  t.equal(late.offers.length, 2)
})

t.test(
  'connection distributor: new connections get 503 once the oldest has waited for a second',
  async t => {
    const { distributor, arrive, port, clock } = await startDistributor(t)
    const late = new Worker()
    late.open = false
    addWorkers(distributor, late)
    const first = arrive(1, () => late.offers.length)
    const answerAt = async (time: number) => {
      clock.time = time
      const client = connect(port, '127.0.0.1')
      t.teardown(() => client.destroy())
      return Promise.race([
        once(client, 'data').then(([bytes]) => String(bytes)),
        once(client, 'connect').then(() => new Promise(resolve => setTimeout(resolve, scaled(50)))),
      ])
    }
    t.equal(await answerAt(0), undefined, 'the second waits too')
    t.equal(await answerAt(1_000), undefined, 'the third waits too')
    t.match(await answerAt(1_001), /^HTTP\/1\.1 503 .*"code":"OVERLOADED"/s)
    late.open = true
    distributor.distribute()
    await first
    t.equal(late.offers.length, 3, 'queued connections are served')
  },
)

t.test('connection distributor: listen rejects if the port is in use', async t => {
  const first = new ConnectionDistributor()
  const port = await first.listen('127.0.0.1', 0)
  await t.rejects(new ConnectionDistributor().listen('127.0.0.1', port), { code: 'EADDRINUSE' })
  first.close()
  first.close()
})
