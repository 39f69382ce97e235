/** `: ping` comments on a route with pings: for clients that ask for a stream, until its first
 *  byte. */
import t, { type Test } from 'tap'
import type { Stage } from '../../../engine/plugin.ts'
import { manualClock } from '../../helpers/clocks.ts'
import { rawClient, replies } from '../../helpers/gateway/raw-client.ts'
import { pluginOf, startHttpUpstream, startTestServer } from '../../helpers/gateway/test-server.ts'

const EVERY = 15_000
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

/** A gateway whose upstream responds in two events when the test calls its responder. */
const arrange = async (t: Test) => {
  const ticks = manualClock(t)
  let pendingRequest = Promise.withResolvers<(status: number, type?: string) => void>()
  let last = (): void => {}
  const upstream = await startHttpUpstream(t, (incoming, response) => {
    incoming.resume()
    incoming.on('end', () =>
      pendingRequest.resolve((status, type = 'text/event-stream') => {
        response.writeHead(status, { 'content-type': type })
        response.write('data: 1\n\n')
        last = () => void response.end('data: 2\n\n')
      }),
    )
  })
  const core = await startTestServer(
    t,
    { own: pluginOf(errorEvents) },
    {
      upstreams: { up: { url: upstream } },
      routes: [
        { path: 'POST /pings', upstream: 'up', ping: '15s' },
        { path: 'POST /none', upstream: 'up' },
      ],
    },
  )
  const port = Number(new URL(core.url).port)
  /** Sends a request, lets time pass before and after the first event; resolves with the reply. */
  const ask = async (path: string, body: string, accept: string, ...reply: [number, string?]) => {
    pendingRequest = Promise.withResolvers()
    const client = await rawClient({ port })
    const head = ['content-type: application/json', `content-length: ${body.length}`, accept]
    await client.send(`POST ${path} HTTP/1.1\r\nhost: x\r\n${head.join('\r\n')}\r\n\r\n${body}`)
    const answer = await pendingRequest.promise
    for (let n = 0; n < 3; n++) ticks.pass(EVERY, EVERY)
    answer(...reply)
    await client.until('data: ')
    ticks.pass(EVERY, EVERY)
    last()
    await client.until(received => replies(received).some(({ whole }) => whole))
    client.close()
    return replies(client.text())[0]
  }
  return { ask }
}
const ANY = 'accept: */*'
const EVENTS = 'accept: text/event-stream'

t.test('pings: sent to clients that ask for a stream, in the body or by `accept`', async t => {
  const { ask } = await arrange(t)
  for (const [body, accept] of [
    ['{"stream":true}', ANY],
    ['{}', EVENTS],
  ] as const) {
    const reply = await ask('/pings', body, accept, 200)
    t.match(reply, { status: 200, headers: { 'content-type': 'text/event-stream' } })
    t.equal(
      reply?.body,
      `${': ping\n\n'.repeat(3)}data: 1\n\ndata: 2\n\n`,
      'no ping after the first byte',
    )
  }
})

t.test('pings: sent to no other client', async t => {
  const { ask } = await arrange(t)
  for (const body of ['{}', '{"stream":"true"}', '[true]', 'null', 'no JSON'])
    t.equal((await ask('/pings', body, ANY, 200))?.body, 'data: 1\n\ndata: 2\n\n', body)
  t.equal(
    (await ask('/none', '{"stream":true}', EVENTS, 200))?.body,
    'data: 1\n\ndata: 2\n\n',
    'none on a route without pings',
  )
})

t.test('pings: a refusal behind a ping, and an answer without events, is an event', async t => {
  const { ask } = await arrange(t)
  for (const answer of [[503], [200, 'application/json']] as [number, string?][]) {
    const reply = await ask('/pings', '{"stream":true}', ANY, ...answer)
    t.equal(reply?.status, 200)
    t.equal(reply?.body, `${': ping\n\n'.repeat(3)}data: UPSTREAM_REFUSED\n\n`)
  }
})
