/** Keys of an upstream that refuses or limits them at the upgrade of a WebSocket. */
import { createServer } from 'node:http'
import t, { type Test } from 'tap'
import { WebSocketServer } from 'ws'
import { listen } from '../../helpers/gateway/chat-upstream.ts'
import { startTestServer } from '../../helpers/gateway/test-server.ts'
import { openSocket, type RefusedUpgrade } from '../../helpers/gateway/web-socket.ts'

/** An upstream that answers upgrades by the key, and the keys it received. */
const arrange = async (t: Test, statusOf: (key: string) => number, key: unknown = ['a', 'b']) => {
  const keys: string[] = []
  const sockets = new WebSocketServer({ noServer: true })
  const server = createServer()
  server.on('upgrade', (request, socket, head) => {
    const own = String(request.headers.authorization).replace('Bearer ', '')
    keys.push(own)
    const status = statusOf(own)
    if (status === 101) return sockets.handleUpgrade(request, socket, head, () => {})
    socket.end(`HTTP/1.1 ${status} No\r\nretry-after: 9\r\ncontent-length: 0\r\n\r\n`)
  })
  const url = `http://127.0.0.1:${await listen(t, server)}`
  const core = await startTestServer(t, {}, {
    upstreams: { up: { url, key } },
    routes: [{ path: 'WS /s', upstream: 'up' }],
  } as unknown as Parameters<typeof startTestServer>[2])
  const open = async (): Promise<number> => {
    const client = await openSocket(`${core.url}/s`).catch((error: RefusedUpgrade) => error)
    if (!('socket' in client)) return client.status
    client.socket.terminate()
    return 101
  }
  return { open, keys, core }
}

for (const status of [401, 429])
  t.test(`WebSocket keys: after a ${status} the next key opens the socket`, async t => {
    const { open, keys, core } = await arrange(t, key => (key === 'a' ? status : 101))
    for (let call = 0; call < 3; call++) t.equal(await open(), 101)
    t.same(keys, ['a', 'b', 'b', 'b'])
    const rests = core.resources.metrics.report().filter(({ name }) => name === 'key_rests_total')
    t.match(rests, [{ labels: { reason: status === 401 ? 'refused' : 'limited' } }])
  })

t.test('WebSocket keys: with none left the client gets a 502, or the 429', async t => {
  for (const [status, expected] of [
    [401, 502],
    [429, 429],
  ] as const) {
    const { open, keys } = await arrange(t, () => status)
    t.equal(await open(), expected)
    t.same(keys, ['a', 'b'])
  }
  const { open, keys } = await arrange(t, () => 403)
  t.equal(await open(), 502)
  t.equal(await open(), 502)
  t.same(keys, ['a', 'b'], 'a 403 rests no key')
})
