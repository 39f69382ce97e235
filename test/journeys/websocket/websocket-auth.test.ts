/** WebSocket credentials and the headers that pass to the upstream, with the whole process tree and
 *  a separate upstream. */
import t from 'tap'
import { headerOf } from '../../fixtures/upstream/script.ts'
import { startGateway } from '../../helpers/gateway.ts'
import { startUpstream } from '../../helpers/upstream.ts'
import { openSocket, type Refused } from '../../helpers/web-socket.ts'

const upstream = await startUpstream()
const gateway = await startGateway({
  routes: `
pipeline: [errors, auth, limit]
upstreams: { raw: { url: '${upstream.url}', key: upstream-key, headers: { set: { x-set: ours } } } }
routes:
  - { path: 'WS /s/{name}', upstream: raw, auth: [key, query-key] }
  - { path: 'WS /limited/{name}', upstream: raw, auth: key, rewrite: '/s/{name}', limit: { concurrency: 2 } }
`,
})
t.teardown(() => Promise.all([gateway.stop(), upstream.stop()]))
await upstream.script('echo', [{ do: 'websocket', manner: 'echo' }])
const key = await gateway.key()
const bearer = { headers: { authorization: `Bearer ${key}` } }
const PROTOCOL = 'openai-insecure-api-key.'

const openRefused = (path: string, protocols: string[] = [], options = {}): Promise<Refused> =>
  openSocket(gateway.url + path, protocols, options).then(
    () => Promise.reject(new Error('the socket opened')),
    error => error as Refused,
  )

t.test(
  'WebSocket auth: without a valid key an HTTP error in the route’s dialect, and no upstream call',
  async t => {
    for (const [protocols, options] of [
      [[], {}],
      [[], { headers: { authorization: 'Bearer sk-wrong' } }],
      [['realtime', `${PROTOCOL}sk-wrong`], {}],
    ] as const) {
      const { status, headers, body } = await openRefused('/s/echo', [...protocols], options)
      t.equal(status, 401)
      t.equal(headers.connection, 'close')
      t.match(JSON.parse(body), {
        error: { type: 'invalid_request_error', code: 'invalid_api_key' },
      })
      t.match(headers['x-request-id'], /^req_/)
    }
    t.same(await upstream.seen('connection'), [])
  },
)

t.test(
  'WebSocket auth: a key in the subprotocols opens the socket and does not pass upstream',
  async t => {
    const client = await openSocket(`${gateway.url}/s/echo`, ['realtime', PROTOCOL + key, 'beta'])
    t.equal(client.socket.protocol, 'realtime', 'what the upstream chose')
    t.match(client.headers, { 'x-request-id': /^req_/, 'x-tollgate-version': '1' })
    client.socket.send('hello')
    t.same(await client.until(1), ['hello'])
    const { head } = await upstream.until('request', event => event.script === 'echo')
    t.equal(headerOf(head, 'sec-websocket-protocol'), 'realtime,beta')
    t.equal(headerOf(head, 'authorization'), 'Bearer upstream-key')
    t.equal(headerOf(head, 'x-set'), 'ours')
    t.equal(headerOf(head, 'x-request-id'), client.headers['x-request-id'])
    t.equal(headerOf(head, 'sec-websocket-extensions'), undefined, 'no compression is offered')
    t.notMatch(head.raw, key)
    client.socket.close()
    t.equal((await client.closed).code, 1005)
  },
)

t.test(
  'WebSocket auth: a key in the query opens the socket and does not pass upstream',
  async t => {
    await upstream.forget()
    const client = await openSocket(`${gateway.url}/s/echo?v=1&key=${key}`)
    const { head } = await upstream.until('request')
    t.equal(head.target, '/s/echo?v=1')
    client.socket.terminate()
  },
)

t.test('WebSocket routes: an upgrade needs a WS route, and a GET does not match one', async t => {
  t.equal((await openRefused('/nowhere', [], bearer)).status, 404)
  const plain = await fetch(`${gateway.url}/s/echo`, bearer)
  t.equal(plain.status, 404)
})

t.test('WebSocket concurrency limit: counts open sockets and frees each at its end', async t => {
  const url = `${gateway.url}/limited/echo`
  const first = await openSocket(url, [], bearer)
  const second = await openSocket(url, [], bearer)
  const third = await openRefused('/limited/echo', [], bearer)
  t.equal(third.status, 429)
  t.equal(third.headers['retry-after'], '1')
  first.socket.terminate()
  const untilOpen = async (): Promise<void> => {
    const next = await openSocket(url, [], bearer).catch((error: Refused) => error.status)
    if (next === 429) return untilOpen()
    if (typeof next === 'number') throw new Error(`refused with ${next}`)
    next.socket.terminate()
  }
  await untilOpen()
  second.socket.close(1000)
  await second.closed
  await untilOpen()
  t.pass('both were freed')
})
