/** `host.send`: one request to a named upstream, without stages, within a timeout. */
import t from 'tap'
import type { Host, Outgoing, Plugin } from '../../../engine/plugin.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { startHttpUpstream, startTestServer } from '../../helpers/gateway/test-server.ts'
import { scaled } from '../../helpers/machine-speed.ts'

const TRACE = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-01$/

type Tap = Parameters<typeof startTestServer>[0]

/** A gateway with the host of a plugin, and an upstream that echoes its request. */
const arrange = async (t: Tap) => {
  const hosts: Host[] = []
  const closedUrls: string[] = []
  const upstream = await startHttpUpstream(t, async (incoming, response) => {
    response.on('close', () => closedUrls.push(incoming.url ?? ''))
    const { method, url, headers } = incoming
    if (url === '/base/silent' || url === '/base/never') return
    if (url === '/base/stalls') return void response.write('half')
    if (url === '/base/no') return void response.writeHead(503, { 'x-a': '1' }).end('no')
    const parts: Buffer[] = []
    for await (const part of incoming) parts.push(part as Buffer)
    response.end(JSON.stringify({ method, url, headers, body: Buffer.concat(parts).toString() }))
  })
  const capture: Plugin = {
    schema: {},
    default: {},
    setup(_, host) {
      hosts.push(host)
      return {
        answers: true,
        async handle(exchange) {
          const { signal } = exchange
          const reply = await host.send('up', { method: 'GET', path: '/x', signal })
          exchange.answer(200, await reply.bytes(10_000))
        },
      }
    },
  }
  const { url } = await startTestServer(
    t,
    { capture },
    {
      upstreams: {
        up: { url: `${upstream}/base`, key: 'k', headers: { set: { 'x-set': 'ours' } } },
        dead: { url: 'http://127.0.0.1:1' },
        inside: { url: 'capture:' },
      },
      routes: [{ path: 'GET /' }],
    },
  )
  const send = (outgoing: Partial<Outgoing>, upstream = 'up') =>
    (hosts[0] as Host).send(upstream, { method: 'GET', path: '/x', ...outgoing })
  /** The echo of a request that is sent for a call with these headers. */
  const sendForCall = async (headers: Record<string, string>) =>
    (await fetch(url, { headers })).text()
  return { send, sendForCall, closedUrls }
}
const text = async (reply: Promise<{ bytes(limit: number): Promise<Uint8Array> }>) =>
  Buffer.from(await (await reply).bytes(10_000)).toString()

t.test('direct send: sends the given request, signed for its upstream', async t => {
  const { send } = await arrange(t)
  const request = JSON.parse(
    await text(
      send({
        method: 'POST',
        path: '/x?a=1?b',
        headers: { 'Content-Type': 'text/plain', 'X-Own': 'a' },
        body: Buffer.from('body'),
      }),
    ),
  )
  t.match(request, {
    method: 'POST',
    url: '/base/x?a=1?b',
    headers: {
      authorization: 'Bearer k',
      'content-type': 'text/plain',
      'x-own': 'a',
      'x-set': 'ours',
      traceparent: TRACE,
      'x-request-id': /^req_[0-9a-f]{32}$/,
    },
    body: 'body',
  })
  t.match(JSON.parse(await text(send({}))), { method: 'GET', url: '/base/x', body: '' })
})

t.test(
  'direct send: carries the request id and trace of its call, in a span of its own',
  async t => {
    const { send, sendForCall } = await arrange(t)
    const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
    const headers = { traceparent: `00-${trace}-00f067aa0ba902b7-01`, 'x-request-id': 'mine' }
    const requests = []
    for (let count = 0; count < 2; count++)
      requests.push(JSON.parse(await sendForCall(headers)).headers)
    for (const each of requests) {
      t.equal(each['x-request-id'], 'mine')
      t.equal(each.traceparent.slice(3, 35), trace)
      t.notMatch(each.traceparent, /00f067aa0ba902b7/)
    }
    t.not(requests[0].traceparent, requests[1].traceparent)
    const [one, other] = [JSON.parse(await text(send({}))), JSON.parse(await text(send({})))]
    t.match(one.headers.traceparent, TRACE)
    t.not(one.headers['x-request-id'], other.headers['x-request-id'], 'of a job: new ones')
    t.not(one.headers.traceparent.slice(0, 35), other.headers.traceparent.slice(0, 35))
  },
)

t.test('direct send: streams a body', async t => {
  const { send } = await arrange(t)
  const body = (async function* () {
    yield Buffer.from('one')
    yield Buffer.from('two')
  })()
  t.match(JSON.parse(await text(send({ method: 'PUT', body }))), { body: 'onetwo' })
})

t.test('direct send: a refusal is a reply, a fault is thrown', async t => {
  const { send } = await arrange(t)
  const reply = await send({ path: '/no' })
  t.equal(reply.status, 503)
  t.equal(reply.headers['x-a'], '1')
  t.equal(await text(Promise.resolve(reply)), 'no')
  await t.rejects(send({}, 'dead'), { code: 'TARGET_UNREACHABLE' })
  await t.rejects(send({}, 'inside'), { code: 'INSIDE_SILENT' })
  await t.rejects(send({}, 'nowhere'), {
    code: 'UPSTREAM_GONE',
    status: 404,
    message: 'There is no upstream "nowhere".',
  })
})

t.test('direct send: the timeout covers the whole reply', async t => {
  const { send, closedUrls } = await arrange(t)
  const [short, long] = [scaled(300), scaled(1_000)]
  const timeoutFault = {
    code: 'SEND_TIMEOUT',
    status: 504,
    message: `No whole answer of up within ${short} ms.`,
  }
  await t.rejects(send({ path: '/silent', timeout: short }), timeoutFault)
  // Before it is connected: nothing is sent, and the next calls are served.
  for (let count = 0; count < 20; count++)
    await t.rejects(send({ path: '/never', timeout: 0 }), { code: 'SEND_TIMEOUT' })
  t.match(JSON.parse(await text(send({}))), { method: 'GET' })
  // The head arrives at once, which takes a while on a busy machine.
  const stalls = await send({ path: '/stalls', timeout: long })
  await t.rejects(stalls.bytes(100), {
    ...timeoutFault,
    message: `No whole answer of up within ${long} ms.`,
  })
  const others = () => closedUrls.filter(each => !/\/(?:never|x)$/.test(each))
  await eventually(() => others().length >= 2)
  t.same(others().sort(), ['/base/silent', '/base/stalls'], 'both upstream connections are closed')
  t.match(JSON.parse(await text(send({ timeout: 60_000 }))), { method: 'GET' })
})

t.test(
  'direct send: a signal aborts it before it is sent, while it waits and amid the reply',
  async t => {
    const { send } = await arrange(t)
    const cancellation = { code: 'TURN_CANCELLED', status: 499 }
    await t.rejects(send({ signal: AbortSignal.abort() }), cancellation)
    const waiting = new AbortController()
    const reply = send({ path: '/silent', signal: waiting.signal })
    setImmediate(() => waiting.abort())
    await t.rejects(reply, cancellation)
    const reading = new AbortController()
    const stalls = await send({ path: '/stalls', signal: reading.signal })
    const whole = stalls.bytes(100)
    reading.abort()
    await t.rejects(whole, cancellation)
  },
)
