/** Failed authentication: a client that tries many keys gets 429 in the dialect of each route, also
 *  on the route that checks a key, while valid keys from the same address are served. */
import t from 'tap'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { startUpstream } from '../../helpers/gateway/upstream.ts'

const DIALECTS = {
  openai: { error: { type: 'rate_limit_error', code: 'rate_limit_exceeded' } },
  anthropic: { type: 'error', error: { type: 'rate_limit_error' } },
  google: { error: { code: 429, status: 'RESOURCE_EXHAUSTED' } },
  vidu: { code: 429, reason: 'TooManyRequests' },
  midjourney: { code: 30 },
  'new-api': { code: 'rate_limit_exceeded', error: { code: 'rate_limit_exceeded' } },
  envelope: { success: false },
}
const upstream = await startUpstream()
const gateway = await startGateway({
  env: { WORKERS: '1' },
  routes: `
pipeline: [errors, auth, account]
upstreams: { up: { url: '${upstream.url}' } }
routes:
${Object.keys(DIALECTS)
  .map(
    name => `  - { path: GET /${name}, rewrite: /s/x, upstream: up, auth: key, errors: ${name} }`,
  )
  .join('\n')}
  - { path: GET /api/token/balance, auth: none, account: balance, errors: envelope }
`,
})
t.teardown(() => Promise.all([gateway.stop(), upstream.stop()]))
const ok = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}'
await upstream.script('x', [{ do: 'send', bytes: ok }])
const ask = async (path: string, key: string) => {
  const response = await fetch(gateway.url + path, { headers: { authorization: `Bearer ${key}` } })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

t.test(
  'failed authentication: after 300 wrong keys a minute comes 429 with Retry-After',
  async t => {
    const key = await gateway.key()
    const wrong = (at: number) => ask('/openai', `sk-wrong-${at}`)
    const first = await Promise.all(Array.from({ length: 300 }, (_, at) => wrong(at)))
    t.same([...new Set(first.map(({ status }) => status))], [401])
    for (const [name, body] of Object.entries(DIALECTS)) {
      const { status, headers, text } = await ask(`/${name}`, 'sk-wrong')
      t.equal(status, 429, name)
      t.match(headers.get('retry-after'), /^[1-9]\d?$/, name)
      t.equal(headers.get('x-should-retry'), 'false', name)
      t.match(JSON.parse(text), body, name)
      t.equal((await ask(`/${name}`, key)).status, 200, `${name}, with a key`)
    }
  },
)

t.test('failed authentication: limited on the balance route, except for valid keys', async t => {
  const balanceOf = async (secret: string) => {
    const query = encodeURIComponent(secret)
    const response = await fetch(`${gateway.url}/api/token/balance?key=${query}`)
    return { status: response.status, body: await response.json() }
  }
  const key = await gateway.key()
  t.equal((await balanceOf(key)).status, 200)
  let reply: Awaited<ReturnType<typeof balanceOf>> | undefined
  // Each worker counts for itself.
  for (let at = 0; at < 200 && reply?.status !== 429; at++) {
    reply = await balanceOf(`sk-' OR 1=1 -- ${at}`)
    t.ok([401, 429].includes(reply.status))
  }
  t.match(reply, { status: 429, body: { success: false, message: /try again in \d+ s/ } })
  const { status } = await balanceOf(key)
  t.equal(status, 200, 'a valid key is served')
})
