/** Many idle WebSockets: memory of each, survival of a reload, and their end at a drain. */
import t from 'tap'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { startUpstream } from '../../helpers/gateway/upstream.ts'
import { type Client, openSocket } from '../../helpers/gateway/web-socket.ts'
import { residentOf } from '../../helpers/process-tree.ts'
import { shortOrLong } from '../../helpers/run-settings.ts'

const upstream = await startUpstream()
const routes = (more: string): string => `
pipeline: [errors]
upstreams: { raw: { url: '${upstream.url}' } }
routes:
  - { path: 'WS /s/{name}', upstream: raw }
${more}`
const gateway = await startGateway({
  routes: routes(''),
  settings: 'timeouts: { drain: 300ms }\nyoung_generation: 8',
})
t.teardown(() => Promise.all([gateway.stop(), upstream.stop()]))
await upstream.script('echo', [{ do: 'websocket', manner: 'echo' }])

const COUNT = shortOrLong(200, 1_000)
const KIB = 1_024
const open = async (count: number): Promise<Client[]> => {
  const clients: Client[] = []
  // In batches, because the size of the listen queue is not under test.
  while (clients.length < count) {
    const some = Array.from({ length: Math.min(20, count - clients.length) }, async () => {
      const client = await openSocket(`${gateway.url}/s/echo`)
      client.socket.send('x')
      await client.until(1)
      return client
    })
    clients.push(...(await Promise.all(some)))
  }
  return clients
}

t.test(
  'idle WebSockets: bounded memory each, unaffected by a reload, closed with 1001 at the end of a drain',
  async t => {
    // The first rounds grow the heap to its full size. The young generation has its size from the
    // start, or its growth would count.
    for (let round = 0; round < 2; round++) {
      const first = await open(COUNT)
      for (const { socket } of first) socket.terminate()
      await Promise.all(first.map(each => each.closed))
    }
    const before = residentOf(gateway.pid)
    const clients = await open(COUNT)
    const each = (residentOf(gateway.pid) - before) / COUNT
    t.comment(`${(each / KIB).toFixed(1)} KiB for each of ${COUNT}`)
    // Covers both sockets: the client's and the upstream's.
    t.ok(each <= 2 * 64 * KIB)

    await gateway.reload(routes("  - { path: 'GET /other', upstream: raw }"))
    for (const { socket } of clients) socket.send('y')
    for (const client of clients) await client.until(2)
    t.ok(
      clients.every(({ received }) => received[1] === 'y'),
      'the reload closed none of them',
    )
    const stopping = gateway.stop()
    const ends = await Promise.all(clients.map(client => client.closed))
    t.ok(
      ends.every(({ code }) => code === 1001),
      'closed with 1001 at the end of the grace period',
    )
    await stopping
  },
)
