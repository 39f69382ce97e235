/** Holds for media that a request refers to: at the context, or at the model's own bound; with a
 *  balance below that, at what is available. */
import t, { type Test } from 'tap'
import { plain, stream } from '../../fixtures/upstream/scenarios.ts'
import { BEGINNINGS } from '../../helpers/formats/beginnings.ts'
import { type PLAIN_ANSWERS, plainAnswers } from '../../helpers/formats/plain-answers.ts'
import {
  type Customer,
  chargeOf,
  gateway,
  postJson,
  prepareCustomer,
  UNIT,
  upstream,
} from '../../helpers/money/billing-gateway.ts'

const PRICE = 'price: { input: 10 / 1M, output: 20 / 1M }'
const ROUTES = `
pipeline: [errors, auth, account, model, files, meter, embed, translate]
upstreams:
  cl: { url: '${upstream.url}/s/cl', formats: [anthropic-messages] }
  gx: { url: '${upstream.url}/s/gx', formats: [google-gemini] }
  gp: { url: '${upstream.url}/s/gp/v1', formats: [openai-responses] }
  ch: { url: '${upstream.url}/s/ch/v1', formats: [openai-chat] }
  em: { url: '${upstream.url}/s/em/v1', formats: [openai-embeddings] }
models:
  claude: { to: cl/there, context: 200000, output: 8000, ${PRICE} }
  known: { to: cl/there, context: 200000, output: 8000, media: { document: 5000 }, ${PRICE} }
  known-chat: { to: ch/there, context: 200000, output: 8000, media: { document: 5000 }, ${PRICE} }
  known-gpt: { to: gp/there, context: 200000, output: 8000, media: { document: 5000 }, ${PRICE} }
  known-gemini: { to: gx/there, context: 1000000, output: 8000, media: { document: 5000 }, ${PRICE} }
  gemini: { to: gx/there, context: 1000000, output: 8000, ${PRICE} }
  gpt: { to: gp/there, context: 200000, output: 8000, ${PRICE} }
  chat: { to: ch/there, context: 200000, output: 8000, ${PRICE} }
  stored: { to: 'ch/arn:aws:bedrock:us-east-1:111122223333:prompt/PROMPT12345:1', context: 200000, output: 8000, ${PRICE} }
  bare: { to: ch/there, ${PRICE} }
  vectors: { to: em/there, context: 2000, ${PRICE} }
routes:
  - { path: POST /v1/files, auth: key, files: upload, body: { limit: 2GiB }, errors: openai }
  - { path: 'POST /v1/chat/completions', auth: key, model: body, translate: openai-chat, errors: openai }
  - { path: 'POST /v1/responses', auth: key, model: body, translate: openai-responses, errors: openai }
  - { path: 'POST /v1/messages', auth: key, model: body, translate: anthropic-messages, errors: anthropic }
  - { path: 'POST /v1/embeddings', auth: key, model: body, embed: openai, errors: openai }
  - { path: 'POST /v1beta/models/{model}:generateContent', auth: key, model: { path: model }, translate: google-gemini, errors: google }
  - { path: 'POST /v1beta/models/{model}:streamGenerateContent', auth: key, model: { path: model }, translate: google-gemini, errors: google }
`
let customer: Customer
t.test('setup: routes and a funded account', async () => {
  customer = await prepareCustomer(ROUTES, 1_000n * UNIT)
})

const post = (path: string, body: object, key = customer.key) => postJson(key, path, body)

/** Holds round the bound of a prompt up to 256 tokens. */
const checkHeld = (
  t: Test,
  row: { readonly [column: string]: unknown } | undefined,
  tokens: number,
) => {
  const rounded = Math.ceil(tokens / 256) * 256
  t.equal(row?.held, rounded * 10_000 + 100 * 20_000)
}

// ---------------------------------------------------------------- answers by format

/** Of `input` tokens. */
const answerOf = (format: keyof typeof PLAIN_ANSWERS) => (input: number) =>
  plainAnswers('hi', input, 10)[format]
