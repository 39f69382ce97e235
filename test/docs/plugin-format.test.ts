/** The wire format of examples/own-format: for clients and targets, plain, streamed, charged; and
 *  checked when it is loaded. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { ProblemsError } from '../../engine/config/problem.ts'
import type { Json, Plugin } from '../../engine/plugin.ts'
import type { Format } from '../../plugins/formats/format.ts'
import meter from '../../plugins/meter.ts'
import translate from '../../plugins/translate/index.ts'
import { checkFormat } from '../helpers/formats/conformance.ts'
import { startTextUpstream } from '../helpers/gateway/chat-upstream.ts'
import { startGateway } from '../helpers/gateway/gateway.ts'
import { chatAnswer, startMetered } from '../helpers/gateway/metered.ts'
import { exampleOf } from './examples.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const source = readFileSync(`${root}examples/own-format/plugins/ask.ts`, 'utf8')

/** Answers `/v1/ask` and `/v1/chat/completions`, plain and streamed. */
const startBoth = async (t: Test) => {
  const bodies: Json[] = []
  const url = await startTextUpstream(t, (requestText, response, request) => {
    const body = JSON.parse(requestText)
    bodies.push(body)
    const isAsk = request.url === '/v1/ask'
    const used = { in: 3, out: 2 }
    const usage = { prompt_tokens: 7, completion_tokens: 5 }
    const delta = (content: string, more = {}) => ({
      id: 'c',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'up',
      choices: [{ index: 0, delta: { content }, finish_reason: null, ...more }],
    })
    response.setHeader('content-type', body.stream ? 'text/event-stream' : 'application/json')
    if (!body.stream)
      return void response.end(
        JSON.stringify(isAsk ? { model: 'up', text: 'Good day.', used } : chatAnswer()),
      )
    const events = isAsk
      ? [
          { model: 'up', text: 'Good ' },
          { model: 'up', text: 'day.' },
          { model: 'up', used },
        ]
      : [
          delta('Good '),
          delta('day.'),
          delta('', { finish_reason: 'stop' }),
          { ...delta(''), choices: [], usage },
        ]
    for (const event of events) response.write(`data: ${JSON.stringify(event)}\n\n`)
    response.end(isAsk ? '' : 'data: [DONE]\n\n')
  })
  return { url, bodies }
}
const routesFor = (url: string, more = '', format = 'ask') => `pipeline: [errors, model, translate]
upstreams:
  ours: { url: '${url}', auth: none, formats: [${format}] }
  theirs: { url: '${url}', auth: none, formats: [openai-chat] }
models:
  ours: { to: ours/up, free: true }
  theirs: { to: theirs/up, free: true }
routes:
  - { path: POST /v1/ask, model: body, translate: ask, errors: openai }
  - { path: POST /v1/chat/completions, model: body, translate: openai-chat, errors: openai }
  - { path: GET /v1/models, model: { list: openai } }
${more}`
const start = (routes: string, files: Readonly<Record<string, string>> = {}) =>
  startGateway({
    inside: true,
    files: { 'plugins/ask.ts': source, ...files },
    routes,
  })
const ask = (model: string, more = {}) => ['/v1/ask', { model, question: 'Hi?', ...more }] as const
const chat = (model: string, more = {}) =>
  [
    '/v1/chat/completions',
    { model, messages: [{ role: 'user', content: 'Hi?' }], ...more },
  ] as const

