/** Pings on a route with `ping:`: for clients that ask for a stream, whenever it is silent, and
 *  never inside an event. */
import type { ServerResponse } from 'node:http'
import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Stage } from '../../../engine/plugin.ts'
import { Pings } from '../../../engine/response/pings.ts'
import { manualClock } from '../../helpers/clocks.ts'
import { rawClient, replies } from '../../helpers/gateway/raw-client.ts'
import { pluginOf, startHttpUpstream, startTestServer } from '../../helpers/gateway/test-server.ts'

const EVERY = 15_000
/** An interval has two. */
const TICK = EVERY / 2
const PING = ': ping\n\n'
const errorEvents: Stage = {
  streams: async request => {
    const body = await request.json()
    return typeof body === 'object' && body !== null && 'stream' in body && body.stream === true
  },
  fail: ({ code, status }) => ({
    status,
    headers: {},
    body: Buffer.from(code),
    event: Buffer.from(`data: ${code}\n\n`),
  }),
}

/** A gateway whose upstream responds when and as the test says. */
const arrange = async (t: Test, stage = errorEvents) => {
  const ticks = manualClock(t)
  let pendingRequest = Promise.withResolvers<ServerResponse>()
  const upstream = await startHttpUpstream(t, (incoming, response) => {
    incoming.resume()
    incoming.on('end', () => pendingRequest.resolve(response))
  })
  const core = await startTestServer(
    t,
    { own: pluginOf(stage) },
    {
      upstreams: { up: { url: upstream } },
      routes: [
        { path: 'POST /pings', upstream: 'up', ping: '15s' },
        { path: 'POST /none', upstream: 'up' },
      ],
    },
  )
  const port = Number(new URL(core.url).port)
  /** One and a half intervals of silence: one ping. */
  const beSilent = (): Promise<void> => passTicks(3)
  const passTicks = async (count: number): Promise<void> => {
    for (let n = 0; n < count; n++) {
      ticks.pass(TICK, TICK)
      await setImmediate()
    }
  }
  /** Sends a request; `silent`: intervals before the response. Resolves with a function that sends
   *  a piece of the response, waits until the client has it and lets time pass. */
  const ask = async (
    { path = '/pings', body = '{"stream":true}', accept = '*/*', silent = 0 },
    status = 200,
    type = 'text/event-stream',
  ) => {
    pendingRequest = Promise.withResolvers()
    const client = await rawClient({ port })
    const lines = [
      'content-type: application/json',
      `content-length: ${body.length}`,
      `accept: ${accept}`,
    ]
    await client.send(`POST ${path} HTTP/1.1\r\nhost: x\r\n${lines.join('\r\n')}\r\n\r\n${body}`)
    const response = await pendingRequest.promise
    await passTicks(2 * silent)
    response.writeHead(status, { 'content-type': type })
    let wholeText = ''
    return {
      async piece(text: string) {
        response.write(text)
        wholeText += text
        await client.until(received => withoutPings(replies(received)[0]?.body ?? '') === wholeText)
        await beSilent()
      },
      async end(text: string) {
        response.end(text)
        await client.until(received => replies(received).some(({ whole }) => whole))
        client.close()
        return replies(client.text())[0]
      },
    }
  }
  return { ask, port, passTicks }
}
const withoutPings = (body: string): string => body.replaceAll(/(: ping|event: ping\n.*)\n\n/g, '')
const STREAMED = 'data: 1\n\n'
const LAST = 'data: 2\n\n'

t.test('pings: sent to clients that ask for a stream, in the body or by `accept`', async t => {
  const { ask } = await arrange(t)
  for (const options of [{}, { body: '{}', accept: 'text/event-stream' }]) {
    const call = await ask({ ...options, silent: 3 })
    await call.piece(STREAMED)
    await call.piece('data: more\n\n')
    const reply = await call.end(LAST)
    t.match(reply, { status: 200, headers: { 'content-type': 'text/event-stream' } })
    t.equal(
      reply?.body,
      `${PING.repeat(3)}${STREAMED}${PING}data: more\n\n${PING}${LAST}`,
      'before the first byte and in the middle',
    )
  }
})