const message = answerOf('anthropic-messages')
const completed = answerOf('openai-chat')
const MESSAGES = {
  path: '/v1/messages',
  script: 'cl',
  answer: message,
  model: 'claude',
  most: 190_000,
}
const CHAT = {
  path: '/v1/chat/completions',
  script: 'ch',
  answer: completed,
  model: 'chat',
  most: 190_000,
}
const RESPONSES = {
  path: '/v1/responses',
  script: 'gp',
  answer: answerOf('openai-responses'),
  model: 'gpt',
  most: 190_000,
}
const GEMINI = {
  path: '/v1beta/models/gemini:generateContent',
  script: 'gx',
  answer: answerOf('google-gemini'),
  model: undefined,
  most: 900_000,
}
const user = (...content: object[]) => ({
  max_tokens: 100,
  messages: [{ role: 'user', content: [...content, { type: 'text', text: 'read it' }] }],
})
const input = (...content: object[]) => ({
  max_output_tokens: 100,
  input: [{ role: 'user', content: [...content, { type: 'input_text', text: 'read it' }] }],
})
const parts = (...list: object[]) => ({
  generationConfig: { maxOutputTokens: 100 },
  contents: [{ role: 'user', parts: [...list, { text: 'read it' }] }],
})
const URL_OF_PDF = 'https://example.com/100-pages.pdf'
const TINY = 'iVBORw0KGgoAAAANSUhEUg=='
const CASES = [
  [
    'a document by URL',
    MESSAGES,
    user({ type: 'document', source: { type: 'url', url: URL_OF_PDF } }),
  ],
  [
    'a document by id',
    MESSAGES,
    user({ type: 'document', source: { type: 'file', file_id: 'f_1' } }),
  ],
  [
    'an image by URL',
    MESSAGES,
    user({ type: 'image', source: { type: 'url', url: 'https://e.com/i' } }),
  ],
  ['an upload to a container', MESSAGES, user({ type: 'container_upload', file_id: 'f_1' })],
  [
    'a compressed document',
    MESSAGES,
    user({
      type: 'document',
      source: { type: 'base64', media_type: 'application/pdf', data: TINY },
    }),
  ],
  [
    'an image in the result of a tool',
    MESSAGES,
    {
      max_tokens: 100,
      messages: [
        { role: 'user', content: 'look' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'f', input: {} }] },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 't',
              content: [{ type: 'image', source: { type: 'url', url: 'https://e.com/i' } }],
            },
          ],
        },
      ],
    },
  ],
  ['an image by URL', CHAT, user({ type: 'image_url', image_url: { url: 'https://e.com/i.png' } })],
  ['a file by id', CHAT, user({ type: 'file', file: { file_id: 'file-x' } })],
  ['a thread', CHAT, { ...user(), thread_id: 'thread_1' }],
  ['a stored prompt of Bedrock', { ...CHAT, model: 'stored' }, user()],
  ['a file by URL', RESPONSES, input({ type: 'input_file', file_url: URL_OF_PDF })],
  ['a file by id', RESPONSES, input({ type: 'input_file', file_id: 'file-x' })],
  ['an image by URL', RESPONSES, input({ type: 'input_image', image_url: 'https://e.com/i' })],
  ['a stored prompt', RESPONSES, { max_output_tokens: 100, prompt: { id: 'pmpt_1' } }],
  ['a stored response', RESPONSES, { ...input(), previous_response_id: 'resp_1' }],
  ['a video by URL', GEMINI, parts({ fileData: { fileUri: 'https://www.youtube.com/watch?v=1' } })],
  [
    'a file in a bucket',
    GEMINI,
    parts({ file_data: { file_uri: 'gs://b/c', mime_type: 'application/pdf' } }),
  ],
  ['cached content', GEMINI, { ...parts(), cachedContent: 'cachedContents/1' }],
] as const
for (const [what, { path, script, answer, model, most }, body] of CASES)
  t.test(`media: ${what} is held at the context, ${path}`, async t => {
    await upstream.script(script, [{ do: 'body' }, plain(answer(most))])
    const { response, text } = await post(path, { ...body, ...(model && { model }) })
    t.equal(response.status, 200, text)
    const row = await chargeOf(response.headers.get('x-request-id'))
    t.match(row, { state: 'settled', amount: most * 10_000 + 10 * 20_000, uncollected: 0 })
    t.ok(Number(row?.held) >= Number(row?.amount), 'the hold covers it')
  })

