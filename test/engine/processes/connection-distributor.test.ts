/** The listening socket: every connection is taken by somebody, whoever dies. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { Door, type Taker } from '../../../engine/processes/connection-distributor.ts'

interface Offer {
  readonly id: number
  readonly socket: Socket
}
class Worker implements Taker {
  open = true
  readonly offers: Offer[] = []
  offer(id: number, socket: Socket): void {
    this.offers.push({ id, socket })
  }
}
const opened = async (t: Test) => {
  const clock = { time: 0 }
  const door = new Door(() => clock.time)
  t.teardown(() => door.close())
  const port = await door.listen('127.0.0.1', 0)
  const clients: Socket[] = []
  t.teardown(() => {
    for (const client of clients) client.destroy()
  })
  const arrive = async (count: number, seen: () => number) => {
    const before = seen()
    for (let each = 0; each < count; each++) {
      const client = connect(port, '127.0.0.1')
      client.on('error', () => {})
      clients.push(client)
      await once(client, 'connect')
    }
    while (seen() < before + count) await new Promise(resolve => setImmediate(resolve))
  }
  return { door, arrive, clients, port, clock }
}
const enter = (door: Door, ...workers: readonly Worker[]) => {
  for (const worker of workers) door.enter(worker)
}

t.test('connections go to the workers in turn', async t => {
  const { door, arrive } = await opened(t)
  const [one, two] = [new Worker(), new Worker()]
  enter(door, one, two)
  await arrive(4, () => one.offers.length + two.offers.length)
  t.equal(one.offers.length, 2)
  t.equal(two.offers.length, 2)
})

t.test('a worker that takes nothing gets no more than a few', async t => {
  const { door, arrive } = await opened(t)
  const [stuck, quick] = [new Worker(), new Worker()]
  quick.offer = (id, socket) => {
    quick.offers.push({ id, socket })
    setImmediate(() => door.taken(quick, id))
  }
  enter(door, stuck, quick)
  await arrive(60, () => stuck.offers.length + quick.offers.length)
  const few = stuck.offers.length
  t.ok(few <= 2, `${few} of 60`)
  stuck.open = false
  await arrive(5, () => quick.offers.length)
  t.equal(stuck.offers.length, few, 'and none once it is known to be stuck')
})

t.test('and a bounded number where there is nobody else', async t => {
  const { door, arrive } = await opened(t)
  const alone = new Worker()
  enter(door, alone)
  await arrive(32, () => alone.offers.length)
  for (const { id } of alone.offers.slice(0, 3)) setImmediate(() => door.taken(alone, id))
  await arrive(3, () => alone.offers.length)
  await arrive(5, () => Number.POSITIVE_INFINITY)
  t.equal(alone.offers.length, 35, 'one more for each that it took')
})

t.test('what a dead worker never took goes to another, unread', async t => {
  const { door, arrive, clients } = await opened(t)
  const [dying, other] = [new Worker(), new Worker()]
  enter(door, dying)
  await arrive(2, () => dying.offers.length)
  door.taken(dying, dying.offers[0]?.id ?? 0)
  await arrive(1, () => dying.offers.length)
  for (const client of clients) client.write('hello')
  enter(door, other)
  t.equal(other.offers.length, 0)
  door.lost(dying)
  t.equal(other.offers.length, 2)
  for (const { socket } of other.offers) {
    socket.resume()
    const [bytes] = await once(socket, 'data')
    t.equal(String(bytes), 'hello')
  }
})

t.test('while there is no worker that may be offered more, connections wait', async t => {
  const { door, arrive } = await opened(t)
  const late = new Worker()
  const first = arrive(1, () => late.offers.length)
  enter(door, late)
  await first
  late.open = false
  const second = arrive(1, () => late.offers.length)
  late.open = true
  door.stir()
  await second
  t.equal(late.offers.length, 2)
})

t.test('who comes when others have waited for long is turned away at once', async t => {
  const { door, arrive, port, clock } = await opened(t)
  const late = new Worker()
  late.open = false
  enter(door, late)
  const first = arrive(1, () => late.offers.length)
  const answerAt = async (time: number) => {
    clock.time = time
    const client = connect(port, '127.0.0.1')
    t.teardown(() => client.destroy())
    return Promise.race([
      once(client, 'data').then(([bytes]) => String(bytes)),
      once(client, 'connect').then(() => new Promise(resolve => setTimeout(resolve, 50))),
    ])
  }
  t.equal(await answerAt(0), undefined, 'the second waits too')
  t.equal(await answerAt(1_000), undefined, 'and so does the third')
  t.match(await answerAt(1_001), /^HTTP\/1\.1 503 .*"code":"OVERLOADED"/s)
  late.open = true
  door.stir()
  await first
  t.equal(late.offers.length, 3, 'and who waited is served')
})

t.test('a port in use is told', async t => {
  const first = new Door()
  const port = await first.listen('127.0.0.1', 0)
  await t.rejects(new Door().listen('127.0.0.1', port), { code: 'EADDRINUSE' })
  first.close()
  first.close()
})
