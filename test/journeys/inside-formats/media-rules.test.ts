/** Images at compatible servers that take them as data only, only in messages of the user, or not
 *  at all: mapped or refused by name, also in the client's own format. */
import t from 'tap'
import { plainAnswers } from '../../helpers/formats/plain-answers.ts'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { postTo } from '../../helpers/gateway/post.ts'
import { startHttpUpstream } from '../../helpers/gateway/test-server.ts'

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const IMAGE_URL = `data:image/png;base64,${PIXEL}`
const answers = plainAnswers('Rome', 1, 1)
interface Received {
  readonly messages: readonly unknown[]
  readonly input: readonly unknown[]
  readonly contents: readonly unknown[]
}
const requests: Received[] = []
const FORMATS = [
  ['messages', 'anthropic-messages'],
  ['responses', 'openai-responses'],
  ['interactions', 'google-interactions'],
  ['generateContent', 'google-gemini'],
] as const
const url = await startHttpUpstream(t, async (request, response) => {
  if (request.method === 'GET')
    return void response
      .writeHead(200, { 'content-type': 'image/png' })
      .end(Buffer.from(PIXEL, 'base64'))
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  requests.push(JSON.parse(Buffer.concat(chunks).toString()))
  const [, format = 'openai-chat'] = FORMATS.find(([part]) => request.url?.includes(part)) ?? []
  response.writeHead(200, { 'content-type': 'application/json' })
  return void response.end(JSON.stringify(answers[format]))
})
const gateway = await startGateway({
  inside: true,
  settings: `egress_allow: ${new URL(url).host}`,
  routes: `
pipeline: [errors, model, translate]
upstreams:
  data:
    url: '${url}'
    key: k
    formats: &formats [openai-chat, anthropic-messages, openai-responses, google-gemini, google-interactions]
    fetch: [image]
  none: { url: '${url}', key: k, formats: *formats, rules: { media: [] } }
  users: { url: '${url}', key: k, formats: *formats, rules: { tool_media: false } }
models:
  data: { to: data/m, free: true }
  none: { to: none/m, free: true }
  users: { to: users/m, free: true }
routes:
  - { path: POST /v1/chat/completions, model: body, translate: openai-chat, errors: openai }
  - { path: POST /v1/messages, model: body, translate: anthropic-messages, errors: anthropic }
  - { path: POST /v1/responses, model: body, translate: openai-responses, errors: openai }
  - { path: 'POST /v1beta/models/{model}:{verb}', model: { path: model }, translate: google-gemini, errors: google }
  - { path: POST /v1beta/interactions, model: body, translate: google-interactions, errors: google }
`,
})
t.teardown(() => gateway.stop())
t.beforeEach(() => void requests.splice(0))

const ask = async (path: string, body: object): Promise<Answer> => {
  const response = await postTo(`${gateway.url}${path}`, body)
  const { error } = (await response.json()) as { error?: { message: string } }
  return { status: response.status, message: error?.message, ...requests[0] }
}
interface Answer extends Partial<Received> {
  readonly status: number
  readonly message: string | undefined
}
const CHAT = '/v1/chat/completions'
const MESSAGES = '/v1/messages'
const chatImage = (address: string) => ({ type: 'image_url', image_url: { url: address } })
const dataBlock = {
  type: 'image',
  source: { type: 'base64', media_type: 'image/png', data: PIXEL },
}
const urlBlock = { type: 'image', source: { type: 'url', url: `${url}/a.png` } }
const user = (...content: readonly object[]) => ({ role: 'user', content })
const messageCall = [
  { role: 'user', content: 'look' },
  { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'f', input: {} }] },
]
const chatCall = [
  { role: 'user', content: 'look' },
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }],
  },
]

t.test('media rules: a URL is fetched for a server that takes data only', async t => {
  const chat = await ask(CHAT, {
    max_tokens: 9,
    model: 'data',
    messages: [user(chatImage(`${url}/a.png`))],
  })
  t.match(chat, { status: 200, messages: [{ role: 'user', content: [chatImage(IMAGE_URL)] }] })
  requests.length = 0
  const messages = await ask(MESSAGES, { max_tokens: 9, model: 'data', messages: [user(urlBlock)] })
  t.match(messages, { status: 200, messages: [{ content: [dataBlock] }] })
})
t.test('media rules: data pass unchanged to a server that takes data only', async t => {
  const body = [{ role: 'user', content: [chatImage(IMAGE_URL)], extra: 1 }]
  t.match(await ask(CHAT, { max_tokens: 9, model: 'data', messages: body }), {
    status: 200,
    messages: body,
  })
})
t.test('media rules: an image is refused by its path for a server that takes none', async t => {
  const chat = await ask(CHAT, {
    max_tokens: 9,
    model: 'none',
    messages: [user(chatImage(IMAGE_URL))],
  })
  t.match(chat, { status: 400, message: /messages\[0\]\.content\[0\]/, messages: undefined })
  const messages = await ask(MESSAGES, {
    max_tokens: 9,
    model: 'none',
    messages: [user(dataBlock)],
  })
  t.match(messages, { status: 400, message: /messages\.0\.content\.0|messages\[0\]/ })
  t.equal(messages.messages, undefined, 'the upstream is not asked')
})
t.test('media rules: images of tool results follow as the user’s', async t => {
  const result = { role: 'tool', tool_call_id: 'c1', content: [chatImage(IMAGE_URL)] }
  const chat = await ask(CHAT, { max_tokens: 9, model: 'users', messages: [...chatCall, result] })
  t.match(chat.messages?.slice(2), [
    { role: 'tool', tool_call_id: 'c1', content: '[image below]' },
    { role: 'user', content: [chatImage(IMAGE_URL)] },
  ])
  requests.length = 0
  const block = { type: 'tool_result', tool_use_id: 'c1', content: [dataBlock] }
  const messages = await ask(MESSAGES, {
    max_tokens: 9,
    model: 'users',
    messages: [...messageCall, user(block)],
  })
  const texts = [{ type: 'text', text: '[image below]' }]
  t.match(messages.messages?.at(-1), {
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: 'c1', content: texts }, dataBlock],
  })
})

