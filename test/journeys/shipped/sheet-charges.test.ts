/** The price sheet as a law of charges: calls of each kind cost what its rows say for the counted
 *  quantities, and each meter of the sheet has such a call here. */
import t from 'tap'
import { plain } from '../../fixtures/upstream/scenarios.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { applies, cellsOf, type Fields, unitsOf } from './catalogue-prices.ts'
import { gateway, key, postWithKey, upstream } from './shipped-gateway.ts'

interface Row {
  readonly meter: string
  readonly conditions: readonly string[]
  readonly price: number
  readonly per: number
  readonly step: number
}
const sheet = (await (await fetch(`${gateway.url}/api/models.csv`)).text())
  .trim()
  .split('\r\n')
  .slice(1)
  .map(line => {
    const [model = '', , , meter = '', when = '', price = '', per = '', step = ''] = cellsOf(line)
    return {
      model,
      meter,
      conditions: when === '' ? [] : when.split('; '),
      price: Number(price),
      per: unitsOf(per),
      step: Number(step || 0),
    }
  })
const rowsOf = (model: string, path: string): readonly Row[] => {
  const rows = sheet.filter(each => each.model === model)
  const route = `route = ${path}`
  const ofRoute = rows.filter(({ conditions }) => conditions[0] === route)
  return ofRoute.length > 0
    ? ofRoute.map(({ conditions, ...row }) => ({ ...row, conditions: conditions.slice(1) }))
    : rows.filter(({ conditions }) => !conditions[0]?.startsWith('route ='))
}
const comparedMeters = new Set<string>()
/** By the first row of each meter whose conditions are met. Throws if the sheet has none. */
const priceIn = (rows: readonly Row[], usage: Fields, facts: Fields): number => {
  let sum = 0
  for (const [meter, quantity] of Object.entries(usage)) {
    if (Number(quantity) === 0 || (meter === 'calls' && !rows.some(row => row.meter === meter)))
      continue
    const row = rows.find(
      each => each.meter === meter && each.conditions.every(one => applies(one, facts)),
    )
    if (!row) throw new Error(`the sheet has no price of ${meter}`)
    comparedMeters.add(meter)
    const amount = (row.price * Number(quantity)) / row.per
    sum += row.step > 0 ? Math.ceil(amount / row.step - 1e-9) * row.step : amount
  }
  const discount = rows.find(
    ({ meter, conditions }) =>
      meter === 'discount' && conditions.every(condition => applies(condition, facts)),
  )
  if (!discount) return sum
  comparedMeters.add('discount')
  const amount = sum * discount.price
  return discount.step > 0 ? Math.ceil(amount / discount.step - 1e-9) * discount.step : amount
}

