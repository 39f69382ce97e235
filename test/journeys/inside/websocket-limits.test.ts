/** WebSocket limits: message size, fragments, frames, clients that do not read, and peers that do
 *  not reply. */
import t, { type Test } from 'tap'
import type { Outcome } from '../../../engine/plugin.ts'
import { rawClient } from '../../helpers/gateway/raw-client.ts'
import { pluginOf, startTestServer } from '../../helpers/gateway/test-server.ts'
import { startUpstream } from '../../helpers/gateway/upstream.ts'
import { openSocket } from '../../helpers/gateway/web-socket.ts'
import { closeCodeOf, frame, handshake, PING } from '../../helpers/gateway/web-socket-frames.ts'

const upstream = await startUpstream()
t.teardown(() => upstream.stop())
await upstream.script('echo', [{ do: 'websocket', manner: 'echo' }])

const start = async (t: Test, websocket: { payload?: string } = {}) => {
  const outcome = Promise.withResolvers<Outcome>()
  const watch = pluginOf({
    async handle(exchange, next) {
      exchange.onEnd(outcome.resolve)
      await next()
    },
  })
  const core = await startTestServer(
    t,
    { watch },
    {
      upstreams: { raw: { url: upstream.url } },
      routes: [{ path: 'WS /s/{name}', upstream: 'raw', websocket }],
    },
  )
  return { ...core, port: Number(new URL(core.url).port), outcome: outcome.promise }
}

/** An open socket whose frames the test writes itself. */
const openRawSocket = async (port: number, script = 'echo') => {
  const client = await rawClient({ port })
  await client.send(handshake(`/s/${script}`))
  await client.until('\r\n\r\n')
  return client
}
// Most of the time is spent waiting for closes that never come.
t.test('WebSocket limits: every limit', { jobs: 8 }, async t => {
  t.test(
    'WebSocket limits: a too large message closes with 1009 and ends the upstream',
    async t => {
      await upstream.script('small', [{ do: 'websocket', manner: 'echo' }])
      const core = await start(t, { payload: '1KiB' })
      const client = await openSocket(`${core.url}/s/small`)
      client.socket.send('x'.repeat(1_024))
      await client.until(1)
      client.socket.send('x'.repeat(1_025))
      t.equal((await client.closed).code, 1009)
      t.match(await core.outcome, { end: 'cut', fault: { code: 'CLIENT_UNRULY' } })
      t.equal((await upstream.until('closing', event => event.script === 'small')).code, 1001)
    },
  )

  t.test('WebSocket limits: a too large upstream message closes the client with 1011', async t => {
    await upstream.script('large', [{ do: 'websocket', manner: 'flood', count: 1, size: 2_000 }])
    const core = await start(t, { payload: '1KiB' })
    const client = await openSocket(`${core.url}/s/large`)
    t.equal((await client.closed).code, 1011)
    t.match(await core.outcome, { end: 'cut', fault: { code: 'UPSTREAM_UNRULY' } })
  })

  t.test('WebSocket limits: a message in thousands of fragments closes with 1008', async t => {
    const core = await start(t)
    const client = await openRawSocket(core.port)
    const pieces = [
      frame('a', { first: 0x01 }),
      ...Array.from({ length: 2_000 }, () => frame('b', { first: 0x00 })),
    ]
    await client.send(Buffer.concat(pieces))
    await client.closed
    t.equal(closeCodeOf(client.bytes()), 1008)
  })

  t.test('WebSocket limits: ten thousand pings close with 1008 and do not go upstream', async t => {
    const core = await start(t)
    const client = await openRawSocket(core.port)
    await client.send(
      Buffer.concat(Array.from({ length: 10_000 }, () => frame('', { first: PING }))),
    )
    await client.closed
    t.match(await core.outcome, { end: 'cut', fault: { code: 'CLIENT_FLOODS' } })
  })

  t.test('WebSocket limits: invalid frames: a bad opcode, no mask, invalid UTF-8', async t => {
    const bad: readonly (readonly [bytes: Buffer, code: number])[] = [
      [frame('x', { first: 0x83 }), 1002],
      [Buffer.from([0x81, 0x01, 0x78]), 1002],
      [Buffer.from([0x81, 0x81, 0, 0, 0, 0, 0xff]), 1007],
    ]
    const closings = bad.map(async ([bytes, code]) => {
      const core = await start(t)
      const client = await openRawSocket(core.port)
      await client.send(bytes)
      await client.closed
      t.equal(closeCodeOf(client.bytes()), code)
      t.match(await core.outcome, { end: 'cut', fault: { code: 'CLIENT_UNRULY' } })
    })
    await Promise.all(closings)
  })

  t.test('WebSocket limits: a client without a close reply is dropped', async t => {
    await upstream.script('leave', [{ do: 'websocket', manner: 'close', after: 1, code: 1000 }])
    const core = await start(t)
    const client = await openRawSocket(core.port, 'leave')
    await client.send(frame('x'))
    await client.closed
    t.match(await core.outcome, { end: 'complete' })
  })

  t.test(
    'WebSocket limits: a client that does not read pauses its upstream and loses nothing',
    async t => {
      const SIZE = 16_384
      const COUNT = 2_000
      await upstream.script('much', [
        { do: 'websocket', manner: 'flood', count: COUNT, size: SIZE },
      ])
      const core = await start(t)
      const client = await openSocket(`${core.url}/s/much`)
      client.socket.pause()
      const { connection } = await upstream.until('request', event => event.script === 'much')
      // The count of written bytes stops growing when all buffers are full.
      let before = -1
      let writtenBytes = 0
      while (writtenBytes !== before) {
        before = writtenBytes
        await new Promise(resolve => setTimeout(resolve, 200))
        const open = await upstream.look()
        writtenBytes = open.find(each => each.connection === connection)?.bytesWritten ?? 0
      }
      t.ok(
        writtenBytes < (COUNT * SIZE) / 2,
        `${writtenBytes} bytes of ${COUNT * SIZE} are on their way`,
      )
      client.socket.resume()
      const received = await client.until(COUNT)
      t.equal(received.length, COUNT)
      t.ok(received.every(each => each.length === SIZE))
      client.socket.terminate()
      t.match(await core.outcome, { bytes: COUNT * SIZE })
    },
  )

  t.test('WebSocket limits: an upstream that does not read pauses its client', async t => {
    await upstream.script('numb', [{ do: 'websocket', manner: 'numb' }])
    const core = await start(t)
    const client = await openSocket(`${core.url}/s/numb`)
    const chunk = 'x'.repeat(65_536)
    let sentCount = 0
    let before = -1
    while (sentCount !== before && sentCount < 1_000) {
      before = sentCount
      for (
        let count = 0;
        count < 50 && client.socket.bufferedAmount < 1_000_000;
        count++, sentCount++
      )
        client.socket.send(chunk)
      await new Promise(resolve => setTimeout(resolve, 100))
    }
    t.ok(sentCount < 1_000, `${sentCount} of 1,000 messages left`)
    // The terminated client cannot be noticed while it is paused; the upstream that reads nothing
    // ends the socket.
    client.socket.terminate()
    await core.server.drain(0)
    t.match(await core.outcome, { end: 'cut' })
  })
})
