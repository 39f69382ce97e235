/** Calls of a task: each goes to the address and with the key of the first, on a path of its
 *  own. */
import t from 'tap'
import type { Host, Reply } from '../../../engine/plugin.ts'
import {
  pluginOf,
  recordHosts,
  startHttpUpstream,
  startTestServer,
} from '../../helpers/gateway/test-server.ts'

const KEYS = ['key-one', 'key-two', 'key-three']

/** A gateway with one upstream of two addresses and three keys, and what reached it. */
const start = async (t: Parameters<typeof startTestServer>[0], auth: unknown = 'bearer') => {
  const requests: { address: number; line: string; key: string }[] = []
  const urls = await Promise.all(
    [0, 1].map(address =>
      startHttpUpstream(t, ({ method, url = '', headers }, response) => {
        const key = String(headers.authorization ?? headers['x-key'] ?? url.split('key=')[1])
        requests.push({ address, line: `${method} ${url}`, key: key.replace('Bearer ', '') })
        response.end('{}')
      }),
    ),
  )
  const { hosts, plugin: task } = recordHosts()
  const stamp = pluginOf({
    forward(attempt, next) {
      attempt.request.headers['x-stamp'] = 'forward'
      return next()
    },
  })
  await startTestServer(
    t,
    { task, stamp },
    {
      upstreams: { up: { url: urls.map(url => `${url}/base`), key: KEYS, auth: auth as string } },
      routes: [{ path: 'POST /create', name: 'r', upstream: 'up', rewrite: '/rewritten' }],
    },
  )
  return { requests, host: hosts[0] as Host }
}
const whole = async (reply: Promise<Reply>) => (await reply).bytes(1_000)
const poll = { method: 'GET', path: '/create' }

for (const auth of ['bearer', { header: 'x-key' }, { query: 'key' }])
  t.test(`pinned target: keeps its address and its key, auth ${JSON.stringify(auth)}`, async t => {
    const { host, requests } = await start(t, auth)
    const used = new Set<string>()
    for (let task = 0; task < 6; task++) {
      const target = host.pin({ upstream: 'up' })
      for (let call = 0; call < 4; call++)
        await whole(
          host.run('r', {
            after: 'task',
            id: `task_${task}`,
            request: poll,
            slots: {},
            targets: [JSON.parse(JSON.stringify(target))],
            upstreamPath: `/tasks/${task}`,
          }),
        )
      const own = requests.splice(0)
      t.equal(new Set(own.map(({ address, key }) => `${address} ${key}`)).size, 1)
      t.match(own[0]?.line, `GET /base/tasks/${task}`)
      used.add(own[0]?.key ?? '')
    }
    t.same([...used].sort(), KEYS.toSorted(), 'the keys take turns between tasks')
  })

t.test('pinned target: uses another key where the configuration no longer has its own', async t => {
  const { host, requests } = await start(t)
  const targets = [{ upstream: 'up', pin: { address: 'http://gone', key: 'gone' } }]
  await whole(host.run('r', { after: 'task', id: 'task_1', request: poll, slots: {}, targets }))
  t.ok(KEYS.includes(requests[0]?.key ?? ''))
  t.equal(
    requests[0]?.line,
    'GET /base/rewritten',
    'without a path of its own the route rewrites it',
  )
})

t.test('direct send: passes the forward stages that have a default', async t => {
  const answers = pluginOf({
    async forward(attempt, next) {
      if (attempt.target.upstream === 'inside') attempt.answer(200, 'from a stage')
      else await next()
    },
  })
  const { hosts, plugin: task } = recordHosts()
  await startTestServer(
    t,
    { task, answers },
    {
      upstreams: { inside: { url: 'answers:' } },
      routes: [{ path: 'POST /create', upstream: 'inside' }],
    },
  )
  const reply = await (hosts[0] as Host).send('inside', { method: 'GET', path: '/x' })
  t.equal(Buffer.from(await reply.bytes(100)).toString(), '"from a stage"')
})

t.test('pins: each address with each key; a direct send goes to one', async t => {
  const { host, requests } = await start(t)
  const pins = host.pins('up')
  t.equal(new Set(pins.map(({ address, key }) => `${address} ${key}`)).size, 6)
  for (const pin of pins) await whole(host.send('up', { method: 'GET', path: '/x', pin }))
  t.same(
    requests.map(({ address, key }) => `${address} ${key}`),
    [0, 1].flatMap(address => KEYS.map(key => `${address} ${key}`)),
  )
  t.same(host.pins('gone'), [])
  const { host: keyless } = await start(t, 'none')
  t.match(keyless.pins('up'), [{ key: undefined }, { key: undefined }])
})