t.test('media: a request without any is held by its bytes', async t => {
  await upstream.script('cl', [{ do: 'body' }, plain(message(20))])
  const tool = {
    type: 'tool_use',
    id: 't',
    name: 'f',
    input: { url: 'https://e.com', file_id: 'f' },
  }
  const messages = [
    { role: 'user', content: 'open https://e.com/a.pdf' },
    { role: 'assistant', content: [tool] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'gs://b/c' }] },
  ]
  const body = { model: 'claude', max_tokens: 100, messages }
  const { response, text } = await post('/v1/messages', body)
  t.equal(response.status, 200, text)
  const row = await chargeOf(response.headers.get('x-request-id'))
  checkHeld(t, row, JSON.stringify(body).length)
})
const storeFile = async (bytes: Uint8Array<ArrayBuffer>, name: string, type: string) => {
  const form = new FormData()
  form.set('purpose', 'user_data')
  form.set('file', new File([bytes], name, { type }))
  const headers = { authorization: `Bearer ${customer.key}` }
  const response = await fetch(`${gateway.url}/v1/files`, { method: 'POST', headers, body: form })
  const { id } = (await response.json()) as { readonly id: string }
  return id
}
const base64Of = (bytes: number): number => Math.ceil(bytes / 3) * 4
const PICTURE = new Uint8Array(Buffer.concat([Buffer.from(TINY, 'base64'), Buffer.alloc(2_000)]))
const TEXT = new Uint8Array(Buffer.from('one two three '.repeat(500)))
/** The place of an id in each format; what is held besides the bytes of the request. */
const STORED = [
  ['an image', CHAT, [PICTURE, 'a.png', 'image/png'], 16_384, 'file'],
  ['a text', CHAT, [TEXT, 'a.txt', 'text/plain'], base64Of(TEXT.length), 'file'],
  ['a table', RESPONSES, [TEXT, 'a.csv', 'text/csv'], base64Of(TEXT.length), 'input_file'],
  ['JSON', RESPONSES, [TEXT, 'a.json', 'application/json'], base64Of(TEXT.length), 'input_file'],
  ['an image', RESPONSES, [PICTURE, 'a.png', 'image/png'], 16_384, 'input_image'],
  ['an image', MESSAGES, [PICTURE, 'a.png', 'image/png'], 16_384, 'image'],
  ['a text', MESSAGES, [TEXT, 'a.txt', 'text/plain'], base64Of(TEXT.length), 'document'],
  ['an image', GEMINI, [PICTURE, 'a.png', 'image/png'], 16_384, 'fileData'],
] as const
const withFile: Readonly<Record<(typeof STORED)[number][4], (id: string) => object>> = {
  file: file_id => user({ type: 'file', file: { file_id } }),
  input_file: file_id => input({ type: 'input_file', file_id }),
  input_image: file_id => input({ type: 'input_image', file_id }),
  image: file_id => user({ type: 'image', source: { type: 'file', file_id } }),
  document: file_id => user({ type: 'document', source: { type: 'file', file_id } }),
  fileData: id => parts({ fileData: { fileUri: `files/${id}` } }),
}
for (const [what, { path, script, answer, model }, file, tokens, place] of STORED)
  t.test(`media: ${what} stored here is held at its size, ${path} ${place}`, async t => {
    const id = await storeFile(file[0], file[1], file[2])
    await upstream.script(script, [{ do: 'body' }, plain(answer(tokens))])
    const body = { ...withFile[place](id), ...(model && { model }) }
    const { response, text, id: request } = await post(path, body)
    t.equal(response.status, 200, text)
    const row = await chargeOf(request)
    t.match(row, { amount: tokens * 10_000 + 10 * 20_000, uncollected: 0 })
    checkHeld(t, row, JSON.stringify(body).length + tokens)
  })
