/** Pass-through: which bytes of the request change, and what the response reports. */
import t from 'tap'
import { TollgateError } from '../../../engine/errors.ts'
import type { Target } from '../../../engine/plugin.ts'
import { MODEL, USAGE } from '../../../plugins/slots.ts'
import translate from '../../../plugins/translate/index.ts'
import {
  chat,
  delta,
  JSON_TYPE,
  runTranslate,
  SSE,
  TARGET,
} from '../../helpers/formats/translation.ts'
import {
  errorFrom,
  fakeAttempt,
  fakeExchange,
  fakeHost,
  noNext,
  readReply,
} from '../../helpers/gateway/fake-exchange.ts'

const bodyOf = (body: unknown): string => Buffer.from(body as Uint8Array).toString()
const USED = '{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}'
const plain = `{"id":"c","model":"gpt-4.1-2025","choices":[{"message":{"content":"hi"}}],"usage":${USED}}`

t.test('pass-through: changes only the model name of the request', async t => {
  const body = Buffer.from('{ "messages" : [ ], "model" : "gp-4.1" , "x" : 1.0 }')
  const { attempt } = await runTranslate({ headers: JSON_TYPE, body: plain }, { body })
  t.equal(bodyOf(attempt.request.body), '{ "messages" : [ ], "model" : "gpt-4.1", "x" : 1.0 }')
  t.equal(attempt.request.headers['content-type'], 'application/json')
  const same = await runTranslate(
    { headers: JSON_TYPE, body: plain },
    { body, target: { upstream: 'gp', name: 'gp-4.1' } },
  )
  t.equal(same.attempt.request.body, same.exchange.request.body.whole, 'not even copied')
  const requestWithoutModel = await runTranslate(
    { headers: JSON_TYPE, body: plain },
    { body, target: { upstream: 'gp' } },
  )
  t.equal(requestWithoutModel.attempt.request.body, requestWithoutModel.exchange.request.body.whole)
})

t.test('pass-through: keeps a plain answer byte for byte and reads its usage', async t => {
  const { attempt, exchange } = await runTranslate({ headers: JSON_TYPE, body: plain })
  const { text } = await readReply(attempt.reply)
  t.equal(text, plain.replace('gpt-4.1-2025', 'gp-4.1'), 'all but the model’s name')
  t.same(exchange.slots.get(USAGE), { meters: { input: 3, output: 2 }, estimated: false })
})

t.test('pass-through: leaves the model’s name as it is where the operator wants that', async t => {
  const host = fakeHost({ document: { settings: { answer_model: 'upstream' } } })
  const { attempt } = await runTranslate({ headers: JSON_TYPE, body: plain }, { host })
  t.equal((await readReply(attempt.reply)).text, plain)
})

/** A tier and no number, as Google has it of a prompt that was blocked. */
const TIER = '{"usage":{"service_tier":"default"}}'

t.test('pass-through: marks the usage of an answer without counts as estimated', async t => {
  const choices = '"choices":[{"finish_reason":"stop"}]'
  for (const body of [
    `{${choices},"usage":null}`,
    `{${choices}}`,
    `\ufeff{${choices}}\n`,
    `{${choices},"usage":"text"}`,
    TIER.replace('{', `{${choices},`),
  ]) {
    const { attempt, exchange } = await runTranslate({ headers: JSON_TYPE, body })
    t.equal((await readReply(attempt.reply)).text, body)
    t.same(exchange.slots.get(USAGE), { meters: {}, estimated: true })
  }
})

t.test('pass-through: an answer that is not JSON, or is cut off, is a fault', async t => {
  const unreadable = [
    '<html>Log in</html>',
    '<p>{}</p>',
    '{"choices":[',
    '{}{}',
    '}{',
    '"x"',
    '',
    'x',
  ]
  for (const body of unreadable) {
    const { attempt } = await runTranslate({ headers: JSON_TYPE, body })
    t.match((await readReply(attempt.reply)).fault, { code: 'UPSTREAM_UNREADABLE' }, body)
  }
  const page = await runTranslate({ headers: { 'content-type': 'text/html' }, body: '<html>' })
  t.match((await readReply(page.attempt.reply)).fault, { status: 502 }, 'also for a stream')
  const text = JSON.stringify('1\n00:00:01,000 --> 00:00:02,000')
  const subtitles = await runTranslate(
    { headers: JSON_TYPE, body: text },
    { format: 'openai-transcription', path: '/v1/audio/transcriptions' },
  )
  t.equal((await readReply(subtitles.attempt.reply)).text, text, 'a format that also has text')
})

t.test('pass-through: a plain answer that breaks off stays broken off', async t => {
  const dies = new TollgateError('TARGET_CUT', 502, 'It broke.')
  const { attempt, exchange } = await runTranslate({ headers: JSON_TYPE, chunks: ['{"id"'], dies })
  t.equal((await readReply(attempt.reply)).fault, dies)
  t.match(exchange.slots.get(USAGE), { estimated: true })
})

