/** A compiled route: its chain of stages, its limits, and the path of its upstream requests. */
import t from 'tap'
import type { Exchange, Fault, Plugin } from '../../../engine/plugin.ts'
import type { Call } from '../../../engine/request/exchange.ts'
import type { CompiledRoute } from '../../../engine/snapshot/snapshot.ts'
import type { UpstreamAttempt } from '../../../engine/upstream/attempt.ts'
import type { Upstream } from '../../../engine/upstream/upstreams.ts'
import { compileSnapshot, type Plugins, pluginOf } from '../../helpers/gateway/test-server.ts'

const UPSTREAMS = {
  a: { url: 'http://127.0.0.1:9', timeout: { connect: '1s', first_byte: '2s', idle: '3s' } },
  b: { url: 'http://127.0.0.1:9' },
}
/** The only route of a document. */
const routeOf = async (options: object, plugins: Plugins = {}): Promise<CompiledRoute> => {
  const snapshot = await compileSnapshot(plugins, {
    upstreams: UPSTREAMS,
    routes: [{ path: 'POST /v1/{id}', upstream: 'a', ...options }],
  })
  return snapshot.routes[0] as CompiledRoute
}
/** A plugin that logs its runs in both rings. */
const marker = (name: string, log: string[], more: Partial<Plugin> = {}): Plugin =>
  pluginOf(
    {
      async handle(_, next) {
        log.push(name)
        await next()
      },
      async forward(_, next) {
        log.push(`${name} forward`)
        await next()
      },
    },
    more,
  )

t.test('route: its chain has the pipeline plugins with options or a default', async t => {
  const log: string[] = []
  const receivedOptions: unknown[] = []
  const optional: Plugin = {
    schema: {},
    setup(options) {
      receivedOptions.push(options)
      return {}
    },
  }
  const plugins = {
    usual: marker('usual', log),
    optional,
    unused: optional,
    own: marker('own', log),
  }
  const route = await routeOf({ optional: { a: 1 }, pipeline: ['elsewhere'] }, plugins)
  t.same(
    route.stages.map(({ name }) => name),
    ['usual', 'optional', 'own'],
  )
  t.same(receivedOptions, [{ a: 1 }])
  await route.runWith(async () => void log.push('last'))({} as Call)
  await route.forwardWith(async () => void log.push('sent'))({} as UpstreamAttempt)
  t.same(log, ['usual', 'own', 'last', 'usual forward', 'own forward', 'sent'])
})

t.test('route: options override a default', async t => {
  const receivedOptions: unknown[] = []
  const usual: Plugin = {
    schema: {},
    default: 'default',
    setup(options) {
      receivedOptions.push(options)
      return {}
    },
  }
  const route = await routeOf({}, { usual })
  await routeOf({ usual: 'explicit' }, { usual })
  t.same(receivedOptions, ['default', 'explicit'])
  t.equal(route.route.has('usual'), true)
  t.equal(route.route.has('upstream'), true)
  t.equal(route.route.has('other'), false)
})

t.test('route: the name defaults to the path', async t => {
  const plain = { name: 'POST /v1/{id}', method: 'POST', pattern: '/v1/{id}' }
  t.match((await routeOf({})).route, plain)
  t.match((await routeOf({ name: 'x' })).route, { ...plain, name: 'x' })
})

t.test('route: one, several or weighted targets', async t => {
  t.same((await routeOf({})).targets, [{ upstream: 'a' }])
  t.same((await routeOf({ upstream: ['b', 'a'] })).targets, [{ upstream: 'b' }, { upstream: 'a' }])
  const weightedUpstreams = [{ to: 'a', weight: 3 }, { to: 'b' }]
  const { targets } = await routeOf({ upstream: weightedUpstreams })
  t.same(targets, [{ upstream: 'a', weight: 3 }, { upstream: 'b' }])
  t.equal(Object.isFrozen(targets), true)
})

t.test('route: defaults of missing values', async t => {
  const { body, rules, hangup, ping, websocket } = await routeOf({})
  const { outlines: _, ...limits } = body
  t.same(limits, { limit: 33_554_432, encodings: [], inflatedLimit: 33_554_432 })
  t.match(rules, { balance: 'first', retries: 0 })
  t.match({ hangup, ping, websocket }, { hangup: 'cancel', ping: undefined })
  t.equal(websocket.payload, 16_777_216)
  t.match(rules.spanId(), /^[0-9a-f]{16}$/)
  t.not(rules.spanId(), rules.spanId())
})

