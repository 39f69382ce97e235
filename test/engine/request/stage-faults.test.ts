/** Faults of stages: the client gets a reply, and the exchange ends once. */
import t, { type Test } from 'tap'
import type { Fault, Outcome, Plugin, Stage, Statement } from '../../../engine/plugin.ts'
import { rawClient, replies } from '../../helpers/gateway/raw-client.ts'
import { pluginOf, startHttpUpstream, startTestServer } from '../../helpers/gateway/test-server.ts'

const BAD = { 'x-bad': 'line\nbreak' }
const settlement: Statement = { sql: { name: 'settle', text: '' }, values: [] }
const parts = async function* (): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  yield Buffer.from('a')
  yield Buffer.from('b')
}

/** Sends one request through these stages: returns its reply, outcome and logged errors. */
const runThrough = async (t: Test, stages: readonly Stage[]) => {
  const ends: Outcome[] = []
  const errors: string[] = []
  const upstream = await startHttpUpstream(t, (_, response) => {
    response.write('a')
    setImmediate(() => response.end('b'))
  })
  const watching: Stage = {
    async handle(exchange, next) {
      exchange.onEnd(outcome => void ends.push(outcome))
      await next()
    },
  }
  const set: Record<string, Plugin> = { watching: pluginOf(watching) }
  for (const [n, stage] of stages.entries()) set[`s${n}`] = pluginOf(stage)
  const lines: object[] = []
  const core = await startTestServer(
    t,
    set,
    { upstreams: { up: { url: upstream } }, routes: [{ path: 'GET /', upstream: 'up' }] },
    {
      debug() {},
      info: fields => void lines.push(fields),
      warn() {},
      error: (_, text = '') => void errors.push(text),
    },
  )
  const client = await rawClient({ port: Number(new URL(core.url).port) })
  await client.send('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  await client.until(received => replies(received).some(({ whole }) => whole))
  client.close()
  while (core.server.openRequests > 0) await new Promise(resolve => setImmediate(resolve))
  t.equal(ends.length, 1, 'the exchange ended once')
  t.equal(lines.length, 1, 'the request was logged once')
  return { reply: replies(client.text())[0], end: ends[0], errors, core }
}
const answer = (
  ...args: Parameters<Parameters<NonNullable<Stage['handle']>>[0]['answer']>
): Stage => ({
  handle: async exchange => void exchange.answer(...args),
})
const afterNext = (
  change: (exchange: Parameters<NonNullable<Stage['handle']>>[0]) => void,
): Stage => ({
  async handle(exchange, next) {
    await next()
    change(exchange)
  },
})
const durable: Stage = afterNext(({ reply, writes }) => {
  writes.add(settlement)
  reply.through({})
})

const UNSENDABLE: Readonly<Record<string, readonly Stage[]>> = {
  'a header that no head can hold': [answer(200, Buffer.from('x'), BAD)],
  'an invalid header on a stream': [answer(200, parts(), BAD)],
  'an invalid header on the upstream’s reply': [
    afterNext(({ reply }) => void Object.assign(reply.headers, BAD)),
  ],
  'an invalid header on a reply that waits for a commit': [
    durable,
    afterNext(({ reply }) => void Object.assign(reply.headers, BAD)),
  ],
  'an invalid header on bytes that wait for a commit': [
    durable,
    answer(200, Buffer.from('x'), BAD),
  ],
  'a name that no header has': [answer(200, Buffer.from('x'), { 'x bad': '1' })],
  'a status that is none': [answer(99, Buffer.from('x'))],
  'a status that is not a number': [answer('ok' as unknown as number, Buffer.from('x'))],
}
for (const [description, stages] of Object.entries(UNSENDABLE))
  t.test(`stage fault, ${description}: 500, and the log has the reason`, async t => {
    const { reply, end, errors } = await runThrough(t, stages)
    t.equal(reply?.status, 500)
    t.match(JSON.parse(reply?.body ?? ''), { error: { message: 'Internal error.' } })
    t.notOk('x-bad' in (reply?.headers ?? {}))
    t.match(end, { end: 'refused', status: 500 })
    t.match(errors.join(), /invalid|valid HTTP token/i)
  })

const refusing = (error: unknown): Stage => ({
  async handle() {
    throw error
  },
})
const fault = (more: Partial<Fault> = {}): Fault => ({
  code: 'BUSY',
  message: 'Busy.',
  status: 503,
  expose: true,
  ...more,
})

t.test('stage fault: a stage that throws while it renders a fault gives plain JSON', async t => {
  const brokenStage: Stage = {
    fail() {
      throw new Error('a bug in fail')
    },
  }
  const { reply, errors } = await runThrough(t, [brokenStage, refusing(fault())])
  t.equal(reply?.status, 503)
  t.match(JSON.parse(reply?.body ?? ''), { error: { code: 'BUSY', message: 'Busy.' } })
  t.match(errors, ['a stage threw while it rendered a fault'])
})

t.test('stage fault: a rendered fault with invalid headers gives plain JSON', async t => {
  for (const refusal of [
    { status: 503, headers: BAD, body: Buffer.from('own') },
    { status: 42, headers: {}, body: Buffer.from('own') },
  ]) {
    const { reply } = await runThrough(t, [{ fail: () => refusal }, refusing(fault())])
    t.equal(reply?.status, 503)
    t.match(JSON.parse(reply?.body ?? ''), { error: { code: 'BUSY' } })
  }
})

t.test('stage fault: a fault with an invalid status or headers gives a valid reply', async t => {
  for (const status of [0, 200, 1_000, Number.NaN, 503.5]) {
    const { reply } = await runThrough(t, [refusing(fault({ status }))])
    t.equal(reply?.status, 500, `${status}`)
  }
  const { reply } = await runThrough(t, [refusing(fault({ headers: BAD }))])
  t.equal(reply?.status, 503)
  t.match(JSON.parse(reply?.body ?? ''), { error: { code: 'BUSY' } })
})

t.test('stage fault: any thrown value is hidden unless it is a fault', async t => {
  for (const error of [new Error('secret'), 'secret', undefined, null, { secret: 1 }]) {
    const { reply } = await runThrough(t, [refusing(error)])
    t.equal(reply?.status, 500)
    t.notMatch(reply?.body, /secret/)
  }
})

t.test('stage fault: a body or filter that throws before the head is a refusal', async t => {
  const brokenBody: AsyncIterable<Uint8Array<ArrayBuffer>> = {
    [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error('a bug in a body')) }),
  }
  const body = await runThrough(t, [durable, answer(200, brokenBody)])
  t.equal(body.reply?.status, 500)
  const bug = (): never => {
    throw new Error('a bug in a filter')
  }
  // A short reply is one tail, a longer one has chunks.
  const filter = afterNext(({ reply }) => reply.through({ write: bug, end: bug }))
  const filterResult = await runThrough(t, [durable, filter])
  t.equal(filterResult.reply?.status, 500)
  t.match(JSON.parse(filterResult.reply?.body ?? ''), { error: { code: 'STAGE_THREW' } })
  t.ok(
    filterResult.core.store.lines.includes('durable settle()'),
    'statements of stages are committed',
  )
})

