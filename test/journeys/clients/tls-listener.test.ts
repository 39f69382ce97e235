/** TLS of the listener: HTTPS and WebSockets over the workers' certificate, which is replaced under
 *  load without a failed request; the client's address behind trusted proxies. */
import { once } from 'node:events'
import { Agent, request } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import t, { type Test } from 'tap'
import { WebSocketServer } from 'ws'
import { certificateOf } from '../../helpers/gateway/certificate.ts'
import { eventually, type Primary, startPrimary } from '../../helpers/gateway/primary.ts'
import { openSocket } from '../../helpers/gateway/web-socket.ts'
import { scaled } from '../../helpers/machine-speed.ts'
import { shortOrLong } from '../../helpers/run-settings.ts'

t.setTimeout(scaled(120_000))
const PLUGIN = `export default {
  schema: {},
  setup: () => ({
    answers: true,
    async handle(exchange) {
      exchange.answer(200, { ...exchange.request.client })
    },
  }),
}
`
const ROUTES = `settings:
  listen: 127.0.0.1:0
  admin: 127.0.0.1:0
  workers: 2
  tls: { cert: '\${file:cert.pem}', key: '\${file:key.pem}' }
  trusted_proxies: [127.0.0.0/8, 10.0.0.0/8]
pipeline: [who]
upstreams: { live: { url: '\${LIVE}' } }
routes:
  - { path: GET /who, who: {} }
  - { path: WS /live, upstream: live }
`
interface Reply {
  readonly status: number
  readonly body: { readonly address: string; readonly encrypted: boolean }
  readonly name: string | undefined
}
const get = (url: string, agent: Agent, headers: Readonly<Record<string, string>> = {}) =>
  new Promise<Reply>((resolve, reject) => {
    request(`${url}/who`, { agent, headers, rejectUnauthorized: false }, response => {
      let text = ''
      const { socket } = response as unknown as {
        readonly socket: { getPeerCertificate(): { readonly subject?: { readonly CN?: string } } }
      }
      const name = socket.getPeerCertificate().subject?.CN
      response.setEncoding('utf8').on('data', chunk => {
        text += chunk
      })
      response.on('error', reject)
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, body: JSON.parse(text), name }),
      )
    })
      .on('error', reject)
      .end()
  })
const alone = () => new Agent({ keepAlive: false, maxCachedSessions: 0 })
const start = (t: Test) => {
  const { cert, key } = certificateOf(t, 'first')
  return startPrimary(t, {
    workers: 2,
    files: { 'routes.yaml': ROUTES, 'plugins/who.ts': PLUGIN, 'cert.pem': cert, 'key.pem': key },
  })
}
const replace = (
  primary: Primary,
  { cert, key }: { readonly cert: string; readonly key: string },
) => {
  primary.write('cert.pem', cert)
  primary.write('key.pem', key)
}

/** An upstream that sends each message back. */
const sockets = new WebSocketServer({ host: '127.0.0.1', port: 0 })
sockets.on('connection', socket =>
  socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary })),
)
await once(sockets, 'listening')
t.teardown(() => sockets.close())
process.env.LIVE = `http://127.0.0.1:${(sockets.address() as AddressInfo).port}`
const primary = await start(t)

t.test('TLS: requests and headers of proxies arrive, and plain HTTP is harmless', async t => {
  t.match(primary.url, /^https:\/\/127\.0\.0\.1:/)
  const { status, body, name } = await get(primary.url, alone())
  t.same(
    { status, name, ...body },
    { status: 200, name: 'first', address: '127.0.0.1', encrypted: true },
  )
  const forwarded = { 'x-forwarded-for': '6.6.6.6, 203.0.113.7, 10.1.2.3' }
  t.equal((await get(primary.url, alone(), forwarded)).body.address, '203.0.113.7')
  const port = Number(new URL(primary.url).port)
  await new Promise<void>(resolve => {
    const plain = connect(port, '127.0.0.1', () => plain.write('GET /who HTTP/1.1\r\n\r\n'))
    plain.on('error', () => {}).on('close', () => resolve())
    plain.resume()
  })
  t.equal((await get(primary.url, alone())).status, 200, 'it serves on')
})

t.test('TLS: a WebSocket is secure as well, and outlives a change of the certificate', async t => {
  const client = await openSocket(`${primary.url}/live`, [], { rejectUnauthorized: false })
  t.teardown(() => client.socket.terminate())
  t.match(client.socket.url, /^wss:/)
  client.socket.send('before')
  t.same(await client.until(1), ['before'])
  replace(primary, certificateOf(t, 'of the socket'))
  await eventually(async () => (await get(primary.url, alone())).name === 'of the socket')
  client.socket.send('x'.repeat(100_000))
  t.equal((await client.until(2))[1]?.length, 100_000)
  client.socket.close()
  t.equal((await client.closed).code, 1005)
})

t.test('TLS: certificates are replaced under load without a failed request', async t => {
  const persistent = new Agent({ keepAlive: true, maxSockets: 8 })
  t.teardown(() => persistent.destroy())
  const results = new Map<string, number>()
  const count = (key: string) => results.set(key, (results.get(key) ?? 0) + 1)
  const pending: Promise<void>[] = []
  // 200 requests a second, half of them on connections of their own.
  const timer = setInterval(() => {
    for (const agent of [persistent, alone()])
      pending.push(
        get(primary.url, agent).then(
          ({ status, name }) => void count(`${status} ${name}`),
          error => void count(String(error)),
        ),
      )
  }, 10)
  const open = connectTls({
    port: Number(new URL(primary.url).port),
    host: '127.0.0.1',
    rejectUnauthorized: false,
  })
  await new Promise<void>(resolve => open.once('secureConnect', () => resolve()))
  const ROUNDS = shortOrLong(3, 30)
  for (let round = 1; round <= ROUNDS; round++) {
    replace(primary, certificateOf(t, `round ${round}`))
    await eventually(async () => (await get(primary.url, alone())).name === `round ${round}`)
  }
  const hasLast = () => results.has(`200 round ${ROUNDS}`)
  await eventually(async () => hasLast())
  clearInterval(timer)
  await Promise.all(pending)
  const failed = [...results].filter(([key]) => !key.startsWith('200 '))
  t.same(failed, [], 'no request failed')
  t.ok(hasLast(), 'new connections got the last certificate')
  t.equal(open.destroyed, false, 'a connection from before stays open')
  open.destroy()
})

t.test('TLS: a wrong pair is a problem, and the old certificate stays', async t => {
  const before = (await get(primary.url, alone())).name
  primary.write('key.pem', certificateOf(t, 'other').key)
  await primary.until(/routes\.yaml:5:8 {2}TLS_CERTIFICATE/)
  t.equal((await get(primary.url, alone())).name, before)
})
