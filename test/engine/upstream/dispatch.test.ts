/** The attempt loop: which target is tried first and next, and when no target is tried again. */
import t from 'tap'
import type { Attempt, Exchange, Json, Plugin, Stage } from '../../../engine/plugin.ts'
import {
  pluginOf,
  startHttpUpstream,
  startTestServer,
  type TestServer,
} from '../../helpers/gateway/test-server.ts'
import { scaled } from '../../helpers/machine-speed.ts'

type Tap = Parameters<typeof startTestServer>[0]
const DEAD = 'http://127.0.0.1:1'

/** Upstreams by name with a scripted response; `log` lists their requests in order. */
const arrange = async (
  t: Tap,
  answers: Readonly<Record<string, number | 'close' | 'silent'>>,
  options: object = {},
  plugins: Readonly<Record<string, Plugin>> = {},
) => {
  const log: string[] = []
  const upstreams: Record<string, { url: string }> = { dead: { url: DEAD } }
  for (const [name, behavior] of Object.entries(answers))
    upstreams[name] = {
      url: await startHttpUpstream(t, async (incoming, response) => {
        let body = ''
        try {
          for await (const part of incoming) body += part
        } catch {
          return
        }
        log.push(`${name} ${incoming.method} ${body}`)
        if (behavior === 'close') return void response.destroy()
        if (behavior === 'silent') return
        response
          .writeHead(behavior, { 'x-from': name, 'retry-after': '7' })
          .end(`answer of ${name}`)
      }),
    }
  const core = await startTestServer(t, plugins, {
    upstreams,
    routes: ['GET', 'POST'].map(method => ({ path: `${method} /`, name: method, ...options })),
  })
  return { core, log }
}
const ask = async ({ url }: TestServer, init: RequestInit = {}): Promise<string> => {
  const reply = await fetch(url, init)
  const text = await reply.text()
  const { error } = text.startsWith('{') ? (JSON.parse(text) as { error: { code: string } }) : {}
  return `${reply.status} ${error?.code ?? text}`
}
const JSON_POST = { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } }
/** A body that is not JSON and has no length: it is streamed to the upstream. */
const streamPost = (...parts: string[]): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/octet-stream' },
  duplex: 'half',
  body: new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(Buffer.from(part))
      controller.close()
    },
  }),
})

t.test('dispatch: a refused connection goes to the next target, with any method', async t => {
  const { core, log } = await arrange(t, { a: 200 }, { upstream: ['dead', 'a'] })
  t.equal(await ask(core), '200 answer of a')
  t.equal(await ask(core, JSON_POST), '200 answer of a')
  t.equal(await ask(core, streamPost('x', 'y')), '200 answer of a', 'its body was not sent yet')
  t.same(log, ['a GET ', 'a POST {}', 'a POST xy'])
})

t.test(
  'dispatch: the sent body is there for the next attempt, and gone behind a reply',
  async t => {
    const attempts: Attempt[] = []
    const watching = pluginOf({
      forward: async (attempt, next) => {
        attempts.push(attempt)
        attempt.request.body = Buffer.from('{"sent":1}')
        await next()
        t.same(attempt.request.body, Buffer.from('{"sent":1}'), 'a stage may send it again')
      },
    })
    const upstream = ['refuses', 'answers']
    const { core, log } = await arrange(
      t,
      { refuses: 503, answers: 200 },
      { upstream },
      { watching },
    )
    t.equal(await ask(core, JSON_POST), '200 answer of answers')
    t.same(log, ['refuses POST {"sent":1}', 'answers POST {"sent":1}'])
    t.equal(attempts.at(-1)?.request.body, undefined)
  },
)

t.test(
  'dispatch: JSON of a request is parsed again behind a reply, unless a stage set it',
  async t => {
    const isSameObject: unknown[] = []
    const watching = (own: Json | undefined) =>
      pluginOf({
        async handle({ request }, next) {
          if (own !== undefined) request.setJson(own)
          const before = await request.json()
          await next()
          t.same(request.parsed, before)
          t.same(await request.json(), before)
          isSameObject.push(request.parsed === before)
        },
      })
    for (const own of [undefined, { set: 2 }]) {
      const { core } = await arrange(t, { a: 200 }, { upstream: 'a' }, { watching: watching(own) })
      t.equal(await ask(core, { ...JSON_POST, body: '{"bytes":1}' }), '200 answer of a')
    }
    t.same(isSameObject, [false, true])
  },
)

t.test('dispatch: when all connections fail, the last fault is thrown', async t => {
  const { core } = await arrange(t, {}, { upstream: ['dead'], retries: 2 })
  t.equal(await ask(core), '502 TARGET_UNREACHABLE')
})

