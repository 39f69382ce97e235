/** Liveness of WebSocket peers: a silent one is dropped, a slow one is not. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { WebSocket, WebSocketServer } from 'ws'
import { TollgateError } from '../../../engine/errors.ts'
import type { Exchange } from '../../../engine/plugin.ts'
import { Relay } from '../../../engine/websocket/relay.ts'

/** The two ends of one connection. */
const pair = async (t: Test, options: { autoPong?: boolean } = {}) => {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false })
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const far = new WebSocket(`ws://127.0.0.1:${port}`, { perMessageDeflate: false, ...options })
  const [near] = (await once(server, 'connection')) as [WebSocket]
  if (far.readyState !== far.OPEN) await once(far, 'open')
  t.teardown(() => {
    far.terminate()
    server.close()
  })
  far.on('error', () => {})
  return { near, far }
}
const startRelay = async (t: Test, client = {}, upstream = {}) => {
  const one = await pair(t, client)
  const two = await pair(t, upstream)
  const relay = new Relay({
    client: one.near,
    upstream: two.near,
    stages: [],
    exchange: {} as Exchange,
  })
  return { relay, client: one.far, upstream: two.far, nearClient: one.near, nearUpstream: two.near }
}

t.test('WebSocket liveness: peers that answer pings stay connected', async t => {
  const { relay, client, upstream } = await startRelay(t)
  for (let checks = 0; checks < 3; checks++) {
    const both = [once(client, 'ping'), once(upstream, 'ping')]
    relay.checkPeers()
    await Promise.all(both)
    // The pong travels behind the ping; a message behind the pong shows that it arrived.
    const messages = [once(upstream, 'message'), once(client, 'message')]
    client.send('x')
    upstream.send('x')
    await Promise.all(messages)
  }
  t.equal(client.readyState, client.OPEN)
  client.close(1000)
  await relay.done
})

t.test('WebSocket liveness: a silent client is dropped, and its upstream closed', async t => {
  const { relay, upstream, nearUpstream } = await startRelay(t, { autoPong: false })
  const closeEvent = once(upstream, 'close')
  const pong = once(nearUpstream, 'pong')
  relay.checkPeers()
  await pong
  relay.checkPeers()
  t.equal((await closeEvent)[0], 1001)
  t.match(await relay.done, { end: 'hangup' })
})

t.test('WebSocket liveness: a silent upstream is dropped, and its client closed', async t => {
  const { relay, client, nearClient } = await startRelay(t, {}, { autoPong: false })
  const closeEvent = once(client, 'close')
  const pong = once(nearClient, 'pong')
  relay.checkPeers()
  await pong
  relay.checkPeers()
  t.equal((await closeEvent)[0], 1011)
  t.match(await relay.done, { end: 'cut', fault: { code: 'UPSTREAM_CUT' } })
})

t.test(
  'WebSocket liveness: a slow client has time for a large message, and its paused upstream stays',
  async t => {
    const { relay, client, upstream, nearClient } = await startRelay(t)
    client.pause()
    upstream.send('x'.repeat(10_000_000))
    while (nearClient.bufferedAmount < 1_000_000)
      await new Promise(resolve => setImmediate(resolve))
    for (let checks = 0; checks < 4; checks++) relay.checkPeers()
    t.equal(nearClient.readyState, nearClient.OPEN)
    const received = once(client, 'message')
    client.resume()
    t.equal((await received)[0].length, 10_000_000)
    client.close()
    t.match(await relay.done, { end: 'complete' })
  },
)

t.test('WebSocket liveness: a client that reads nothing is dropped', async t => {
  const { relay, client, upstream, nearClient } = await startRelay(t)
  client.pause()
  upstream.send('x'.repeat(10_000_000))
  while (nearClient.bufferedAmount < 1_000_000) await new Promise(resolve => setImmediate(resolve))
  const closeEvent = once(upstream, 'close')
  for (let checks = 0; checks < 60; checks++) relay.checkPeers()
  t.equal((await closeEvent)[0], 1001)
  t.match(await relay.done, { end: 'hangup' })
})

t.test('WebSocket relay: a long reason is cut between two characters', async t => {
  for (const [message, expected] of [
    ['wörter', 'wörter'],
    ['€'.repeat(100), '€'.repeat(41)],
    [`a${'€'.repeat(100)}`, `a${'€'.repeat(40)}`],
  ] as const) {
    const { relay, client } = await startRelay(t)
    const closeEvent = once(client, 'close')
    relay.cut(new TollgateError('LIMIT', 429, message))
    const [code, reason] = await closeEvent
    t.same([code, String(reason)], [1_008, expected])
    await relay.done
  }
})
