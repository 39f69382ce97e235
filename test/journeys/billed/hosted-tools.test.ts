/** Charges for hosted tools: each tool has its own price line, with pass-through and with
 *  translation. */
import t from 'tap'
import { plain, stream } from '../../fixtures/upstream/scenarios.ts'
import {
  type Customer,
  chargeOf,
  gateway,
  postJson,
  prepareCustomer,
  UNIT,
  upstream,
} from '../../helpers/money/billing-gateway.ts'

const ROUTES = `
pipeline: [errors, auth, account, model, meter, translate]
upstreams:
  gp: { url: '${upstream.url}/s/gp/v1', formats: [openai-responses] }
  gx: { url: '${upstream.url}/s/gx', formats: [google-gemini] }
models:
  m: { to: gp/there, price: { input: 0, output: 0, web_search: 0.5, code_execution: 2 }, max_calls: { web_search: 5, code_execution: 5 } }
  g: { to: gx/there, price: { input: 0, output: 0, web_search: 0.5 }, max_calls: { web_search: 5 } }
  bare: { to: gp/there, price: { input: 0, output: 0.25 } }
  firm: { to: gp/there, price: { input: 0, output: 0 }, unpriced: refuse }
  unbound: { to: gp/there, price: { input: 0, output: 0, web_search: 1 } }
routes:
  - { path: 'GET /api/usage/{id}', auth: key, account: receipt, errors: openai }
  - { path: 'POST /v1/responses', auth: key, model: body, translate: openai-responses, errors: openai }
  - { path: 'POST /v1/messages', auth: key, model: body, translate: anthropic-messages, errors: anthropic }
  - { path: 'POST /v1beta/models/{model}:generateContent', auth: key, model: { path: model }, translate: google-gemini, errors: google }
`
let customer: Customer
t.test('setup: routes and a funded account', async () => {
  customer = await prepareCustomer(ROUTES, 1_000_000n * UNIT)
})

const item = (type: string, id: string, more: object = {}) => ({
  type,
  id,
  status: 'completed',
  ...more,
})
const output = [
  item('web_search_call', 'a', { action: { type: 'search', query: 'x' } }),
  item('web_search_call', 'b', { action: { type: 'search', query: 'y' } }),
  item('code_interpreter_call', 'c', { code: '1', container_id: 'k', outputs: [] }),
  item('message', 'd', {
    role: 'assistant',
    content: [{ type: 'output_text', text: 'hi', annotations: [] }],
  }),
]
const response = {
  id: 'r',
  object: 'response',
  status: 'completed',
  model: 'there',
  output,
  usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
}
const completedEvent = { type: 'response.completed', sequence_number: 0, response }
const events = `event: response.completed\ndata: ${JSON.stringify(completedEvent)}\n\n`

const REQUEST = { model: 'm', input: 'hi', max_output_tokens: 10, tools: [{ type: 'web_search' }] }
const post = (path: string, body: object) => postJson(customer.key, path, body)
const SETTLED = {
  state: 'settled',
  amount: 3_000_000_000,
  estimated: 0,
  usage: { input: 1, output: 1, web_search: 2, code_execution: 1 },
  lines: [
    { meter: 'input' },
    { meter: 'output' },
    { meter: 'web_search', quantity: '2' },
    { meter: 'code_execution', quantity: '1' },
  ],
}

const MESSAGE = {
  max_tokens: 10,
  messages: [{ role: 'user', content: 'hi' }],
  tools: [{ type: 'web_search_20250305', name: 'web_search' }],
}
const plainSteps = plain(response)
for (const [what, path, more, steps] of [
  ['OpenAI response', '/v1/responses', {}, [plainSteps]],
  ['OpenAI response stream', '/v1/responses', { stream: true }, stream(events, { piece: 40 })],
  ['Anthropic message', '/v1/messages', MESSAGE, [plainSteps]],
  [
    'Anthropic message stream',
    '/v1/messages',
    { ...MESSAGE, stream: true },
    stream(events, { piece: 40 }),
  ],
] as const)
  t.test(`hosted tools: charged in an ${what}`, async t => {
    await upstream.script('gp', [{ do: 'body' }, ...steps])
    const { response, text } = await post(path, { ...REQUEST, ...more })
    t.equal(response.status, 200, text)
    t.match(await chargeOf(response.headers.get('x-request-id')), SETTLED)
  })