interface Call {
  readonly path: string
  readonly body: Fields
  readonly upstream: string
  readonly answer: Fields
  readonly model: string
  /** That the price depends on, besides members of the body. */
  readonly facts?: Fields
  readonly isTask?: true
  /** The meters that must be charged. */
  readonly meters: readonly string[]
}
const messages = [{ role: 'user', content: 'hi' }]
const chat = (model: string, usage: Fields, more: Fields = {}, answer: Fields = {}): Call => ({
  path: '/v1/chat/completions',
  body: { model, messages, ...more },
  upstream: 'gp',
  model,
  answer: {
    id: 'c',
    object: 'chat.completion',
    choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'x' } }],
    usage,
    ...answer,
  },
  meters: ['input', 'output'],
})
const USAGE = {
  prompt_tokens: 1_003,
  completion_tokens: 307,
  total_tokens: 1_310,
  prompt_tokens_details: { cached_tokens: 201 },
}
const message = (model: string, usage: Fields, more: Fields = {}): Call => ({
  path: '/v1/messages',
  body: { model, max_tokens: 4_096, messages, ...more },
  upstream: 'cl',
  model,
  answer: {
    id: 'm',
    type: 'message',
    role: 'assistant',
    model,
    content: [{ type: 'text', text: 'x' }],
    stop_reason: 'end_turn',
    usage,
  },
  meters: ['input', 'output'],
})
const generation = (model: string, usageMetadata: Fields, prompt: number): Call => ({
  path: `/v1beta/models/${model}:generateContent`,
  body: { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
  upstream: 'gx',
  model,
  facts: { prompt },
  answer: {
    candidates: [{ content: { role: 'model', parts: [{ text: 'x' }] }, finishReason: 'STOP' }],
    usageMetadata,
  },
  meters: ['input', 'output'],
})
const clip = (name: string, body: Fields, model: string, reported: Fields = {}): Call => ({
  path: `/ent/v2/${name}`,
  body,
  upstream: 'vd',
  model,
  isTask: true,
  answer: {
    task_id: '7',
    state: 'success',
    file_url: 'https://files.example/1',
    creations: [{ id: '7', url: 'https://files.example/1' }],
    ...reported,
  },
  meters: [],
})
const IMAGE = 'https://files.example/a.png'
const CALLS: readonly Call[] = [
  { ...chat('gp-4.1', USAGE), meters: ['input', 'cached', 'output'] },
  {
    ...chat('gp-4.1', USAGE, { service_tier: 'priority' }, { service_tier: 'priority' }),
    facts: { service_tier: 'priority' },
  },
  {
    ...chat('gp-5', USAGE, { service_tier: 'flex' }, { service_tier: 'flex' }),
    facts: { service_tier: 'flex' },
  },
  {
    path: '/v1/responses',
    body: {
      model: 'gp-4.1',
      input: 'hi',
      tools: [{ type: 'web_search' }, { type: 'file_search', vector_store_ids: ['v'] }],
    },
    upstream: 'gp',
    model: 'gp-4.1',
    answer: {
      id: 'resp_1',
      object: 'response',
      status: 'completed',
      output: [
        { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search' } },
        { type: 'file_search_call', id: 'fs_1', status: 'completed', queries: ['x'] },
        {
          type: 'message',
          id: 'msg_1',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: 'x', annotations: [] }],
        },
      ],
      usage: { input_tokens: 11, output_tokens: 7, total_tokens: 18 },
    },
    meters: ['input', 'output', 'web_search', 'file_search'],
  },
  {
    ...message(
      'cl-sonnet-4-6',
      {
        input_tokens: 101,
        output_tokens: 53,
        cache_read_input_tokens: 1_009,
        cache_creation_input_tokens: 30,
        cache_creation: { ephemeral_5m_input_tokens: 19, ephemeral_1h_input_tokens: 11 },
        server_tool_use: { web_search_requests: 2 },
      },
      { tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 3 }] },
    ),
    meters: ['input', 'output', 'cached', 'cache_write', 'cache_write_1h', 'web_search'],
  },
  generation(
    'gx-2.5-pro',
    { promptTokenCount: 211_003, candidatesTokenCount: 17, totalTokenCount: 211_020 },
    211_003,
  ),
  {
    ...generation(
      'gx-2.5-flash-lite',
      {
        promptTokenCount: 1_003,
        cachedContentTokenCount: 100,
        candidatesTokenCount: 17,
        totalTokenCount: 1_020,
        promptTokensDetails: [
          { modality: 'TEXT', tokenCount: 503 },
          { modality: 'AUDIO', tokenCount: 500 },
        ],
        cacheTokensDetails: [{ modality: 'AUDIO', tokenCount: 100 }],
      },
      1_003,
    ),
    meters: ['input', 'audio_input', 'cached_audio', 'output'],
  },
  {
    path: '/v1/embeddings',
    body: { model: 'gp-embedding-3-small', input: 'hi' },
    upstream: 'gp',
    model: 'gp-embedding-3-small',
    answer: {
      object: 'list',
      data: [{ object: 'embedding', index: 0, embedding: [0.5] }],
      usage: { prompt_tokens: 2, total_tokens: 2 },
    },
    meters: ['input'],
  },
  {
    path: '/v1/images/generations',
    body: { model: 'dall-e-3', prompt: 'x', size: '1024x1792', quality: 'hd' },
    upstream: 'gp',
    model: 'dall-e-3',
    answer: { created: 7, data: [{ url: 'https://files.example/1.png' }] },
    meters: ['images'],
  },
  {
    path: '/v1/audio/speech',
    body: { model: 'tts-1', voice: 'alloy', input: 'x'.repeat(123) },
    upstream: 'gp',
    model: 'tts-1',
    answer: { audio: 'x'.repeat(600) },
    meters: ['characters'],
  },
  {
    path: '/v1/rerank',
    body: { model: 'rerank-v3.5', query: 'q', documents: ['d'] },
    upstream: 'rr',
    model: 'rerank-v3.5',
    answer: {
      id: 'r',
      results: [{ index: 0, relevance_score: 0.9 }],
      meta: { billed_units: { search_units: 1 } },
    },
    meters: ['search_units'],
  },
  clip('text2video', { model: 'vdq3', prompt: 'x', duration: 7 }, 'vdq3'),
  clip('text2video', { model: 'vdq3', prompt: 'x', duration: 7, off_peak: true }, 'vdq3'),
  clip('img2video', { model: 'vdq2', images: [IMAGE], is_rec: true, resolution: '540p' }, 'vdq2'),
  clip('img2video', { model: 'vd2.0', images: [IMAGE], duration: 8 }, 'vd2.0'),
  clip('reference2image', { model: 'vdq2', prompt: 'x', resolution: '2K' }, 'vdq2'),
  clip('audio-tts', { text: 'x'.repeat(101), voice_setting_voice_id: 'a' }, 'audio-tts'),
  clip('extend', { model: 'vdq2-pro', video_url: IMAGE }, 'vdq2-pro', { credits: 61 }),
  clip('extend', { model: 'vdq2-pro', video_url: IMAGE }, 'vdq2-pro'),
  clip('template', { template: 'x', images: [IMAGE] }, 'vd-template', { credits: 13 }),
]
const receiptOf = (id: string): Promise<Fields> =>
  eventually(async () => {
    const response = await fetch(`${gateway.url}/api/usage/${id}`, {
      headers: { authorization: `Bearer ${key}` },
    })
    const { data } = (await response.json()) as { readonly data?: Fields }
    return data && data.state !== 'open' && data.state !== 'pending' ? data : undefined
  })

