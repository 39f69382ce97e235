/** Upstreams behind a proxy, with certificates of their own, or over HTTP/2: the same behaviour as
 *  with the client of the hot path. */
import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import net from 'node:net'
import t, { type Test } from 'tap'
import { compileUpstream } from '../../../engine/config/compile/upstreams.ts'
import { Pool } from '../../../engine/http-client/pool.ts'
import type { Document, Log } from '../../../engine/plugin.ts'
import {
  CLIENT,
  destroyConnection,
  type Listener,
  SERVER,
  startEcho,
  startHttp2,
  startHttps,
  startProxy,
} from '../../helpers/gateway/connections.ts'
import {
  faultsOf,
  SILENT_LOG,
  startHttpUpstream,
  startTestServer,
} from '../../helpers/gateway/test-server.ts'
import { openSocket } from '../../helpers/gateway/web-socket.ts'
import { scaled } from '../../helpers/machine-speed.ts'

type Options = Readonly<Record<string, unknown>>
/** The ways to connect: how the upstream is started, and its options. */
const WAYS: Readonly<Record<string, (t: Test, listener: Listener) => Promise<Options>>> = {
  'a proxy': async (t, listener) => {
    const proxy = await startProxy(t)
    return { url: await startHttpUpstream(t, listener), proxy: proxy.url }
  },
  'a proxy, with TLS behind it': async (t, listener) => {
    const proxy = await startProxy(t)
    return { url: await startHttps(t, listener), proxy: proxy.url, tls: { ca: SERVER.cert } }
  },
  'certificates on both sides': async (t, listener) => {
    const url = await startHttps(t, listener, {
      ca: SERVER.cert,
      requestCert: true,
      rejectUnauthorized: true,
    })
    return { url, tls: { ca: SERVER.cert, ...CLIENT } }
  },
  'HTTP/2': async (t, listener) => ({
    url: await startHttp2(t, listener),
    tls: { ca: SERVER.cert },
    http2: true,
  }),
  'HTTP/2 without TLS': async (t, listener) => ({
    url: await startHttp2(t, listener, true),
    http2: true,
  }),
}
const documentOf = (up: Options, more: Options = {}): Document =>
  ({
    upstreams: { up, ...more },
    routes: [{ path: 'GET|POST|DELETE /v1/{id}', upstream: ['up', ...Object.keys(more)] }],
  }) as Document
const text = async (parts: AsyncIterable<Uint8Array>): Promise<string> => {
  const all: Uint8Array[] = []
  for await (const part of parts) all.push(part)
  return Buffer.concat(all).toString()
}

