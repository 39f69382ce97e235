/** Hosted tools requested by clients of other formats: sent in the format that supports them, or
 *  refused by the name that the client used. */
import t from 'tap'
import { plain } from '../../fixtures/upstream/scenarios.ts'
import { postWithKey, sentCalls, upstream } from './shipped-gateway.ts'

const post = async (path: string, body: object) => {
  const response = await postWithKey(path, body)
  const unpriced = response.headers.get('x-tollgate-unpriced')
  return { status: response.status, text: JSON.stringify(await response.json()), unpriced }
}
const messages = [{ role: 'user', content: 'hi' }]
const contents = [{ role: 'user', parts: [{ text: 'hi' }] }]
const answer = plain({
  id: 'resp_1',
  object: 'response',
  created_at: 7,
  status: 'completed',
  model: 'there',
  output: [
    {
      type: 'message',
      id: 'msg_1',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: 'found', annotations: [] }],
    },
  ],
  usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
})
/** The target and tools of the upstream's request. */
const sentRequest = async () => {
  const [request] = await upstream.events('request', 'gp')
  const [body] = await upstream.events('body', 'gp')
  const text = Buffer.from(body?.body.bytes ?? []).toString()
  return { target: request?.head.target, tools: JSON.parse(text).tools }
}
const SEARCH = { type: 'web_search_20250305', name: 'web_search' }
const CODE = { type: 'code_execution_20250825', name: 'code_execution' }
const asMessage = (model: string, tools: object[]) =>
  ['/v1/messages', { model, max_tokens: 9, messages, ...(tools.length > 0 && { tools }) }] as const
const asGoogle = (model: string, tools: object[]) =>
  [
    `/v1beta/models/${model}:generateContent`,
    { contents, ...(tools.length > 0 && { tools }) },
  ] as const

for (const [what, [path, body], type] of [
  [
    'a search of a messages client becomes a responses tool',
    asMessage('gp-4.1', [SEARCH]),
    'web_search',
  ],
  [
    'code execution of a messages client becomes a responses tool',
    asMessage('gp-4.1', [CODE]),
    'code_interpreter',
  ],
  [
    'a search of a Google client becomes a responses tool',
    asGoogle('gp-4.1', [{ googleSearch: {} }]),
    'web_search',
  ],
  [
    'code execution of a Google client becomes a responses tool',
    asGoogle('gp-4.1', [{ codeExecution: {} }]),
    'code_interpreter',
  ],
] as const)
  t.test(`hosted tools: ${what}`, async t => {
    await upstream.script('gp', [{ do: 'body' }, answer])
    const { status, text } = await post(path, body)
    t.equal(status, 200, text)
    t.match(text, /found/)
    t.match(await sentRequest(), { target: '/s/gp/v1/responses', tools: [{ type }] })
  })

t.test(
  'hosted tools: a request without them goes to the format that carries its settings',
  async t => {
    const chat = plain({ choices: [{ message: { content: 'found' }, finish_reason: 'stop' }] })
    const [messagesPath, message] = asMessage('gp-4.1', [
      { name: 'find', input_schema: { type: 'object' } },
    ])
    const [googlePath, google] = asGoogle('gp-4.1', [{ functionDeclarations: [{ name: 'find' }] }])
    for (const [path, body, format] of [
      [messagesPath, message, 'responses'],
      [googlePath, google, 'responses'],
      [messagesPath, { ...message, stop_sequences: ['END'] }, 'chat/completions'],
      [googlePath, { ...google, generationConfig: { seed: 7 } }, 'chat/completions'],
    ] as const) {
      await upstream.forget()
      await upstream.script('gp', [{ do: 'body' }, format === 'responses' ? answer : chat])
      const { status, text } = await post(path, body)
      t.equal(status, 200, text)
      t.match(await sentRequest(), { target: `/s/gp/v1/${format}` })
    }
  },
)

t.test('hosted tools: research models are called in the responses format', async t => {
  for (const [path, body] of [asMessage, asGoogle].map(of =>
    of('o3-deep-research-2025-06-26', []),
  )) {
    await upstream.forget()
    await upstream.script('gp', [{ do: 'body' }, answer])
    t.equal((await post(path as string, body as object)).status, 200)
    t.match(await sentRequest(), { target: '/s/gp/v1/responses' })
  }
})

t.test('hosted tools: a model without a tool that must be called is refused', async t => {
  await upstream.forget()
  for (const model of ['gp-4o-image', 'rc-v3'])
    for (const name of ['gx_search', 'url_context']) {
      const tools = [{ type: 'function', function: { name } }]
      const choice = { type: 'function', function: { name } }
      const body = { model, messages, tools, tool_choice: choice }
      const { status, text } = await post('/v1/chat/completions', body)
      t.equal(status, 400, model)
      t.match(text, name)
    }
  t.same(await sentCalls(), [], 'no upstream request')
})
t.test('hosted tools: one without a price is named, and costs nothing', async t => {
  await upstream.forget()
  await upstream.script('gp', [{ do: 'body' }, answer])
  const tools = [{ type: 'function', function: { name: 'gx_search' } }]
  const body = { model: 'gp-4-gizmo-g-a1', messages, tools }
  const { status, unpriced } = await post('/v1/chat/completions', body)
  t.equal(status, 200)
  t.equal(unpriced, 'web_search')
  t.match(await sentRequest(), { target: '/s/gp/v1/responses', tools: [{ type: 'web_search' }] })
})
