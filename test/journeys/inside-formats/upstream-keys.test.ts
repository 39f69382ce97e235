/** Refused keys of an upstream behind translation: which errors rest a key, and what clients read
 *  of them, in the same format and in another. */
import t from 'tap'
import { PLAIN_ANSWERS } from '../../helpers/formats/plain-answers.ts'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { postTo } from '../../helpers/gateway/post.ts'
import { startHttpUpstream } from '../../helpers/gateway/test-server.ts'

type Answer = readonly [status: number, body: unknown]
const GOOD: Answer = [200, PLAIN_ANSWERS['openai-chat']]
/** The keys that the upstream received, and its answer to each. */
const keys: string[] = []
let answerTo: (key: string) => Answer = () => GOOD
const url = await startHttpUpstream(t, async (request, response) => {
  for await (const _ of request);
  const key = String(request.headers.authorization).replace('Bearer ', '')
  keys.push(key)
  const [status, body] = answerTo(key)
  const isEvent = typeof body === 'string'
  const type = isEvent ? 'text/event-stream' : 'application/json'
  response.writeHead(status, { 'content-type': type })
  response.end(isEvent ? body : JSON.stringify(body))
})

/** A gateway of its own for each test: keys rest for a minute. */
const start = async (key = '[a, b]') => {
  const gateway = await startGateway({
    inside: true,
    routes: `
pipeline: [errors, model, translate]
upstreams:
  up: { url: '${url}', key: ${key}, formats: [openai-chat] }
models:
  m: { to: up/m, free: true }
routes:
  - { path: POST /v1/chat/completions, model: body, translate: openai-chat, errors: openai }
  - { path: POST /v1/messages, model: body, translate: anthropic-messages, errors: anthropic }
  - { path: POST /v1/raw, upstream: up, errors: openai }
`,
  })
  t.teardown(() => gateway.stop())
  keys.length = 0
  return async (path: string, more: object = {}) => {
    const body = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'x' }], ...more }
    const reply = await postTo(`${gateway.url}/v1/${path}`, body)
    return { status: reply.status, text: await reply.text(), headers: reply.headers }
  }
}
const PATHS = ['chat/completions', 'messages']
const QUOTA = {
  error: {
    message: 'You exceeded your current quota, please check your plan and billing details.',
    type: 'insufficient_quota',
    code: 'insufficient_quota',
  },
}
const refusals: readonly (readonly [name: string, answer: Answer])[] = [
  ['a 401', [401, { error: { message: 'Incorrect API key provided: sk-ours' } }]],
  ['a 403 that names the permission', [403, { error: { type: 'permission_error' } }]],
  ['a 429 that names the billing', [429, QUOTA]],
  ['an error event that names the billing', [200, `data: ${JSON.stringify(QUOTA)}\n\n`]],
]
for (const path of PATHS)
  for (const [name, answer] of refusals)
    t.test(`upstream keys: ${name} rests the key, /v1/${path}`, async t => {
      const post = await start()
      answerTo = key => (key === 'a' ? answer : GOOD)
      for (let call = 0; call < 3; call++) t.equal((await post(path)).status, 200)
      t.same(keys, ['a', 'b', 'b', 'b'])
    })

for (const path of PATHS)
  t.test(`upstream keys: without a working key clients get our words, /v1/${path}`, async t => {
    for (const [, [status, body]] of refusals) {
      const post = await start()
      answerTo = () => [status, body]
      const reply = await post(path)
      t.same(keys, ['a', 'b'])
      t.equal(reply.status, status === 401 || status === 403 ? 502 : 429)
      t.notMatch(reply.text, /quota|billing|plan|sk-ours|permission/)
      t.match(JSON.parse(reply.text), { error: { message: /upstream/i } })
      if (reply.status === 429) t.equal(reply.headers.get('retry-after'), '1')
    }
  })

for (const path of PATHS)
  t.test(`upstream keys: a customer cannot rest keys by a request, /v1/${path}`, async t => {
    const post = await start()
    for (const answer of [
      [403, { error: { code: 'moderation', message: 'flagged: insufficient_quota' } }],
      [400, { error: { type: 'invalid_request_error', message: 'no model API_KEY_INVALID' } }],
      [422, { error: { type: 'insufficient_quota', message: 'm' } }],
    ] as const) {
      answerTo = () => answer
      keys.length = 0
      for (let call = 0; call < 4; call++) t.not((await post(path)).status, 200)
      t.same(keys.toSorted(), ['a', 'a', 'b', 'b'], 'one attempt for each call, keys in turn')
    }
  })

t.test(
  'upstream keys: the limit of our account is a 429 in our words, and rests no key',
  async t => {
    const post = await start('a')
    answerTo = () => [
      429,
      { error: { message: 'Rate limit reached for m in organization org-1.' } },
    ]
    const reply = await post('chat/completions')
    t.equal(reply.status, 429)
    t.notMatch(reply.text, /org-1/)
  },
)

t.test(
  'upstream keys: on a route without a format, refusals that name the key stay inside',
  async t => {
    const call = await start()
    const permission: Answer = [
      403,
      { error: { code: 'ip_not_authorized', message: 'key sk-ours' } },
    ]
    answerTo = key => (key === 'a' ? permission : GOOD)
    t.equal((await call('raw')).status, 200)
    t.same(new Set(keys), new Set(['a', 'b']), 'the next key is tried')
    answerTo = () => permission
    const refused = await call('raw')
    t.equal(refused.status, 502)
    t.notMatch(refused.text, 'sk-ours')
  },
)

t.test('upstream keys: on a route without a format, other refusals pass unchanged', async t => {
  const call = await start()
  const flagged = { error: { code: 'moderation', message: 'invalid_api_key is what you wrote' } }
  answerTo = () => [403, flagged]
  for (let calls = 0; calls < 3; calls++) {
    const { status, text } = await call('raw')
    t.equal(status, 403)
    t.same(JSON.parse(text), flagged)
  }
})