t.test(
  'dispatch: a refusal goes to the next target; that of the last one is the reply',
  async t => {
    for (const status of [429, 500, 502, 503, 504, 529]) {
      const both = [{ a: status, b: 200 }, { upstream: ['a', 'b'] }] as const
      const fixture = await arrange(t, ...both)
      t.equal(await ask(fixture.core), '200 answer of b', `${status}`)
      const { core, log } = await arrange(t, ...both)
      // A POST is retried only after a status by which the target did not process it.
      const on = [429, 503, 529].includes(status)
      t.equal(await ask(core, JSON_POST), on ? '200 answer of b' : `${status} answer of a`)
      t.equal(log.length, on ? 2 : 1)
    }
    const { core } = await arrange(t, { a: 500, b: 503 }, { upstream: ['a', 'b'] })
    const last = await fetch(core.url)
    t.equal(last.status, 503)
    t.equal(last.headers.get('retry-after'), '7')
    t.equal(await last.text(), 'answer of b')
  },
)

t.test('dispatch: any other response is the reply', async t => {
  for (const status of [400, 401, 404, 418, 501]) {
    const { core, log } = await arrange(t, { a: status, b: 200 }, { upstream: ['a', 'b'] })
    t.equal(await ask(core), `${status} answer of a`)
    t.equal(log.length, 1)
  }
})

t.test('dispatch: retries repeat the targets as often as the route configures', async t => {
  const one = await arrange(t, { a: 503 }, { upstream: 'a', retries: 2 })
  t.equal(await ask(one.core), '503 answer of a')
  t.equal(one.log.length, 3)
  const two = await arrange(t, { a: 500, b: 503 }, { upstream: ['a', 'b'], retries: 1 })
  await ask(two.core)
  t.same(
    two.log.map(line => line[0]),
    ['a', 'b', 'a', 'b'],
  )
})

t.test('dispatch: a POST that was sent is not sent again, a GET is', async t => {
  const { core, log } = await arrange(t, { a: 'close', b: 200 }, { upstream: ['a', 'b'] })
  t.equal(await ask(core, JSON_POST), '502 TARGET_BROKE')
  t.same(log, ['a POST {}'])
  t.equal(await ask(core), '200 answer of b')
})

t.test('dispatch: after a timeout no target is tried again', async t => {
  const { core, log } = await arrange(
    t,
    { a: 'silent', b: 200 },
    { upstream: ['a', 'b'], timeout: { first_byte: `${scaled(100)}ms` } },
  )
  t.equal(await ask(core, JSON_POST), '504 TARGET_TIMEOUT')
  t.same(log, ['a POST {}'])
})

t.test('dispatch: a streamed body that was begun is not sent again', async t => {
  const { core, log } = await arrange(t, { a: 503, b: 200 }, { upstream: ['a', 'b'], retries: 3 })
  const [x, y] = ['x'.repeat(70_000), 'y'.repeat(70_000)]
  t.equal(await ask(core, streamPost(x, y)), '503 answer of a')
  t.same(log, [`a POST ${x}${y}`])
  t.equal(
    await ask(core, streamPost('x', 'y')),
    '200 answer of b',
    'a short stream is read whole first',
  )
  t.equal(await ask(core, JSON_POST), '200 answer of b', 'a body that was read whole is sent again')
})

t.test('dispatch: a body that a stage read whole can be sent again', async t => {
  const reading: Stage = {
    async handle({ request }, next) {
      await request.bytes()
      await next()
    },
  }
  const rules = { upstream: ['a', 'b'] }
  const { core } = await arrange(t, { a: 503, b: 200 }, rules, { reading: pluginOf(reading) })
  t.equal(await ask(core, streamPost('x')), '200 answer of b')
})

t.test('dispatch: no target is a fault', async t => {
  const empty: Stage = {
    targets: true,
    async handle(exchange, next) {
      exchange.targets = [{ upstream: 'gone' }]
      await next()
    },
  }
  const { core } = await arrange(t, {}, { retries: 3 }, { empty: pluginOf(empty) })
  t.equal(await ask(core), '502 NO_TARGET')
})

t.test('dispatch: the forward ring runs once per attempt, and may answer or refuse', async t => {
  const events: string[] = []
  const ring: Stage = {
    async forward(attempt, next) {
      events.push(`${attempt.number} ${attempt.target.upstream}`)
      if (attempt.target.upstream === 'b') return void attempt.answer(200, { from: 'the ring' })
      await next()
      events.push(String(attempt.reply.status))
    },
  }
  const rules = { upstream: ['dead', 'a', 'b'] }
  const { core, log } = await arrange(t, { a: 503, b: 200 }, rules, { ring: pluginOf(ring) })
  const reply = await fetch(core.url)
  t.same(await reply.json(), { from: 'the ring' })
  t.same(events, ['1 dead', '2 a', '503', '3 b'])
  t.same(log, ['a GET '])
})

t.test(
  'dispatch: a stage that throws on a reply goes to the next target, and ends the reply',
  async t => {
    const closeEvent = Promise.withResolvers<void>()
    const bad = await startHttpUpstream(t, (_, response) => {
      response.on('close', () => closeEvent.resolve())
      response.write('event: error')
    })
    const picky: Stage = {
      async forward(attempt, next) {
        await next()
        const firstBytes = await attempt.reply.peek()
        if (Buffer.from(firstBytes ?? []).toString() === 'event: error')
          throw { code: 'BAD', message: 'bad', status: 502, expose: true, retryable: true }
      },
    }
    const good = await startHttpUpstream(t, (_, response) => void response.end('fine'))
    const core = await startTestServer(
      t,
      { picky: pluginOf(picky) },
      {
        upstreams: { bad: { url: bad, connections: 1 }, good: { url: good } },
        routes: [{ path: 'GET /', upstream: ['bad', 'good'] }],
      },
    )
    t.equal(await ask(core), '200 fine')
    await closeEvent.promise
    t.pass('the connection of the discarded reply is closed')
  },
)

