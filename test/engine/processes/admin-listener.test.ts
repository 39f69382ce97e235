/** Admin listener: responses by path, the checks of Host and Origin, and listen addresses. */
import { request } from 'node:http'
import { networkInterfaces } from 'node:os'
import t from 'tap'
import {
  type AdminOptions,
  type AdminRoutes,
  listenAdmin,
} from '../../../engine/processes/admin-listener.ts'
import {
  describeBindError,
  localUrl,
  parseListenAddress,
} from '../../../engine/processes/listen-address.ts'
import { rawClient } from '../../helpers/gateway/raw-client.ts'

const reloads: string[] = []
const routes: AdminRoutes = {
  'GET /-/health': () => ({ status: 200, body: { status: 'ok' } }),
  'GET /metrics': () => ({ status: 200, body: 'a 1\n' }),
  'POST /-/reload': query => {
    reloads.push(`reload ${query.get('to')}`)
    return { status: 200, body: {} }
  },
  'POST /-/break': () => {
    throw new Error('broken')
  },
}
let hosts = ''
/** Every caller that shows a credential is an operator. */
const authorize: AdminOptions['authorize'] = async () => ({ operator: { id: 1, name: 'ann' } })
const AUTHORIZATION = { authorization: 'Bearer any' }
const admin = await listenAdmin({
  host: '127.0.0.1',
  port: 0,
  routes,
  authorize,
  hosts: () => hosts,
})
t.teardown(() => admin.close())
const { port } = admin.address

const send = (method: string, path: string, headers: Record<string, string> = {}) =>
  new Promise<{ status: number | undefined; text: string; type: string | undefined }>(
    (resolve, reject) => {
      const own = { ...AUTHORIZATION, ...headers }
      const outgoing = request(
        { port, method, path, headers: own, host: '127.0.0.1' },
        response => {
          let text = ''
          response.setEncoding('utf8').on('data', chunk => {
            text += chunk
          })
          response.on('end', () =>
            resolve({ status: response.statusCode, text, type: response.headers['content-type'] }),
          )
        },
      )
      outgoing.on('error', reject).end()
    },
  )

t.test('admin listener: responds by method and path', async t => {
  t.match(await send('GET', '/-/health'), { status: 200, text: '{"status":"ok"}\n' })
  t.match(await send('GET', '/metrics'), { status: 200, text: 'a 1\n', type: 'text/plain' })
  t.match(await send('HEAD', '/-/health'), { status: 200, text: '' })
  t.match(await send('GET', '/'), { status: 404, text: 'GET /-/health' })
  t.match(await send('GET', '/-/reload'), { status: 405 })
  t.match(await send('POST', '/-/break'), { status: 500, text: 'broken' })
})

t.test('admin listener: keeps idle connections longer than its clients', async t => {
  const { headers } = await fetch(`http://127.0.0.1:${port}/-/health`)
  // Node's client keeps an idle connection for two seconds less than this.
  t.equal(headers.get('keep-alive'), 'timeout=65')
})

t.test('admin listener: POST is refused for a foreign Host, Origin or site', async t => {
  const acceptedHeaders: readonly Record<string, string>[] = [
    { host: `127.0.0.1:${port}` },
    { host: 'localhost' },
    { host: `[::1]:${port}` },
    { host: `localhost:${port}`, origin: `http://localhost:${port}` },
    { host: 'localhost', 'sec-fetch-site': 'none' },
  ]
  const refusedHeaders: readonly Record<string, string>[] = [
    { host: 'evil.example' },
    { host: `127.0.0.1.evil.example:${port}` },
    { host: 'localhost.' },
    { host: `localhost:${port}`, origin: 'http://evil.example' },
    { host: `localhost:${port}`, origin: 'null' },
    { host: 'localhost', 'sec-fetch-site': 'cross-site' },
    { host: 'localhost', 'sec-fetch-site': 'same-site' },
  ]
  for (const headers of acceptedHeaders)
    t.equal((await send('POST', '/-/reload?to=3', headers)).status, 200, JSON.stringify(headers))
  t.same(new Set(reloads), new Set(['reload 3']))
  reloads.length = 0
  for (const headers of refusedHeaders)
    t.equal((await send('POST', '/-/reload', headers)).status, 403, JSON.stringify(headers))
  t.same(reloads, [])
})

t.test('admin listener: every request with a foreign Host is refused (DNS rebinding)', async t => {
  const rebound = [
    'evil.example',
    `evil.example:${port}`,
    'localhost.',
    '127.0.0.1.evil.example',
    '1.2.3.4',
    '[::2]',
    ':',
    ' ',
    'localhost,evil.example',
    'admin.test',
  ]
  for (const host of rebound)
    for (const [method, path] of [
      ['GET', '/-/health'],
      ['HEAD', '/-/health'],
      ['GET', '/metrics'],
      ['GET', '/nowhere'],
      ['POST', '/-/reload'],
    ] as const) {
      const { status, text } = await send(method, path, { host })
      t.equal(status, 403, `${method} ${path} ${host}`)
      if (method !== 'GET') continue
      const { error } = JSON.parse(text)
      t.match(error, /settings\.admin_hosts/)
      t.ok(error.includes(`the Host "${host.trim()}"`), error)
    }
  t.same(reloads, [])
})