t.test('route: explicit values override defaults', async t => {
  const { body, rules, hangup, ping, websocket } = await routeOf({
    body: { limit: '1KiB', encodings: ['gzip'], inflated: '1MiB' },
    balance: 'weighted',
    retries: 2,
    hangup: { drain: '30s', bytes: '2KiB' },
    ping: '15s',
    websocket: { payload: '1KiB' },
  })
  const { outlines: _, ...limits } = body
  t.same(limits, { limit: 1_024, encodings: ['gzip'], inflatedLimit: 1_048_576 })
  t.match(rules, { balance: 'weighted', retries: 2 })
  t.same(
    { hangup, ping },
    {
      hangup: { ms: 30_000, bytes: 2_048 },
      ping: { every: 15_000, event: Buffer.from(': ping\n\n') },
    },
  )
  t.equal(websocket.payload, 1_024)
  const limitedRoute = await routeOf({ body: { limit: '1KiB' }, hangup: 'cancel' })
  t.equal(
    limitedRoute.body.inflatedLimit,
    1_024,
    'the body limit is also the limit after inflation',
  )
  t.equal(limitedRoute.hangup, 'cancel')
})

t.test('route: timeouts of the route override those of the upstream', async t => {
  const plain = (await routeOf({})).rules
  const own = (await routeOf({ timeout: { first_byte: '30m' } })).rules
  const a = plain.upstreams.get('a') as Upstream
  const rest = { first_content: Number.POSITIVE_INFINITY, preamble: 5_000 }
  t.same(plain.deadlines(a), { ...rest, connect: 1_000, first_byte: 2_000, idle: 3_000 })
  t.same(own.deadlines(a), { ...rest, connect: 1_000, first_byte: 1_800_000, idle: 3_000 })
  t.equal(own.deadlines(a), own.deadlines(a), 'read once')
})

t.test('route: the upstream path is unchanged or rewritten with parameters', async t => {
  const upstreamPath = async (options: object, members: object): Promise<string> => {
    const call = { request: { path: '/v1/7', search: '' }, params: { id: '7' }, ...members }
    return (await routeOf(options)).rules.path(call as unknown as Call)
  }
  const search = { request: { path: '/v1/7', search: 'a=1&b' } }
  t.equal(await upstreamPath({}, {}), '/v1/7')
  t.equal(await upstreamPath({}, search), '/v1/7?a=1&b')
  t.equal(await upstreamPath({ rewrite: '/v2/{id}/x' }, {}), '/v2/7/x')
  t.equal(await upstreamPath({ rewrite: '/v2/{id}' }, search), '/v2/7?a=1&b')
  t.equal(await upstreamPath({ rewrite: '/v2?version=3' }, search), '/v2?version=3&a=1&b')
  t.equal(await upstreamPath({ rewrite: '/v2/{other}' }, {}), '/v2/')
  for (const [id, path] of [
    ['a b', '/v2/a%20b'],
    ['é"', '/v2/%C3%A9%22'],
    ['a:b@c', '/v2/a:b@c'],
    ['$&', '/v2/$&'],
  ] as const)
    t.equal(await upstreamPath({ rewrite: '/v2/{id}' }, { params: { id } }), path)
})

t.test('route: the first stage with `fail` renders all faults, otherwise the engine', async t => {
  const fault: Fault = { code: 'BUSY', message: 'Busy.', status: 503, expose: true }
  const exchange = { id: 'req_1' } as Exchange
  const rendering = (name: string): Plugin =>
    pluginOf({ fail: ({ status }) => ({ status, headers: {}, body: Buffer.from(name) }) })
  const renderWith = async (plugins: Plugins): Promise<string> =>
    Buffer.from((await routeOf({}, plugins)).fail(fault, exchange).body).toString()
  t.equal(await renderWith({ a: pluginOf({}), b: rendering('b'), c: rendering('c') }), 'b')
  t.match(JSON.parse(await renderWith({ a: pluginOf({}) })), { error: { code: 'BUSY' } })
})

t.test('route: members of a stage keep their `this`', async t => {
  class Counting {
    count = 0
    async handle(_: Exchange, next: () => Promise<void>): Promise<void> {
      this.count++
      await next()
    }
    async forward(_: unknown, next: () => Promise<void>): Promise<void> {
      this.count++
      await next()
    }
  }
  const stage = new Counting()
  const route = await routeOf({}, { counting: pluginOf(stage) })
  await route.runWith(async () => {})({} as Call)
  await route.forwardWith(async () => {})({} as UpstreamAttempt)
  t.equal(stage.count, 2)
})
