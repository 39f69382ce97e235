/** `host.run`: a later turn of a task runs the stages behind one of them, with the same gates. */
import { once } from 'node:events'
import t from 'tap'
import type {
  Exchange,
  Fault,
  Host,
  Plugin,
  ResumedCall,
  Slot,
  Stage,
  Statement,
} from '../../../engine/plugin.ts'
import {
  pluginOf,
  startHttpUpstream,
  startTestServer,
  type TestServer,
} from '../../helpers/gateway/test-server.ts'

type Tap = Parameters<typeof startTestServer>[0]
const ACCOUNT: Slot<{ id: number }> = { name: 'account', keep: true }
const statement = (name: string): Statement => ({ sql: { name, text: '' }, values: [] })
const storeFault: Fault = {
  code: 'STORE_UNAVAILABLE',
  message: 'unavailable',
  status: 503,
  expose: true,
}

const TURN: ResumedCall<Exchange> = {
  after: 'task',
  id: 'task_1',
  request: { method: 'POST', path: '/ok?u=a?b&c', headers: { 'Content-Type': 'text/plain' } },
  slots: { account: { id: 7 } },
  targets: [{ upstream: 'up' }],
}

/** A gateway with these plugins behind `task`, whose host resumes calls, and an upstream that logs
 *  its requests. */
const arrange = async (t: Tap, behind: Readonly<Record<string, Plugin>> = {}) => {
  const log: string[] = []
  const hosts: Host[] = []
  const upstream = await startHttpUpstream(t, (incoming, response) => {
    log.push(`${incoming.method} ${incoming.url} ${incoming.headers['content-type']}`)
    incoming.resume()
    if (incoming.url?.startsWith('/ok')) response.end('done')
    else if (incoming.url === '/dies') response.write('half', () => response.destroy())
    else response.write('endless')
  })
  const taskPlugin: Plugin = {
    schema: {},
    default: {},
    setup(_, host) {
      hosts.push(host)
      return {
        async handle(exchange, next) {
          log.push('task')
          exchange.slots.set(ACCOUNT, { id: 1 })
          await next()
        },
      }
    },
  }
  const before = pluginOf({
    async handle(_, next) {
      log.push('before')
      await next()
    },
  })
  const core = await startTestServer(
    t,
    { before, task: taskPlugin, ...behind },
    {
      upstreams: { up: { url: upstream }, other: { url: upstream } },
      routes: [{ path: 'POST /{what}', name: 'r', upstream: 'other' }],
    },
  )
  const run = (more: Partial<ResumedCall<Exchange>> = {}, route = 'r') =>
    (hosts[0] as Host).run(route, { ...TURN, ...more })
  return { core, log, run }
}
const text = async (reply: Promise<{ bytes(limit: number): Promise<Uint8Array> }>) =>
  Buffer.from(await (await reply).bytes(100)).toString()
/** Replaces the snapshot; resolves when no call retains the old one. */
const retireSnapshot = async (core: TestServer): Promise<void> => {
  await (await core.swap({}, {})).retire()
}

t.test('resumed call: runs only the stages behind the named one, with the saved slots', async t => {
  const exchanges: unknown[] = []
  const stage: Stage = {
    async handle(exchange, next) {
      const { id, kind, request, slots, targets } = exchange
      exchanges.push({ id, kind, account: slots.need(ACCOUNT), saved: slots.toJson(), targets })
      exchanges.push([request.method, request.path, [...request.query], request.headers])
      await next()
    },
  }
  const { log, run } = await arrange(t, { translate: pluginOf(stage) })
  t.equal(await text(run()), 'done')
  t.same(log, ['POST /ok?u=a?b&c text/plain'])
  const account = { id: 7 }
  t.same(exchanges, [
    { id: 'task_1', kind: 'turn', account, saved: { account }, targets: TURN.targets },
    [
      'POST',
      '/ok',
      [
        ['u', 'a?b'],
        ['c', ''],
      ],
      { 'content-type': 'text/plain' },
    ],
  ])
})

t.test('resumed call: its own stage surrounds the others, and may refuse the call', async t => {
  const order: unknown[] = []
  const stage: Stage = {
    async handle({ slots }, next) {
      order.push(slots.need(ACCOUNT))
      await next()
      order.push('behind')
    },
  }
  const { log, run } = await arrange(t, { translate: pluginOf(stage) })
  const handle = async (exchange: Exchange, next: () => Promise<void>): Promise<void> => {
    exchange.slots.set(ACCOUNT, { id: 8 })
    await next()
    order.push('own')
    exchange.reply.through({ end: (_, out) => out.end(Buffer.from('changed')) })
  }
  t.equal(await text(run({ handle })), 'changed')
  t.same(order, [{ id: 8 }, 'behind', 'own'])
  const refuse = run({ handle: () => Promise.reject(storeFault) })
  await t.rejects(refuse, { code: 'STORE_UNAVAILABLE' })
  t.equal(log.length, 1, 'the upstream was not called')
})

t.test('resumed call: its body is available as bytes, stream and JSON', async t => {
  const bodies: unknown[] = []
  const stage: Stage = {
    async handle({ request }, next) {
      bodies.push(await request.json(), Buffer.from(await request.bytes()).toString())
      for await (const chunk of request.stream()) bodies.push(chunk.length)
      bodies.push(request.client)
      await next()
    },
  }
  const { run } = await arrange(t, { translate: pluginOf(stage) })
  const body = Buffer.from('{"a":1}')
  await text(run({ request: { ...TURN.request, body } }))
  t.same(bodies, [{ a: 1 }, '{"a":1}', 7, { address: '', encrypted: false }])
})