t.test('admin listener: HTTP/1.0 without a Host is refused', async t => {
  const client = await rawClient({ port })
  await client.send('GET /-/health HTTP/1.0\r\n\r\n')
  t.match(await client.until('admin_hosts'), /^HTTP\/1\.1 403 /)
})

t.test('admin listener: accepts the current names of settings.admin_hosts', async t => {
  const host = `Admin.test:${port}`
  t.equal((await send('GET', '/-/health', { host })).status, 403)
  hosts = 'other.test, admin.test'
  t.equal((await send('GET', '/-/health', { host })).status, 200)
  t.equal((await send('POST', '/-/reload', { host, origin: `http://${host}` })).status, 200)
  t.equal((await send('POST', '/-/reload', { host, origin: 'http://evil.test' })).status, 403)
  hosts = ''
  reloads.length = 0
})

t.test(
  'admin listener on all interfaces: accepts the local address of the connection as Host',
  async t => {
    const open = await listenAdmin({ host: '0.0.0.0', port: 0, routes, authorize })
    t.teardown(() => open.close())
    const get = async (address: string, host: string) => {
      const client = await rawClient({ port: open.address.port, host: address })
      await client.send(`GET /-/health HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`)
      await client.closed
      return client.text().slice(9, 12)
    }
    const own = Object.values(networkInterfaces())
      .flatMap(each => each ?? [])
      .find(({ family, internal }) => family === 'IPv4' && !internal)?.address
    if (own) t.equal(await get(own, `${own}:9090`), '200')
    t.equal(await get('127.0.0.1', '192.0.2.1:9090'), '403')
    t.equal(await get('127.0.0.1', 'evil.example'), '403')
  },
)

t.test(
  'listen address: is parsed, shown as a URL, and explained if it cannot be bound',
  async t => {
    t.same(parseListenAddress('127.0.0.1:8080'), { host: '127.0.0.1', port: 8080 })
    t.same(parseListenAddress('[::1]:80'), { host: '::1', port: 80 })
    t.same(parseListenAddress(':80'), { host: '::', port: 80 })
    t.same(parseListenAddress('8080'), { host: '127.0.0.1', port: 8080 })
    t.equal(localUrl('0.0.0.0', 80), 'http://127.0.0.1:80')
    t.equal(localUrl('::', 80), 'http://[::1]:80')
    t.equal(localUrl('gateway.example', 80), 'http://gateway.example:80')
    const inUse = Object.assign(new Error('listen EADDRINUSE'), { code: 'EADDRINUSE' })
    t.equal(
      describeBindError('127.0.0.1:80', inUse),
      '127.0.0.1:80 is in use by another program; choose another port: start with PORT=81, or change settings.listen (as shipped, it is read from HOST and PORT)',
    )
    t.match(describeBindError('[::1]:65535', inUse, 'admin'), /ADMIN_PORT=65534/)
    const foreign = Object.assign(new Error(''), { code: 'EADDRNOTAVAIL' })
    t.match(describeBindError('9.9.9.9:80', foreign), /machine; change settings\.listen \(as/)
    t.match(describeBindError('x:80', new Error('odd'), 'admin'), /odd.*settings\.admin/)
  },
)

t.test(
  'admin listener: passes JSON bodies to plugins, and refuses other and large ones',
  async t => {
    const addresses = new Set<unknown>()
    const plugins = {
      names: () => ['POST /-/mine'],
      async send({ body, address }: { readonly body: unknown; readonly address?: string }) {
        addresses.add(address)
        return { status: 200, body: { got: body } }
      },
    } as unknown as NonNullable<Parameters<typeof listenAdmin>[0]['plugins']>
    const own = await listenAdmin({
      host: '127.0.0.1',
      port: 0,
      routes: {},
      authorize,
      hosts: () => '',
      plugins,
    })
    t.teardown(() => own.close())
    const post = async (body?: string) => {
      const url = `http://127.0.0.1:${own.address.port}/-/mine`
      const response = await fetch(url, {
        method: 'POST',
        headers: AUTHORIZATION,
        ...(body !== undefined && { body }),
      })
      return { status: response.status, ...((await response.json()) as object) }
    }
    t.same(await post('{"a":[1]}'), { status: 200, got: { a: [1] } })
    t.same(await post(), { status: 200 })
    t.same([...addresses], ['127.0.0.1'], 'plugins learn the address of the caller')
    t.match(await post('{"a"'), { status: 400, error: 'the body is not valid JSON' })
    t.match(await post(`"${'x'.repeat(2 ** 20)}"`), { status: 413, error: /larger than 1048576/ })
  },
)