/** How a format names a message of the user, a call with its result, and images. */
interface Words {
  readonly path: (model: string) => string
  readonly body: (model: string, turns: readonly object[]) => object
  readonly turnsIn: (answer: Answer) => readonly unknown[] | undefined
  readonly user: (...content: readonly object[]) => object
  /** The turns of a call whose result has this content. */
  readonly called: (...content: readonly object[]) => readonly object[]
  readonly text: (text: string) => object
  readonly data: object
  readonly link: object
  /** Whether the API reads addresses itself. */
  readonly takesLinks: boolean
  /** Of the first image of the first message. */
  readonly at: RegExp
}
const WORDS: Readonly<Record<string, Words>> = {
  'openai-responses': {
    path: () => '/v1/responses',
    body: (model, input) => ({ model, store: false, input }),
    turnsIn: ({ input }) => input,
    user: (...content) => ({ type: 'message', role: 'user', content }),
    called: (...output) => [
      { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output },
    ],
    text: text => ({ type: 'input_text', text }),
    data: { type: 'input_image', image_url: IMAGE_URL },
    link: { type: 'input_image', image_url: `${url}/a.png` },
    takesLinks: false,
    at: /input\[0\]\.content\[0\]/,
  },
  'google-gemini': {
    path: model => `/v1beta/models/${model}:generateContent`,
    body: (_, contents) => ({ contents }),
    turnsIn: ({ contents }) => contents,
    user: (...parts) => ({ role: 'user', parts }),
    called: (...parts) => [
      { role: 'model', parts: [{ functionCall: { id: 'c1', name: 'f', args: {} } }] },
      {
        role: 'user',
        parts: [{ functionResponse: { id: 'c1', name: 'f', response: { output: '' }, parts } }],
      },
    ],
    text: text => ({ text }),
    data: { inlineData: { mimeType: 'image/png', data: PIXEL } },
    link: { fileData: { mimeType: 'image/png', fileUri: `${url}/a.png` } },
    takesLinks: true,
    at: /contents\[0\]\.parts\[0\]/,
  },
  'google-interactions': {
    path: () => '/v1beta/interactions',
    body: (model, input) => ({ model, store: false, input }),
    turnsIn: ({ input }) => input,
    user: (...content) => ({ type: 'user_input', content }),
    called: (...result) => [
      { type: 'function_call', id: 'c1', name: 'f', arguments: {} },
      { type: 'function_result', call_id: 'c1', name: 'f', result },
    ],
    text: text => ({ type: 'text', text }),
    data: { type: 'image', mime_type: 'image/png', data: PIXEL },
    link: { type: 'image', mime_type: 'image/png', uri: `${url}/a.png` },
    takesLinks: true,
    at: /input\[0\]\.content\[0\]/,
  },
}
for (const [format, words] of Object.entries(WORDS)) {
  const { user: ofUser, called, data, link, takesLinks } = words
  const send = (model: string, ...turns: readonly object[]) =>
    ask(words.path(model), words.body(model, turns))
  t.test(
    `media rules in ${format}: a URL is fetched if the API takes none, data pass unchanged`,
    async t => {
      const fetched = await send('data', ofUser(link))
      t.match(fetched, { status: 200 })
      t.match(words.turnsIn(fetched), [ofUser(takesLinks ? link : data)])
      requests.length = 0
      const turn = { ...ofUser(data), extra: 1 }
      t.same(words.turnsIn(await send('data', turn)), [turn], 'not even unknown members change')
    },
  )
  t.test(`media rules in ${format}: an image is refused if the server takes none`, async t => {
    for (const image of [data, link]) {
      const refused = await send('none', ofUser(image))
      t.match(refused, { status: 400, message: words.at })
      t.equal(words.turnsIn(refused), undefined, 'the upstream is not asked')
    }
    t.match(await send('none', ofUser(words.text('look'))), { status: 200 })
  })
  t.test(`media rules in ${format}: images of tool results follow as the user’s`, async t => {
    const answer = await send('users', ofUser(words.text('look')), ...called(data))
    t.match(answer, { status: 200 })
    const text = JSON.stringify(words.turnsIn(answer))
    t.equal(text.split(PIXEL).length, 2, 'once')
    t.ok(text.lastIndexOf('"c1"') < text.indexOf(PIXEL), 'behind the result')
    for (const member of ['output', 'parts', 'result'])
      t.notOk(text.includes(`"${member}":[${JSON.stringify(data)}`), `not in ${member}`)
  })
}
