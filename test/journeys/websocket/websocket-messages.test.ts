/** WebSocket messages: stages that change them, the order of both directions, close codes and the
 *  log line. */
import t, { type Test } from 'tap'
import { TollgateError } from '../../../engine/errors.ts'
import type { Exchange, Message, Outcome, Stage } from '../../../engine/plugin.ts'
import { plugin, silent, startCore } from '../../helpers/core.ts'
import { startUpstream } from '../../helpers/upstream.ts'
import { type Client, openSocket } from '../../helpers/web-socket.ts'

const upstream = await startUpstream()
t.teardown(() => upstream.stop())
await upstream.script('echo', [{ do: 'websocket', manner: 'echo' }])

const text = ({ payload }: Message): string => Buffer.from(payload).toString()
const withPayload = (message: Message, to: string): Message => ({
  ...message,
  payload: Buffer.from(to),
})

interface TestSocket extends Client {
  readonly exchange: Exchange
  readonly outcome: Promise<Outcome>
  readonly lines: { readonly [field: string]: unknown }[]
  drain(): Promise<void>
}
/** Opens a socket to the echoing upstream through these stages. */
const openThrough = async (
  t: Test,
  stages: Readonly<Record<string, Stage>>,
  script = 'echo',
): Promise<TestSocket> => {
  const lines: TestSocket['lines'] = []
  const outcome = Promise.withResolvers<Outcome>()
  let exchange: Exchange | undefined
  const watch = plugin({
    async handle(each, next) {
      exchange = each
      each.onEnd(outcome.resolve)
      await next()
    },
  })
  const set = Object.fromEntries(
    Object.entries(stages).map(([name, stage]) => [name, plugin(stage)]),
  )
  const core = await startCore(
    t,
    { watch, ...set },
    {
      upstreams: { raw: { url: upstream.url } },
      routes: [{ path: 'WS /s/{name}', upstream: 'raw' }],
    },
    { ...silent, info: fields => void lines.push(fields as TestSocket['lines'][number]) },
  )
  const client = await openSocket(`${core.url}/s/${script}`)
  if (!exchange) throw new Error('no stage got the exchange')
  return {
    ...client,
    exchange,
    outcome: outcome.promise,
    lines,
    drain: () => core.server.drain(0),
  }
}

t.test(
  'WebSocket messages: text and bytes pass unchanged, empty and large ones included',
  async t => {
    const client = await openThrough(t, {})
    const binary: boolean[] = []
    client.socket.on('message', (_, isBinary) => binary.push(isBinary))
    const large = 'ä'.repeat(300_000)
    client.socket.send('')
    client.socket.send(Buffer.from([1, 2, 3]))
    client.socket.send(large)
    t.strictSame(await client.until(3), ['', '\x01\x02\x03', large])
    t.same(binary, [false, true, false])
    client.socket.close(1000)
    await client.closed
    t.match(await client.outcome, { end: 'complete', status: 101, attempts: 1, bytes: 600_003 })
    const { lines } = client
    t.match(lines, [{ status: 101, end: 'complete', bytes: 600_003, path: '/s/echo', attempts: 1 }])
    t.equal(lines.length, 1, 'one log line')
  },
)

t.test('WebSocket stage: may drop, pass or add messages of both sides', async t => {
  const messages: string[] = []
  const stage: Stage = {
    message(message, out, exchange) {
      messages.push(`${message.from} ${message.text} ${text(message)} ${exchange.kind}`)
      if (text(message) === 'drop') return
      out(message)
      if (text(message) === 'twice') out(withPayload(message, 'again'))
    },
  }
  const client = await openThrough(t, { stage })
  for (const each of ['one', 'drop', 'twice']) client.socket.send(each)
  t.same(await client.until(4), ['one', 'twice', 'again', 'again'])
  t.ok(messages.includes('client true one websocket'))
  t.ok(messages.includes('upstream true one websocket'))
  client.socket.terminate()
})