t.test('hosted tools: an unpriced tool costs nothing and is named', async t => {
  for (const steps of [[plainSteps], stream(events, { piece: 40 })]) {
    await upstream.script('gp', [{ do: 'body' }, ...steps])
    const isStream = steps.length > 1
    const { response, text } = await post('/v1/responses', {
      ...REQUEST,
      model: 'bare',
      stream: isStream,
    })
    t.equal(response.status, 200, text)
    t.equal(response.headers.get('x-tollgate-unpriced'), 'web_search')
    const id = response.headers.get('x-request-id') ?? ''
    const row = await chargeOf(id)
    t.match(row, {
      state: 'settled',
      amount: 250_000_000,
      usage: { input: 1, output: 1, web_search: 2, code_execution: 1 },
    })
    t.same(
      row.lines.map(({ meter }: { readonly meter: string }) => meter),
      ['input', 'output'],
    )
    const receipt = await fetch(`${gateway.url}/api/usage/${id}`, {
      headers: { authorization: `Bearer ${customer.key}` },
    })
    t.match(await receipt.json(), {
      data: { cost: 0.25, unpriced: ['web_search', 'code_execution'] },
    })
  }
  const { response } = await post('/v1/responses', { ...REQUEST, model: 'bare', tools: [] })
  t.notOk(response.headers.has('x-tollgate-unpriced'), 'only an offered tool is named')
})
t.test('hosted tools: an unpriced tool is refused where the model says so', async t => {
  await upstream.forget()
  for (const model of ['firm', 'unbound']) {
    const { response, text } = await post('/v1/responses', { ...REQUEST, model })
    t.equal(response.status, 400)
    t.match(text, /no price for .*web_search/)
  }
  t.same(await upstream.events('request', 'gp'), [])
})

t.test('hosted tools: counted in a pass-through body', async t => {
  const answer = {
    candidates: [
      {
        content: { role: 'model', parts: [{ text: 'hi' }] },
        finishReason: 'STOP',
        groundingMetadata: { webSearchQueries: ['x', 'y'] },
      },
    ],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
  }
  await upstream.script('gx', [{ do: 'body' }, plain(answer)])
  const request = { contents: [{ parts: [{ text: 'hi' }] }], tools: [{ googleSearch: {} }] }
  const { response, text } = await post('/v1beta/models/g:generateContent', request)
  t.equal(response.status, 200, text)
  t.match(await chargeOf(response.headers.get('x-request-id')), {
    state: 'settled',
    amount: 500_000_000,
    estimated: 0,
    usage: { input: 1, output: 1, web_search: 1 },
  })
})

// ---------------------------------------------------------------- tools by rule

const IMAGE_ANSWER = {
  ...response,
  output: [item('image_generation_call', 'i', { result: 'aGk=' })],
  tool_usage: {
    image_gen: { input_tokens: 171, output_tokens: 7024, total_tokens: 7195 },
    web_search: { num_requests: 0 },
  },
}
const xaiAnswer = (type: string) => ({ ...response, output: [item(`${type}_call`, 'x')] })
const receiptOf = async (id: string | null) => {
  const { data } = (await (
    await fetch(`${gateway.url}/api/usage/${id}`, {
      headers: { authorization: `Bearer ${customer.key}` },
    })
  ).json()) as { data: { unpriced: string[] } }
  return data.unpriced
}
for (const [type, answer, called] of [
  [
    'image_generation',
    IMAGE_ANSWER,
    ['image_generation', 'image_generation_input', 'image_generation_output'],
  ],
  ['x_search', xaiAnswer('x_search'), ['x_search']],
  ['collections_search', xaiAnswer('collections_search'), ['collections_search']],
  ['a_tool_of_next_year', xaiAnswer('a_tool_of_next_year'), ['other_tools']],
] as const)
  t.test(`hosted tools: ${type} without a price is named, or refused`, async t => {
    const tools = [{ type }]
    const body = JSON.stringify(answer)
    const completed = { type: 'response.completed', sequence_number: 0, response: answer }
    const eventText = `event: response.completed\ndata: ${JSON.stringify(completed)}\n\n`
    for (const steps of [[plain(answer)], stream(eventText, { piece: 40 })]) {
      await upstream.script('gp', [{ do: 'body' }, ...steps])
      const { response, text } = await post('/v1/responses', {
        ...REQUEST,
        model: 'bare',
        tools,
        stream: steps.length > 1,
      })
      t.equal(response.status, 200, `${text} ${body.length}`)
      t.equal(response.headers.get('x-tollgate-unpriced'), type)
      t.same(await receiptOf(response.headers.get('x-request-id')), called)
    }
    const refusal = await post('/v1/responses', { ...REQUEST, model: 'firm', tools })
    t.equal(refusal.response.status, 400)
    t.match(refusal.text, type)
  })
