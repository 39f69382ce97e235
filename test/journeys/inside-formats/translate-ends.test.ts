/** Ends of streams through the gateway: errors before the first event lead to the next target,
 *  later errors reach the client. */
import t from 'tap'
import { plain, stream, text } from '../../fixtures/upstream/scenarios.ts'
import type { Step } from '../../fixtures/upstream/script.ts'
import { eventsOf, readAll } from '../../helpers/gateway/event-stream.ts'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { startUpstream } from '../../helpers/gateway/upstream.ts'

const upstream = await startUpstream()
const gateway = await startGateway({
  inside: true,
  routes: `
pipeline: [errors, model, translate]
upstreams:
  one: { url: '${upstream.url}/s/one', timeout: { idle: 60s } }
  two: { url: '${upstream.url}/s/two' }
models:
  both: { to: [one/first, two/second] }
  alone: { to: one/first }
routes:
  - { path: POST /v1/chat/completions, name: chat, model: body, translate: openai-chat }
`,
})
t.teardown(() => Promise.all([gateway.stop(), upstream.stop()]))

const send = async (model: string) => {
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({ model, stream: true }),
  })
  const { bytes, broke: failure } = await readAll(response)
  return {
    status: response.status,
    headers: response.headers,
    text: bytes.toString(),
    broke: failure,
  }
}
const delta = 'data: {"choices":[{"delta":{"content":"hi"}}]}\n\n'
const DONE = 'data: [DONE]\n\n'
const overloadEvent = 'data: {"error":{"message":"later","code":"overloaded"}}\n\n'
const HEAD = text(
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n',
)
const chunk = (bytes: string): Step => ({ do: 'send', bytes, inChunks: true })

t.test('stream ends: an error event after status 200 leads to the next target', async t => {
  await upstream.script('one', [{ do: 'body' }, ...stream(overloadEvent, { piece: 7 })])
  await upstream.script('two', [{ do: 'body' }, ...stream(delta + DONE)])
  const { status, text } = await send('both')
  t.equal(status, 200)
  t.equal(text, delta + DONE)
  const [body] = await upstream.events('body', 'two')
  t.match(Buffer.from(body?.body.bytes ?? []).toString(), /"model":"second"/)
})

t.test('stream ends: an error event of the last target becomes an error reply', async t => {
  await upstream.script('one', [{ do: 'body' }, ...stream(overloadEvent)])
  const { status, headers, text } = await send('alone')
  t.equal(status, 503)
  t.equal(headers.get('content-type'), 'application/json')
  t.match(JSON.parse(text), { error: { message: 'later', code: 'overloaded' } })
})

t.test('stream ends: a rejected gateway key is not a client error', async t => {
  const rejection = { error: { message: 'Incorrect API key: sk-operators' } }
  await upstream.script('one', [{ do: 'body' }, plain(rejection, '401 Unauthorized')])
  await upstream.script('two', [{ do: 'body' }, ...stream(delta + DONE)])
  t.equal((await send('both')).text, delta + DONE)
  const { status, text } = await send('alone')
  t.equal(status, 502)
  t.match(JSON.parse(text), {
    error: { message: /rejects the gateway's API key/, code: 'upstream_error' },
  })
  t.notMatch(text, /sk-operators/)
})

t.test('stream ends: do not wait for a lingering upstream', async t => {
  await upstream.script('one', [{ do: 'body' }, HEAD, chunk(delta), chunk(DONE), { do: 'stall' }])
  const { text, broke } = await send('alone')
  t.equal(text, delta + DONE)
  t.equal(broke, undefined, 'a whole answer')
  await upstream.until('close')
})

t.test('stream ends: a connection error in mid-stream becomes an error event', async t => {
  await upstream.forget()
  const half = [chunk(delta), chunk('data: {"choi')]
  await upstream.script('one', [{ do: 'body' }, HEAD, ...half, { do: 'reset' }])
  await upstream.script('two', [{ do: 'body' }, ...stream(delta + DONE)])
  const { status, text, broke } = await send('both')
  t.equal(status, 200)
  t.equal(broke, undefined)
  const events = eventsOf(text)
  t.equal(events.length, 2)
  t.match(JSON.parse(events[1] ?? ''), { error: { message: /broke off/, type: 'server_error' } })
  t.same(await upstream.events('request', 'two'), [], 'no other target was called')
})

t.test('stream ends: a missing terminator becomes an error event', async t => {
  await upstream.script('one', [{ do: 'body' }, ...stream(delta)])
  const { text } = await send('alone')
  t.ok(text.startsWith(delta))
  t.match(JSON.parse(eventsOf(text)[1] ?? ''), { error: { message: /before it was complete/ } })
})
