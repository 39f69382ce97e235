/** Requests to addresses of the operator: through a proxy or directly, whole or not at all. */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import t from 'tap'
import { createOperatorRequest } from '../../../engine/egress/operator-request.ts'
import type {
  AuthHost,
  Document,
  OperatorRequest,
  OperatorResponse,
} from '../../../engine/plugin.ts'
import { startTextUpstream } from '../../helpers/gateway/chat-upstream.ts'
import { startProxy } from '../../helpers/gateway/connections.ts'
import { pluginOf, startHttpUpstream, startTestServer } from '../../helpers/gateway/test-server.ts'

const GET = { method: 'GET', headers: {}, timeout: 60_000 }

t.test('operator request: goes through the proxy of the upstream, or directly', async t => {
  const proxy = await startProxy(t)
  const url = await startTextUpstream(t, (body, response, incoming) => {
    response.end(`${incoming.method} ${incoming.url} ${incoming.headers['x-own']} ${body}`)
  })
  const request = createOperatorRequest(proxy.url)
  const post = { ...GET, method: 'POST', headers: { 'x-own': 'a' }, body: 'b=c' }
  t.match(await request(`${url}/x?y=1`, post), { status: 200, text: 'POST /x?y=1 a b=c' })
  t.equal(proxy.tunnels.length, 1)
  t.match(await request(url, { ...GET, direct: true }), { status: 200 })
  for (const without of [undefined, ''])
    t.match(await createOperatorRequest(without)(url, GET), { status: 200 })
  t.equal(proxy.tunnels.length, 1)
})

t.test('operator request: keeps a connection open if it is told to', async t => {
  const sockets: Socket[] = []
  const url = await startHttpUpstream(t, (incoming, response) => {
    if (!sockets.includes(incoming.socket)) sockets.push(incoming.socket)
    response.end(`${sockets.indexOf(incoming.socket)}`)
  })
  const request = createOperatorRequest()
  const ask = async (more: Partial<OperatorRequest>) =>
    (await request(url, { ...GET, ...more })).text
  const keepAlive = { keepAlive: true } as const
  t.same([await ask(keepAlive), await ask(keepAlive)], ['0', '0'])
  t.same([await ask({}), await ask({})], ['1', '2'], 'others have their own')
  t.equal(await ask(keepAlive), '0')
  const close = once(sockets[0] as Socket, 'close')
  sockets[0]?.destroy()
  await close
  // The client may not have noticed: such a request fails and is repeated by its sender.
  t.equal(await ask(keepAlive).catch(() => ask(keepAlive)), '3')
  const proxy = await startProxy(t)
  const through = createOperatorRequest(proxy.url)
  await through(url, { ...GET, ...keepAlive })
  await through(url, { ...GET, ...keepAlive })
  t.equal(proxy.tunnels.length, 1)
})

t.test('operator request: a slow response holds up no other one of the same origin', async t => {
  const url = await startHttpUpstream(t, (incoming, response) => {
    if (incoming.url === '/slow') response.write('half')
    else response.end('whole')
  })
  const request = createOperatorRequest()
  const keepAlive = { ...GET, keepAlive: true } as const
  const slow = request(`${url}/slow`, { ...keepAlive, timeout: 2_000 })
  const rejected = t.rejects(slow, { name: 'TimeoutError' })
  t.match(await request(`${url}/fast`, { ...keepAlive, timeout: 2_000 }), { text: 'whole' })
  await rejected
})

t.test('operator request: a plugin that authenticates has the proxy of its upstream', async t => {
  const proxy = await startProxy(t)
  const url = await startHttpUpstream(t, (_, response) => void response.end('token'))
  const responses: OperatorResponse[] = []
  const setup = (_: unknown, host: AuthHost) => async () => {
    responses.push(await host.request(url, GET))
  }
  const plugins = { method: pluginOf({}, { auth: { schema: {}, setup } }) }
  const upstreams = {
    behind: { url, proxy: proxy.url, auth: { method: {} } },
    plain: { url, auth: { method: {} } },
  }
  const routes = ['behind', 'plain'].map(upstream => ({ path: `GET /${upstream}`, upstream }))
  const core = await startTestServer(t, plugins, { upstreams, routes } as Document)
  for (const [path, tunnels] of [
    ['behind', 2],
    ['plain', 2],
  ] as const) {
    t.equal((await fetch(`${core.url}/${path}`)).status, 200)
    t.equal(proxy.tunnels.length, tunnels, path)
  }
  t.match(responses, [
    { status: 200, text: 'token' },
    { status: 200, text: 'token' },
  ])
})

t.test(
  'operator request: a response that is compressed without being asked is decoded',
  async t => {
    const body = Buffer.from('{"keys":[]}')
    const bodies: Readonly<Record<string, Buffer>> = {
      GZIP: gzipSync(body),
      zstd: zstdCompressSync(body),
      'deflate, br': brotliCompressSync(deflateSync(body)),
      snappy: body,
      gzip: body,
      'x-gzip': gzipSync(Buffer.alloc(64 * 1024 * 1024)),
    }
    const url = await startHttpUpstream(t, (incoming, response) => {
      const coding = decodeURIComponent(incoming.url?.slice(1) ?? '')
      response.writeHead(200, { 'content-encoding': coding }).end(bodies[coding])
    })
    const send = (coding: string) =>
      createOperatorRequest()(`${url}/${encodeURIComponent(coding)}`, GET)
    for (const coding of ['GZIP', 'zstd', 'deflate, br'])
      t.match(await send(coding), { status: 200, text: '{"keys":[]}' }, coding)
    await t.rejects(send('snappy'), { code: 'CODING_UNKNOWN' })
    await t.rejects(send('gzip'), { code: 'CODING_CORRUPT' })
    await t.rejects(send('x-gzip'), { code: 'REPLY_TOO_LARGE' })
  },
)

t.test('operator request: a byte order mark is left out of the text', async t => {
  const body = Buffer.from('\ufeff{"issuer":"ü"}')
  const url = await startHttpUpstream(t, ({ url }, response) => {
    if (url === '/plain') return void response.end(body)
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(body))
  })
  for (const path of ['plain', 'gzip'])
    t.match(await createOperatorRequest()(`${url}/${path}`, GET), { text: '{"issuer":"ü"}' })
})

t.test(
  'operator request: no redirect is followed, and no long or slow response awaited',
  async t => {
    const url = await startHttpUpstream(t, ({ url }, response) => {
      if (url === '/moved') return void response.writeHead(302, { location: '/x' }).end('moved')
      if (url === '/long') return void response.end('x'.repeat(2_000_000))
      response.write('half')
    })
    const request = createOperatorRequest(undefined)
    t.match(await request(`${url}/moved`, GET), {
      status: 302,
      headers: { location: '/x' },
      text: 'moved',
    })
    await t.rejects(request(`${url}/long`, GET))
    await t.rejects(request(`${url}/slow`, { ...GET, timeout: 100 }), { name: 'TimeoutError' })
    await t.rejects(request('http://127.0.0.1:1', GET), { code: 'ECONNREFUSED' })
  },
)
