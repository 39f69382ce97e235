/** Who may open a WebSocket, and what each side learns of the other: the whole process tree, a separate upstream. */
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

const refused = (path: string, protocols: string[] = [], options = {}): Promise<Refused> =>
  openSocket(gateway.url + path, protocols, options).then(
    () => Promise.reject(new Error('it opened')),
    thrown => thrown as Refused,
  )

t.test('without a key nobody is asked, and the refusal is plain HTTP in the dialect', async t => {
  for (const [protocols, options] of [
    [[], {}],
    [[], { headers: { authorization: 'Bearer sk-wrong' } }],
    [['realtime', `${PROTOCOL}sk-wrong`], {}],
  ] as const) {
    const { status, headers, body } = await refused('/s/echo', [...protocols], options)
    t.equal(status, 401)
    t.equal(headers.connection, 'close')
    t.match(JSON.parse(body), { error: { type: 'invalid_request_error', code: 'invalid_api_key' } })
    t.match(headers['x-request-id'], /^req_/)
  }
  t.same(await upstream.seen('connection'), [])
})

t.test('a key among the subprotocols opens it, and stays here', async t => {
  const client = await openSocket(`${gateway.url}/s/echo`, ['realtime', PROTOCOL + key, 'beta'])
  t.equal(client.socket.protocol, 'realtime', 'what the upstream chose')
  t.match(client.headers, { 'x-request-id': /^req_/, 'x-tollgate-version': '1' })
  client.socket.send('hello')
  t.same(await client.until(1), ['hello'])
  const { head } = await upstream.until('request', seen => seen.script === 'echo')
  t.equal(headerOf(head, 'sec-websocket-protocol'), 'realtime,beta')
  t.equal(headerOf(head, 'authorization'), 'Bearer upstream-key')
  t.equal(headerOf(head, 'x-set'), 'ours')
  t.equal(headerOf(head, 'x-request-id'), client.headers['x-request-id'])
  t.equal(headerOf(head, 'sec-websocket-extensions'), undefined, 'no compression is offered')
  t.notMatch(head.raw, key)
  client.socket.close()
  t.equal((await client.closed).code, 1005)
})

t.test('a key in the query opens it, and does not travel on', async t => {
  await upstream.forget()
  const client = await openSocket(`${gateway.url}/s/echo?v=1&key=${key}`)
  const { head } = await upstream.until('request')
  t.equal(head.target, '/s/echo?v=1')
  client.socket.terminate()
})

t.test('only WS routes are opened', async t => {
  t.equal((await refused('/nowhere', [], bearer)).status, 404)
  const plain = await fetch(`${gateway.url}/s/echo`, bearer)
  t.equal(plain.status, 404)
})

t.test('concurrency counts sockets, and gives them back however they end', async t => {
  const url = `${gateway.url}/limited/echo`
  const first = await openSocket(url, [], bearer)
  const second = await openSocket(url, [], bearer)
  const third = await refused('/limited/echo', [], bearer)
  t.equal(third.status, 429)
  t.equal(third.headers['retry-after'], '1')
  first.socket.terminate()
  const again = async (): Promise<void> => {
    const next = await openSocket(url, [], bearer).catch((thrown: Refused) => thrown.status)
    if (next === 429) return again()
    if (typeof next === 'number') throw new Error(`refused with ${next}`)
    next.socket.terminate()
  }
  await again()
  second.socket.close(1000)
  await second.closed
  await again()
  t.pass('both came back')
})
