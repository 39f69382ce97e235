/** The price of a call follows what served it: tier, speed and geography of the answer, in every
 *  format, plain and streamed, passed on and translated. */
import t from 'tap'
import { writeFrame } from '../../../../plugins/formats/stream/aws-event-stream.ts'
import { plain, stream, text } from '../../../fixtures/upstream/scenarios.ts'
import type { Step } from '../../../fixtures/upstream/script.ts'
import {
  type Customer,
  chargeOf,
  database,
  gateway,
  postJson,
  prepareCustomer,
  UNIT,
  units,
  upstream,
} from '../../../helpers/money/billing-gateway.ts'

/** An upstream's report of a served call, by the names of prices. */
interface Report {
  readonly service_tier?: string
  readonly speed?: string
  readonly inference_geo?: string
}
interface Provider {
  /** The steps of a plain answer, and of a stream. */
  plain(report: Report): readonly Step[]
  stream(report: Report): readonly Step[]
}
const eventsOf = (...events: readonly object[]): string =>
  events.map(each => `data: ${JSON.stringify(each)}\n\n`).join('')
const named = (...events: readonly { readonly type: string }[]): string =>
  events.map(each => `event: ${each.type}\n${eventsOf(each)}`).join('')

const chatUsage = { prompt_tokens: 10, completion_tokens: 0, total_tokens: 10 }
const chunk = (more: object) => ({
  id: 'c',
  object: 'chat.completion.chunk',
  model: 'there',
  ...more,
})
const delta = (more: object, finish_reason: string | null = null) => ({
  choices: [{ index: 0, delta: more, finish_reason }],
})
const chat: Provider = {
  plain: ({ service_tier, ...usage }) => [
    plain({
      id: 'c',
      object: 'chat.completion',
      model: 'there',
      choices: [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' }],
      service_tier,
      usage: { ...chatUsage, ...usage },
    }),
  ],
  stream: ({ service_tier, ...usage }) =>
    stream(
      `${eventsOf(
        chunk({ ...delta({ role: 'assistant', content: 'x' }), service_tier }),
        chunk({ ...delta({}, 'stop'), service_tier }),
        chunk({ choices: [], service_tier, usage: { ...chatUsage, ...usage } }),
      )}data: [DONE]\n\n`,
    ),
}
const responseOf = ({ service_tier, ...usage }: Report, status = 'completed') => ({
  id: 'r',
  object: 'response',
  created_at: 1,
  status,
  model: 'there',
  output:
    status === 'completed'
      ? [
          {
            type: 'message',
            id: 'm',
            status,
            role: 'assistant',
            content: [{ type: 'output_text', text: 'x', annotations: [] }],
          },
        ]
      : [],
  service_tier,
  usage:
    status === 'completed'
      ? { input_tokens: 10, output_tokens: 0, total_tokens: 10, ...usage }
      : null,
})
const responses: Provider = {
  plain: report => [plain(responseOf(report))],
  stream: report =>
    stream(
      named(
        // The first event repeats what was wish.
        {
          type: 'response.created',
          response: responseOf({ service_tier: 'auto' }, 'in_progress'),
        } as never,
        { type: 'response.completed', sequence_number: 1, response: responseOf(report) } as never,
      ),
    ),
}
const messageOf = (report: Report, content: readonly object[]) => ({
  id: 'msg',
  type: 'message',
  role: 'assistant',
  model: 'there',
  content,
  stop_reason: null as string | null,
  usage: { input_tokens: 10, output_tokens: 0, ...report },
})
const messages: Provider = {
  plain: report => [
    plain({ ...messageOf(report, [{ type: 'text', text: 'x' }]), stop_reason: 'end_turn' }),
  ],
  stream: report =>
    stream(
      named(
        { type: 'message_start', message: messageOf(report, []) } as never,
        {
          type: 'content_block_start',
          index: 0,
          content_block: { type: 'text', text: '' },
        } as never,
        {
          type: 'content_block_delta',
          index: 0,
          delta: { type: 'text_delta', text: 'x' },
        } as never,
        { type: 'content_block_stop', index: 0 } as never,
        {
          type: 'message_delta',
          delta: { stop_reason: 'end_turn' },
          usage: { output_tokens: 0 },
        } as never,
        { type: 'message_stop' },
      ),
    ),
}
const geminiAnswer = ({ service_tier: serviceTier }: Report) => ({
  responseId: 'g',
  modelVersion: 'there',
  candidates: [{ content: { role: 'model', parts: [{ text: 'x' }] }, finishReason: 'STOP' }],
  usageMetadata: {
    promptTokenCount: 10,
    candidatesTokenCount: 0,
    totalTokenCount: 10,
    serviceTier,
  },
})
const gemini: Provider = {
  plain: report => [plain(geminiAnswer(report))],
  stream: report => stream(eventsOf(geminiAnswer(report))),
}
const converseFacts = ({ service_tier, speed }: Report) => ({
  ...(service_tier && { serviceTier: { type: service_tier } }),
  ...(speed && { performanceConfig: { latency: speed } }),
})
const converseUsage = { inputTokens: 10, outputTokens: 0, totalTokens: 10 }
const frames = (...events: readonly (readonly [string, object])[]): Buffer =>
  Buffer.concat(events.map(([type, body]) => writeFrame(type, body)))
const converse: Provider = {
  plain: report => [
    plain({
      output: { message: { role: 'assistant', content: [{ text: 'x' }] } },
      stopReason: 'end_turn',
      usage: converseUsage,
      ...converseFacts(report),
    }),
  ],
  stream: report => {
    const bytes = frames(
      ['messageStart', { role: 'assistant' }],
      ['contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'x' } }],
      ['contentBlockStop', { contentBlockIndex: 0 }],
      ['messageStop', { stopReason: 'end_turn' }],
      ['metadata', { usage: converseUsage, metrics: {}, ...converseFacts(report) }],
    )
    const head = `HTTP/1.1 200 OK\r\ncontent-type: application/vnd.amazon.eventstream\r\ncontent-length: ${bytes.length}\r\n\r\n`
    return [text(head), { do: 'send', bytes }]
  },
}
const PROVIDERS: Readonly<Record<string, Provider>> = {
  'openai-chat': chat,
  'openai-responses': responses,
  'anthropic-messages': messages,
  'google-gemini': gemini,
  'bedrock-converse': converse,
}
const NAMES = Object.keys(PROVIDERS)

const TIERED = `{ output: 0, input: [${[
  '{ price: 1 / 10, when: { service_tier: flex } }',
  '{ price: 4 / 10, when: { service_tier: priority } }',
  '{ price: 6 / 10, when: { speed: [fast, optimized] } }',
  '{ price: 3 / 10, when: { inference_geo: us } }',
  '2 / 10',
].join(', ')}] }`
const SIZES = 'context: 1000000, output: 1000'
const ROUTES = `
pipeline: [errors, auth, account, model, meter, translate, embed]
upstreams:
${NAMES.map(name => `  ${name}: { url: '${upstream.url}/s/${name}', formats: [${name}], headers: { pass: [anthropic-*, x-vertex-*, x-amzn-*] } }`).join('\n')}
  project: { url: '${upstream.url}/s/openai-chat', formats: [openai-chat], default_tiers: { service_tier: priority } }
  broken: { url: '${upstream.url}/s/broken', formats: [openai-chat] }
models:
${NAMES.map(
  name => `  m-${name}: { to: ${name}/there, price: ${TIERED}, ${SIZES} }
  plain-${name}: { to: ${name}/there, price: { input: 2 / 10, output: 0 }, ${SIZES} }
  firm-${name}: { to: ${name}/there, price: { input: 2 / 10, output: 0 }, ${SIZES}, tiers: refuse }
  open-${name}: { to: ${name}/there, price: { input: 2 / 10, output: 0 }, ${SIZES}, tiers: pass }`,
).join('\n')}
  by-project: { to: project/there, price: ${TIERED}, ${SIZES} }
  by-two: { to: [broken/there, openai-chat/there], price: ${TIERED}, ${SIZES} }
routes:
  - { path: 'GET /api/usage/{id}', auth: key, account: receipt, errors: openai }
  - { path: 'POST /v1/chat/completions', auth: key, model: body, translate: openai-chat, errors: openai }
  - { path: 'POST /v1/responses', auth: key, model: body, translate: openai-responses, errors: openai }
  - { path: 'POST /v1/messages', auth: key, model: body, translate: anthropic-messages, errors: anthropic }
  - { path: 'POST /v1beta/models/{model}:generateContent', auth: key, model: { path: model }, translate: google-gemini, errors: google }
  - { path: 'POST /v1beta/models/{model}:streamGenerateContent', auth: key, model: { path: model }, translate: google-gemini, errors: google }
`
let customer: Customer
t.test('setup: routes and a funded account', async () => {
  customer = await prepareCustomer(ROUTES, 1_000_000n * UNIT)
})

interface Client {
  path(model: string, isStream: boolean): string
  body(model: string, isStream: boolean): object
  /** The name of the service tier in requests. */
  readonly tier: string
}
const turn = [{ role: 'user', content: 'hi' }]
const CLIENTS: Readonly<Record<string, Client>> = {
  'openai-chat': {
    path: () => '/v1/chat/completions',
    body: (model, stream) => ({ model, stream, messages: turn, max_tokens: 10 }),
    tier: 'service_tier',
  },
  'openai-responses': {
    path: () => '/v1/responses',
    body: (model, stream) => ({ model, stream, input: 'hi', max_output_tokens: 10 }),
    tier: 'service_tier',
  },
  'anthropic-messages': {
    path: () => '/v1/messages',
    body: (model, stream) => ({ model, stream, messages: turn, max_tokens: 10 }),
    tier: 'service_tier',
  },
  'google-gemini': {
    path: (model, isStream) =>
      `/v1beta/models/${model}:${isStream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: () => ({
      contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
      generationConfig: { maxOutputTokens: 10 },
    }),
    tier: 'serviceTier',
  },
}
const ask = async (
  client: Client,
  model: string,
  isStream: boolean,
  wish: object,
  headers: Readonly<Record<string, string>> = {},
) => {
  const content = { ...client.body(model, isStream), ...wish }
  const path = client.path(model, isStream)
  const { response, text, id } = await postJson(customer.key, path, content, headers)
  return { response, body: text, id }
}
/** The last request that an upstream got. */
const sentTo = async (script: string) => {
  const bodies = await upstream.events('body', script)
  const requests = await upstream.events('request', script)
  return {
    body: JSON.parse(Buffer.from(bodies.at(-1)?.body.bytes ?? []).toString() || '{}'),
    headers: Object.fromEntries(requests.at(-1)?.head.headers ?? []),
  }
}

const CASES: readonly {
  readonly what: string
  readonly wish: Report
  readonly report: Report
  readonly cost: number
  /** The formats of upstreams that can say so; absent: all. */
  readonly only?: readonly string[]
}[] = [
  {
    what: 'priority served as standard',
    wish: { service_tier: 'priority' },
    report: { service_tier: 'default' },
    cost: 2,
  },
  {
    what: 'auto served as priority',
    wish: { service_tier: 'auto' },
    report: { service_tier: 'priority' },
    cost: 4,
  },
  {
    what: 'auto served as flex',
    wish: { service_tier: 'auto' },
    report: { service_tier: 'flex' },
    cost: 1,
  },
  {
    what: 'auto served as standard',
    wish: { service_tier: 'auto' },
    report: { service_tier: 'standard' },
    cost: 2,
  },
  {
    what: 'flex served as flex',
    wish: { service_tier: 'flex' },
    report: { service_tier: 'flex' },
    cost: 1,
  },
  {
    what: 'priority that the answer does not name',
    wish: { service_tier: 'priority' },
    report: {},
    cost: 4,
  },
  { what: 'nothing wish, nothing report', wish: {}, report: {}, cost: 2 },
]
for (const [clientName, client] of Object.entries(CLIENTS))
  for (const [name, provider] of Object.entries(PROVIDERS))
    for (const isStream of [false, true])
      t.test(`served tier: ${clientName} to ${name}, ${isStream ? 'stream' : 'plain'}`, async t => {
        for (const { what, wish, report, cost } of CASES) {
          await upstream.script(name, isStream ? provider.stream(report) : provider.plain(report))
          const { service_tier: tier } = wish
          const request = tier === undefined ? {} : { [client.tier]: tier }
          const { response, body, id } = await ask(client, `m-${name}`, isStream, request)
          t.equal(response.status, 200, `${what}: ${body}`)
          const row = await chargeOf(id)
          // A target that does not get the tier serves its standard.
          const dropped = response.headers.get('x-tollgate-dropped')?.split(', ') ?? []
          const isStandard = dropped.includes(client.tier) && report.service_tier === undefined
          t.equal(units(row?.amount), isStandard ? 2 : cost, what)
          t.equal(row.uncollected, 0, what)
        }
      })

t.test('served speed and geography: the answer decides, plain and streamed', async t => {
  const client = CLIENTS['anthropic-messages'] as Client
  const rows: readonly (readonly [wish: object, report: Report, cost: number])[] = [
    [{ speed: 'fast' }, { speed: 'standard' }, 2],
    [{ speed: 'fast' }, { speed: 'fast' }, 6],
    [{ speed: 'fast' }, {}, 6],
    [{ inference_geo: 'us' }, { inference_geo: 'us' }, 3],
    [{ inference_geo: 'us' }, { inference_geo: 'global' }, 2],
    [{}, { inference_geo: 'not_available', speed: 'standard', service_tier: 'standard' }, 2],
  ]
  for (const isStream of [false, true])
    for (const [wish, report, cost] of rows) {
      await upstream.script(
        'anthropic-messages',
        isStream ? messages.stream(report) : messages.plain(report),
      )
      const { id, body, response } = await ask(client, 'm-anthropic-messages', isStream, wish)
      t.equal(response.status, 200, body)
      t.equal(units((await chargeOf(id)).amount), cost, JSON.stringify([wish, report, isStream]))
    }
  for (const isStream of [false, true]) {
    const report = { speed: 'optimized' }
    await upstream.script(
      'bedrock-converse',
      isStream ? converse.stream(report) : converse.plain(report),
    )
    const { id } = await ask(client, 'm-bedrock-converse', isStream, {})
    t.equal(units((await chargeOf(id)).amount), 6, 'latency-optimized')
  }
})

t.test('upstream whose project defaults to a tier: held and charged at it', async t => {
  const client = CLIENTS['openai-chat'] as Client
  const rows: readonly (readonly [wish: object, report: Report, cost: number])[] = [
    [{}, { service_tier: 'priority' }, 4],
    [{}, { service_tier: 'default' }, 2],
    [{}, {}, 4],
    [{ service_tier: 'default' }, { service_tier: 'default' }, 2],
  ]
  const heldUnits: number[] = []
  for (const [wish, report, cost] of rows) {
    await upstream.script('openai-chat', chat.plain(report))
    const { id } = await ask(client, 'by-project', false, { ...wish, pad: 'x'.repeat(10_000) })
    const row = await chargeOf(id)
    t.equal(units(row?.amount), cost, JSON.stringify([wish, report]))
    heldUnits.push(units(row?.held))
  }
  const [first = 0, second, third, standard = 1] = heldUnits
  t.same([second, third], [first, first], 'an absent tier holds that of the project')
  t.equal(Math.round(first / standard), 2)
})

t.test('stream that its client leaves: charged at the tier that its first event names', async t => {
  for (const [tier, rate] of [
    ['default', '2.00'],
    ['priority', '4.00'],
  ]) {
    const first = eventsOf(chunk({ ...delta({ content: 'x' }), service_tier: tier }))
    const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n'
    await upstream.script('openai-chat', [text(head + first), { do: 'stall' }])
    const controller = new AbortController()
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${customer.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        ...(CLIENTS['openai-chat'] as Client).body('m-openai-chat', true),
        service_tier: 'auto',
      }),
      signal: controller.signal,
    })
    await response.body?.getReader().read()
    controller.abort()
    const id = response.headers.get('x-request-id') ?? ''
    const statement = 'SELECT state, lines FROM charges WHERE request = ?'
    let row: Readonly<Record<string, unknown>> | undefined
    do [row] = await database.read({ name: 'test: lines', text: statement }, [id])
    while (row?.state !== 'settled')
    const [line] = JSON.parse(String(row.lines))
    t.equal(line.price, rate, `${tier}`)
  }
})

t.test('second target: its own tier counts, not that of the first', async t => {
  const client = CLIENTS['openai-chat'] as Client
  const error = { service_tier: 'priority', error: { message: 'no' } }
  await upstream.script('broken', [plain(error, '503 Service Unavailable')])
  await upstream.script('openai-chat', chat.stream({}))
  const { id, body, response } = await ask(client, 'by-two', true, { service_tier: 'auto' })
  t.equal(response.status, 200, body)
  t.equal(units((await chargeOf(id)).amount), 2)
})

/** Reads the request before the answer. */
const WHOLE: Step = { do: 'body' }
const TIER_IN: Readonly<Record<string, (body: Readonly<Record<string, unknown>>) => unknown>> = {
  'openai-chat': body => body.service_tier,
  'openai-responses': body => body.service_tier,
  'anthropic-messages': body => body.service_tier,
  'google-gemini': body => body.serviceTier,
  'bedrock-converse': body => body.serviceTier,
}
for (const [clientName, client] of Object.entries(CLIENTS))
  for (const [name, provider] of Object.entries(PROVIDERS))
    t.test(`unpriced tier: ${clientName} to ${name} is dropped, refused or sent`, async t => {
      const tierIn = TIER_IN[name] ?? (() => undefined)
      for (const isStream of [false, true]) {
        const answer = isStream ? provider.stream({}) : provider.plain({})
        await upstream.script(name, [WHOLE, ...answer])
        for (const tier of ['priority', 'flex']) {
          const wish = { [client.tier]: tier }
          const dropped = await ask(client, `plain-${name}`, isStream, wish)
          t.equal(dropped.response.status, 200, dropped.body)
          t.equal(dropped.response.headers.get('x-tollgate-dropped'), client.tier)
          t.equal(tierIn((await sentTo(name)).body), undefined)
          t.equal(units((await chargeOf(dropped.id))?.amount), 2)
          const refused = await ask(client, `firm-${name}`, isStream, wish)
          t.equal(refused.response.status, 400)
          t.match(refused.body, new RegExp(client.tier))
          const strict = { 'x-tollgate-strict': 'true' }
          t.equal((await ask(client, `plain-${name}`, isStream, wish, strict)).response.status, 400)
        }
        const standard = await ask(client, `firm-${name}`, isStream, { [client.tier]: 'auto' })
        t.equal(standard.response.status, 200, standard.body)
        t.equal(standard.response.headers.get('x-tollgate-dropped'), null)
      }
      if (clientName !== name) return
      await upstream.script(name, [WHOLE, ...provider.plain({})])
      const passed = await ask(client, `open-${name}`, false, { [client.tier]: 'priority' })
      t.equal(passed.response.headers.get('x-tollgate-dropped'), null)
      t.equal(tierIn((await sentTo(name)).body), 'priority')
      await ask(client, `m-${name}`, false, { [client.tier]: 'priority' })
      t.equal(tierIn((await sentTo(name)).body), 'priority', 'a priced tier is sent')
    })

t.test('unpriced speed and geography: left out with their beta, other bytes unchanged', async t => {
  const client = CLIENTS['anthropic-messages'] as Client
  await upstream.script('anthropic-messages', [WHOLE, ...messages.plain({})])
  const betas = { 'anthropic-beta': 'fast-mode-2026-02-01,context-1m-2025-08-07' }
  const wishOf = (model: string, other = model) => ({
    speed: 'fast',
    inference_geo: 'us',
    fallbacks: [{ model, speed: 'fast' }, { model: other }],
  })
  const plain = 'plain-anthropic-messages'
  const { response } = await ask(client, plain, false, wishOf(plain), betas)
  t.equal(
    response.headers.get('x-tollgate-dropped'),
    'speed, inference_geo, fallbacks, fast-mode-2026-02-01',
  )
  const { body, headers } = await sentTo('anthropic-messages')
  t.same(body, client.body('there', false))
  t.equal(headers['anthropic-beta'], 'context-1m-2025-08-07')
  const priced = 'm-anthropic-messages'
  const { fallbacks, ...wish } = wishOf(priced)
  const served = await ask(client, priced, false, wish, betas)
  t.equal(served.response.headers.get('x-tollgate-dropped'), null)
  const request = await sentTo('anthropic-messages')
  t.match(request.body, wish)
  t.equal(request.headers['anthropic-beta'], betas['anthropic-beta'])
  for (const other of [fallbacks, [{ model: priced }], 'default']) {
    const others = await ask(client, priced, false, { ...wish, fallbacks: other }, betas)
    t.equal(others.response.headers.get('x-tollgate-dropped'), 'fallbacks')
    t.equal((await sentTo('anthropic-messages')).body.fallbacks, undefined)
  }
  const none = await ask(client, priced, false, { fallbacks: [] })
  t.equal(none.response.headers.get('x-tollgate-dropped'), null, 'an empty list')
})

t.test('unpriced tiers: those in extra_body, and other models of the provider', async t => {
  const client = CLIENTS['openai-chat'] as Client
  const extra = { service_tier: 'priority', top_k: 3 }
  const models = ['there', 'dearer']
  for (const isStream of [false, true]) {
    await upstream.script('openai-chat', [WHOLE, ...(isStream ? chat.stream({}) : chat.plain({}))])
    const wish = { extra_body: { ...extra, models }, models }
    const { response, id } = await ask(client, 'plain-openai-chat', isStream, wish)
    t.equal(
      response.headers.get('x-tollgate-dropped'),
      'models, extra_body.service_tier, extra_body.models',
    )
    const { body } = await sentTo('openai-chat')
    t.same([body.extra_body, body.models], [{ top_k: 3 }, undefined])
    t.equal(units((await chargeOf(id)).amount), 2)
    for (const each of [{ extra_body: extra }, { models }])
      t.equal((await ask(client, 'firm-openai-chat', isStream, each)).response.status, 400)
    const passed = await ask(client, 'open-openai-chat', isStream, wish)
    t.equal(passed.response.headers.get('x-tollgate-dropped'), null)
    t.match((await sentTo('openai-chat')).body, wish)
    const priced = await ask(client, 'm-openai-chat', isStream, { extra_body: extra })
    t.equal(priced.response.headers.get('x-tollgate-dropped'), null)
    t.equal(units((await chargeOf(priced.id)).amount), 4)
  }
})

t.test('tier in the body and another in extra_body: held and charged at the dearer', async t => {
  const client = CLIENTS['openai-chat'] as Client
  const tiers = (body: string, inner: string) => ({
    service_tier: body,
    extra_body: { service_tier: inner },
  })
  for (const [name, wish, report, cost] of [
    ['openai-chat', tiers('priority', 'flex'), {}, 4],
    ['openai-chat', tiers('flex', 'priority'), {}, 4],
    ['openai-chat', tiers('priority', 'default'), {}, 4],
    ['openai-chat', tiers('flex', 'default'), {}, 2],
    ['openai-chat', tiers('auto', 'flex'), {}, 2],
    ['openai-chat', tiers('flex', 'flex'), {}, 1],
    ['openai-chat', tiers('priority', 'flex'), { service_tier: 'flex' }, 1],
    ['openai-chat', tiers('flex', 'priority'), { service_tier: 'priority' }, 4],
    ['openai-chat', { service_tier: 'flex', serviceTier: 'priority' }, {}, 4],
    // This target gets the tier of the body alone.
    ['openai-responses', tiers('priority', 'flex'), {}, 4],
    ['openai-responses', tiers('flex', 'priority'), {}, 1],
  ] as const)
    for (const isStream of [false, true]) {
      const provider = PROVIDERS[name] as Provider
      await upstream.script(name, isStream ? provider.stream(report) : provider.plain(report))
      const { response, body, id } = await ask(client, `m-${name}`, isStream, wish)
      t.equal(response.status, 200, body)
      const row = await chargeOf(id)
      const what = JSON.stringify([name, wish, report, isStream])
      t.equal(units(row?.amount), cost, what)
      t.equal(row.uncollected, 0, what)
    }
})

t.test('other models: a request cannot name other models of the provider', async t => {
  const client = CLIENTS['openai-chat'] as Client
  await upstream.script('openai-chat', [WHOLE, ...chat.plain({})])
  for (const model of ['plain-openai-chat', 'm-openai-chat'])
    for (const [wish, dropped] of [
      [{ models: [model] }, 'models'],
      [{ extra_body: { model } }, 'extra_body.model'],
      [
        { extra_body: { model: 'there', fallbacks: [model] } },
        'extra_body.fallbacks, extra_body.model',
      ],
    ] as const) {
      const { response } = await ask(client, model, false, wish)
      t.equal(response.headers.get('x-tollgate-dropped'), dropped)
      const { body } = await sentTo('openai-chat')
      t.same([body.model, body.models, body.extra_body ?? {}], ['there', undefined, {}])
    }
})

t.test('unpriced tiers: the rest of extra_body is sent as it came', async t => {
  const client = CLIENTS['openai-chat'] as Client
  await upstream.script('openai-chat', [WHOLE, ...chat.plain({})])
  const description = 'A long description. '.repeat(40)
  const guided_json = { properties: { a: { description, enum: [1.5, 'ü'] } } }
  const messages = [{ role: 'user', content: 'x'.repeat(200_000) }]
  const wish = {
    messages,
    extra_body: { service_tier: 'priority', guided_json, note: description },
  }
  const { response } = await ask(client, 'plain-openai-chat', false, wish)
  t.equal(response.headers.get('x-tollgate-dropped'), 'extra_body.service_tier')
  const { body } = await sentTo('openai-chat')
  t.same(body.extra_body, { guided_json, note: description })
})

for (const [name, header, value, cost] of [
  ['google-gemini', 'x-vertex-ai-llm-shared-request-type', 'priority', 4],
  ['google-gemini', 'x-vertex-ai-llm-shared-request-type', 'flex', 1],
  ['bedrock-converse', 'x-amzn-bedrock-service-tier', 'priority', 4],
  ['bedrock-converse', 'x-amzn-bedrock-performanceconfig-latency', 'optimized', 6],
] as const)
  t.test(`tier in a header: ${header}: ${value} is priced, dropped, refused or sent`, async t => {
    const provider = PROVIDERS[name] as Provider
    for (const [clientName, client] of Object.entries(CLIENTS))
      for (const isStream of [false, true]) {
        const answer = isStream ? provider.stream({}) : provider.plain({})
        await upstream.script(name, [WHOLE, ...answer])
        const priced = await ask(client, `m-${name}`, isStream, {}, { [header]: value })
        t.equal(priced.response.status, 200, `${clientName}: ${priced.body}`)
        t.equal(priced.response.headers.get('x-tollgate-dropped'), null)
        t.equal((await sentTo(name)).headers[header], value)
        t.equal(units((await chargeOf(priced.id))?.amount), cost)
        const dropped = await ask(client, `plain-${name}`, isStream, {}, { [header]: value })
        t.equal(dropped.response.headers.get('x-tollgate-dropped'), header)
        t.equal((await sentTo(name)).headers[header], undefined)
        t.equal(units((await chargeOf(dropped.id))?.amount), 2)
        const refused = await ask(client, `firm-${name}`, isStream, {}, { [header]: value })
        t.equal(refused.response.status, 400)
        t.match(refused.body, header)
        await ask(client, `open-${name}`, isStream, {}, { [header]: value })
        t.equal((await sentTo(name)).headers[header], value)
        const standard = header.endsWith('latency') ? 'standard' : 'default'
        const passed = await ask(client, `firm-${name}`, isStream, {}, { [header]: standard })
        t.equal(passed.response.status, 200, passed.body)
      }
  })
t.test('tier in a header: shared traffic is the standard, dedicated traffic is not', async t => {
  const client = CLIENTS['google-gemini'] as Client
  const header = 'x-vertex-ai-llm-request-type'
  await upstream.script('google-gemini', [WHOLE, ...gemini.plain({})])
  for (const [value, status] of [
    ['shared', 200],
    ['dedicated', 400],
  ] as const) {
    const { response } = await ask(client, 'firm-google-gemini', false, {}, { [header]: value })
    t.equal(response.status, status, value)
  }
})
