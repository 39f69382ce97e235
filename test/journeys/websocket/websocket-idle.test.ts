/** Many idle WebSockets: what each costs the gateway, and that a reload or a drain treats them well. */
import t from 'tap'
import { startGateway } from '../../helpers/gateway.ts'
import { scaled } from '../../helpers/long.ts'
import { residentOf } from '../../helpers/memory.ts'
import { startUpstream } from '../../helpers/upstream.ts'
import { type Client, openSocket } from '../../helpers/web-socket.ts'

const upstream = await startUpstream()
const routes = (more: string): string => `
pipeline: [errors]
upstreams: { raw: { url: '${upstream.url}' } }
routes:
  - { path: 'WS /s/{name}', upstream: raw }
${more}`
const gateway = await startGateway({ routes: routes(''), settings: 'timeouts: { drain: 300ms }' })
t.teardown(() => Promise.all([gateway.stop(), upstream.stop()]))
await upstream.script('echo', [{ do: 'websocket', manner: 'echo' }])

const COUNT = scaled(200, 1_000)
const KIB = 1_024
const open = async (count: number): Promise<Client[]> => {
  const clients: Client[] = []
  // A few at a time: the listening queue is no part of this.
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

t.test('idle sockets', async t => {
  // The first ones make the heap as large as any need it: a worker's young generation is only there once it was used.
  for (let round = 0; round < 2; round++) {
    const first = await open(COUNT)
    for (const { socket } of first) socket.terminate()
    await Promise.all(first.map(each => each.closed))
  }
  const before = residentOf(gateway.pid)
  const clients = await open(COUNT)
  const each = (residentOf(gateway.pid) - before) / COUNT
  t.comment(`${(each / KIB).toFixed(1)} KiB for each of ${COUNT}`)
  // Both sockets counted: the client's and the upstream's.
  t.ok(each <= 2 * 64 * KIB)

  await gateway.reload(routes("  - { path: 'GET /other', upstream: raw }"))
  for (const { socket } of clients) socket.send('y')
  for (const client of clients) await client.until(2)
  t.ok(
    clients.every(({ received }) => received[1] === 'y'),
    'a reload cut none of them',
  )
  const stopped = gateway.stop()
  const ends = await Promise.all(clients.map(client => client.closed))
  t.ok(
    ends.every(({ code }) => code === 1001),
    'told at the end of the grace',
  )
  await stopped
})