for (const [way, start] of Object.entries(WAYS)) {
  t.test(`${way}: requests and responses, one after the other and at once`, async t => {
    const options = await start(t, async (incoming, response) => {
      const body = await text(incoming)
      const { method, url, headers } = incoming
      response.writeHead(201, { 'x-own': ['a', 'b'] })
      response.end(JSON.stringify({ method, url, body, key: headers.authorization }))
    })
    const core = await startTestServer(t, {}, documentOf({ ...options, key: 'k' }))
    const call = async (method: string, path: string, body?: string) => {
      const init = body === undefined ? { method } : { method, body }
      const response = await fetch(core.url + path, init)
      const reply = (await response.json()) as Readonly<Record<string, string>>
      return { ...reply, status: response.status, own: response.headers.get('x-own') } as Options
    }
    const expected = { status: 201, own: 'a, b', key: 'Bearer k' }
    t.match(await call('GET', '/v1/a%20b?x=1'), {
      ...expected,
      method: 'GET',
      url: '/v1/a%20b?x=1',
    })
    t.match(await call('POST', '/v1/x', '{"a":1}'), { ...expected, body: '{"a":1}' })
    t.match(await call('DELETE', '/v1/x'), { ...expected, method: 'DELETE', body: '' })
    const bodies = Array.from({ length: 40 }, (_, index) => `${index}`.repeat(3_000))
    const replies = await Promise.all(bodies.map(body => call('POST', '/v1/x', body)))
    t.same(
      replies.map(({ body }) => body),
      bodies,
    )
  })

  t.test(`${way}: streams both bodies`, async t => {
    const release = Promise.withResolvers<void>()
    const options = await start(t, async (incoming, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: 1\n\n')
      await release.promise
      response.end(`data: ${(await text(incoming)).length}\n\n`)
    })
    const core = await startTestServer(t, {}, documentOf(options))
    const body = new Blob(['x'.repeat(300_000)]).stream()
    const init = { method: 'POST', body, duplex: 'half' } as const
    const response = await fetch(`${core.url}/v1/x`, init)
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    t.equal(Buffer.from((await reader.read()).value ?? []).toString(), 'data: 1\n\n')
    release.resolve()
    t.equal(Buffer.from((await reader.read()).value ?? []).toString(), 'data: 300000\n\n')
    t.ok((await reader.read()).done)
  })

  t.test(`${way}: a client that leaves closes the request at the upstream`, async t => {
    const closed = Promise.withResolvers<void>()
    const options = await start(t, (_, response) => {
      response.on('close', () => closed.resolve())
      response.writeHead(200).write('half')
    })
    const core = await startTestServer(t, {}, documentOf(options))
    const aborter = new AbortController()
    const response = await fetch(`${core.url}/v1/x`, { signal: aborter.signal })
    t.equal(response.status, 200)
    aborter.abort()
    await closed.promise
    t.equal((await fetch(`${core.url}/v1/none`)).status, 200, 'and the next one is served')
  })

  t.test(`${way}: a broken connection, before the head and in the body`, async t => {
    const options = await start(t, (incoming, response) => {
      if (incoming.url === '/v1/ok') return void response.end('ok')
      if (incoming.url === '/v1/early') return destroyConnection(incoming)
      response.writeHead(200, { 'content-length': '10' }).write('half')
      setImmediate(() => destroyConnection(incoming))
    })
    const core = await startTestServer(t, {}, documentOf(options))
    const early = await fetch(`${core.url}/v1/early`)
    t.equal(early.status, 502)
    t.match(await early.text(), /TARGET_BROKE|broke off before/)
    const late = await fetch(`${core.url}/v1/late`)
      .then(response => response.text())
      .catch((error: Error) => error)
    t.type(late, Error, 'the response is cut, not complete')
    t.equal(await (await fetch(`${core.url}/v1/ok`)).text(), 'ok')
  })

  t.test(`${way}: silence has deadlines, before the head and in the body`, async t => {
    const closed: string[] = []
    const options = await start(t, ({ url = '' }, response) => {
      response.on('close', () => closed.push(url))
      if (url === '/v1/late') response.writeHead(200, { 'content-length': '10' }).write('half')
    })
    const ms = scaled(500)
    const timeout = { first_byte: `${ms}ms`, idle: `${ms}ms` }
    const core = await startTestServer(t, {}, documentOf({ ...options, timeout }))
    const early = await fetch(`${core.url}/v1/early`)
    t.equal(early.status, 504)
    t.match(await early.text(), `did not answer within ${ms} ms`)
    await t.rejects(fetch(`${core.url}/v1/late`).then(response => response.text()))
    while (closed.length < 2) await new Promise(resolve => setTimeout(resolve, 10))
    t.same(closed, ['/v1/early', '/v1/late'], 'both requests are closed at the upstream')
  })

  t.test(
    `${way}: failures eject an address, and a body that was not sent goes to another`,
    async t => {
      const options = await start(t, (incoming, response) => {
        if (incoming.url === '/v1/fails') return destroyConnection(incoming)
        response.end('first')
      })
      const other = await startHttpUpstream(t, (_, response) => void response.end('second'))
      const up = { ...options, health: { failures: 2, eject: '1h' } }
      const core = await startTestServer(t, {}, documentOf(up, { other: { url: other } }))
      const read = async (path: string): Promise<string> => (await fetch(core.url + path)).text()
      t.equal(await read('/v1/x'), 'first')
      t.equal(await read('/v1/fails'), 'second')
      t.equal(await read('/v1/fails'), 'second')
      t.equal(await read('/v1/x'), 'second', 'the first one is ejected')
    },
  )
}