t.test('pings: none inside an event, whatever ends its lines', async t => {
  const { ask } = await arrange(t)
  for (const end of ['\n', '\r\n', '\r']) {
    const call = await ask({})
    const halves = [`event: x${end}`, 'data: {"a"', `:1}${end}`]
    for (const half of halves) await call.piece(half)
    await call.piece(end)
    const reply = await call.end(LAST)
    t.equal(reply?.body, `${halves.join('')}${end}${PING}${LAST}`, JSON.stringify(end))
  }
})

t.test('pings: no other client gets one before its stream', async t => {
  const { ask } = await arrange(t)
  for (const body of ['{}', '{"stream":"true"}', '[true]', 'null', 'no JSON']) {
    const call = await ask({ body, silent: 3 })
    await call.piece(STREAMED)
    t.equal((await call.end(LAST))?.body, STREAMED + PING + LAST, body)
  }
  const call = await ask({ path: '/none', accept: 'text/event-stream', silent: 3 })
  await call.piece(STREAMED)
  t.equal((await call.end(LAST))?.body, STREAMED + LAST, 'none on a route without pings')
})

t.test('pings: a body that is not a stream of events gets none', async t => {
  const { ask } = await arrange(t)
  const call = await ask({}, 200, 'application/x-ndjson')
  await call.piece('{}\n\n')
  t.equal((await call.end('{}\n'))?.body, '{}\n\n{}\n')
})

t.test('pings: a refusal behind a ping, and an answer without events, is an event', async t => {
  const { ask } = await arrange(t)
  for (const answer of [[503], [200, 'application/json']] as [number, string?][]) {
    const reply = await (await ask({ silent: 3 }, ...answer)).end(LAST)
    t.equal(reply?.status, 200)
    t.equal(reply?.body, `${PING.repeat(3)}data: UPSTREAM_REFUSED\n\n`)
  }
})

t.test('pings: a body that no stage has read is not read for a ping', async t => {
  const reached = Promise.withResolvers<void>()
  const decision = Promise.withResolvers<void>()
  const { port, passTicks } = await arrange(t, {
    ...errorEvents,
    handle: async exchange => {
      reached.resolve()
      await decision.promise
      exchange.answer(401, { no: 'key' })
    },
  })
  const client = await rawClient({ port })
  const head = 'POST /pings HTTP/1.1\r\nhost: x\r\ncontent-type: application/json'
  await client.send(`${head}\r\ncontent-length: 15\r\nexpect: 100-continue\r\n\r\n`)
  await reached.promise
  await passTicks(4)
  decision.resolve()
  await client.until(received => replies(received).some(({ whole }) => whole))
  t.match(client.text(), /^HTTP\/1\.1 401/, 'no 100 Continue, and no ping')
  client.close()
})

t.test('pings: the event of the stage, if it has one', async t => {
  const event = 'event: ping\ndata: {}\n\n'
  const { ask } = await arrange(t, { ...errorEvents, ping: event })
  const call = await ask({ silent: 1 })
  await call.piece(STREAMED)
  t.equal((await call.end(LAST))?.body, `${event}${STREAMED}${event}${LAST}`)
})

t.test('pings: due once an interval, for any pieces of an ending', async t => {
  const ticks = manualClock(t)
  let due: string[] = []
  const pings = new Pings({ every: EVERY, event: Buffer.from('x') }, event => due.push(`${event}`))
  t.teardown(() => pings.stop())
  const dueIn = (count: number): readonly string[] => {
    due = []
    for (let n = 0; n < count; n++) ticks.pass(TICK, TICK)
    return due
  }
  t.same(dueIn(5), ['x', 'x'], 'before the first byte')
  for (const piece of ['data: 1\r', '\n', '\r', '\n']) pings.observe(Buffer.from(piece))
  t.same(dueIn(1), [], 'not in the first half of an interval')
  t.same(dueIn(3), ['x', 'x'], 'after a blank line in four pieces')
  pings.observe(Buffer.from(':'))
  t.same(dueIn(9), [], 'after a byte of the next event')
})
