/** Interactions, which the gateway keeps for every target: with Google's official SDK, plain and
 *  streamed, on upstreams of each format and passed on to one of its own. */
import { readFileSync } from 'node:fs'
import { GoogleGenAI, type Interactions } from '@google/genai'
import t from 'tap'
import { openDatabase } from '../../../engine/store/database.ts'
import { tollgate } from '../../helpers/gateway/command-line.ts'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { postTo } from '../../helpers/gateway/post.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { giveCredit } from '../../helpers/money/credit.ts'
import { sql } from '../../helpers/store/store.ts'
import { startToolLoop, WORD } from '../clients/tool-loop-upstream.ts'

const FORMATS = [
  'openai-chat',
  'openai-responses',
  'anthropic-messages',
  'google-gemini',
  'google-interactions',
] as const
const upstreams = new Map(
  await Promise.all(FORMATS.map(async format => [format, await startToolLoop(t, format)] as const)),
)
const SHIPPED = readFileSync('routes.yaml', 'utf8')
  .split(/\n(?= {2}- )/)
  .filter(route => /\/v1(?:beta)?\/interactions/.test(route))
  .map(route => route.replace(/\n *(?:ping:|#).*/g, ''))
  .join('\n')
const gateway = await startGateway({
  routes: `pipeline: [errors, auth, validate, model, idempotency, responses, resources, meter, translate]
upstreams:
${[...upstreams].map(([format, { url }]) => `  ${format}: { url: '${url}', key: k, formats: [${format}] }`).join('\n')}
models:
${FORMATS.map(format => `  ${format}: { to: ${format}/model-1, output: 8192, price: { input: 1 / 1M, output: 1 / 1M } }`).join('\n')}
routes:
${SHIPPED}
`,
  files: { 'schemas/interactions.json': readFileSync('schemas/interactions.json', 'utf8') },
})
t.teardown(() => gateway.stop())
const env = {
  TOLLGATE_DATA: gateway.data,
  TOLLGATE_CONFIG: gateway.data.replace(/data$/, 'routes.yaml'),
}
const database = await openDatabase({ url: 'sqlite:', data: gateway.data, writeTimeout: 60_000 })
t.teardown(() => database.close())
const keyOf = async (name: string): Promise<string> => {
  await tollgate(['accounts', 'create', name], env)
  const { out } = await tollgate(['keys', 'create', name], env)
  const find = sql('account by name', 'SELECT id FROM accounts WHERE name = ?')
  const [row] = await database.read(find, [name])
  await giveCredit(database, Number(row?.id), 10n * 10n ** 9n)
  return /sk-\w+/.exec(out)?.[0] ?? ''
}
const apiKey = await keyOf('ann')
const clientOf = (key: string) =>
  new GoogleGenAI({
    apiKey: key,
    httpOptions: { baseUrl: gateway.url, retryOptions: { attempts: 1 } },
  })
const ann = clientOf(apiKey)
const bob = clientOf(await keyOf('bob'))
const statusOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => 'it did not fail',
    error => Reflect.get(error, 'status'),
  )

const tools: Interactions.Tool[] = [
  {
    type: 'function',
    name: 'bash',
    parameters: { type: 'object', properties: { command: { type: 'string' } } },
  },
]
interface Outcome {
  readonly id: string
  readonly status: string
  readonly text: string
  readonly call?: { readonly id: string; readonly name: string; readonly input: string }
  readonly tokens: number | undefined
}
type Params = Omit<Interactions.CreateModelInteractionParamsNonStreaming, 'stream'>
const plain = async (params: Params): Promise<Outcome> => {
  const {
    id,
    status,
    steps = [],
    output_text: text = '',
    usage,
  } = await ann.interactions.create({
    ...params,
    stream: false,
  })
  const call = steps.find(each => each.type === 'function_call')
  const tokens = usage?.total_tokens
  if (call?.type !== 'function_call') return { id, status, text, tokens }
  const input = JSON.stringify(call.arguments)
  return { id, status, text, tokens, call: { id: call.id, name: call.name, input } }
}
const streamed = async (params: Params): Promise<Outcome> => {
  let [id, status, text, input] = ['', '', '', '']
  let call: Outcome['call']
  let tokens: number | undefined
  const stream = await ann.interactions.create({ ...params, stream: true })
  for await (const event of stream) {
    if (event.event_type === 'interaction.created') id = event.interaction.id
    if (event.event_type === 'step.start' && event.step.type === 'function_call')
      call = { id: event.step.id, name: event.step.name, input: '' }
    if (event.event_type === 'step.delta' && event.delta.type === 'text') text += event.delta.text
    if (event.event_type === 'step.delta' && event.delta.type === 'arguments_delta')
      input += event.delta.arguments ?? ''
    if (event.event_type !== 'interaction.completed') continue
    status = event.interaction.status
    tokens = event.interaction.usage?.total_tokens
    t.equal(event.interaction.id, id, 'one id')
  }
  return { id, status, text, tokens, ...(call && { call: { ...call, input } }) }
}
const result = (callId: string): Interactions.Step[] => [
  { type: 'function_result', call_id: callId, name: 'bash', result: `It says ${WORD}.` },
]
const WAYS = { plain, streamed } as const

for (const model of FORMATS)
  for (const [way, create] of Object.entries(WAYS))
    t.test(`interactions on ${model}, ${way}: a tool in two steps`, async t => {
      const first = await create({ model, input: 'What is in note.txt?', tools })
      t.match(first, { status: 'requires_action', call: { name: 'bash' }, tokens: 120 })
      t.match(JSON.parse(first.call?.input ?? ''), { command: 'cat note.txt' })
      const next = { model, tools, previous_interaction_id: first.id }
      const second = await create({ ...next, input: result(first.call?.id ?? '') })
      t.match(second, { status: 'completed', text: new RegExp(WORD) })
      t.not(second.id, first.id)
      t.same(upstreams.get(model)?.problems, [])
    })

t.test('interactions: go on with any other model', async t => {
  let previous: Outcome | undefined
  for (const model of [...FORMATS, FORMATS[0]]) {
    const input = previous ? 'Go on.' : 'What is in note.txt?'
    const next = previous && { previous_interaction_id: previous.id }
    previous = await plain({ model, input, ...next, ...(!previous && { tools }) })
    if (previous.call) {
      const step = { model, input: result(previous.call.id), tools }
      previous = await plain({ ...step, previous_interaction_id: previous.id })
    }
    t.match(previous, { status: 'completed', text: new RegExp(WORD) }, model)
  }
})

for (const model of FORMATS)
  t.test(`interactions on ${model}, in the background: a tool in two steps`, async t => {
    const run = async (params: Params): Promise<Interactions.Interaction> => {
      const queued = await ann.interactions.create({ ...params, background: true, stream: false })
      t.match(queued, { id: /^int_/, model, status: 'in_progress' })
      return eventually(async () => {
        const current = await ann.interactions.get(queued.id)
        return current.status === 'in_progress' ? undefined : current
      })
    }
    const first = await run({ model, input: 'What is in note.txt?', tools })
    const call = first.steps?.find(each => each.type === 'function_call')
    t.match(first, { status: 'requires_action', model, usage: { total_tokens: 120 } })
    const next = { model, tools, previous_interaction_id: first.id }
    const second = await run({ ...next, input: result(call?.id ?? '') })
    t.match(second, { status: 'completed', previous_interaction_id: first.id })
    t.match(JSON.stringify(second.steps), new RegExp(WORD))
    t.same(upstreams.get(model)?.problems, [])
    t.equal(await statusOf(ann.interactions.cancel(second.id)), 400, 'it is finished')
    t.equal(await statusOf(bob.interactions.get(second.id)), 404)
  })

t.test('interactions: the whole conversation in one request', async t => {
  for (const model of FORMATS) {
    const input: Interactions.Step[] = [
      { type: 'user_input', content: [{ type: 'text', text: 'What is in note.txt?' }] },
      { type: 'function_call', id: 'call_7', name: 'bash', arguments: { command: 'cat' } },
      ...result('call_7'),
    ]
    t.match(await plain({ model, input, tools, store: false }), { text: new RegExp(WORD) }, model)
  }
})

t.test('interactions: are shown and deleted for their account alone', async t => {
  for (const model of ['openai-chat', 'google-interactions']) {
    const { id } = await plain({ model, input: 'Hello' })
    t.match(await ann.interactions.get(id), { id, model, status: 'completed' })
    const whole = await ann.interactions.get(id, { include_input: true })
    t.match(whole.input, [{ type: 'user_input', content: [{ text: 'Hello' }] }])
    const next = { model, input: 'And?', previous_interaction_id: id }
    for (const call of [
      () => bob.interactions.get(id),
      () => bob.interactions.delete(id),
      () => bob.interactions.cancel(id),
      () => bob.interactions.create(next),
    ])
      t.equal(await statusOf(call()), 404)
    t.equal(await statusOf(ann.interactions.cancel(id)), 400)
    t.equal(await statusOf(ann.interactions.get(id, { stream: true })), 400)
    const later = await plain(next)
    await ann.interactions.delete(id)
    t.equal(await statusOf(ann.interactions.get(id)), 404)
    t.equal(
      await statusOf(ann.interactions.create({ ...next, previous_interaction_id: later.id })),
      404,
    )
    const unstored = await plain({ model, input: 'Hello', store: false })
    t.equal(await statusOf(ann.interactions.get(unstored.id)), 404)
  }
})

t.test('interactions: what is not served is refused by name', async t => {
  const post = async (body: object, headers: Record<string, string> = {}) => {
    const response = await postTo(
      `${gateway.url}/v1beta/interactions`,
      { model: 'openai-chat', input: 'Hello', ...body },
      { 'x-goog-api-key': apiKey, ...headers },
    )
    return {
      status: response.status,
      body: await response.json(),
      dropped: response.headers.get('x-tollgate-dropped') ?? '',
    }
  }
  const refusals: readonly (readonly [object, RegExp])[] = [
    [{ background: true, store: false }, /background/],
    [{ background: true, stream: true }, /background/],
    [{ background: 'yes' }, /background/],
    [{ agent: 'deep-research-pro-preview-12-2025' }, /agent/],
    [{ input: [{ type: 'guess' }] }, /input\[0\]/],
    [
      { input: [{ type: 'function_call', id: 'a', name: 'b', arguments: 'c' }] },
      /input\[0\]\.arguments/,
    ],
    [{ input: [{ type: 'image', data: 'aGk=' }] }, /input\[0\]\.mime_type/],
    [{ input: [{ role: 'sister', content: 'hi' }] }, /input\[0\]\.role/],
    [{ tools: [{ type: 'computer_use' }] }, /computer_use/],
    [{ generation_config: { thinking_level: 'most' } }, /thinking_level/],
    [{ generation_config: { tool_choice: 'perhaps' } }, /tool_choice/],
    [{ response_format: { type: 'text', mime_type: 'text/html' } }, /mime_type/],
  ]
  for (const [body, message] of refusals) {
    const answer = await post(body)
    t.equal(answer.status, 400, JSON.stringify(body))
    t.match(answer.body, { error: { code: 400, status: 'INVALID_ARGUMENT', message } })
  }
  const { status, dropped } = await post({ webhook_config: { uris: ['https://example.com'] } })
  t.equal(status, 200)
  t.match(dropped, /webhook_config/)
  const strict = await post({ webhook_config: {} }, { 'x-tollgate-strict': 'true' })
  t.equal(strict.status, 400)
})