const PDF = [
  [MESSAGES, 'document', 'anthropic-messages', 'known'],
  [CHAT, 'file', 'openai-chat', 'known-chat'],
  [RESPONSES, 'input_file', 'openai-responses', 'known-gpt'],
  [GEMINI, 'fileData', 'google-gemini', 'known-gemini'],
] as const
const PDF_BYTES = new Uint8Array(Buffer.from('%PDF-1.7 x'))
for (const [{ path, script, answer, model: usual = 'gemini', most }, place, format, known] of PDF)
  for (const isStream of [false, true])
    t.test(
      `media: a PDF stored here is held at its bound, ${format}, ${isStream ? 'streamed' : 'plain'}`,
      async t => {
        const id = await storeFile(PDF_BYTES, 'a.pdf', 'application/pdf')
        const { answer: events } = BEGINNINGS[format] as (typeof BEGINNINGS)[string]
        const ask = async (name: string | undefined, tokens: number) => {
          const reply = isStream ? stream(Buffer.concat(events)) : [plain(answer(tokens))]
          await upstream.script(script, [{ do: 'body' }, ...reply])
          const model = name ?? usual
          const address = path.replace('gemini', `${model}`)
          const body = {
            ...withFile[place](id),
            ...(format !== 'google-gemini' && { model, stream: isStream }),
          }
          const target = isStream ? address.replace(':generate', ':streamGenerate') : address
          const { response, text, id: request } = await post(target, body)
          t.equal(response.status, 200, text)
          const row = await chargeOf(request)
          t.match(row, { state: 'settled', uncollected: 0 })
          if (!isStream) t.equal(row?.amount, tokens * 10_000 + 10 * 20_000)
          return { row, size: JSON.stringify(body).length }
        }
        const { row } = await ask(undefined, most)
        t.ok(Number(row?.held) >= most * 10_000, 'at the context')
        const bounded = await ask(known, 4_000)
        const least = (bounded.size + 5_000) * 10_000
        t.ok(Number(bounded.row?.held) >= least, 'at `media`')
        t.ok(Number(bounded.row?.held) < least + 100_000 * 10_000, 'and not at the context')
      },
    )
