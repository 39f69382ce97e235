/** A client that disconnects: the upstream is aborted, or read on within limits. */
import type { ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import type { Outcome, Stage } from '../../../engine/plugin.ts'
import { rawClient } from '../../helpers/gateway/raw-client.ts'
import { pluginOf, startHttpUpstream, startTestServer } from '../../helpers/gateway/test-server.ts'
import { scaled } from '../../helpers/machine-speed.ts'

/** A gateway with one streaming route: the outcome of its exchange, and the upstream's response. */
const arrange = async (t: Test, options: object, stage: Partial<Stage> = {}) => {
  const outcome = Promise.withResolvers<Outcome>()
  const upstreamResponse = Promise.withResolvers<ServerResponse>()
  const upstreamClosed = Promise.withResolvers<void>()
  const upstream = await startHttpUpstream(t, (_, response) => {
    response.on('close', () => upstreamClosed.resolve())
    upstreamResponse.resolve(response)
  })
  const watching: Stage = {
    async handle(exchange, next) {
      exchange.onEnd(outcome.resolve)
      await next()
    },
  }
  const core = await startTestServer(
    t,
    { watching: pluginOf(watching), own: pluginOf(stage) },
    {
      upstreams: { up: { url: upstream } },
      routes: [{ path: 'GET /', upstream: 'up', ...options }],
    },
  )
  const clientClosed = Promise.withResolvers<void>()
  core.server.http.once('connection', socket => socket.once('close', clientClosed.resolve))
  const client = await rawClient({ port: Number(new URL(core.url).port) })
  await client.send('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  const response = await upstreamResponse.promise
  /** Resets the connection; resolves when the gateway has seen the close. */
  const leave = (): Promise<void> => {
    client.reset()
    return clientClosed.promise
  }
  return {
    core,
    client,
    response,
    leave,
    outcome: outcome.promise,
    upstreamClosed: upstreamClosed.promise,
  }
}

t.test('hangup: by default the upstream is aborted at once', async t => {
  const { client, response, leave, outcome, upstreamClosed, core } = await arrange(t, {})
  response.write('first')
  await client.until('first')
  await leave()
  await upstreamClosed
  t.match(await outcome, { end: 'hangup', status: 499, bytes: 5, fault: { code: 'CLIENT_GONE' } })
  t.equal(core.server.openRequests, 0)
})

t.test('hangup: the upstream is aborted before the reply as well', async t => {
  const { leave, outcome, upstreamClosed } = await arrange(t, {})
  await leave()
  await upstreamClosed
  t.match(await outcome, { end: 'hangup', status: 499, bytes: 0, fault: { code: 'CLIENT_GONE' } })
})

t.test('hangup: a route may read the upstream to its end, to settle by it', async t => {
  let byteCount = 0
  const counting: Stage = {
    async handle(exchange, next) {
      await next()
      exchange.reply.through({
        write(chunk, out) {
          byteCount += chunk.length
          out.write(chunk)
        },
        end(tail, out) {
          byteCount += tail?.length ?? 0
          out.end(tail)
        },
      })
    },
  }
  const hangup = { drain: '20s', bytes: 1_000 }
  const { client, response, leave, outcome } = await arrange(t, { hangup }, counting)
  response.write('x'.repeat(900))
  await client.until('xxx')
  await leave()
  response.write('y'.repeat(900))
  response.end()
  t.match(await outcome, { end: 'hangup', status: 499, bytes: 900 })
  t.equal(byteCount, 1_800, 'bytes before the disconnect do not count')
})

t.test('hangup: reading on ends at its limit of bytes', async t => {
  const hangup = { drain: '20s', bytes: 1_000 }
  const { client, response, leave, outcome, upstreamClosed } = await arrange(t, { hangup })
  response.write('first')
  await client.until('first')
  await leave()
  response.write('y'.repeat(1_001))
  await upstreamClosed
  t.match(await outcome, { end: 'hangup', bytes: 5, fault: { code: 'CLIENT_GONE' } })
})

t.test('hangup: reading on ends at its limit of time', async t => {
  const hangup = { drain: '20ms', bytes: 1_000_000 }
  const { client, response, leave, outcome, upstreamClosed } = await arrange(t, { hangup })
  response.write('first')
  await client.until('first')
  await leave()
  await upstreamClosed
  t.match(await outcome, { end: 'hangup', bytes: 5, fault: { code: 'CLIENT_GONE' } })
})

t.test('hangup: a slow reader that disconnects no longer pauses the upstream', async t => {
  const big = 4_000_000
  const hangup = { drain: '20s', bytes: 100_000_000 }
  const { client, response, leave, outcome } = await arrange(t, { hangup })
  client.socket.pause()
  response.end(Buffer.alloc(big, 'x'))
  await new Promise(resolve => client.socket.once('readable', resolve))
  await leave()
  t.match(await outcome, { end: 'hangup' })
})

t.test('hangup: a stage may set the limits per request', async t => {
  const choosing: Stage = {
    async handle(exchange, next) {
      exchange.hangup = { ms: 20_000, bytes: 1_000 }
      await next()
    },
  }
  const { response, leave, outcome } = await arrange(t, {}, choosing)
  await leave()
  response.end('all of it')
  t.match(await outcome, { end: 'hangup', status: 499, bytes: 0 })
})

t.test('hangup: aborts the signal of the exchange', async t => {
  const abortReason = Promise.withResolvers<unknown>()
  const waiting: Stage = {
    async handle({ signal }, next) {
      signal.addEventListener('abort', () => abortReason.resolve(signal.reason))
      await next()
    },
  }
  const { leave } = await arrange(t, {}, waiting)
  await leave()
  t.match(await abortReason.promise, { code: 'CLIENT_GONE' })
})

t.test('hangup: aborts a request that waits behind another on its connection', async t => {
  const both = Promise.withResolvers<void>()
  const upstreamClosed = Promise.withResolvers<void>()
  let requestCount = 0
  let closeCount = 0
  const upstream = await startHttpUpstream(t, (_, response) => {
    response.on('close', () => ++closeCount === 2 && upstreamClosed.resolve())
    response.write(Buffer.alloc(1_000_000, 'x'))
    if (++requestCount === 2) both.resolve()
  })
  const core = await startTestServer(
    t,
    {},
    { upstreams: { up: { url: upstream } }, routes: [{ path: 'GET /', upstream: 'up' }] },
  )
  const client = await rawClient({ port: Number(new URL(core.url).port) })
  await client.send('GET / HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(2))
  await both.promise
  client.reset()
  await upstreamClosed.promise
  while (core.server.openRequests > 0) await new Promise(resolve => setImmediate(resolve))
  t.pass('both requests ended')
})

t.test('hangup: a client that reads nothing is dropped, with its upstream', async t => {
  const outcome = Promise.withResolvers<Outcome>()
  const upstreamClosed = Promise.withResolvers<void>()
  const upstream = await startHttpUpstream(t, (_, response) => {
    response.on('close', () => upstreamClosed.resolve())
    response.write(Buffer.alloc(20_000_000, 'x'))
  })
  const watching: Stage = {
    async handle(exchange, next) {
      exchange.onEnd(outcome.resolve)
      await next()
    },
  }
  const idleMs = scaled(50)
  const core = await startTestServer(
    t,
    { watching: pluginOf(watching) },
    {
      settings: { timeouts: { idle_write: `${idleMs}ms` } },
      upstreams: { up: { url: upstream } },
      routes: [{ path: 'GET /', upstream: 'up' }],
    },
  )
  const client = await rawClient({ port: Number(new URL(core.url).port) }, { deaf: true })
  await client.send('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  t.match(await outcome.promise, {
    fault: { code: 'CLIENT_SLOW', message: `nothing for ${idleMs} ms` },
  })
  await upstreamClosed.promise
  t.equal(core.server.openRequests, 0)
  client.close()
})
