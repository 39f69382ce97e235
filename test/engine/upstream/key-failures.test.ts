/** Refused and limited keys: the next key of the upstream is tried at once, then other targets. */
import { createHash } from 'node:crypto'
import t, { type Test } from 'tap'
import { errors } from '../../../engine/errors.ts'
import type { Document, Host, Plugin, Stage } from '../../../engine/plugin.ts'
import {
  pluginOf,
  recordHosts,
  startHttpUpstream,
  startTestServer,
  type TestServer,
} from '../../helpers/gateway/test-server.ts'

const nameOf = (key: string) => createHash('sha256').update(key).digest('hex').slice(0, 12)
const JSON_POST = { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } }
/** A body of unknown length that is streamed to the upstream. */
const streamPost = (): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/octet-stream' },
  duplex: 'half',
  body: new Blob(['x'.repeat(200_000)]).stream(),
})

/** An upstream that answers by key and path; `used` lists the keys in order. */
const arrange = async (
  t: Test,
  statusOf: (key: string, path: string) => number,
  {
    key = ['a', 'b'] as unknown,
    route = {},
    plugins = {} as Readonly<Record<string, Plugin>>,
    limited = (): Readonly<Record<string, string>> => ({ 'retry-after': '7' }),
  } = {},
) => {
  const used: string[] = []
  const url = await startHttpUpstream(t, async ({ headers, url = '' }, response) => {
    const key = String(headers.authorization).replace('Bearer ', '')
    used.push(key)
    const status = statusOf(key, url)
    response.writeHead(status, status === 429 ? limited() : {})
    response.end(`answer ${status} about ${key}`)
  })
  const lines: Record<string, unknown>[] = []
  const write = (fields: object, text = '') => void lines.push({ ...fields, text })
  const document = (more: object = {}) =>
    ({
      upstreams: { up: { url, key }, spare: { url: `${url}/spare` }, ...more },
      routes: [{ path: 'GET|POST /{model}', upstream: 'up', ...route }],
    }) as unknown as Document
  const log = { debug() {}, info: write, warn: write, error: write }
  const core = await startTestServer(t, plugins, document(), log)
  return { core, used, lines, document }
}
const ask = async ({ url }: TestServer, path = '/m', init: RequestInit = {}): Promise<string> => {
  const reply = await fetch(url + path, init)
  const text = await reply.text()
  const { error } = text.startsWith('{') ? (JSON.parse(text) as { error: { code: string } }) : {}
  return `${reply.status} ${error?.code ?? text}`
}
const counted = ({ resources }: TestServer, metric: string) =>
  resources.metrics
    .report()
    .filter(({ name }) => name === metric)
    .map(({ labels, values }) => ({ ...labels, count: values[0] }))

t.test('key failures: a refused key is replaced at once, then left out', async t => {
  const { core, used, lines } = await arrange(t, key => (key === 'a' ? 401 : 200))
  t.equal(await ask(core, '/m', JSON_POST), '200 answer 200 about b')
  t.same(used, ['a', 'b'])
  for (let call = 0; call < 4; call++) t.equal(await ask(core), '200 answer 200 about b')
  t.same(used.slice(2), ['b', 'b', 'b', 'b'])
  t.match(
    lines.filter(({ text }) => String(text).startsWith('key rests')),
    [{ address: /^http:/, key: nameOf('a'), ms: 60_000, text: /refused/ }],
  )
  t.notMatch(JSON.stringify(lines), /"key":"a"|Bearer/)
  t.match(counted(core, 'key_rests_total'), [
    { address: /^http:/, key: nameOf('a'), reason: 'refused', count: 1 },
  ])
})

t.test('key failures: with no key left the client gets our words and no 401', async t => {
  for (const key of ['a', ['a', 'b'], ['a', 'b', 'c']]) {
    const { core, used } = await arrange(t, () => 401, { key })
    t.equal(await ask(core), '502 UPSTREAM_KEY_REFUSED')
    t.equal(used.length, [key].flat().length, 'each key is tried once')
    t.equal(await ask(core), '502 UPSTREAM_KEY_REFUSED', 'a resting key is better than none')
  }
  const spare = await arrange(t, (_, path) => (path === '/spare/m' ? 200 : 401), {
    route: { upstream: ['up', 'spare'] },
  })
  t.equal(await ask(spare.core, '/m', JSON_POST), '200 answer 200 about undefined')
  t.same(spare.used, ['a', 'b', 'undefined'], 'then another target')
  await ask(spare.core)
  t.same(spare.used.slice(3), ['undefined'], 'an upstream whose keys rest is not tried first')
})

t.test('key failures: an upstream without a key may answer 401', async t => {
  const { core } = await arrange(t, () => 401, { key: '' })
  t.equal(await ask(core), '401 answer 401 about undefined')
})

t.test('key failures: a 429 rests the key for its target, not the address', async t => {
  const byPath: Stage = {
    targets: true,
    async handle(exchange, next) {
      exchange.targets = [{ upstream: 'up', name: exchange.params.model ?? '' }]
      await next()
    },
  }
  const { core, used, lines } = await arrange(
    t,
    (key, path) => (key === 'a' && path === '/m' ? 429 : 200),
    { plugins: { byPath: pluginOf(byPath) } },
  )
  t.equal(await ask(core, '/m', JSON_POST), '200 answer 200 about b')
  for (let call = 0; call < 3; call++) await ask(core)
  t.same(used, ['a', 'b', 'b', 'b', 'b'])
  for (let call = 0; call < 2; call++) await ask(core, '/other')
  t.same(used.slice(5).sort(), ['a', 'b'], 'other targets use the key further')
  t.match(
    lines.filter(({ text }) => String(text).startsWith('key rests')),
    [{ key: nameOf('a'), ms: 7_000, target: 'm', text: /limited/ }],
  )
})