t.test('proxy: gets the target and the credential; the upstream gets neither', async t => {
  const heads: unknown[] = []
  const url = await startHttps(t, ({ headers }, response) => {
    heads.push(headers)
    response.end('ok')
  })
  const proxy = await startProxy(t)
  const address = `http://us%40er:p%3Ass@${proxy.host}`
  const options = { url, proxy: address, tls: { ca: SERVER.cert } }
  const core = await startTestServer(t, {}, documentOf(options))
  t.equal(await (await fetch(`${core.url}/v1/x`)).text(), 'ok')
  t.equal(await (await fetch(`${core.url}/v1/x`)).text(), 'ok')
  const credential = `Basic ${Buffer.from('us@er:p:ss').toString('base64')}`
  t.same(proxy.tunnels, [{ target: new URL(url).host, credential }], 'one tunnel for both')
  t.notMatch(JSON.stringify(heads), /proxy/)
})

t.test('proxy: one that refuses, breaks off or is down is an unreachable upstream', async t => {
  const url = await startHttpUpstream(t, (_, response) => void response.end('ok'))
  const other = { url: await startHttpUpstream(t, (_, response) => void response.end('other')) }
  const closedServer = net.createServer().listen(0, '127.0.0.1')
  await once(closedServer, 'listening')
  const { port } = closedServer.address() as AddressInfo
  await new Promise(resolve => closedServer.close(resolve))
  const proxies = [
    (await startProxy(t, () => 407)).host,
    (await startProxy(t, () => undefined)).host,
    `127.0.0.1:${port}`,
  ]
  for (const host of proxies) {
    const lines: unknown[] = []
    const write = (fields: object, text?: string): void => void lines.push({ ...fields, text })
    const log: Log = { ...SILENT_LOG, info: write, warn: write, error: write }
    const proxy = `http://user:the-password@${host}`
    const alone = await startTestServer(t, {}, documentOf({ url, proxy }), log)
    const response = await fetch(`${alone.url}/v1/x`, { method: 'POST', body: '{}' })
    t.equal(response.status, 502)
    t.match(await response.text(), /The upstream up cannot be reached/)
    t.notMatch(JSON.stringify(lines), /the-password/)
    const both = await startTestServer(t, {}, documentOf({ url, proxy }, { other }))
    const next = await fetch(`${both.url}/v1/x`, { method: 'POST', body: '{}' })
    t.equal(await next.text(), 'other', 'nothing was sent: a POST goes to the next target')
  }
})

t.test('proxy: one that never answers ends by the connect timeout', async t => {
  const sockets: Socket[] = []
  const silent = net.createServer(socket => void sockets.push(socket)).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    silent.close()
  })
  const proxy = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`
  const options = { url: 'http://127.0.0.1:9', proxy, timeout: { connect: `${scaled(300)}ms` } }
  const core = await startTestServer(t, {}, documentOf(options))
  const response = await fetch(`${core.url}/v1/x`)
  t.equal(response.status, 502)
  t.match(await response.text(), /cannot be reached/)
})

t.test('tls: without the authority, or without the certificate, nothing is sent', async t => {
  let requests = 0
  const url = await startHttps(
    t,
    (_, response) => {
      requests++
      response.end('ok')
    },
    { ca: SERVER.cert, requestCert: true, rejectUnauthorized: true },
  )
  const status = async (options: Options): Promise<number> => {
    const core = await startTestServer(t, {}, documentOf({ url, ...options }))
    return (await fetch(`${core.url}/v1/x`)).status
  }
  t.equal(await status({ tls: CLIENT }), 502, 'the authority of the server is not trusted')
  t.equal(await status({ tls: { ca: SERVER.cert } }), 502, 'the server refuses the gateway')
  t.equal(requests, 0)
  t.equal(await status({ tls: { ca: SERVER.cert, ...CLIENT } }), 200)
})

t.test('tls: certificates that cannot be used are problems', async t => {
  const where = ['upstreams', 'up', 'tls']
  const broken = [
    { ca: '-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----' },
    { cert: CLIENT.cert, key: SERVER.key },
  ]
  for (const tls of broken) {
    const faults = await faultsOf({}, documentOf({ url: 'https://up.test', tls }))
    t.match(faults, [
      { where, code: 'UPSTREAM_TLS', message: /the upstream "up" cannot be used \(/ },
    ])
    t.notMatch(JSON.stringify(faults), /PRIVATE/)
  }
})

t.test('proxy: an address that no connection can use is a problem', async t => {
  const where = ['upstreams', 'up', 'proxy']
  for (const proxy of ['http://proxy:99999', 'http://us%er:secret-word@proxy:1', 'http://[::1:1']) {
    const faults = await faultsOf({}, documentOf({ url: 'https://up.test', proxy }))
    t.match(faults, [{ where, code: 'UPSTREAM_PROXY', message: /the proxy of the upstream "up"/ }])
    t.notMatch(JSON.stringify(faults), /secret-word/)
  }
})

t.test('http2: a server that has only HTTP/1.1 is served with that', async t => {
  const versions: string[] = []
  const listener: Listener = (incoming, response) => {
    versions.push(incoming.httpVersion)
    response.end('ok')
  }
  const tls = { ca: SERVER.cert }
  for (const url of [await startHttps(t, listener), await startHttp2(t, listener)]) {
    const core = await startTestServer(t, {}, documentOf({ url, tls, http2: true }))
    t.equal((await fetch(`${core.url}/v1/x`)).status, 200)
  }
  t.same(versions, ['1.1', '2.0'])
})

t.test('http2: a connection that dies in silence is replaced', async t => {
  const url = await startHttp2(t, (_, response) => response.end('ok'), true)
  const sockets: Socket[] = []
  const relay = net.createServer(client => {
    const upstream = net.connect(Number(new URL(url).port), '127.0.0.1')
    for (const each of [client, upstream]) each.on('error', () => {})
    client.pipe(upstream).pipe(client)
    sockets.push(client, upstream)
  })
  relay.listen(0, '127.0.0.1')
  await once(relay, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    relay.close()
  })
  const address = `http://127.0.0.1:${(relay.address() as AddressInfo).port}`
  const options = { url: address, http2: true, timeout: { first_byte: `${scaled(200)}ms` } }
  const core = await startTestServer(t, {}, documentOf(options))
  const status = async (): Promise<number> => (await fetch(`${core.url}/v1/x`)).status
  t.equal(await status(), 200)
  t.equal(await status(), 200)
  t.equal(sockets.length, 2, 'one connection')
  for (const socket of sockets) socket.unpipe().pause()
  t.same([await status(), await status(), await status()], [504, 504, 504])
  t.equal(await status(), 200)
  t.equal(sockets.length, 4)
})