t.test('WebSocket stages: run in order for the client and in reverse for the upstream', async t => {
  const mark = (name: string): Stage => ({
    message: (message, out) => out(withPayload(message, `${text(message)}${name}`)),
  })
  const client = await openThrough(t, { a: mark('a'), b: mark('b') })
  client.socket.send('-')
  t.same(await client.until(1), ['-abba'])
  client.socket.terminate()
})

t.test('WebSocket stage: a pending message delays its own direction only, in order', async t => {
  const gate = Promise.withResolvers<void>()
  const passedMessages: string[] = []
  const slow: Stage = {
    async message(message, out) {
      if (message.from === 'client' && text(message) === '0') await gate.promise
      passedMessages.push(`${message.from} ${text(message)}`)
      out(message)
    },
  }
  await upstream.script('flood', [{ do: 'websocket', manner: 'flood', count: 20, size: 3 }])
  const client = await openThrough(
    t,
    { slow, after: { message: (message, out) => out(message) } },
    'flood',
  )
  for (let count = 0; count < 50; count++) client.socket.send(String(count))
  await client.until(20)
  t.same(
    passedMessages.filter(each => each.startsWith('client')),
    [],
    'no message overtook the first',
  )
  gate.resolve()
  await upstream.until('message', event => Buffer.from(event.payload).toString() === '49')
  const arrivals = await upstream.seen('message', 'flood')
  t.same(
    arrivals.map(({ payload }) => Buffer.from(payload).toString()),
    Array.from({ length: 50 }, (_, count) => String(count)),
  )
  client.socket.terminate()
})

t.test('WebSocket close: pending messages arrive before a later close', async t => {
  const slow: Stage = {
    async message(message, out) {
      await new Promise(resolve => setImmediate(resolve))
      out(message)
    },
  }
  await upstream.script('last', [{ do: 'websocket', manner: 'close', after: 3, code: 4000 }])
  const client = await openThrough(t, { slow }, 'last')
  for (const each of ['1', '2', '3']) client.socket.send(each)
  client.socket.close(4001, 'bye')
  const closing = await upstream.until('closing', event => event.script === 'last')
  t.equal((await upstream.seen('message', 'last')).length, 3)
  t.ok([4000, 4001].includes(closing.code))
  await client.closed
})

t.test('WebSocket stage: an exception closes with 1011 and no details', async t => {
  for (const message of [
    () => {
      throw new Error('secret')
    },
    () => Promise.reject(new Error('secret')),
  ] satisfies Stage['message'][]) {
    const client = await openThrough(t, { bad: { message } })
    client.socket.send('x')
    t.same(await client.closed, { code: 1011, reason: '' })
    t.match(await client.outcome, { end: 'cut', fault: { code: 'INTERNAL' } })
  }
})

t.test(
  'WebSocket cut: closes with 1008 for a fault of the client, with 1011 for one of the gateway',
  async t => {
    const cases = [
      [new TollgateError('OUT_OF_CREDIT', 402, `no credit ${'ä'.repeat(200)}`), 1008],
      [new TollgateError('STORE_AWAY', 503, 'later'), 1011],
    ] as const
    for (const [reason, code] of cases) {
      const client = await openThrough(t, {})
      client.exchange.cut(reason)
      const close = await client.closed
      t.equal(close.code, code)
      t.ok(
        close.reason.length > 0 && reason.message.startsWith(close.reason),
        'shortened at a character boundary',
      )
      t.match(await client.outcome, { end: 'cut', status: 101, fault: { code: reason.code } })
    }
    const closing = await upstream.seen('closing', 'echo')
    t.equal(closing.at(-1)?.code, 1001, 'the upstream gets 1001')
  },
)

t.test('WebSocket drain: closes with 1001 after the grace period', async t => {
  const client = await openThrough(t, {})
  await client.drain()
  t.match(await client.closed, { code: 1001, reason: /shutting down/ })
  t.match(await client.outcome, { end: 'cut', fault: { code: 'DRAINING' } })
})

t.test('WebSocket: a lost client connection is logged as a hangup', async t => {
  const client = await openThrough(t, {})
  client.socket.terminate()
  t.match(await client.outcome, { end: 'hangup', status: 101 })
})
