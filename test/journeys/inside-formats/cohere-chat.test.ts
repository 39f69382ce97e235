/** Cohere's chat as a target, with the official SDKs of all four client formats: plain and streamed
 *  answers, tool calls, usage, errors, and a stream that breaks off. */
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import t from 'tap'
import { CALLS, EVENTS, PLAIN } from '../../fixtures/upstream/cohere.ts'
import { startTextUpstream } from '../../helpers/gateway/chat-upstream.ts'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { createUsageRecorder } from '../../helpers/gateway/usage-recorder.ts'

interface UpstreamRequest {
  readonly path: string
  readonly body: { readonly stream?: boolean; readonly model?: string }
}
const requests: UpstreamRequest[] = []
let nextAnswer: { readonly status: number; readonly text: string } | undefined
const url = await startTextUpstream(t, (requestText, response, request) => {
  const body = JSON.parse(requestText)
  requests.push({ path: request.url ?? '', body })
  const isStream = body.stream === true && (nextAnswer?.status ?? 200) === 200
  response.writeHead(nextAnswer?.status ?? 200, {
    'content-type': isStream ? 'text/event-stream' : 'application/json',
  })
  response.end(nextAnswer?.text ?? (isStream ? EVENTS : JSON.stringify(PLAIN)))
})
const usages = createUsageRecorder()
const gateway = await startGateway({
  inside: true,
  files: { 'plugins/usage-recorder.ts': usages.file },
  routes: `
pipeline: [errors, model, usage-recorder, translate]
upstreams:
  co: { url: '${url}', key: k, formats: [cohere-chat] }
models:
  command: { to: co/command-a, free: true }
routes:
  - { path: POST /v1/chat/completions, model: body, translate: openai-chat, errors: openai }
  - { path: POST /v1/responses, model: body, translate: openai-responses, errors: openai }
  - { path: POST /v1/messages, model: body, translate: anthropic-messages, errors: anthropic }
  - { path: 'POST /v1/models/{model}:generateContent', model: { path: model }, translate: google-gemini, errors: google }
  - { path: 'POST /v1/models/{model}:streamGenerateContent', model: { path: model }, translate: google-gemini, errors: google }
`,
})
t.teardown(() => gateway.stop())
t.beforeEach(() => {
  requests.length = 0
  usages.clear()
  nextAnswer = undefined
})

const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'k', maxRetries: 0 })
const anthropic = new Anthropic({ baseURL: gateway.url, apiKey: 'k', maxRetries: 0 })
const google = new GoogleGenAI({ apiKey: 'k', httpOptions: { baseUrl: gateway.url } })
const model = 'command'
const messages = [{ role: 'user' as const, content: 'hi' }]

/** Each returns the text of an answer. */
const CLIENTS = {
  'openai-chat': async (stream: boolean) => {
    if (!stream) {
      const { choices } = await openai.chat.completions.create({ model, messages })
      return choices[0]?.message.content
    }
    const events = await openai.chat.completions.create({ model, messages, stream: true })
    let text = ''
    for await (const { choices } of events) text += choices[0]?.delta.content ?? ''
    return text
  },
  'openai-responses': async (stream: boolean) => {
    if (!stream) return (await openai.responses.create({ model, input: 'hi' })).output_text
    const events = openai.responses.stream({ model, input: 'hi' })
    return (await events.finalResponse()).output_text
  },
  'anthropic-messages': async (stream: boolean) => {
    const request = { model, max_tokens: 50, messages }
    const { content } = stream
      ? await anthropic.messages.stream(request).finalMessage()
      : await anthropic.messages.create(request)
    return content.map(part => (part.type === 'text' ? part.text : '')).join('')
  },
  'google-gemini': async (stream: boolean) => {
    const request = { model, contents: 'hi' }
    if (!stream) return (await google.models.generateContent(request)).text
    let text = ''
    for await (const each of await google.models.generateContentStream(request))
      text += each.text ?? ''
    return text
  },
}

for (const [name, client] of Object.entries(CLIENTS))
  t.test(`cohere chat: answers to clients of ${name}, plain and streamed`, async t => {
    for (const stream of [false, true]) {
      t.equal(await client(stream), 'Rome is old.', `stream: ${stream}`)
      t.match(requests.at(-1), { path: '/v2/chat', body: { model: 'command-a', stream } })
      t.same(await usages.next(), {
        meters: { input: 5, cached: 3, output: 4 },
        estimated: false,
      })
    }
  })

t.test('cohere chat: tool calls reach a client in order, with their arguments', async t => {
  nextAnswer = { status: 200, text: CALLS }
  const tools = [{ type: 'function' as const, function: { name: 'get' } }]
  const stream = openai.chat.completions.stream({ model, messages, tools })
  const { choices } = await stream.finalChatCompletion()
  t.equal(choices[0]?.finish_reason, 'tool_calls')
  t.match(choices[0]?.message.tool_calls, [
    { id: 'get_1', function: { name: 'get', arguments: '{"x":1}' } },
    { id: 'get_2', function: { name: 'get', arguments: '{}' } },
  ])
})

t.test('cohere chat: a hosted tool that is only offered is left out and named', async t => {
  const tools = [{ type: 'web_search_20250305' as const, name: 'web_search' as const }]
  const request = { model, max_tokens: 50, messages, tools }
  const { response } = await anthropic.messages.create(request).withResponse()
  t.equal(response.headers.get('x-tollgate-dropped'), 'tools[0].web_search_20250305')
  t.notMatch(requests.at(-1)?.body, { tools: [] })
})

t.test('cohere chat: errors are in the dialect of the client', async t => {
  const failure = (call: Promise<unknown>) => call.catch(error => error as Error)
  nextAnswer = { status: 422, text: '{"message":"invalid role"}' }
  t.match(await failure(CLIENTS['openai-chat'](false)), {
    status: 422,
    error: { message: 'invalid role' },
  })
  nextAnswer = { status: 401, text: '{"message":"invalid api token"}' }
  const refused = await failure(CLIENTS['anthropic-messages'](false))
  t.match(refused, { status: 502 })
  t.notMatch((refused as Error).message, 'invalid api token')
})

t.test('cohere chat: a stream that breaks off is an error, and its usage an estimate', async t => {
  nextAnswer = { status: 200, text: EVENTS.slice(0, EVENTS.indexOf('event: message-end')) }
  await t.rejects(CLIENTS['openai-chat'](true))
  const usage = await usages.next()
  t.match(usage, { estimated: true })
  t.ok(Object.keys(usage?.meters ?? {}).length > 0, JSON.stringify(usage))
})