t.test('media: small images count as the largest picture', async t => {
  await upstream.script('ch', [{ do: 'body' }, plain(completed(16_000))])
  const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${TINY}` } }
  const { response, text } = await post('/v1/chat/completions', { ...user(image), model: 'chat' })
  t.equal(response.status, 200, text)
  const row = await chargeOf(response.headers.get('x-request-id'))
  t.match(row, { amount: 16_000 * 10_000 + 10 * 20_000, uncollected: 0 })
})
t.test('media: a bound of the model replaces the context', async t => {
  await upstream.script('cl', [{ do: 'body' }, plain(message(4_000))])
  const source = { type: 'url', url: URL_OF_PDF }
  const document = { type: 'document', source }
  const body = { ...user(document, document), model: 'known' }
  const { response, text } = await post('/v1/messages', body)
  t.equal(response.status, 200, text)
  const row = await chargeOf(response.headers.get('x-request-id'))
  checkHeld(t, row, JSON.stringify(body).length + 2 * 5_000)
})
t.test('media: a model without a context has the largest one', async t => {
  await upstream.script('ch', [{ do: 'body' }, plain(completed(900_000))])
  const image = { type: 'image_url', image_url: { url: 'https://e.com/i.png' } }
  const { response } = await post('/v1/chat/completions', { ...user(image), model: 'bare' })
  t.match(await chargeOf(response.headers.get('x-request-id')), {
    amount: 900_000 * 10_000 + 10 * 20_000,
    uncollected: 0,
  })
})
t.test('media: each input of embeddings has a context of its own', async t => {
  const vector = (index: number) => ({ object: 'embedding', index, embedding: [0.5] })
  const answer = (tokens: number, count: number) => ({
    object: 'list',
    data: Array.from({ length: count }, (_, index) => vector(index)),
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  })
  for (const [list, tokens] of [
    [
      Array.from({ length: 20 }, () => ({
        type: 'image_url',
        image_url: { url: 'https://e.com/i' },
      })),
      22_000,
    ],
    [Array.from({ length: 20 }, () => 'x'.repeat(1_500)), 22_000],
  ] as const) {
    await upstream.script('em', [{ do: 'body' }, plain(answer(tokens, list.length))])
    const { response, text } = await post('/v1/embeddings', { model: 'vectors', input: list })
    t.equal(response.status, 200, text)
    const row = await chargeOf(response.headers.get('x-request-id'))
    t.match(row, { amount: tokens * 10_000, uncollected: 0 })
    t.ok(Number(row?.held) >= Number(row?.amount))
  }
})
t.test('compaction: reads the prompt once more', async t => {
  const messages = [{ role: 'user', content: 'x'.repeat(50_000) }]
  const edits = [{ type: 'compact_20260112' }]
  const body = { model: 'claude', max_tokens: 1_000, messages, context_management: { edits } }
  const usage = {
    input_tokens: 23_000,
    output_tokens: 900,
    iterations: [
      { type: 'compaction', input_tokens: 50_000, output_tokens: 900 },
      { type: 'message', input_tokens: 23_000, output_tokens: 900 },
    ],
  }
  await upstream.script('cl', [{ do: 'body' }, plain({ ...message(0), usage })])
  const { response, text } = await post('/v1/messages', body)
  t.equal(response.status, 200, text)
  const row = await chargeOf(response.headers.get('x-request-id'))
  t.match(row, { amount: 73_000 * 10_000 + 1_800 * 20_000, uncollected: 0 })
  t.ok(Number(row?.held) >= Number(row?.amount))
})

// ---------------------------------------------------------------- a balance below the bound

const DOCUMENT = user({ type: 'document', source: { type: 'url', url: URL_OF_PDF } })
t.test('media: with a balance below the bound, what is available is held, and said', async t => {
  // The bound is 2.002, the estimate 0.018.
  const poor = await prepareCustomer(ROUTES, UNIT / 2n)
  await upstream.script('cl', [{ do: 'body' }, plain(message(3_000))])
  const { response, text } = await post('/v1/messages', { ...DOCUMENT, model: 'claude' }, poor.key)
  t.equal(response.status, 200, text)
  const covered = Number(response.headers.get('x-tollgate-input-covered'))
  t.ok(covered > 1_600 && covered < 50_000, String(covered))
  t.match(await chargeOf(response.headers.get('x-request-id')), {
    held: Number(UNIT / 2n),
    amount: 3_000 * 10_000 + 10 * 20_000,
    uncollected: 0,
  })
})
t.test('media: what the balance does not cover is uncollected', async t => {
  const poor = await prepareCustomer(ROUTES, UNIT / 2n)
  await upstream.script('cl', [{ do: 'body' }, plain(message(100_000))])
  const { response } = await post('/v1/messages', { ...DOCUMENT, model: 'claude' }, poor.key)
  t.match(await chargeOf(response.headers.get('x-request-id')), {
    amount: Number(UNIT / 2n),
    uncollected: 100_000 * 10_000 + 10 * 20_000 - Number(UNIT / 2n),
  })
})
t.test('media: below the estimate the call is refused before it is sent', async t => {
  const poor = await prepareCustomer(ROUTES, UNIT / 100n)
  const { response, text } = await post('/v1/messages', { ...DOCUMENT, model: 'claude' }, poor.key)
  t.equal(response.status, 403, text)
  t.match(text, /insufficient/i)
})
t.test('media: the output is lowered if the estimate leaves a part for it', async t => {
  const poor = await prepareCustomer(ROUTES, UNIT / 10n)
  await upstream.script('ch', [{ do: 'body' }, plain(completed(1_500))])
  const image = { type: 'image_url', image_url: { url: 'https://e.com/i.png' } }
  const { max_tokens: _, ...body } = user(image)
  const { response, text } = await post(
    '/v1/chat/completions',
    { ...body, model: 'chat' },
    poor.key,
  )
  t.equal(response.status, 200, text)
  t.ok(Number(response.headers.get('x-tollgate-input-covered')) >= 1_100)
  t.ok(Number(response.headers.get('x-tollgate-output-limit')) >= 256)
  t.match(await chargeOf(response.headers.get('x-request-id')), { uncollected: 0 })
})