for (const [form, limited] of [
  ['an HTTP date', () => ({ 'retry-after': new Date(Date.now() + 30_000).toUTCString() })],
  ['retry-after-ms', () => ({ 'retry-after-ms': '29500' })],
] as const)
  t.test(`key failures: a 429 with ${form} rests the key that long`, async t => {
    const statusOf = (key: string) => (key === 'a' ? 429 : 200)
    const { core, used, lines } = await arrange(t, statusOf, { limited })
    for (let call = 0; call < 4; call++) await ask(core, '/m', JSON_POST)
    t.same(used, ['a', 'b', 'b', 'b', 'b'])
    const [rest] = lines.filter(({ text }) => String(text).startsWith('key rests'))
    const ms = Number(rest?.ms)
    t.ok(ms > 20_000 && ms <= 30_000, `it rests for ${ms} ms`)
  })

t.test('key failures: with every key limited the client gets the 429', async t => {
  const { core, used } = await arrange(t, () => 429)
  const reply = await fetch(`${core.url}/m`, JSON_POST)
  t.equal(reply.status, 429)
  t.equal(reply.headers.get('retry-after'), '7')
  t.equal(used.length, 2)
})

t.test('key failures: a streamed body is not sent again', async t => {
  const { core, used } = await arrange(t, key => (key === 'a' ? 401 : 200))
  t.equal(await ask(core, '/m', streamPost()), '502 UPSTREAM_KEY_REFUSED')
  t.equal(await ask(core, '/m', streamPost()), '200 answer 200 about b')
  t.same(used, ['a', 'b'])
})

t.test('key failures: another key is not a retry, and retries start over', async t => {
  const { core, used } = await arrange(t, key => (key === 'a' ? 401 : 503), {
    route: { retries: 1 },
  })
  t.equal(await ask(core), '503 answer 503 about b')
  t.same(used, ['a', 'b', 'b'])
})

const refusal = errors({ REFUSED: [502, 'ours', { retryable: true, refusesKey: true }] })
t.test('key failures: a stage that finds the key refused rests it', async t => {
  const judging: Stage = {
    async forward(attempt, next) {
      await next()
      if (attempt.reply.status === 403) throw refusal('REFUSED')
    },
  }
  const { core, used } = await arrange(t, key => (key === 'a' ? 403 : 200), {
    plugins: { judging: pluginOf(judging) },
  })
  t.equal(await ask(core), '200 answer 200 about b')
  t.equal(await ask(core), '200 answer 200 about b')
  t.same(used, ['a', 'b', 'b'])
  const plain = await arrange(t, () => 403)
  t.equal(await ask(plain.core), '403 answer 403 about a')
  await ask(plain.core)
  t.same(plain.used, ['a', 'b'], 'a 403 alone rests none')
})

const limited = errors({ LIMITED: [429, 'ours', { headers: { 'retry-after': '50' } }] })
t.test('key failures: a stage that reads a longer wait extends the limit', async t => {
  const reading: Stage = {
    async forward(attempt, next) {
      await next()
      if (attempt.reply.status === 429) throw limited('LIMITED')
    },
  }
  const { core, used, document } = await arrange(t, key => (key === 'a' ? 429 : 200), {
    plugins: { reading: pluginOf(reading) },
  })
  t.equal(await ask(core), '200 answer 200 about b')
  t.same(used, ['a', 'b'])
  const { upstreams } = await core.swap({}, document())
  const until = upstreams.get('up')?.keys?.list[0]?.health.limits.get('') ?? 0
  t.ok(until - performance.now() > 20_000, 'of 50 s, where the header said 7')
})

t.test('key failures: resting keys outlive a reload; a new key does not rest', async t => {
  const { core, used, document } = await arrange(t, key => (key === 'a' ? 401 : 200))
  await ask(core)
  await core.swap({}, document())
  await ask(core)
  await ask(core)
  t.same(used, ['a', 'b', 'b', 'b'])
})

t.test('key failures: a pinned call keeps its key, a new pin takes one that works', async t => {
  const { hosts, plugin: task } = recordHosts()
  let refused = 'none'
  const { used } = await arrange(t, key => (key === refused ? 401 : 200), { plugins: { task } })
  const [host] = hosts as [Host]
  const target = host.pin({ upstream: 'up', rules: { retryOn: [500] } })
  t.equal(target.rules, undefined)
  t.equal(target.pin?.key, nameOf('a'))
  refused = 'a'
  const poll = { method: 'GET', path: '/m' }
  const call = { after: 'task', id: 'task_1', request: poll, slots: {}, targets: [target] }
  const [route = ''] = ['GET|POST /{model}']
  for (let poll = 0; poll < 2; poll++) {
    const reply = await host.run(route, call)
    t.equal(reply.status, 401, 'the task decides what that means')
    await reply.bytes(1_000)
  }
  t.same(used, ['a', 'a'])
  for (let pin = 0; pin < 3; pin++) t.equal(host.pin({ upstream: 'up' }).pin?.key, nameOf('b'))
})

t.test('key failures: a direct send reports a refused key, too', async t => {
  const { hosts, plugin: task } = recordHosts()
  const { used } = await arrange(t, key => (key === 'a' ? 401 : 200), { plugins: { task } })
  const [host] = hosts as [Host]
  for (let call = 0; call < 3; call++) await host.send('up', { method: 'GET', path: '/m' })
  t.same(used, ['a', 'b', 'b'])
})