t.test('hosted tools: those of the client are neither named nor refused', async t => {
  const tools = [
    { type: 'function', name: 'f', parameters: {} },
    { type: 'custom', name: 'c' },
    { type: 'computer_use_preview' },
    { type: 'local_shell' },
    { type: 'shell' },
    { type: 'apply_patch' },
    { type: 'mcp', server_label: 's' },
    { type: 'namespace', name: 'n', tools: [] },
  ]
  await upstream.script('gp', [{ do: 'body' }, plainSteps])
  const { response, text } = await post('/v1/responses', { ...REQUEST, model: 'firm', tools })
  t.equal(response.status, 200, text)
  t.equal(response.headers.get('x-tollgate-unpriced'), null)
})
for (const [what, path, body, name] of [
  [
    'in a namespace',
    '/v1/responses',
    { ...REQUEST, tools: [{ type: 'namespace', name: 'n', tools: [{ type: 'next_tool' }] }] },
    'next_tool',
  ],
  [
    'as one object in place of a list',
    '/v1beta/models/firm:generateContent',
    { contents: [{ parts: [{ text: 'hi' }] }], tools: { googleSearch: {} } },
    'googleSearch',
  ],
  [
    'as a plugin',
    '/v1/responses',
    { ...REQUEST, tools: [], plugins: [{ id: 'web' }, { id: 'off', enabled: false }] },
    'plugins.web',
  ],
  ['as an unknown plugin', '/v1/responses', { ...REQUEST, plugins: [{ id: 'next' }] }, 'next'],
] as const)
  t.test(`hosted tools: one ${what} is refused without a price`, async t => {
    const { response, text } = await post(path, { ...body, model: 'firm' })
    t.equal(response.status, 400, text)
    t.match(text, name)
    t.notMatch(text, 'plugins.off')
  })
t.test('hosted tools: requests of an unknown tool in the usage count', async t => {
  const tools = [{ type: 'next_tool' }]
  const answer = { ...response, output: [], tool_usage: { next_tool: { num_requests: 3 } } }
  await upstream.script('gp', [{ do: 'body' }, plain(answer)])
  const { response: reply } = await post('/v1/responses', { ...REQUEST, model: 'bare', tools })
  const { usage } = await chargeOf(reply.headers.get('x-request-id'))
  t.equal(usage.other_tools, 3)
})
t.test('hosted tools: images of a tool are charged by its tokens', async t => {
  await gateway.reload(
    ROUTES.replace(
      '  unbound:',
      '  draws: { to: gp/there, price: { input: 0, output: 0, image_generation_input: 0.001, image_generation_output: 0.01 }, max_calls: { image_generation_input: 1000, image_generation_output: 10000 } }\n  unbound:',
    ),
  )
  await upstream.script('gp', [{ do: 'body' }, plain(IMAGE_ANSWER)])
  const tools = [{ type: 'image_generation' }]
  const { response, text } = await post('/v1/responses', { ...REQUEST, model: 'draws', tools })
  t.equal(response.status, 200, text)
  t.equal(response.headers.get('x-tollgate-unpriced'), null)
  t.match(await chargeOf(response.headers.get('x-request-id')), {
    amount: 171 * 1_000_000 + 7024 * 10_000_000,
    usage: { image_generation: 1, image_generation_input: 171, image_generation_output: 7024 },
  })
  t.same(await receiptOf(response.headers.get('x-request-id')), [])
})

t.test(
  'image tool: held at the dearest permitted price, charged by what the call names',
  async t => {
    const price =
      '{ input: 0, output: 0, image_generation: { by: [quality, size], price: { low: { default: 1 }, high: { small: 4, default: 8 }, default: { default: 2 } } } }'
    const draws = `  draws: { to: gp/there, price: ${price}, max_calls: { image_generation: 2 } }\n  unbound:`
    await gateway.reload(ROUTES.replace('  unbound:', draws))
    const cases: readonly (readonly [tool: object, images: readonly object[], cost: number])[] = [
      [{}, [{ quality: 'high', size: 'small', output_format: 'png' }], 4],
      [{ quality: 'auto' }, [{ quality: 'high', size: 'large' }], 8],
      [{ quality: 'high' }, [{ quality: 'low', size: 'small' }], 1],
      [{ quality: 'low' }, [{}], 1],
      [{}, [{ quality: 'low' }, { quality: 'low' }], 2],
      [{}, [{ quality: 'low' }, { quality: 'high' }], 4],
    ]
    for (const [tool, images, cost] of cases)
      for (const isStream of [false, true]) {
        const output = images.map((each, at) =>
          item('image_generation_call', `i${at}`, { result: 'aGk=', ...each }),
        )
        const answer = { ...response, output }
        const completed = { type: 'response.completed', sequence_number: 0, response: answer }
        const text = `event: response.completed\ndata: ${JSON.stringify(completed)}\n\n`
        const steps = isStream ? stream(text, { piece: 40 }) : [plain(answer)]
        await upstream.script('gp', [{ do: 'body' }, ...steps])
        const tools = [{ type: 'image_generation', ...tool }]
        const reply = await post('/v1/responses', {
          ...REQUEST,
          model: 'draws',
          tools,
          stream: isStream,
        })
        t.equal(reply.response.status, 200, reply.text)
        const id = reply.response.headers.get('x-request-id')
        const row = await chargeOf(id)
        t.equal(Number(row.amount) / 1e9, cost, JSON.stringify([tool, images, isStream]))
        const isCheap = 'quality' in tool && tool.quality === 'low'
        t.equal(Number(row.held) / 1e9, isCheap ? 2 : 16)
      }
  },
)
