/** Accepting a request's head: ids, routes, and heads that no route should see. */
import t, { type Test } from 'tap'
import type { Stage } from '../../../engine/plugin.ts'
import { rawClient, replies } from '../../helpers/gateway/raw-client.ts'
import { pluginOf, startTestServer } from '../../helpers/gateway/test-server.ts'

/** Echoes the request as the stages see it; renders faults as `own CODE`. */
const echo: Stage = {
  answers: true,
  async handle(exchange) {
    const { id, kind, params, request, route } = exchange
    const { method, path, headers, query } = request
    exchange.answer(200, {
      id,
      kind,
      params,
      method,
      path,
      query: [...query],
      route: route.name,
      accept: headers.accept ?? null,
    })
  },
  fail: ({ code, status, message, headers }, { route }) => ({
    status,
    headers: { ...headers },
    body: Buffer.from(`own ${code} ${route.name}: ${message}`),
  }),
}
const PATHS = ['GET|POST /a', 'GET /b/{id}', 'WS /socket']
const arrange = async (t: Test, settings: object = {}, paths: readonly string[] = PATHS) => {
  const core = await startTestServer(t, { echo: pluginOf(echo) }, {
    settings,
    routes: paths.map(path => ({ path })),
  } as never)
  const port = Number(new URL(core.url).port)
  /** The first reply to these bytes. */
  const send = async (bytes: string) => {
    const client = await rawClient({ port })
    await client.send(bytes)
    await client.until(received => replies(received).some(({ whole }) => whole))
    const reply = replies(client.text())[0]
    return { reply, client }
  }
  const get = (target: string, ...lines: readonly string[]) =>
    send(`GET ${target} HTTP/1.1\r\n${['host: x', ...lines, '', ''].join('\r\n')}`)
  return { core, get, send }
}

t.test('request headers: spaces and tabs around a value are trimmed', async t => {
  const { get } = await arrange(t)
  const { reply, client } = await get('/a', 'accept:\t a\tb \t')
  client.close()
  t.match(JSON.parse(reply?.body ?? ''), { accept: /^a\tb$/ })
})

t.test('accepted request: the route sees method, path, query, headers and ids', async t => {
  const { get } = await arrange(t)
  const { reply, client } = await get('/b/%61%20b?x=1&x=2', 'accept: a', 'Accept: b')
  client.close()
  t.match(JSON.parse(reply?.body ?? ''), {
    id: /^req_[0-9a-f]{32}$/,
    kind: 'http',
    route: 'GET /b/{id}',
    params: { id: 'a b' },
    method: 'GET',
    path: '/b/a%20b',
    query: [
      ['x', '1'],
      ['x', '2'],
    ],
    accept: 'a, b',
  })
})

t.test(
  'request id: a valid id of the client is returned, and never identifies the call',
  async t => {
    const { get } = await arrange(t)
    const readIds = async (...lines: readonly string[]) => {
      const { reply, client } = await get('/a', ...lines)
      client.close()
      return { header: reply?.headers['x-request-id'], id: JSON.parse(reply?.body ?? '').id }
    }
    const own = await readIds('x-request-id: client-1.a:b_c')
    t.equal(own.header, 'client-1.a:b_c')
    t.match(own.id, /^req_[0-9a-f]{32}$/)
    for (const bad of ['', 'a b', 'a,b', '"a"', 'x'.repeat(129), 'é']) {
      const { header, id } = await readIds(`x-request-id: ${bad}`)
      t.equal(header, id, bad)
    }
    t.not((await readIds()).id, (await readIds()).id)
  },
)

t.test('no route: 404 and 405 in the dialect of the nearest route', async t => {
  const { core, get, send } = await arrange(t)
  const nowhere = await get('/a/b/c')
  t.match(nowhere.reply, {
    status: 404,
    body: 'own ROUTE_NOT_FOUND none: Invalid URL (GET /a/b/c)',
  })
  const other = await send('DELETE /a HTTP/1.1\r\nhost: x\r\n\r\n')
  t.match(other.reply, {
    status: 405,
    headers: { allow: /^(GET, POST|POST, GET), HEAD$/ },
    body: /^own METHOD_NOT_ALLOWED none: DELETE is not allowed here; allowed: (GET, POST|POST, GET), HEAD\.$/,
  })
  t.match((await get('/socket')).reply, { status: 404 }, 'a WebSocket route lists no method')
  for (const { client } of [nowhere, other]) client.close()
  t.equal(core.server.openRequests, 0)
})

t.test("no route: the engine's plain JSON where no route is near", async t => {
  const { get } = await arrange(t, {}, [])
  const { reply, client } = await get('/a')
  await client.closed
  t.match(reply, { status: 404, headers: { connection: 'close', 'x-tollgate-version': '1' } })
  t.match(JSON.parse(reply?.body ?? ''), {
    error: { code: 'ROUTE_NOT_FOUND', request_id: reply?.headers['x-request-id'] },
  })
})

const REFUSED: Readonly<Record<string, readonly [bytes: string, status: number, code: string]>> = {
  'no host': ['GET /a HTTP/1.1\r\n\r\n', 400, 'HEAD_MALFORMED'],
  'two hosts': ['GET /a HTTP/1.1\r\nhost: x\r\nhost: x\r\n\r\n', 400, 'HEAD_MALFORMED'],
  'a path that means two things': ['GET /a%2fb HTTP/1.1\r\nhost: x\r\n\r\n', 400, 'PATH_REFUSED'],
  'another host in its target': [
    'GET http://y/a HTTP/1.1\r\nhost: x\r\n\r\n',
    400,
    'AUTHORITY_MISMATCH',
  ],
  'a long target': [`GET /${'x'.repeat(300)} HTTP/1.1\r\nhost: x\r\n\r\n`, 414, 'URL_TOO_LONG'],
  'many headers': [
    `GET /a HTTP/1.1\r\nhost: x\r\n${'x: y\r\n'.repeat(20)}\r\n`,
    431,
    'HEADERS_TOO_MANY',
  ],
  'large headers': [
    `GET /a HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(1_100)}\r\n\r\n`,
    431,
    'HEADERS_TOO_LARGE',
  ],
  'an unsupported expectation': [
    'GET /a HTTP/1.1\r\nhost: x\r\nexpect: 200-ok\r\n\r\n',
    417,
    'EXPECTATION_FAILED',
  ],
}
for (const [what, [bytes, status, code]] of Object.entries(REFUSED))
  t.test(`request head, ${what}: refused, and the connection ends`, async t => {
    const { core, send } = await arrange(t, {
      limits: { url: 256, header_count: 10, header_bytes: 1_024 },
    })
    const { reply, client } = await send(bytes)
    await client.closed
    t.equal(reply?.status, status)
    t.equal(reply?.headers.connection, 'close')
    t.match(reply?.body, `own ${code} none: `, 'in the dialect of the nearest route')
    t.equal(core.server.openRequests, 0)
    client.close()
  })

t.test('request head: HTTP/1.0 needs no Host', async t => {
  const { send } = await arrange(t)
  const { reply, client } = await send('GET /a HTTP/1.0\r\n\r\n')
  await client.closed
  t.equal(reply?.status, 200)
})
