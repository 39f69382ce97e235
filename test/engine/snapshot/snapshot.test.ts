/** The compiled configuration: requests retain it, and it is released after the last one. */
import t from 'tap'
import type { Host, Plugin } from '../../../engine/plugin.ts'
import type { Snapshot } from '../../../engine/snapshot/snapshot.ts'
import {
  compileSnapshot,
  freshResources,
  pluginOf,
  startHttpUpstream,
  startTestServer,
  type TestServer,
} from '../../helpers/gateway/test-server.ts'

const UP = { up: { url: 'http://127.0.0.1:9' } }
const snapshotWith = (...paths: readonly string[]): Promise<Snapshot> =>
  compileSnapshot(
    {},
    { upstreams: UP, routes: paths.map(path => ({ path, name: `n ${path}`, upstream: 'up' })) },
  )

t.test('snapshot: finds routes by method, path and name', async t => {
  const snapshot = await snapshotWith('GET|HEAD /v1/a', 'POST /v1/{id}', 'WS /v1/realtime')
  t.equal(snapshot.find('HEAD', '/v1/a')?.value.route.name, 'n GET|HEAD /v1/a')
  t.equal(snapshot.findExact('GET', '/v1/a')?.value, snapshot.find('GET', '/v1/a')?.value)
  t.equal(snapshot.findExact('POST', '/v1/7'), undefined)
  t.same(snapshot.find('POST', '/v1/7')?.params, { id: '7' })
  t.equal(snapshot.find('PUT', '/v1/a'), undefined)
  t.same([...snapshot.methodsOf('/v1/a')].sort(), ['GET', 'HEAD', 'POST'])
  t.equal(snapshot.findByName('n POST /v1/{id}')?.route.pattern, '/v1/{id}')
  t.equal(snapshot.findByName('POST /v1/{id}'), undefined)
  t.match(snapshot, { version: 3, hash: 'h3', settings: { listen: '127.0.0.1:8080' } })
})

t.test('snapshot: WebSocket routes are separate', async t => {
  const snapshot = await snapshotWith('POST /v1/x', 'WS /v1/realtime', 'WS /ws/{id}')
  t.equal(snapshot.findWebSocket('/v1/realtime')?.value.route.method, 'WS')
  t.same(snapshot.findWebSocket('/ws/7')?.params, { id: '7' })
  t.equal(snapshot.find('GET', '/v1/realtime'), undefined)
  t.equal(snapshot.findWebSocket('/v1/x'), undefined)
  t.equal(snapshot.findNearest('/ws/7')?.route.method, 'WS')
  t.equal((await snapshotWith('WS /ws')).findNearest('/ws/x')?.route.pattern, '/ws')
  t.equal((await snapshotWith()).findNearest('/'), undefined)
})

t.test('snapshot: released once, when it is retired and its last user released it', async t => {
  const resources = freshResources()
  const snapshot = await compileSnapshot(
    {},
    { upstreams: UP, routes: [{ path: 'GET /', upstream: 'up' }] },
    resources,
  )
  snapshot.retain()
  snapshot.retain()
  let retiredCount = 0
  const both = [snapshot.retire(), snapshot.retire()].map(each => each.then(() => retiredCount++))
  snapshot.release()
  await new Promise(resolve => setImmediate(resolve))
  t.equal(retiredCount, 0)
  t.equal(resources.shared.size, 1)
  t.equal(snapshot.users, 1)
  snapshot.release()
  await Promise.all(both)
  t.equal(retiredCount, 2, 'every call of retire resolves')
  t.equal(resources.shared.size, 0)
  snapshot.retain()
  snapshot.release()
  await snapshot.retire()
  t.equal(resources.shared.size, 0, 'late use changes nothing')
})

t.test('snapshot: releases before it retires do not end it', async t => {
  const resources = freshResources()
  const routes = [{ path: 'GET /', upstream: 'up' }]
  const snapshot = await compileSnapshot({}, { upstreams: UP, routes }, resources)
  snapshot.retain()
  snapshot.release()
  t.equal(resources.shared.size, 1)
  await snapshot.retire()
  t.equal(resources.shared.size, 0)
})

