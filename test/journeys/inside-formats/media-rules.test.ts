/** Images at compatible servers that take them as data only, only in messages of the user, or not
 *  at all: mapped or refused by name, also in the client's own format. */
import t from 'tap'
import { plainAnswers } from '../../helpers/formats/plain-answers.ts'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { startHttpUpstream } from '../../helpers/gateway/test-server.ts'

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const IMAGE_URL = `data:image/png;base64,${PIXEL}`
const answers = plainAnswers('Rome', 1, 1)
const requests: { readonly messages: readonly unknown[] }[] = []
const url = await startHttpUpstream(t, async (request, response) => {
  if (request.method === 'GET')
    return void response
      .writeHead(200, { 'content-type': 'image/png' })
      .end(Buffer.from(PIXEL, 'base64'))
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  requests.push(JSON.parse(Buffer.concat(chunks).toString()))
  const format = request.url?.includes('messages') ? 'anthropic-messages' : 'openai-chat'
  response.writeHead(200, { 'content-type': 'application/json' })
  return void response.end(JSON.stringify(answers[format]))
})
const gateway = await startGateway({
  inside: true,
  settings: `egress_allow: ${new URL(url).host}`,
  routes: `
pipeline: [errors, model, translate]
upstreams:
  data: { url: '${url}', key: k, formats: [openai-chat, anthropic-messages], fetch: [image] }
  none: { url: '${url}', key: k, formats: [openai-chat, anthropic-messages], rules: { media: [] } }
  users: { url: '${url}', key: k, formats: [openai-chat, anthropic-messages], rules: { tool_media: false } }
models:
  data: { to: data/m, free: true }
  none: { to: none/m, free: true }
  users: { to: users/m, free: true }
routes:
  - { path: POST /v1/chat/completions, model: body, translate: openai-chat, errors: openai }
  - { path: POST /v1/messages, model: body, translate: anthropic-messages, errors: anthropic }
`,
})
t.teardown(() => gateway.stop())
t.beforeEach(() => void requests.splice(0))

const ask = async (path: string, body: object) => {
  const response = await fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ max_tokens: 9, ...body }),
  })
  const { error } = (await response.json()) as { error?: { message: string } }
  return { status: response.status, message: error?.message, messages: requests[0]?.messages }
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
  const chat = await ask(CHAT, { model: 'data', messages: [user(chatImage(`${url}/a.png`))] })
  t.match(chat, { status: 200, messages: [{ role: 'user', content: [chatImage(IMAGE_URL)] }] })
  requests.length = 0
  const messages = await ask(MESSAGES, { model: 'data', messages: [user(urlBlock)] })
  t.match(messages, { status: 200, messages: [{ content: [dataBlock] }] })
})
t.test('media rules: data pass unchanged to a server that takes data only', async t => {
  const body = [{ role: 'user', content: [chatImage(IMAGE_URL)], extra: 1 }]
  t.match(await ask(CHAT, { model: 'data', messages: body }), { status: 200, messages: body })
})
t.test('media rules: an image is refused by its path for a server that takes none', async t => {
  const chat = await ask(CHAT, { model: 'none', messages: [user(chatImage(IMAGE_URL))] })
  t.match(chat, { status: 400, message: /messages\[0\]\.content\[0\]/, messages: undefined })
  const messages = await ask(MESSAGES, { model: 'none', messages: [user(dataBlock)] })
  t.match(messages, { status: 400, message: /messages\.0\.content\.0|messages\[0\]/ })
  t.equal(messages.messages, undefined, 'the upstream is not asked')
})
t.test('media rules: images of tool results follow as the user’s', async t => {
  const result = { role: 'tool', tool_call_id: 'c1', content: [chatImage(IMAGE_URL)] }
  const chat = await ask(CHAT, { model: 'users', messages: [...chatCall, result] })
  t.match(chat.messages?.slice(2), [
    { role: 'tool', tool_call_id: 'c1', content: '[image below]' },
    { role: 'user', content: [chatImage(IMAGE_URL)] },
  ])
  requests.length = 0
  const block = { type: 'tool_result', tool_use_id: 'c1', content: [dataBlock] }
  const messages = await ask(MESSAGES, { model: 'users', messages: [...messageCall, user(block)] })
  const texts = [{ type: 'text', text: '[image below]' }]
  t.match(messages.messages?.at(-1), {
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: 'c1', content: texts }, dataBlock],
  })
})