t.test('stage faults: a stage that returns without a reply is named', async t => {
  const silent = (): Stage => ({ handle: async () => {} })
  const late = (): Stage => ({
    async handle() {
      await new Promise(resolve => setImmediate(resolve))
    },
  })
  const passing: Stage = {
    async handle(_, next) {
      await Promise.resolve()
      await next()
    },
  }
  for (const stage of [silent(), late()]) {
    const { reply, errors } = await runThrough(t, [passing, stage])
    t.equal(reply?.status, 500)
    t.match(errors, [/^route "GET \/" has no reply: does the stage "s1" return without/])
  }
  const { errors } = await runThrough(t, [{ forward: async () => {} }])
  t.match(errors, [/ended without a reply: does `forward` of the stage "s0" miss/])
})

t.test('stage faults: a listener of onEnd that throws is logged with its stack', async t => {
  const logged: object[] = []
  const url = await startHttpUpstream(t, (_, response) => void response.end('a'))
  const broken: Stage = {
    handle(exchange, next) {
      exchange.onEnd(function listenBadly() {
        throw new Error('a bug')
      })
      return next()
    },
  }
  const core = await startTestServer(
    t,
    { broken: pluginOf(broken) },
    { upstreams: { up: { url } }, routes: [{ path: 'GET /', upstream: 'up' }] },
    {
      debug() {},
      info() {},
      warn() {},
      error: (fields, text = '') => void logged.push({ ...fields, text }),
    },
  )
  await (await fetch(core.url)).text()
  t.match(logged, [
    { route: 'GET /', code: 'INTERNAL', text: 'onEnd: a bug', stack: /listenBadly.*stage-faults/ },
  ])
})