t.test('own format: translated to and from openai-chat, plain and streamed', async t => {
  const { url, bodies } = await startBoth(t)
  const gateway = await start(routesFor(url))
  t.teardown(() => gateway.stop())
  const send = async ([path, body]: readonly [string, object]) => {
    const response = await fetch(gateway.url + path, { method: 'POST', body: JSON.stringify(body) })
    return { status: response.status, text: await response.text() }
  }
  for (const model of ['ours', 'theirs']) {
    const plain = await send(ask(model, { max_words: 9 }))
    t.match(JSON.parse(plain.text), { model, text: 'Good day.', used: { in: Number } })
    t.match(
      (await send(ask(model, { stream: true }))).text,
      /"text":"day\."[\s\S]*"used":\{"in":[37]/,
    )
    t.match(JSON.parse((await send(chat(model))).text), {
      model,
      choices: [{ message: { content: 'Good day.' } }],
    })
    t.match((await send(chat(model, { stream: true }))).text, /"content":"day\."[\s\S]*\[DONE\]/)
  }
  t.match(bodies[0], { model: 'up', question: 'Hi?', max_words: 9 })
  t.match(bodies[4], { model: 'up', messages: [{ content: 'Hi?' }] })
  t.match(await (await fetch(`${gateway.url}/v1/models`)).json(), {
    data: [{ supported_endpoint_types: ['ask', 'openai'] }, {}],
  })
})

t.test('own format: its calls are charged, plain and streamed', async t => {
  const { url } = await startBoth(t)
  const example = await exampleOf(t, 'ask')
  const price = { input: '0.000001', output: '0.000002' }
  const { send, rows } = await startMetered(t, 'sqlite', {
    routes: [{ path: 'POST /v1/ask', model: 'body', translate: 'ask', meter: {} }],
    upstreams: { ours: { url, formats: ['ask'] } },
    models: { ours: { to: 'ours/up', price, output: 100 } },
    more: { meter: meter as Plugin, ask: example },
  })
  for (const stream of [false, true]) {
    const response = await send('POST', '/v1/ask', {}, ask('ours', { stream })[1])
    t.equal(response.status, 200)
  }
  const charges = await rows('SELECT amount, estimated FROM charges')
  t.match(charges, [
    { amount: 7_000, estimated: 0 },
    { amount: 7_000, estimated: 0 },
  ])
})

t.test('own format: mistakes are problems when it is loaded', async t => {
  const problemsOf = async (routes: string, files = {}) => {
    try {
      await (await start(routes, files)).stop()
      return []
    } catch (error) {
      if (!(error instanceof ProblemsError)) throw error
      return error.problems
    }
  }
  const plugin = (text: string) =>
    `export default { schema: {}, formats: ${text}, setup: () => ({}) }`
  const problems = await problemsOf(routesFor('http://127.0.0.1:9', '', 'askk'), {
    'plugins/two.ts': plugin("{ ask: { name: 'ask' } }"),
    'plugins/three.ts': plugin("{ 'openai-chat': { name: 'openai-chat' } }"),
  })
  const [mine, shipped] = [/"ask", which plugins\/ask\.ts/, /"openai-chat", which .*translate/]
  t.match(
    problems.toSorted((a, b) => (a.message < b.message ? -1 : 1)),
    [
      { code: 'PLUGIN_CLASH', file: 'plugins/three.ts', message: shipped },
      { code: 'PLUGIN_CLASH', file: 'plugins/two.ts', message: mine },
      { code: 'UNKNOWN_VALUE', file: 'routes.yaml', suggestion: 'ask' },
    ],
  )
})

t.test('own format: a format without a member that it needs is a problem', t => {
  const problemsOf = (format: object) => {
    const problems: unknown[] = []
    translate.check({}, (...problem) => void problems.push(problem), { formats: { toy: format } })
    return problems
  }
  const stream = { error() {} }
  const messages: readonly (readonly [object, RegExp])[] = [
    [{ name: 'tou', stream }, /"name" must be "toy"/],
    [{ name: 'toy', stream, codec: {} }, /lacks codec\.encodePrompt, codec\.decodeAnswer/],
    [{ name: 'toy', stream: {} }, /lacks codec, stream\.error/],
    [{ name: 'toy', dialect: 'openal', stream }, /dialect must be one of openai/],
    [{ name: 'toy', dialect: 'openai', stream }, /lacks about, endpoint, model, usage/],
  ]
  for (const [format, message] of messages)
    t.match(problemsOf(format), [[['pipeline'], 'FORMAT_SHAPE', message]])
  t.end()
})

t.test('own format: it passes the checks of every format', async t => {
  const { formats = {} } = await exampleOf(t, 'ask')
  checkFormat(t, 'ask', formats.ask as Format)
})