t.test('proxy, tls and http2 hold for WebSockets, which stay on HTTP/1.1', async t => {
  const proxy = await startProxy(t)
  const tls = { ca: SERVER.cert }
  const plain = await startEcho(t, false)
  const secure = await startEcho(t, true)
  const ways: readonly Options[] = [
    { url: plain, proxy: proxy.url },
    { url: secure, proxy: proxy.url, tls },
    { url: secure, tls, http2: true },
  ]
  for (const up of ways) {
    const routes = [{ path: 'WS /live', upstream: 'up' }]
    const core = await startTestServer(t, {}, { upstreams: { up }, routes } as Document)
    const client = await openSocket(`${core.url}/live`)
    client.socket.send('hello')
    t.same(await client.until(1), ['hello'])
    client.socket.close()
    await client.closed
  }
  t.equal(proxy.tunnels.length, 2)
  const refusing = await startProxy(t, () => 403)
  const up = { url: secure, tls, proxy: refusing.url }
  const routes = [{ path: 'WS /live', upstream: 'up' }]
  const core = await startTestServer(t, {}, { upstreams: { up }, routes } as Document)
  const refusal = await openSocket(`${core.url}/live`).catch((error: unknown) => error)
  t.match(refusal, { status: 502, body: /TARGET_UNREACHABLE/ })
})

t.test('an upstream without these options has the client of the hot path', async t => {
  const poolOf = (options: Options) => {
    const upstream = compileUpstream(
      'up',
      { url: 'https://up.test', ...options },
      (key, _, create) => {
        keys.push(key)
        return create()
      },
    )
    return upstream.origins[0]?.origin.pool
  }
  const keys: string[] = []
  for (const options of [{}, { proxy: '' }, { http2: false }]) t.ok(poolOf(options) instanceof Pool)
  t.same(new Set(keys), new Set(['origin https://up.test']))
  for (const options of [
    { proxy: 'http://a' },
    { proxy: 'http://b' },
    { http2: true },
    { tls: CLIENT },
  ])
    t.notOk(poolOf(options) instanceof Pool)
  t.equal(new Set(keys).size, 5, 'each way has connections and health of its own')
  t.notMatch(keys.join(), /PRIVATE/)
})