t.test('dispatch: an attempt without a reply is a fault that names its route', async t => {
  const lines: string[] = []
  const log = {
    debug() {},
    info() {},
    warn() {},
    error: (_: object, text = '') => void lines.push(text),
  }
  const missingNext = pluginOf({ async forward() {} })
  const core = await startTestServer(
    t,
    { missingNext },
    { upstreams: { a: { url: DEAD } }, routes: [{ path: 'GET /', name: 'r', upstream: 'a' }] },
    log,
  )
  t.equal(await ask(core), '500 NO_ATTEMPT_REPLY')
  t.match(lines, [/route "r": an attempt ended without a reply.*await next/])
})

t.test('dispatch: targets that a stage sets are tried in their order', async t => {
  const choosing: Stage = {
    async handle(exchange, next) {
      exchange.targets = [{ upstream: 'dead' }, { upstream: 'b', name: 'x', traits: { a: 1 } }]
      await next()
    },
    targets: true,
  }
  const { core, log } = await arrange(t, { a: 200, b: 200 }, {}, { choosing: pluginOf(choosing) })
  t.equal(await ask(core), '200 answer of b')
  t.same(log, ['b GET '])
})

t.test('dispatch: retry_on lists further statuses, also for POST', async t => {
  for (const status of [404, 500, 502, 504]) {
    const answers = { a: status, b: 200 }
    const on = { upstream: ['a', 'b'], retry_on: [404, 500, 502, 504] }
    const { core, log } = await arrange(t, answers, on)
    t.equal(await ask(core, JSON_POST), '200 answer of b')
    t.same(log, ['a POST {}', 'b POST {}'])
    const other = await arrange(t, answers, { ...on, retry_on: [505] })
    t.equal(await ask(other.core, JSON_POST), `${status} answer of a`)
    t.equal(other.log.length, 1)
  }
})

/** A route whose stage sets these targets. */
const withTargets = (targets: Exchange['targets']) => ({
  choosing: pluginOf({
    targets: true,
    async handle(exchange, next) {
      exchange.targets = targets
      await next()
    },
  }),
})

t.test('dispatch: targets may have their own retry_on; a pinned one has none', async t => {
  const rules = { retryOn: [500] }
  const targets = [
    { upstream: 'a', rules },
    { upstream: 'b', rules },
  ]
  const answers = { a: 500, b: 200 }
  const { core } = await arrange(t, answers, {}, withTargets(targets))
  t.equal(await ask(core, JSON_POST), '200 answer of b')
  const pinned = targets.map(target => ({ ...target, pin: { key: 'x' } }))
  const task = await arrange(t, answers, { retry_on: [500] }, withTargets(pinned))
  t.equal(await ask(task.core, JSON_POST), '500 answer of a')
  t.equal(task.log.length, 1, 'the upstream may have created the task')
})

t.test('dispatch: targets with other rules are a fallback, with its own balance', async t => {
  const first = { balance: 'round-robin' } as const
  const fallback = { balance: 'weighted' } as const
  const targets = [
    { upstream: 'a', rules: first },
    { upstream: 'b', rules: first },
    { upstream: 'c', weight: 0, rules: fallback },
    { upstream: 'd', weight: 1, rules: fallback },
  ]
  const healthy = await arrange(t, { a: 200, b: 200, c: 200, d: 200 }, {}, withTargets(targets))
  for (let call = 0; call < 4; call++) await ask(healthy.core)
  t.same(
    healthy.log.map(line => line[0]),
    ['a', 'b', 'a', 'b'],
  )
  const failing = await arrange(t, { a: 503, b: 503, c: 200, d: 200 }, {}, withTargets(targets))
  for (let call = 0; call < 2; call++)
    t.equal(await ask(failing.core, JSON_POST), '200 answer of d')
  t.same(
    failing.log.map(line => line[0]),
    ['a', 'b', 'd', 'a', 'b', 'd'],
  )
  const refused = await arrange(t, { a: 400, b: 400, c: 200, d: 200 }, {}, withTargets(targets))
  t.equal(await ask(refused.core, JSON_POST), '400 answer of a', 'a mistake is not a failure')
})

t.test('dispatch: every attempt is counted with its outcome', async t => {
  const { core } = await arrange(t, { a: 503, b: 200 }, { upstream: ['dead', 'a', 'b'] })
  await ask(core)
  const ends = core.resources.metrics
    .report()
    .filter(({ name }) => name.includes('attempt'))
    .map(({ labels, values }) => [labels.upstream, labels.outcome, values[0]])
  t.same(ends, [
    ['dead', 'TARGET_UNREACHABLE', 1],
    ['a', 'refused', 1],
    ['b', 'answered', 1],
  ])
})