/** A plugin that counts in a shared resource, sends version and count in a header, and records
 *  closed versions. */
const counting = (version: string, closedVersions: string[]): Plugin => ({
  schema: {},
  default: {},
  setup(_, host: Host) {
    const counter = host.share('counter', version, (previous: { count: number } | undefined) => ({
      count: previous?.count ?? 0,
      close: () => void closedVersions.push(version),
    }))
    return {
      async handle(exchange, next) {
        counter.count++
        await next()
        exchange.reply.headers['x-count'] = `${version} ${counter.count}`
      },
    }
  },
})

t.test(
  'snapshot: an open stream keeps its snapshot while new requests get the new one',
  async t => {
    const feed = Promise.withResolvers<void>()
    const upstream = await startHttpUpstream(t, (incoming, response) => {
      if (incoming.url !== '/stream') return void response.end('plain')
      response.write('first ')
      void feed.promise.then(() => response.end('last'))
    })
    const closedVersions: string[] = []
    const document = {
      upstreams: { up: { url: upstream } },
      routes: ['/stream', '/plain'].map(path => ({ path: `GET ${path}`, upstream: 'up' })),
    }
    const core: TestServer = await startTestServer(
      t,
      { counting: counting('one', closedVersions) },
      document,
    )
    const headersOf = async (path: string): Promise<string> => {
      const { headers } = await fetch(core.url + path)
      return `${headers.get('x-tollgate-version')}: ${headers.get('x-count')}`
    }
    t.equal(await headersOf('/plain'), '1: one 1')
    const stream = await fetch(`${core.url}/stream`)
    t.equal(stream.headers.get('x-tollgate-version'), '1')
    await core.swap({ counting: counting('two', closedVersions) }, document)
    t.equal(
      await headersOf('/plain'),
      '2: two 3',
      'the new version continues the count of the old one',
    )
    t.same(closedVersions, [], 'the old version is still in use')
    t.equal(core.resources.shared.size, 2, 'the counter and one upstream address')
    feed.resolve()
    t.equal(await stream.text(), 'first last', 'the stream is complete')
    while (closedVersions.length === 0) await new Promise(resolve => setImmediate(resolve))
    t.same(closedVersions, ['one'])
    t.equal(await headersOf('/plain'), '2: two 4')
  },
)

t.test('snapshot: an upstream removed by a reload serves open requests', async t => {
  const feed = Promise.withResolvers<void>()
  const upstream = await startHttpUpstream(t, (_, response) => {
    response.write('first ')
    void feed.promise.then(() => response.end('last'))
  })
  const core = await startTestServer(
    t,
    {},
    { upstreams: { up: { url: upstream } }, routes: [{ path: 'GET /', upstream: 'up' }] },
  )
  const stream = await fetch(core.url)
  const own = pluginOf({
    answers: true,
    handle: async exchange => void exchange.answer(200, 'new'),
  })
  await core.swap({ own }, { routes: [{ path: 'GET /' }] })
  t.equal(await (await fetch(core.url)).text(), '"new"')
  t.equal(core.resources.shared.size, 1)
  feed.resolve()
  t.equal(await stream.text(), 'first last')
  while (core.resources.shared.size > 0) await new Promise(resolve => setImmediate(resolve))
  t.pass('its connections are closed after these requests')
})

t.test('snapshot: jobs end when it retires', async t => {
  const log: string[] = []
  const resources = freshResources({
    jobs: {
      start(name: string) {
        log.push(`start ${name}`)
        return { wake() {}, stop: () => void log.push(`stop ${name}`) }
      },
      close: async () => {},
    } as never,
  })
  const sweeping: Plugin = {
    schema: {},
    default: {},
    setup(_, host) {
      host.job('sweep', 1_000, async () => {})
      return { answers: true }
    },
  }
  const snapshot = await compileSnapshot({ sweeping }, { routes: [{ path: 'GET /' }] }, resources)
  t.same(log, ['start sweep'])
  await snapshot.retire()
  t.same(log, ['start sweep', 'stop sweep'])
})
