/** Token counts: an upstream of the client’s format counts them, otherwise the gateway estimates;
 *  they are free and never call the model. */
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import t from 'tap'
import { openDatabase } from '../../../engine/store/database.ts'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { startUpstream } from '../../helpers/gateway/upstream.ts'

const upstream = await startUpstream()
const google = (version: string) =>
  `  - { path: 'POST /${version}/models/{model}:countTokens', auth: [query-key, key], model: { path: model }, meter: { free: true }, count: google-gemini, errors: google }`
const gateway = await startGateway({
  routes: `
pipeline: [errors, auth, validate, model, meter, count]
upstreams:
  cl: { url: '${upstream.url}/s/cl', formats: [anthropic-messages] }
  gx: { url: '${upstream.url}/s/gx', formats: [google-gemini] }
models:
  cl: { to: cl/claude, output: 100, price: { calls: 1 } }
  gx: { to: gx/gemini, output: 100, price: { calls: 1 } }
routes:
  - { path: POST /v1/messages/count_tokens, model: body, meter: { free: true }, count: anthropic-messages, errors: anthropic }
${google('v1beta')}
${google('v1')}
`,
})
const database = await openDatabase({ url: 'sqlite:', data: gateway.data, writeTimeout: 60_000 })
t.teardown(async () => {
  await database.close()
  await Promise.all([gateway.stop(), upstream.stop()])
})
const apiKey = await gateway.key()
const claude = new Anthropic({ baseURL: gateway.url, apiKey, maxRetries: 0 })
const gemini = new GoogleGenAI({ apiKey, httpOptions: { baseUrl: gateway.url } })
const replyWith = (body: object, status = '200 OK') => {
  const text = JSON.stringify(body)
  const head = `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n`
  return [{ do: 'body' }, { do: 'send', bytes: head + text }] as const
}
const count = (model: string) =>
  claude.messages
    .countTokens({ model, messages: [{ role: 'user', content: 'Hello there' }] })
    .withResponse()
const lastRequest = async (script: string) => {
  const { head } = (await upstream.events('request', script)).at(-1) ?? {}
  const { body } = (await upstream.events('body', script)).at(-1) ?? {}
  return { target: head?.target, body: JSON.parse(Buffer.from(body?.bytes ?? []).toString()) }
}

const statusOf = (call: PromiseLike<unknown>) =>
  Promise.resolve(call).then(
    () => 200,
    (error: { readonly status: number }) => error.status,
  )

t.test('token count: an upstream of the same format counts', async t => {
  await upstream.script('cl', replyWith({ input_tokens: 77 }))
  const { data, response } = await count('cl')
  t.equal(data.input_tokens, 77)
  t.notOk(response.headers.has('x-tollgate-estimated'))
  t.match(await lastRequest('cl'), {
    target: '/s/cl/v1/messages/count_tokens',
    body: { model: 'claude' },
  })
  await upstream.script('gx', replyWith({ totalTokens: 31 }))
  t.equal((await gemini.models.countTokens({ model: 'gx', contents: 'Hello' })).totalTokens, 31)
  t.match((await lastRequest('gx')).target, /\/s\/gx\/v1(?:beta)?\/models\/gemini:countTokens$/)
  const request = { model: 'models/gx', contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] }
  const reply = await fetch(`${gateway.url}/v1/models/gx:countTokens?key=${apiKey}`, {
    method: 'POST',
    body: JSON.stringify({ generateContentRequest: request }),
  })
  t.same(await reply.json(), { totalTokens: 31 })
  t.match((await lastRequest('gx')).body, { generateContentRequest: { model: 'models/gemini' } })
})

t.test('token count: estimated and marked for an upstream of another format', async t => {
  await upstream.forget()
  const { data, response } = await count('gx')
  t.ok(data.input_tokens > 2 && data.input_tokens < 20)
  t.equal(response.headers.get('x-tollgate-estimated'), 'true')
  const googleCount = await gemini.models.countTokens({
    model: 'cl',
    contents: 'Hello '.repeat(100),
  })
  t.ok(Number(googleCount.totalTokens) > 100 && Number(googleCount.totalTokens) < 200)
  t.same(await upstream.events('request'), [], 'no upstream request')
  await upstream.script('cl', replyWith({ type: 'error' }, '404 Not Found'))
  t.equal((await count('cl')).response.headers.get('x-tollgate-estimated'), 'true')
})

t.test('token count: free, and invalid requests are refused', async t => {
  t.same(await database.read({ name: 'charges', text: 'SELECT * FROM charges' }, []), [])
  const wrong = claude.messages.countTokens({ model: 'gx', messages: 'x' as never })
  t.equal(await statusOf(wrong), 400)
  t.equal(await statusOf(count('none')), 404)
  const post = (path: string) =>
    fetch(`${gateway.url}${path}?key=${apiKey}`, { method: 'POST', body: '{}' })
  t.equal((await post('/v1beta/models/cl:countTokens')).status, 400, 'nothing to count')
  t.equal((await post('/v1beta/models/cl:countToken')).status, 404, 'an unknown verb')
  await upstream.script(
    'cl',
    replyWith({ type: 'error', error: { message: 'no' } }, '401 Unauthorized'),
  )
  t.equal(await statusOf(count('cl')), 502, "the gateway's own key")
  const keyError = { error: { code: 400, details: [{ reason: 'API_KEY_INVALID' }] } }
  await upstream.script('gx', replyWith(keyError, '400 Bad Request'))
  const body = JSON.stringify({ contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] })
  const path = `${gateway.url}/v1beta/models/gx:countTokens?key=${apiKey}`
  t.equal((await fetch(path, { method: 'POST', body })).status, 502)
  await upstream.script('cl', replyWith({}, '302 Found'))
  t.equal(await statusOf(count('cl')), 502, 'a redirect')
})
