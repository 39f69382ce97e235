/** What stages do to the messages of a WebSocket, how it ends, and what is told of it. */
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
const renamed = (message: Message, to: string): Message => ({
  ...message,
  payload: Buffer.from(to),
})

interface Opened extends Client {
  readonly exchange: Exchange
  readonly outcome: Promise<Outcome>
  readonly lines: { readonly [field: string]: unknown }[]
  drain(): Promise<void>
}
/** A socket to the echoing upstream through these stages. */
const through = async (
  t: Test,
  stages: Readonly<Record<string, Stage>>,
  script = 'echo',
): Promise<Opened> => {
  const lines: Opened['lines'] = []
  const ended = Promise.withResolvers<Outcome>()
  let exchange: Exchange | undefined
  const watch = plugin({
    async handle(each, next) {
      exchange = each
      each.onEnd(ended.resolve)
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
    { ...silent, info: fields => void lines.push(fields as Opened['lines'][number]) },
  )
  const client = await openSocket(`${core.url}/s/${script}`)
  if (!exchange) throw new Error('no stage saw it')
  return {
    ...client,
    exchange,
    outcome: ended.promise,
    lines,
    drain: () => core.server.drain(0),
  }
}

t.test('text and bytes pass as they came, empty and large ones too', async t => {
  const client = await through(t, {})
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
  t.equal(lines.length, 1, 'one line')
})

t.test('a stage sees each message of both sides: none, one or several go on', async t => {
  const seen: string[] = []
  const stage: Stage = {
    message(message, out, exchange) {
      seen.push(`${message.from} ${message.text} ${text(message)} ${exchange.kind}`)
      if (text(message) === 'drop') return
      out(message)
      if (text(message) === 'twice') out(renamed(message, 'again'))
    },
  }
  const client = await through(t, { stage })
  for (const each of ['one', 'drop', 'twice']) client.socket.send(each)
  t.same(await client.until(4), ['one', 'twice', 'again', 'again'])
  t.ok(seen.includes('client true one websocket'))
  t.ok(seen.includes('upstream true one websocket'))
  client.socket.terminate()
})

t.test('the first stage is the first for the client and the last for the upstream', async t => {
  const mark = (name: string): Stage => ({
    message: (message, out) => out(renamed(message, `${text(message)}${name}`)),
  })
  const client = await through(t, { a: mark('a'), b: mark('b') })
  client.socket.send('-')
  t.same(await client.until(1), ['-abba'])
  client.socket.terminate()
})

t.test('a promise holds back its own direction, in order, and not the other', async t => {
  const gate = Promise.withResolvers<void>()
  const passed: string[] = []
  const slow: Stage = {
    async message(message, out) {
      if (message.from === 'client' && text(message) === '0') await gate.promise
      passed.push(`${message.from} ${text(message)}`)
      out(message)
    },
  }
  await upstream.script('flood', [{ do: 'websocket', manner: 'flood', count: 20, size: 3 }])
  const client = await through(
    t,
    { slow, after: { message: (message, out) => out(message) } },
    'flood',
  )
  for (let count = 0; count < 50; count++) client.socket.send(String(count))
  await client.until(20)
  t.same(
    passed.filter(each => each.startsWith('client')),
    [],
    'nothing passed the first',
  )
  gate.resolve()
  await upstream.until('message', seen => Buffer.from(seen.payload).toString() === '49')
  const arrived = await upstream.seen('message', 'flood')
  t.same(
    arrived.map(({ payload }) => Buffer.from(payload).toString()),
    Array.from({ length: 50 }, (_, count) => String(count)),
  )
  client.socket.terminate()
})

t.test('what is on its way arrives before the close that came behind it', async t => {
  const slow: Stage = {
    async message(message, out) {
      await new Promise(resolve => setImmediate(resolve))
      out(message)
    },
  }
  await upstream.script('last', [{ do: 'websocket', manner: 'close', after: 3, code: 4000 }])
  const client = await through(t, { slow }, 'last')
  for (const each of ['1', '2', '3']) client.socket.send(each)
  client.socket.close(4001, 'bye')
  const closing = await upstream.until('closing', seen => seen.script === 'last')
  t.equal((await upstream.seen('message', 'last')).length, 3)
  t.ok([4000, 4001].includes(closing.code))
  await client.closed
})

t.test('a stage that throws cuts: 1011 without a word of why', async t => {
  for (const message of [
    () => {
      throw new Error('secret')
    },
    () => Promise.reject(new Error('secret')),
  ] satisfies Stage['message'][]) {
    const client = await through(t, { bad: { message } })
    client.socket.send('x')
    t.same(await client.closed, { code: 1011, reason: '' })
    t.match(await client.outcome, { end: 'cut', fault: { code: 'INTERNAL' } })
  }
})

t.test('a cut says why to the client: 1008 for its own fault, 1011 for ours', async t => {
  const cases = [
    [new TollgateError('OUT_OF_CREDIT', 402, `no credit ${'ä'.repeat(200)}`), 1008],
    [new TollgateError('STORE_AWAY', 503, 'later'), 1011],
  ] as const
  for (const [reason, code] of cases) {
    const client = await through(t, {})
    client.exchange.cut(reason)
    const closed = await client.closed
    t.equal(closed.code, code)
    t.ok(closed.reason.length > 0 && reason.message.startsWith(closed.reason), 'cut at a character')
    t.match(await client.outcome, { end: 'cut', status: 101, fault: { code: reason.code } })
  }
  const closing = await upstream.seen('closing', 'echo')
  t.equal(closing.at(-1)?.code, 1001, 'the upstream learns that nobody is there any more')
})

t.test('a drain closes with 1001 when the grace is over', async t => {
  const client = await through(t, {})
  await client.drain()
  t.match(await client.closed, { code: 1001, reason: /shutting down/ })
  t.match(await client.outcome, { end: 'cut', fault: { code: 'DRAINING' } })
})

t.test('a client that vanishes is a hangup', async t => {
  const client = await through(t, {})
  client.socket.terminate()
  t.match(await client.outcome, { end: 'hangup', status: 101 })
})
