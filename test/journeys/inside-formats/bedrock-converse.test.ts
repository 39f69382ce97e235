/** Amazon Bedrock's Converse as a target, with the official SDKs of all four client formats: plain
 *  and streamed answers, tools, images, thinking, usage, errors, and streams that are damaged or
 *  break off. The unmodified SDK of Bedrock reads what the scripted upstream serves. */
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import t from 'tap'
import {
  CALLS,
  CONTENT_TYPE,
  exception,
  FRAMES,
  PLAIN,
  PLAIN_CALLS,
} from '../../fixtures/upstream/converse.ts'
import { readAnswer, readStream, sendBySdk } from '../../helpers/formats/bedrock-sdk.ts'
import { startTextUpstream } from '../../helpers/gateway/chat-upstream.ts'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { createUsageRecorder } from '../../helpers/gateway/usage-recorder.ts'

interface UpstreamRequest {
  readonly path: string
  readonly body: { readonly [key: string]: never }
}
interface NextAnswer {
  readonly status?: number
  readonly json?: object
  readonly frames?: readonly Uint8Array[]
  /** Sent after the frames, once `isRead` resolves. */
  readonly rest?: readonly Uint8Array[]
  readonly isRead?: Promise<void>
  /** The connection breaks at the end. */
  readonly breaks?: true
}
const requests: UpstreamRequest[] = []
let next: NextAnswer = {}
const url = await startTextUpstream(t, async (text, response, request) => {
  const path = request.url ?? ''
  requests.push({ path, body: JSON.parse(text) })
  const { status = 200, json = PLAIN, frames = FRAMES, rest = [], isRead, breaks } = next
  if (!path.endsWith('/converse-stream') || status !== 200) {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(json))
    return
  }
  response.writeHead(200, { 'content-type': CONTENT_TYPE })
  // Chunks end anywhere in frames.
  const write = (bytes: Uint8Array): void => {
    for (let at = 0; at < bytes.length; at += 100) response.write(bytes.subarray(at, at + 100))
  }
  write(Buffer.concat(frames))
  await isRead
  write(Buffer.concat(rest))
  if (breaks) response.destroy()
  else response.end()
})
const usages = createUsageRecorder()
const gateway = await startGateway({
  inside: true,
  files: { 'plugins/usage-recorder.ts': usages.file },
  routes: `
pipeline: [errors, model, usage-recorder, translate, adapt]
upstreams:
  br: { url: '${url}', key: k, formats: [bedrock-converse], body: { bedrock-converse: { set: { guardrailConfig: { guardrailIdentifier: g, guardrailVersion: '1' } } } } }
models:
  claude: { to: 'br/eu.anthropic.claude-x-v1:0', free: true }
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
  next = {}
})

const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'k', maxRetries: 0 })
const anthropic = new Anthropic({ baseURL: gateway.url, apiKey: 'k', maxRetries: 0 })
const google = new GoogleGenAI({ apiKey: 'k', httpOptions: { baseUrl: gateway.url } })
const model = 'claude'
const png = 'iVBORw0KGgo='
const parameters = { type: 'object', properties: { x: { type: 'number' } } }

interface Outcome {
  readonly text: string | null | undefined
  readonly thought: string | null | undefined
  readonly calls: readonly (readonly [name: string | undefined, input: unknown])[]
}
/** Each asks with a tool, an image and thinking. */
const CLIENTS = {
  'openai-chat': async (stream: boolean): Promise<Outcome> => {
    const request = {
      model,
      reasoning_effort: 'low' as const,
      tools: [{ type: 'function' as const, function: { name: 'get', parameters } }],
      messages: [
        {
          role: 'user' as const,
          content: [
            { type: 'text' as const, text: 'hi' },
            { type: 'image_url' as const, image_url: { url: `data:image/png;base64,${png}` } },
          ],
        },
      ],
    }
    let thought = ''
    const addThought = (part: object | undefined): void => {
      thought += (part as { reasoning_content?: string } | undefined)?.reasoning_content ?? ''
    }
    // The SDK keeps only the last text of members that it does not know.
    const { choices } = stream
      ? await openai.chat.completions
          .stream(request)
          .on('chunk', chunk => addThought(chunk.choices[0]?.delta))
          .finalChatCompletion()
      : await openai.chat.completions.create(request)
    const message = choices[0]?.message
    if (!stream) addThought(message)
    return {
      text: message?.content,
      thought,
      calls: (message?.tool_calls ?? []).map(call =>
        call.type === 'function'
          ? [call.function.name, JSON.parse(call.function.arguments)]
          : [undefined, undefined],
      ),
    }
  },
  'openai-responses': async (stream: boolean): Promise<Outcome> => {
    const request = {
      model,
      reasoning: { effort: 'low' as const, summary: 'auto' as const },
      tools: [{ type: 'function' as const, name: 'get', parameters, strict: false }],
      input: [
        {
          role: 'user' as const,
          content: [
            { type: 'input_text' as const, text: 'hi' },
            {
              type: 'input_image' as const,
              image_url: `data:image/png;base64,${png}`,
              detail: 'auto' as const,
            },
          ],
        },
      ],
    }
    const { output_text, output } = stream
      ? await openai.responses.stream(request).finalResponse()
      : await openai.responses.create(request)
    return {
      text: output_text,
      thought: output.flatMap(each => (each.type === 'reasoning' ? each.summary : []))[0]?.text,
      calls: output.flatMap(each =>
        each.type === 'function_call' ? [[each.name, JSON.parse(each.arguments)] as const] : [],
      ),
    }
  },
  'anthropic-messages': async (stream: boolean): Promise<Outcome> => {
    const request = {
      model,
      max_tokens: 9000,
      thinking: { type: 'enabled' as const, budget_tokens: 1024 },
      tools: [{ name: 'get', input_schema: { ...parameters, type: 'object' as const } }],
      messages: [
        {
          role: 'user' as const,
          content: [
            { type: 'text' as const, text: 'hi' },
            {
              type: 'image' as const,
              source: { type: 'base64' as const, media_type: 'image/png' as const, data: png },
            },
          ],
        },
      ],
    }
    const { content } = stream
      ? await anthropic.messages.stream(request).finalMessage()
      : await anthropic.messages.create(request)
    return {
      text: content.map(part => (part.type === 'text' ? part.text : '')).join(''),
      thought: content.map(part => (part.type === 'thinking' ? part.thinking : '')).join(''),
      calls: content.flatMap(part =>
        part.type === 'tool_use' ? [[part.name, part.input] as const] : [],
      ),
    }
  },
  'google-gemini': async (stream: boolean): Promise<Outcome> => {
    const request = {
      model,
      contents: [{ text: 'hi' }, { inlineData: { mimeType: 'image/png', data: png } }],
      config: {
        thinkingConfig: { includeThoughts: true, thinkingBudget: 1024 },
        tools: [{ functionDeclarations: [{ name: 'get', parametersJsonSchema: parameters }] }],
      },
    }
    const answers = stream
      ? await Array.fromAsync(await google.models.generateContentStream(request))
      : [await google.models.generateContent(request)]
    const parts = answers.flatMap(each => each.candidates?.[0]?.content?.parts ?? [])
    const textOf = (isThought: boolean) =>
      parts.map(part => (Boolean(part.thought) === isThought ? (part.text ?? '') : '')).join('')
    return {
      text: textOf(false),
      thought: textOf(true),
      calls: parts.flatMap(({ functionCall }) =>
        functionCall ? [[functionCall.name, functionCall.args] as const] : [],
      ),
    }
  },
}
const meters = { input: 5, cached: 3, cache_write: 5, cache_write_1h: 2, output: 4 }

t.test('bedrock converse: the SDK of Bedrock reads the scripted upstream', async t => {
  const { output, stopReason, usage } = await readAnswer(url)
  t.match(
    { output, stopReason, usage },
    { output: { message: { content: [{}, {}] } }, stopReason: 'end_turn' },
  )
  t.match(usage, { inputTokens: 5, cacheReadInputTokens: 3, cacheWriteInputTokens: 7 })
  const events = await readStream(url)
  t.same(
    events.map(event => Object.keys(event)[0]),
    [
      'messageStart',
      ...new Array(3).fill('contentBlockDelta'),
      'contentBlockStop',
      ...new Array(3).fill('contentBlockDelta'),
      'contentBlockStop',
      'messageStop',
      'metadata',
    ],
  )
  t.match(events[3], { contentBlockDelta: { delta: { reasoningContent: { signature: 'c2ln' } } } })
  next = { frames: CALLS }
  t.match((await readStream(url))[3], {
    contentBlockStart: { start: { toolUse: { name: 'get' } } },
  })
  next = { frames: [...FRAMES.slice(0, 3), exception('throttlingException', 'slow')] }
  t.match(await readStream(url).catch(error => error), { name: 'ThrottlingException' })
})

for (const [name, client] of Object.entries(CLIENTS))
  t.test(`bedrock converse: answers to clients of ${name}, plain and streamed`, async t => {
    for (const stream of [false, true]) {
      next = {}
      const answer = await client(stream)
      t.match(answer, { text: 'Rome is old.', thought: 'Let me see.', calls: [] }, `${stream}`)
      const request = requests.at(-1)
      const method = stream ? 'converse-stream' : 'converse'
      t.equal(request?.path, `/model/eu.anthropic.claude-x-v1%3A0/${method}`)
      t.match(request?.body, {
        messages: [
          { content: [{ text: 'hi' }, { image: { format: 'png', source: { bytes: png } } }] },
        ],
        toolConfig: { tools: [{ toolSpec: { name: 'get', inputSchema: { json: parameters } } }] },
        additionalModelRequestFields: { thinking: { type: 'enabled', budget_tokens: 1024 } },
        guardrailConfig: { guardrailIdentifier: 'g' },
      })
      const sdk = await sendBySdk('eu.anthropic.claude-x-v1:0', request?.body ?? {}, stream)
      t.same(sdk, request, 'the SDK sends the same request')
      t.same(await usages.next(), { meters, estimated: false })
      next = { json: PLAIN_CALLS, frames: CALLS }
      const called = await client(stream)
      t.equal(called.text, 'I look.')
      t.same(called.calls, [
        ['get', { x: 1 }],
        ['get', {}],
      ])
      await usages.next()
    }
  })

t.test('bedrock converse: a tool loop keeps the signed thoughts of the first step', async t => {
  const tools = [{ name: 'get', input_schema: { ...parameters, type: 'object' as const } }]
  const thinking = { type: 'enabled' as const, budget_tokens: 1024 }
  const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'hi' }]
  const signed = {
    ...PLAIN_CALLS,
    output: {
      message: {
        role: 'assistant',
        content: [
          { reasoningContent: { reasoningText: { text: 'hm', signature: 'c2ln' } } },
          { toolUse: { toolUseId: 'tooluse_1', name: 'get', input: { x: 1 } } },
        ],
      },
    },
  }
  next = { json: signed }
  const first = await anthropic.messages.create({
    model,
    max_tokens: 9000,
    thinking,
    tools,
    messages,
  })
  messages.push({ role: 'assistant', content: first.content })
  messages.push({
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: 'tooluse_1', content: '7' }],
  })
  next = {}
  await anthropic.messages.create({ model, max_tokens: 9000, thinking, tools, messages })
  t.match(requests.at(-1)?.body, {
    additionalModelRequestFields: { thinking },
    messages: [
      {},
      signed.output.message,
      { content: [{ toolResult: { toolUseId: 'tooluse_1', content: [{ text: '7' }] } }] },
    ],
  })
})

const failure = (call: Promise<unknown>) => call.catch(error => error as Error)

t.test('bedrock converse: errors are in the dialect of the client', async t => {
  next = { status: 400, json: { message: 'Input is too long for requested model.' } }
  t.match(await failure(CLIENTS['openai-chat'](true)), {
    status: 400,
    error: { message: 'Input is too long for requested model.' },
  })
  next = { status: 403, json: { message: 'The security token is invalid.' } }
  const refused = await failure(CLIENTS['anthropic-messages'](false))
  t.match(refused, { status: 502 })
  t.notMatch((refused as Error).message, 'security token')
  next = { frames: [exception('throttlingException', 'Too many requests')] }
  t.match(await failure(CLIENTS['google-gemini'](true)), { status: 429 })
})

t.test('bedrock converse: an exception in a stream is an error of the client', async t => {
  next = { frames: [...FRAMES.slice(0, 7), exception('modelStreamErrorException', 'no tea')] }
  for (const client of [CLIENTS['openai-chat'], CLIENTS['anthropic-messages']]) {
    t.match((await failure(client(true))) as Error, { message: /no tea/ })
    const usage = await usages.next()
    t.match(usage, { estimated: true })
    t.ok(Object.keys(usage?.meters ?? {}).includes('output'), JSON.stringify(usage))
  }
})

/** The text of a streamed answer. The upstream sends `rest` after the client has read "Rome". */
const readInParts = async (rest: readonly Uint8Array[], breaks?: true): Promise<string> => {
  const read = Promise.withResolvers<void>()
  next = { frames: FRAMES.slice(0, 6), rest, isRead: read.promise, ...(breaks && { breaks }) }
  const reply = await fetch(`${gateway.url}/v1/chat/completions`, CHAT)
  let text = ''
  for await (const chunk of reply.body ?? []) {
    text += Buffer.from(chunk).toString()
    if (text.includes('"Rome"')) read.resolve()
  }
  return text
}
const CHAT = {
  method: 'POST',
  body: JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: 'hi' }] }),
  headers: { 'content-type': 'application/json' },
}

t.test('bedrock converse: damaged and cut streams are errors, billed by what arrived', async t => {
  const damaged = Buffer.from(FRAMES[6] ?? [])
  damaged[damaged.length - 10] = (damaged.at(-10) ?? 0) ^ 1
  const half = (FRAMES[6] ?? Buffer.alloc(0)).subarray(0, 30)
  for (const [name, rest, breaks] of [
    ['a wrong checksum', [damaged, ...FRAMES.slice(7)]],
    ['a frame without its end', [half]],
    ['a connection that breaks', [half], true],
    ['no stop reason', []],
  ] as const) {
    const text = await readInParts(rest, breaks)
    t.match(text, /"error"/, name)
    t.notMatch(text, /is old|\[DONE\]/, name)
    const usage = (await usages.next()) as { meters: { output: number }; estimated: boolean }
    t.ok(usage.estimated && usage.meters.output > 0, `${name}: ${JSON.stringify(usage)}`)
  }
  next = { frames: [damaged] }
  t.match(await failure(CLIENTS['openai-chat'](true)), { status: 502 })
})

t.test(
  'bedrock converse: without its counts a stream is whole, and its usage an estimate',
  async t => {
    next = { frames: FRAMES.slice(0, -1) }
    t.match(await CLIENTS['openai-chat'](true), { text: 'Rome is old.' })
    t.match(await usages.next(), { estimated: true })
  },
)

t.test('bedrock converse: a client that hangs up pays what it got', async t => {
  next = { frames: FRAMES.slice(0, 7), isRead: new Promise(() => {}) }
  const abort = new AbortController()
  const reply = await fetch(`${gateway.url}/v1/chat/completions`, { ...CHAT, signal: abort.signal })
  await reply.body?.getReader().read()
  abort.abort()
  const usage = (await usages.next()) as { meters: { output: number }; estimated: boolean }
  t.ok(usage.estimated && usage.meters.output > 0, JSON.stringify(usage))
})
