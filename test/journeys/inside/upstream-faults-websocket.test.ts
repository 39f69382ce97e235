/** Upstream failures behind a WebSocket: an HTTP error before the upgrade, a close code after it;
 *  both sides end. */
import t, { type Test } from 'tap'
import WebSocket from 'ws'
import { plain, text } from '../../fixtures/upstream/scenarios.ts'
import type { Socket, Step } from '../../fixtures/upstream/script.ts'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { startUpstream } from '../../helpers/gateway/upstream.ts'
import { scaled } from '../../helpers/machine-speed.ts'

const upstream = await startUpstream()
const gateway = await startGateway({
  inside: true,
  routes: `
pipeline: [errors]
upstreams: { raw: { url: '${upstream.url}', timeout: { connect: ${scaled(1_000)}ms, first_byte: ${scaled(500)}ms, idle: ${scaled(500)}ms } } }
routes:
  - { path: 'WS /s/{name}', upstream: raw, retries: 0 }
  - { path: 'GET /s/{name}', upstream: raw }
`,
})
t.teardown(() => Promise.all([gateway.stop(), upstream.stop()]))

interface SocketEnd {
  /** The status instead of 101. */
  readonly status?: number
  readonly body?: string
  readonly code?: number
  readonly reason?: string
  readonly received: readonly string[]
}
/** Opens a socket, sends one message and waits for the end. */
const sendAndAwaitEnd = (name: string, message = 'hello'): Promise<SocketEnd> =>
  new Promise(resolve => {
    const socket = new WebSocket(`${gateway.url.replace('http', 'ws')}/s/${name}`)
    const received: string[] = []
    socket.on('open', () => socket.send(message))
    socket.on('message', payload => received.push(payload.toString()))
    socket.on('error', () => {})
    socket.on('unexpected-response', (_, response) => {
      let body = ''
      response.on('data', chunk => {
        body += chunk
      })
      response.on('end', () =>
        resolve({ ...(response.statusCode && { status: response.statusCode }), body, received }),
      )
    })
    socket.on('close', (code, reason) => resolve({ code, reason: reason.toString(), received }))
  })

const nextIsServed = async (t: Test): Promise<void> => {
  const response = await fetch(`${gateway.url}/s/json`)
  t.equal(await response.text(), '{"ok":true}', 'the next request is served')
}

const BEFORE: Readonly<Record<string, readonly [steps: readonly Step[], status: number]>> = {
  reset: [[{ do: 'reset' }], 502],
  close: [[{ do: 'close' }], 502],
  'half a head': [[text('HTTP/1.1 101 Swi'), { do: 'close' }], 502],
  silence: [[{ do: 'stall' }], 504],
  'not HTTP': [[text('hello\r\n\r\n'), { do: 'close' }], 502],
  'a wrong accept': [
    [
      text(
        'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: AAAA\r\n\r\n',
      ),
      { do: 'stall' },
    ],
    502,
  ],
  'a plain answer': [[plain({ ok: true })], 502],
  unauthorized: [[plain({ error: { message: 'scripted' } }, '401 Unauthorized')], 502],
  'too many': [
    [plain({ error: { message: 'scripted' } }, '429 Too Many Requests', 'retry-after: 7\r\n')],
    429,
  ],
  unavailable: [[plain({ error: { message: 'scripted' } }, '503 Service Unavailable')], 503],
  broken: [[plain({ error: { message: 'scripted' } }, '500 Internal Server Error')], 502],
}
t.test('WebSocket upstream faults: before the upgrade', async t => {
  for (const [name, [steps, status]] of Object.entries(BEFORE))
    await t.test(name, async t => {
      const script = `before-${name.replaceAll(' ', '-')}`
      await upstream.script(script, steps)
      const end = await sendAndAwaitEnd(script)
      t.equal(end.status, status, end.body ?? 'no body')
      await nextIsServed(t)
    })
})

const websocketStep = (manner: Socket['manner'], more: Partial<Socket> = {}): Step => ({
  do: 'websocket',
  manner,
  ...more,
})
const AFTER: Readonly<Record<string, readonly [step: Step, code: number, reason?: string]>> = {
  'a normal close': [
    websocketStep('close', { after: 1, code: 1000, reason: 'done' }),
    1000,
    'done',
  ],
  'going away': [websocketStep('close', { after: 1, code: 1001 }), 1001],
  'a policy close': [websocketStep('close', { after: 1, code: 1008, reason: 'no' }), 1008, 'no'],
  'a close of the application': [
    websocketStep('close', { after: 1, code: 4242, reason: 'wörter' }),
    4242,
    'wörter',
  ],
  'a reset': [websocketStep('cut', { after: 1 }), 1011],
  'half a frame': [websocketStep('half-frame', { after: 1 }), 1011],
}
t.test('WebSocket upstream faults: after the upgrade', async t => {
  for (const [name, [step, code, reason]] of Object.entries(AFTER))
    await t.test(name, async t => {
      const script = `after-${name.replaceAll(' ', '-')}`
      await upstream.script(script, [step])
      const end = await sendAndAwaitEnd(script)
      t.equal(end.code, code, 'the close code')
      if (reason !== undefined) t.equal(end.reason, reason, 'the reason')
      await nextIsServed(t)
    })
})

t.test('WebSocket: a lost client closes the upstream’s socket', async t => {
  await upstream.script('vanish', [websocketStep('echo')])
  const socket = new WebSocket(`${gateway.url.replace('http', 'ws')}/s/vanish`)
  await new Promise(resolve => socket.once('open', resolve))
  socket.send('hello')
  await new Promise(resolve => socket.once('message', resolve))
  const { connection } = await upstream.until('request', event => event.script === 'vanish')
  socket.terminate()
  await upstream.until('close', event => event.connection === connection)
  t.pass('closed')
})

t.test('WebSocket: the client’s close code reaches the upstream', async t => {
  await upstream.script('why', [websocketStep('echo')])
  const socket = new WebSocket(`${gateway.url.replace('http', 'ws')}/s/why`)
  await new Promise(resolve => socket.once('open', resolve))
  socket.close(4001, 'enough')
  const closing = await upstream.until('closing', event => event.script === 'why')
  t.match(closing, { code: 4001, reason: 'enough' })
})

t.test('WebSocket: an upstream without a close reply does not delay the client', async t => {
  await upstream.script('deaf', [websocketStep('deaf')])
  const socket = new WebSocket(`${gateway.url.replace('http', 'ws')}/s/deaf`)
  await new Promise(resolve => socket.once('open', resolve))
  socket.close(1000)
  await new Promise(resolve => socket.once('close', resolve))
  const { connection } = await upstream.until('request', event => event.script === 'deaf')
  await upstream.until('close', event => event.connection === connection)
  t.pass('both sides ended')
})
