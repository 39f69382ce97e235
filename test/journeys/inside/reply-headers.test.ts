/** Headers of an upstream's response: hop-by-hop headers and the gateway's own headers do not
 *  pass. */
import t from 'tap'
import { text } from '../../fixtures/upstream/scenarios.ts'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { rawClient, replies } from '../../helpers/gateway/raw-client.ts'
import { startUpstream } from '../../helpers/gateway/upstream.ts'

const upstream = await startUpstream()
const gateway = await startGateway({
  inside: true,
  routes: `
pipeline: [errors]
upstreams: { raw: { url: '${upstream.url}' } }
routes: [{ path: 'GET /s/{name}', upstream: raw }]
`,
})
t.teardown(() => Promise.all([gateway.stop(), upstream.stop()]))

let count = 0
/** The gateway's reply to an upstream that answers with these header lines. */
const replyTo = async (...lines: readonly string[]) => {
  const name = `lines-${++count}`
  const head = `HTTP/1.1 200 OK\r\n${lines.map(line => `${line}\r\n`).join('')}content-length: 2\r\n\r\nok`
  await upstream.script(name, [text(head)])
  const client = await rawClient(gateway)
  await client.send(`GET /s/${name} HTTP/1.1\r\nHost: x\r\nX-Request-Id: from-the-client\r\n\r\n`)
  await client.until(received => replies(received)[0]?.whole === true)
  client.close()
  return { reply: replies(client.text())[0], raw: client.text() }
}

type HeaderCase = readonly [lines: readonly string[], removed: readonly string[]]
const REMOVED: Readonly<Record<string, HeaderCase>> = {
  'a header that Connection names': [['Connection: X-Inner', 'X-Inner: 1'], ['x-inner']],
  'a header that Connection names in capitals': [
    ['CONNECTION: X-INNER', 'x-inner: 1'],
    ['x-inner'],
  ],
  'keep-alive': [['Keep-Alive: timeout=1'], []],
  'proxy-authenticate': [['Proxy-Authenticate: Basic'], ['proxy-authenticate']],
  'proxy-connection': [['Proxy-Connection: close'], ['proxy-connection']],
  trailer: [['Trailer: x'], ['trailer']],
  upgrade: [['Upgrade: h2c'], ['upgrade']],
  cookies: [
    ['Set-Cookie: a=b', 'Set-Cookie2: c=d'],
    ['set-cookie', 'set-cookie2'],
  ],
  'headers about the host': [
    ['Strict-Transport-Security: max-age=1', 'Alt-Svc: h3=":443"'],
    ['strict-transport-security', 'alt-svc'],
  ],
  'the gateway’s own headers': [
    ['X-Tollgate-Sandbox: true', 'x-tollgate-anything: 1'],
    ['x-tollgate-sandbox', 'x-tollgate-anything'],
  ],
  'a name of Object.prototype': [
    ['__proto__: 1', 'constructor: 1'],
    ['__proto__', 'constructor'],
  ],
}
for (const [what, [lines, names]] of Object.entries(REMOVED))
  t.test(`response headers: ${what}: removed`, async t => {
    const { reply, raw } = await replyTo(...lines)
    t.equal(reply?.status, 200)
    t.equal(reply?.body, 'ok')
    for (const name of names) t.notMatch(raw.toLowerCase(), `\r\n${name}:`)
  })

t.test('response headers: Keep-Alive of the upstream does not pass', async t => {
  const { raw } = await replyTo('Keep-Alive: timeout=1234')
  t.notMatch(raw, 'timeout=1234')
})

t.test(
  'response headers: the gateway sets X-Request-Id and passes the upstream’s under another name',
  async t => {
    const { reply } = await replyTo('X-Request-Id: req_of_the_upstream')
    t.not(reply?.headers['x-request-id'], 'req_of_the_upstream')
    t.equal(reply?.headers['x-upstream-request-id'], 'req_of_the_upstream')
    t.equal(reply?.headers['x-request-id'], 'from-the-client')
    t.match(reply?.headers['x-tollgate-request'], /^req_[0-9a-f]{32}$/, 'the id in the ledger')
  },
)

t.test('response headers: headers that clients need pass', async t => {
  const { reply } = await replyTo(
    'Retry-After: 7',
    'Content-Type: text/plain',
    'X-Should-Retry: false',
    'OpenAI-Processing-Ms: 12',
  )
  t.match(reply?.headers, {
    'retry-after': '7',
    'content-type': 'text/plain',
    'x-should-retry': 'false',
    'openai-processing-ms': '12',
  })
})

t.test('response headers: those about our account at the upstream do not pass', async t => {
  const names = [
    'OpenAI-Organization',
    'OpenAI-Project',
    'X-RateLimit-Remaining-Requests',
    'x-ratelimit-limit-tokens',
    'RateLimit-Policy',
    'anthropic-ratelimit-requests-remaining',
    'anthropic-organization-id',
    'CF-Ray',
    'cf-cache-status',
    'Set-Cookie',
    'Server',
    'Via',
  ]
  const { reply, raw } = await replyTo(...names.map(name => `${name}: of-our-account`))
  t.equal(reply?.status, 200)
  t.notMatch(raw, 'of-our-account')
})

t.test('response headers: one framing goes out for any upstream framing', async t => {
  await upstream.script('until-close', [
    text('HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nto the end'),
    { do: 'half-close' },
  ])
  const client = await rawClient(gateway)
  await client.send('GET /s/until-close HTTP/1.1\r\nHost: x\r\n\r\n')
  await client.until(received => replies(received)[0]?.whole === true)
  const [reply] = replies(client.text())
  t.equal(reply?.body, 'to the end')
  t.equal(
    [reply?.headers['content-length'], reply?.headers['transfer-encoding']].filter(Boolean).length,
    1,
  )
  client.close()
})