t.test(
  'resumed call: statements are durable before the reply, and again before its end',
  async t => {
    const stage: Stage = {
      async handle(exchange, next) {
        exchange.writes.add(statement('before'))
        await next()
        exchange.reply.through({
          end(tail, out) {
            exchange.writes.add(statement('after'))
            out.end(tail)
          },
        })
      },
    }
    const { core, run } = await arrange(t, { meter: pluginOf(stage) })
    core.store.delay = 10
    const reply = await run()
    t.same(core.store.lines, ['begin before()', 'durable before()'])
    t.equal(await text(Promise.resolve(reply)), 'done')
    t.same(core.store.lines.slice(2), ['begin after()', 'durable after()'])
    core.store.refuse = names => (names.includes('after') ? storeFault : undefined)
    await t.rejects(text(run()), storeFault, 'a failed commit fails the reply')
    core.store.refuse = names => (names.includes('before') ? storeFault : undefined)
    await t.rejects(run(), storeFault)
    await retireSnapshot(core)
  },
)

t.test('resumed call: onEnd gets the outcome and the bytes sent', async t => {
  const ends: unknown[] = []
  const stage: Stage = {
    async handle(exchange, next) {
      exchange.onEnd(({ fault, ms, ...outcome }) => {
        ends.push({ ...outcome, code: fault?.code, hasFirstByte: ms.first !== undefined })
      })
      exchange.onEnd(() => {
        throw new Error('a bug in a listener')
      })
      await next()
    },
  }
  const { core, run } = await arrange(t, { watch: pluginOf(stage) })
  await text(run())
  await t.rejects(text(run({ request: { ...TURN.request, path: '/dies' } })), {
    code: 'TARGET_CUT',
  })
  await t.rejects(run({ targets: [] }), { code: 'NO_TARGET' })
  const attempt = { attempts: 1, target: { upstream: 'up' }, hasFirstByte: true }
  t.same(ends, [
    { end: 'complete', status: 200, ...attempt, bytes: 4, code: undefined },
    { end: 'refused', status: 200, ...attempt, bytes: 4, code: 'TARGET_CUT' },
    {
      end: 'refused',
      status: 502,
      attempts: 0,
      bytes: 0,
      code: 'NO_TARGET',
      hasFirstByte: false,
    },
  ])
  await retireSnapshot(core)
  t.pass('every call released the snapshot')
})

t.test('resumed call: statements of a stage that refuses are committed', async t => {
  const stage: Stage = {
    async handle(exchange) {
      exchange.writes.add(statement('release'))
      throw storeFault
    },
  }
  const { core, run } = await arrange(t, { meter: pluginOf(stage) })
  await t.rejects(run(), storeFault)
  t.same(core.store.lines, ['begin release()', 'durable release()'])
  await retireSnapshot(core)
})

t.test(
  'resumed call: a signal cancels it before the stages, during them and amid the reply',
  async t => {
    const { core, log, run } = await arrange(t)
    const cancellation = { code: 'TURN_CANCELLED', status: 499 }
    await t.rejects(run({ signal: AbortSignal.abort() }), cancellation)
    t.same(log, [], 'nothing was sent')
    const controller = new AbortController()
    const reply = await run({
      request: { ...TURN.request, path: '/endless' },
      signal: controller.signal,
    })
    const reading = reply.bytes(100)
    controller.abort()
    await t.rejects(reading, cancellation)
    const early = new AbortController()
    const hanging = pluginOf({
      async handle(exchange) {
        setImmediate(() => early.abort())
        await once(exchange.signal, 'abort')
        exchange.answer(200)
      },
    })
    await retireSnapshot(core)
    const other = await arrange(t, { hanging })
    await t.rejects(other.run({ signal: early.signal }), cancellation)
    await retireSnapshot(other.core)
  },
)

t.test(
  'resumed call: every stage runs behind an unknown plugin, none without the route',
  async t => {
    const { log, run, core } = await arrange(t)
    await text(run({ after: 'unknown' }))
    t.same(log.slice(0, 2), ['before', 'task'])
    log.length = 0
    await text(run({ after: 'before' }))
    t.equal(log[0], 'task')
    await t.rejects(run({}, 'gone'), {
      code: 'ROUTE_GONE',
      status: 404,
      message: 'There is no route "gone" any more.',
    })
    await retireSnapshot(core)
  },
)

t.test('background calls: a drain waits for them, then cuts them and refuses new ones', async t => {
  const { core, run } = await arrange(t)
  const { backgroundCalls: calls } = core.resources
  await calls.whenIdle()
  const endless = run({ request: { ...TURN.request, path: '/endless' } })
  const reading = (await endless).bytes(100)
  let isIdle = false
  const waiting = calls.whenIdle().then(() => {
    isIdle = true
  })
  t.equal(await text(run()), 'done')
  t.notOk(isIdle, 'another call is still under way')
  const drainFault = { code: 'TURN_DRAINED', status: 503 }
  calls.cut()
  await t.rejects(reading, drainFault)
  await waiting
  await t.rejects(run(), drainFault)
  await retireSnapshot(core)
})