const usage = `data: {"id":"c","choices":[],"usage":${USED}}\n\n`
const DONE = 'data: [DONE]\n\n'

t.test('pass-through: keeps a stream byte for byte and holds back its last event', async t => {
  const chunks = [delta, delta, usage, DONE]
  const { attempt, exchange } = await runTranslate({ headers: SSE, chunks })
  const output = await readReply(attempt.reply)
  t.equal(output.text, chunks.join(''))
  t.equal(output.tail, DONE)
  t.same(exchange.slots.get(USAGE), { meters: { input: 3, output: 2 }, estimated: false })
  const loud = await runTranslate({ headers: { 'content-type': 'TEXT/EVENT-STREAM' }, chunks })
  t.equal((await readReply(loud.attempt.reply)).tail, DONE, 'the type in capitals')
})

t.test('pass-through: renames the model in a Gemini path and drops the customer’s key', async t => {
  const { name, ...nameless } = { upstream: 'gx', name: 'gemini/2.5 pro' }
  const to = async (path: string, search: string, target: Target) => {
    const body = '{"usageMetadata":{"promptTokenCount":1}}'
    const { attempt } = await runTranslate(
      { headers: JSON_TYPE, body },
      { format: 'google-gemini', path, search, target, model: 'gx-2.5-pro' },
    )
    return attempt.request.path
  }
  const path = '/v1beta/models/gx-2.5-pro:generateContent'
  const upstreamPath = '/v1beta/models/gemini%2F2.5%20pro:generateContent'
  t.equal(await to(path, '', { ...nameless, name }), upstreamPath)
  t.equal(await to(path, 'alt=sse', { ...nameless, name }), `${upstreamPath}?alt=sse`)
  t.equal(await to(path, 'key=sk-1&alt=sse', { ...nameless, name }), `${upstreamPath}?alt=sse`)
  t.equal(await to(path, 'k%65y=sk-1', { ...nameless, name }), upstreamPath, 'however it is spelt')
  t.equal(await to(path, 'key=sk-1&key=sk-2', nameless), path)
  t.equal(await to('/v1beta/models/m', '', { ...nameless, name: 'n' }), '/v1beta/models/n')
})

t.test('pass-through: reads a Gemini array stream as a plain answer', async t => {
  const body =
    '[{"candidates":[{}],"usageMetadata":{"promptTokenCount":3}},\r\n{"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":9}}]'
  const options = { format: 'google-gemini', path: '/v1beta/models/m:streamGenerateContent' }
  const { attempt, exchange } = await runTranslate(
    { headers: JSON_TYPE, chunks: [...body] },
    options,
  )
  t.equal((await readReply(attempt.reply)).text, body)
  t.same(exchange.slots.get(USAGE), { meters: { input: 3, output: 9 }, estimated: false })
})

t.test('pass-through: adds required headers that the client did not send', async t => {
  const exchange = fakeExchange({ body: chat })
  const stage = translate.setup('anthropic-messages', fakeHost())
  const attempt = fakeAttempt(exchange, TARGET, { headers: JSON_TYPE, body: '{}' })
  await stage.forward(attempt, attempt.next)
  t.equal(attempt.request.headers['anthropic-version'], '2023-06-01')
  const own = fakeAttempt(exchange, TARGET, { headers: JSON_TYPE, body: '{}' })
  own.request.headers['anthropic-version'] = '2099-01-01'
  await stage.forward(own, own.next)
  t.equal(own.request.headers['anthropic-version'], '2099-01-01')
})

t.test(
  'translation planner: removes unreachable targets and refuses a request without any other',
  async t => {
    const upstreams = {
      gp: { options: { formats: ['openai-chat', 'openai-responses'] } },
      cl: { options: { formats: ['anthropic-messages'] } },
      any: { options: {} },
      odd: { options: { formats: ['smoke-signals'] } },
    }
    const stage = translate.setup('openai-chat', fakeHost({ upstreams }))
    const judge = async (...names: readonly string[]) => {
      const exchange = fakeExchange({ targets: names.map(upstream => ({ upstream })) })
      exchange.slots.set(MODEL, { asked: 'cl-sonnet-4-5', entry: 'cl-*' })
      const fault = await errorFrom(() => stage.handle(exchange, noNext))
      return fault ?? exchange.targets.map(({ upstream }) => upstream)
    }
    t.same(await judge('gp', 'any'), ['gp', 'any'])
    t.same(await judge('cl', 'odd', 'any'), ['cl', 'any'], 'another format is not a reason')
    t.match(await judge('odd'), { code: 'MODEL_NOT_HERE', status: 404, message: /cl-sonnet-4-5/ })
    t.same(await judge(), [], 'a route without targets is not its affair')
  },
)

t.test('translate: refuses an unknown format at load', async t => {
  t.throws(
    () => translate.setup('esperanto', fakeHost()),
    /no format "esperanto"; there are openai/,
  )
})