t.test('price sheet: a call of each kind costs what its rows say', async t => {
  for (const { path, body, upstream: name, answer, model, facts, isTask, meters } of CALLS) {
    await upstream.script(name, [{ do: 'body' }, plain(answer)])
    const response = await postWithKey(path, body)
    const text = await response.text()
    t.equal(response.status, 200, `${path} of ${model}: ${text.slice(0, 200)}`)
    const created = (isTask ? JSON.parse(text) : {}) as Fields
    if (isTask)
      await eventually(async () => {
        const query = `/ent/v2/tasks/${created.task_id}/creations?wait=5`
        const headers = { authorization: `Bearer ${key}` }
        const task = (await (await fetch(gateway.url + query, { headers })).json()) as Fields
        return task.state === 'success' ? task : undefined
      })
    const receipt = await receiptOf(response.headers.get('x-request-id') ?? '')
    const usage = receipt.usage as Fields
    const known = { is_rec: false, ...created, ...body, ...facts }
    const expected = priceIn(rowsOf(model, `POST ${path}`), usage, known)
    const what = `${path} of ${model}: ${JSON.stringify(usage)}`
    t.equal(Number(receipt.cost).toFixed(9), expected.toFixed(9), what)
    t.ok(expected > 0, what)
    for (const meter of meters) t.ok(Number(usage[meter]) > 0, `${what}: ${meter}`)
  }
})

/** Meters whose charges other tests compare with the price: they need a conversation, a form or a
 *  cache at a provider. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  cached_image: 'plugins/realtime',
  image_input: 'plugins/realtime',
  audio_output: 'plugins/realtime',
  transcription_input: 'plugins/realtime',
  transcription_output: 'plugins/realtime',
  transcription_seconds: 'plugins/realtime',
  cache_storage: 'journeys/formats/provider-resources',
  code_execution: 'plugins/formats/usage',
}
t.test('price sheet: each of its meters has a call here', async t => {
  for (const meter of new Set(sheet.map(each => each.meter)))
    t.ok(comparedMeters.has(meter) || ELSEWHERE[meter] !== undefined, `a call for ${meter}`)
})
