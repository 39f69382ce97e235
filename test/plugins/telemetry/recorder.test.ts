/** The work of a call beside its spans: its request is not parsed once more, and the answer passes
 *  unread if nothing of it is recorded. */
import t, { type Test } from 'tap'
import { formats } from '../../../plugins/formats/index.ts'
import type { Span } from '../../../plugins/telemetry/otlp.ts'
import { Recorder } from '../../../plugins/telemetry/recorder.ts'
import { SECTION } from '../../../plugins/telemetry/section.ts'
import {
  fakeAttempt,
  fakeExchange,
  readReply,
  type UpstreamReply,
} from '../../helpers/gateway/fake-exchange.ts'

const BODY = { model: 'm', stream: true, temperature: 0.5, messages: [] }
const ANSWER = '{"choices":[{"finish_reason":"stop"}]}'

/** Runs one call of 2 s. The engine drops the JSON of its request when the attempt has answered. */
const run = async (
  t: Test,
  section: { readonly share?: string; readonly always?: readonly string[] },
  reply: UpstreamReply = {},
) => {
  const spans: Span[] = []
  const measured: object[] = []
  const exporter = {
    add: (span: Span) => void spans.push(span),
    measures: { add: (call: object) => void measured.push(call) },
  }
  const recorder = new Recorder({
    section: SECTION.read({ to: 'http://127.0.0.1:1', ...section } as never),
    exporter: exporter as never,
    currency: 'USD',
    finish: formats.get('openai-chat')?.finish,
    provider: name => name,
  })
  const exchange = fakeExchange({ body: BODY, path: '/v1/chat/completions' })
  let late = 0
  let hasAnswered = false
  Object.defineProperty(exchange.request, 'outlined', {
    get() {
      if (hasAnswered) late++
      return BODY
    },
  })
  Object.defineProperty(exchange, 'startedAt', { value: performance.now() - 2_000 })
  recorder.begin(exchange)
  const attempt = fakeAttempt(exchange, { upstream: 'up', name: 'm' }, { body: ANSWER, ...reply })
  await recorder.attempt(attempt, attempt.next)
  hasAnswered = true
  const { text } = await readReply(attempt.reply)
  t.equal(text, ANSWER)
  const status = reply.status ?? 200
  t.same(exchange.finish({ end: 'complete', status, bytes: text.length } as never), [])
  return { late, measured, attributes: Object.assign({}, ...(spans[1]?.attributes ?? [])) }
}

t.test('recorder: a recorded call reads its request while the attempt runs', async t => {
  const { late, measured, attributes } = await run(t, { share: '100%' })
  t.equal(late, 0)
  t.equal(measured.length, 1)
  t.match(attributes, {
    'gen_ai.request.temperature': 0.5,
    'gen_ai.request.stream': true,
    'gen_ai.response.finish_reasons': ['stop'],
  })
})

t.test('recorder: a call that is not recorded is only measured', async t => {
  const { late, measured, attributes } = await run(t, { share: '0%' })
  t.same([late, measured.length, attributes], [0, 1, {}])
})

t.test('recorder: one that is recorded for its error reads its request then', async t => {
  const { late, attributes } = await run(t, { share: '0%' }, { status: 503 })
  t.equal(late, 1)
  t.match(attributes, { 'gen_ai.request.temperature': 0.5, 'http.response.status_code': 503 })
})

t.test('recorder: a slow call may be recorded, so that its answer is read', async t => {
  const { late, attributes } = await run(t, { share: '0%', always: ['slow > 1s'] })
  t.equal(late, 0)
  t.match(attributes, { 'gen_ai.response.finish_reasons': ['stop'] })
})
