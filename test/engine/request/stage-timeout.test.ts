/** Stages that never settle, and stages that wait for a body, an upstream or a request. */
import t, { type Test } from 'tap'
import type { Exchange, Host, Plugin, Stage, Statement } from '../../../engine/plugin.ts'
import { rawClient, replies } from '../../helpers/gateway/raw-client.ts'
import { pluginOf, startHttpUpstream, startTestServer } from '../../helpers/gateway/test-server.ts'
import { scaled } from '../../helpers/machine-speed.ts'

/** ms; the gateway checks twice a second. */
const LIMIT = scaled(200)
/** Below the time for the body of a request. */
const LONG = LIMIT + 1_300
const never = new Promise<never>(() => {})
const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))
const settlement: Statement = { sql: { name: 'settle', text: '' }, values: [] }

const arrange = async (
  t: Test,
  plugins: Readonly<Record<string, Plugin>>,
  wait = 0,
  limit = LIMIT,
) => {
  const errors: string[] = []
  let upstreamRequests = 0
  const upstream = await startHttpUpstream(t, async (incoming, response) => {
    upstreamRequests++
    incoming.resume()
    if (incoming.url === '/body') {
      response.write('{')
      await pause(wait)
      return void response.end('}')
    }
    await pause(wait)
    response.end('{}')
  })
  const core = await startTestServer(
    t,
    plugins,
    {
      settings: { timeouts: { stage: `${limit}ms` } },
      upstreams: { up: { url: upstream } },
      routes: [{ path: 'GET|POST /{id}', name: 'own', upstream: 'up' }],
    },
    { debug() {}, info() {}, warn() {}, error: (_, text = '') => void errors.push(text) },
  )
  const ask = async (path = '/x', init: RequestInit = {}) => {
    const reply = await fetch(core.url + path, init)
    return { status: reply.status, text: await reply.text() }
  }
  return { core, ask, errors, upstreamRequests: () => upstreamRequests }
}

const STUCK: Readonly<Record<string, Stage>> = {
  'never calls next()': {
    async handle() {
      await never
    },
  },
  'returns a promise that never settles': { handle: () => never },
  'waits for ever behind next()': {
    async handle(_, next) {
      await next()
      await never
    },
  },
  'waits for ever once it has waited for something else': {
    async handle(_, next) {
      await pause(1)
      await next()
      await never
    },
  },
  'never calls next() in an attempt': { forward: () => never },
  'waits for ever behind an attempt': {
    async forward(_, next) {
      await next()
      await never
    },
  },
}
for (const [description, stage] of Object.entries(STUCK))
  t.test(`stage timeout: 500 where a stage ${description}`, async t => {
    const { core, ask, errors } = await arrange(t, { stuck: pluginOf(stage) })
    const { status, text } = await ask()
    t.equal(status, 500)
    t.match(JSON.parse(text), { error: { code: 'STAGE_STUCK', message: 'Internal error.' } })
    t.match(errors, [`of route "own" took longer than ${LIMIT} ms outside of \`next()\``])
    t.equal(core.server.openRequests, 0)
  })

const KEEPING: Record<string, [Stage, expected: object]> = {
  'in `handle`': [
    {
      async handle(exchange, next) {
        await next()
        exchange.reply.through({ end() {}, fail() {} })
      },
    },
    { status: 500, text: /FILTER_STUCK/ },
  ],
  'in an attempt, before a peek': [
    {
      async forward(attempt, next) {
        await next()
        attempt.reply.through({ end: (tail, out) => void (tail && out.write(tail)) })
        await attempt.reply.peek()
      },
    },
    { status: 200 },
  ],
}
for (const [place, [stage, expected]] of Object.entries(KEEPING))
  t.test(`stage timeout: a filter ${place} that keeps the end fails the reply`, async t => {
    const { core, ask, errors } = await arrange(t, { keeping: pluginOf(stage) })
    // The second reply has all bytes that its length announces before it is ended.
    t.match(await ask(), expected)
    while (core.server.openRequests > 0) await pause(10)
    t.match(errors, [/a filter of route "own" got the end of the reply/])
  })

t.test('stage timeout: the log names the stage that waits', async t => {
  const passing = pluginOf({ handle: (_, next) => next() })
  const { ask, errors } = await arrange(t, {
    outer: passing,
    culprit: pluginOf({ handle: () => never }),
    inner: passing,
  })
  t.equal((await ask()).status, 500)
  t.match(errors, [/^stage "culprit" of route "own"/])
})

t.test('stage timeout: outer stages clean up, inner ones do not start', async t => {
  const log: string[] = []
  let wake = (): void => {}
  const outer: Stage = {
    async handle({ writes }, next) {
      try {
        await next()
      } catch (makeError) {
        log.push((makeError as { code: string }).code)
        writes.add(settlement)
        throw makeError
      }
    },
  }
  const late: Stage = {
    async handle(_, next) {
      await new Promise<void>(resolve => {
        wake = resolve
      })
      await next().catch(() => log.push('refused'))
    },
  }
  const inner: Stage = {
    handle(_, next) {
      log.push('started')
      return next()
    },
  }
  const { core, ask, upstreamRequests } = await arrange(t, {
    outer: pluginOf(outer),
    late: pluginOf(late),
    inner: pluginOf(inner),
  })
  t.equal((await ask()).status, 500)
  t.ok(core.store.lines.includes('durable settle()'))
  wake()
  await pause(50)
  t.same(log, ['STAGE_STUCK'])
  t.equal(upstreamRequests(), 0)
})

t.test('stage timeout: waiting for an upstream does not count', async t => {
  const reading: Stage = {
    async handle(exchange, next) {
      await next()
      await exchange.reply.bytes(1_000)
    },
  }
  const { ask } = await arrange(t, { reading: pluginOf(reading) }, LONG)
  const both = await Promise.all([ask('/x'), ask('/body')])
  t.same(
    both.map(({ status, text }) => `${status} ${text}`),
    ['200 {}', '200 {}'],
  )
})

t.test('stage timeout: an upstream that a plugin serves has its own time instead', async t => {
  const errors: string[] = []
  let [signal, late] = [never as Promise<unknown>, 0]
  const own: Stage = {
    async forward(attempt, next) {
      if (attempt.target.upstream !== 'own') return next()
      await signal
      const body = (async function* () {
        late++
        yield Buffer.from('late')
      })()
      attempt.answer(200, body)
    },
  }
  const core = await startTestServer(
    t,
    { own: pluginOf(own) },
    {
      settings: { timeouts: { stage: `${LIMIT}ms` } },
      upstreams: { own: { url: 'own:', timeout: { first_byte: `${2 * LONG}ms` } } },
      routes: [
        { path: 'GET /slow', upstream: 'own' },
        { path: 'GET /short', upstream: 'own', timeout: { first_byte: `${scaled(100)}ms` } },
      ],
    },
    { debug() {}, info() {}, warn() {}, error: (_, text = '') => void errors.push(text) },
  )
  const ask = async (path: string) => {
    const reply = await fetch(core.url + path)
    return `${reply.status} ${await reply.text()}`
  }
  t.match(await ask('/short'), /^504 .*"TARGET_TIMEOUT".*own did not answer within \d+ ms/)
  const { promise, resolve } = Promise.withResolvers<void>()
  signal = promise
  t.match(await ask('/short'), /^504 /)
  resolve()
  await pause(50)
  t.equal(late, 0, 'a late answer is not read')
  signal = pause(LONG)
  t.equal(await ask('/slow'), '200 late')
  t.same(errors, [])
  t.equal(core.server.openRequests, 0)
})

t.test('stage timeout: reading the body chunk by chunk is progress', async t => {
  let chunks = 0
  let started = 0
  const slow: Stage = {
    async handle(exchange) {
      for await (const _ of exchange.request.stream()) {
        chunks++
        // Then it has taken long enough: how many chunks follow depends on the sockets.
        if (performance.now() - started < scaled(1_200)) await pause(scaled(20))
      }
      exchange.answer(200, {})
    },
  }
  const { ask } = await arrange(t, { slow: pluginOf(slow) }, 0, scaled(1_000))
  started = performance.now()
  const body = Buffer.alloc(8 * 2 ** 20)
  t.equal((await ask('/x', { method: 'POST', body })).status, 200)
  t.ok(
    chunks > 20 && performance.now() - started > scaled(1_000),
    'it took longer than a stage may',
  )
})

t.test('stage timeout: waiting for the body of the request does not count', async t => {
  const reading: Stage = {
    async handle(exchange, next) {
      await exchange.request.bytes()
      await next()
    },
  }
  const { core } = await arrange(t, { reading: pluginOf(reading) })
  const client = await rawClient({ port: Number(new URL(core.url).port) })
  await client.send('POST /x HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\nab')
  await pause(LONG)
  await client.send('cd')
  await client.until(received => replies(received).some(({ whole }) => whole))
  client.close()
  t.equal(replies(client.text())[0]?.status, 200)
})

t.test('stage timeout: a request beside the pipeline with the signal does not count', async t => {
  const sending = (signalOf: (exchange: Exchange) => AbortSignal | undefined): Plugin => ({
    schema: {},
    default: {},
    setup: (_, host: Host) => ({
      async handle(exchange) {
        const signal = signalOf(exchange)
        const request = { method: 'GET', path: '/body', ...(signal && { signal }) }
        const reply = await host.send('up', request)
        exchange.answer(200, await reply.bytes(1_000))
      },
    }),
  })
  const withSignal = await arrange(t, { sending: sending(({ signal }) => signal) }, LONG)
  t.same(await withSignal.ask(), { status: 200, text: '{}' })
  const withoutSignal = await arrange(t, { sending: sending(() => undefined) }, LONG)
  t.equal((await withoutSignal.ask()).status, 500)
})

/** A proxy that throws at every access. */
const throwingProxy = (): unknown =>
  new Proxy(
    {},
    {
      get() {
        throw new Error('read')
      },
      getPrototypeOf() {
        throw new Error('prototype')
      },
      has() {
        throw new Error('has')
      },
    },
  )
const throwingGetter = (): unknown =>
  Object.defineProperty(new Error('x'), 'message', {
    get() {
      throw new Error('read')
    },
  })
const THROWING: Readonly<Record<string, (makeError: () => unknown) => Stage>> = {
  handle: makeError => ({
    async handle() {
      throw makeError()
    },
  }),
  'handle without a promise': makeError => ({
    handle() {
      throw makeError()
    },
  }),
  forward: makeError => ({
    async forward() {
      throw makeError()
    },
  }),
  'a filter': makeError => ({
    async handle(exchange, next) {
      await next()
      const fail = (): never => {
        throw makeError()
      }
      exchange.reply.through({ write: fail, end: fail })
      await exchange.reply.bytes(1_000)
    },
  }),
}
for (const [where, stageOf] of Object.entries(THROWING))
  t.test(`thrown proxy: 500 where ${where} throws it`, async t => {
    for (const makeError of [throwingProxy, throwingGetter, () => () => throwingProxy()]) {
      const { core, ask } = await arrange(t, { throwingProxy: pluginOf(stageOf(makeError)) })
      t.equal((await ask()).status, 500)
      t.equal(core.server.openRequests, 0)
    }
  })
