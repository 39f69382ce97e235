/** The sandbox: valid in each format, plain and streamed, and marked by a header. */
import t from 'tap'
import type { Json, Stage } from '../../../engine/plugin.ts'
import { formats } from '../../../plugins/formats/index.ts'
import { eventsIn } from '../../../plugins/formats/sse.ts'
import {
  cannedAnswer,
  type SandboxRequest,
  sampleValue,
} from '../../../plugins/sandbox/canned-answer.ts'
import sandbox from '../../../plugins/sandbox/index.ts'
import { taskAnswer } from '../../../plugins/sandbox/video-tasks.ts'
import {
  errorFrom,
  fakeAttempt,
  fakeExchange,
  fakeHost,
  noNext,
  readReply,
} from '../../helpers/gateway/fake-exchange.ts'

const upstreams = { gp: { inside: 'sandbox', options: {} }, real: { options: {} } }
const stage: Stage = sandbox.setup({}, fakeHost({ upstreams }))

const ask = async (path: string, body: Json, upstream = 'gp') => {
  const [local = '', search = ''] = path.split('?')
  const exchange = fakeExchange({ path: local, search, body })
  const attempt = fakeAttempt(
    exchange,
    { upstream, name: 'gpt-4.1' },
    { body: 'from the upstream' },
  )
  await stage.forward?.(attempt, attempt.next)
  const { status, headers } = attempt.reply
  const { text, bytes } = await readReply(attempt.reply)
  return { status, headers, text, bytes }
}
const hello = [{ role: 'user', content: 'hello there' }]
const tool = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }

t.test('sandbox: does not answer for real upstreams', async t => {
  t.same(sandbox.setup({}, fakeHost({ upstreams: { real: { options: {} } } })), {}, 'no member')
  const { text, headers } = await ask('/v1/chat/completions', {}, 'real')
  t.equal(text, 'from the upstream')
  t.notOk(headers['x-tollgate-sandbox'])
})

t.test('sandbox: refuses unsupported paths', async t => {
  const { status, headers, text } = await ask('/v1/rerank', {})
  t.equal(status, 501)
  t.equal(headers['x-tollgate-sandbox'], 'true')
  t.match(JSON.parse(text), {
    error: { code: 'api_not_implemented', message: /POST \/v1\/rerank/ },
  })
})

interface Script {
  readonly path: string
  readonly stream: string
  readonly body: { readonly [key: string]: Json }
  readonly streaming: { readonly [key: string]: Json }
  readonly tools: Json
  readonly image: { readonly [key: string]: Json }
  /** The text, and the call's name with its arguments, of a plain answer. */
  text(answer: never): unknown
  call(answer: never): unknown
}
const SCRIPTS: Readonly<Record<string, Script>> = {
  'openai-chat': {
    path: '/v1/chat/completions',
    stream: '/v1/chat/completions',
    body: { model: 'gpt-4.1', messages: hello },
    streaming: { stream: true, stream_options: { include_usage: true } },
    tools: [{ type: 'function', function: { name: 'weather', parameters: tool } }],
    image: {
      messages: [
        {
          role: 'user',
          content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }],
        },
      ],
    },
    text: (answer: { choices: [{ message: { content: string } }] }) =>
      answer.choices[0].message.content,
    call: (answer: { choices: [{ message: { tool_calls: [{ function: object }] } }] }) =>
      answer.choices[0].message.tool_calls[0].function,
  },
  'openai-responses': {
    path: '/v1/responses',
    stream: '/v1/responses',
    body: { model: 'gpt-4.1', input: 'hello there' },
    streaming: { stream: true },
    tools: [{ type: 'function', name: 'weather', parameters: tool }],
    image: {
      input: [
        {
          role: 'user',
          content: [{ type: 'input_image', image_url: 'data:image/png;base64,AAAA' }],
        },
      ],
    },
    text: (answer: { output: [{ content: [{ text: string }] }] }) =>
      answer.output[0].content[0].text,
    call: (answer: { output: [object] }) => answer.output[0],
  },
  'anthropic-messages': {
    path: '/v1/messages',
    stream: '/v1/messages',
    body: { model: 'claude', max_tokens: 100, messages: hello },
    streaming: { stream: true },
    tools: [{ name: 'weather', input_schema: tool }],
    image: {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
          ],
        },
      ],
    },
    text: (answer: { content: [{ text: string }] }) => answer.content[0].text,
    call: (answer: { content: [{ name: string; input: object }] }) => ({
      name: answer.content[0].name,
      arguments: JSON.stringify(answer.content[0].input),
    }),
  },
  'google-gemini': {
    path: '/v1beta/models/gemini%2F2:generateContent',
    stream: '/v1beta/models/gemini%2F2:streamGenerateContent?alt=sse',
    body: { contents: [{ role: 'user', parts: [{ text: 'hello there' }] }] },
    streaming: {},
    tools: [{ functionDeclarations: [{ name: 'weather', parametersJsonSchema: tool }] }],
    image: { contents: [{ parts: [{ inline_data: { mime_type: 'image/png', data: 'AAAA' } }] }] },
    text: (answer: { candidates: [{ content: { parts: [{ text: string }] } }] }) =>
      answer.candidates[0].content.parts[0].text,
    call: (answer: {
      candidates: [{ content: { parts: [{ functionCall: { name: string; args: object } }] } }]
    }) => {
      const { name, args } = answer.candidates[0].content.parts[0].functionCall
      return { name, arguments: JSON.stringify(args) }
    },
  },
}

// Run concurrently: streams are sent at reading speed.
t.test('sandbox formats: each answers in its own shape', { jobs: 8 }, async t => {
  for (const [name, script] of Object.entries(SCRIPTS)) {
    const format = formats.get(name)
    const plain = async (more: { readonly [key: string]: Json }) => {
      const { text, headers, status } = await ask(script.path, { ...script.body, ...more })
      if (status !== 200 || headers['x-tollgate-sandbox'] !== 'true') throw new Error('not marked')
      return JSON.parse(text) as never
    }

    t.test(`sandbox ${name}: answers plainly`, async t => {
      const answer = await plain({})
      t.match(script.text(answer), /sandbox answering as .*You wrote: "hello there"/)
      const counts = answer[format?.usage.key ?? '']
      t.match(format?.usage.meters(counts), { input: Number, output: Number })
    })
    t.test(`sandbox ${name}: calls a tool with valid arguments`, async t => {
      const answer = await plain({ tools: script.tools })
      t.match(script.call(answer), { name: 'weather', arguments: '{"city":"sandbox"}' })
    })
    t.test(`sandbox ${name}: describes an image`, async t => {
      t.match(script.text(await plain(script.image)), /an inline PNG image of 3 bytes/)
    })
    t.test(`sandbox ${name}: streams and ends like the format`, async t => {
      const body = { ...script.body, ...script.streaming }
      const answers = [[], script.tools].map(tools => ask(script.stream, { ...body, tools }))
      for (const { headers, bytes } of await Promise.all(answers)) {
        t.equal(headers['content-type'], 'text/event-stream')
        t.equal(headers['x-tollgate-sandbox'], 'true')
        const events = eventsIn(bytes)
        const last = events.at(-1)
        t.ok(last && format?.stream.isEnd(last), 'the last event ends the stream')
        t.equal(
          events.filter(event => format?.stream.isEnd(event)).length,
          1,
          'no other event ends it',
        )
        t.ok(events.length > 3 || name === 'google-gemini')
      }
    })
  }

  t.test('sandbox chat: streams usage only on request and arguments in chunks', async t => {
    const { body, path, tools } = SCRIPTS['openai-chat'] ?? ({} as Script)
    const { text } = await ask(path, { ...body, stream: true })
    t.notMatch(text, /usage/)
    const calls = await ask(path, { ...body, stream: true, tools })
    const pieces = eventsIn(calls.bytes).flatMap(({ data = '' }) =>
      data.startsWith('{') ? (JSON.parse(data).choices[0].delta.tool_calls ?? []) : [],
    ) as { function: { arguments: string } }[]
    t.equal(pieces.map(piece => piece.function.arguments).join(''), '{"city":"sandbox"}')
  })

  t.test('sandbox google: a stream without alt=sse is one array', async t => {
    const { body } = SCRIPTS['google-gemini'] ?? ({} as Script)
    const { text, headers } = await ask('/v1beta/models/g:streamGenerateContent', body)
    t.equal(headers['content-type'], 'application/json')
    const list = JSON.parse(text) as readonly object[]
    t.match(list.at(-1), { candidates: [{ finishReason: 'STOP' }] })
  })
})

t.test('sandbox: a stream ends when the client leaves', async t => {
  const exchange = fakeExchange({
    path: '/v1/chat/completions',
    body: { stream: true, messages: hello },
  })
  const attempt = fakeAttempt(exchange, { upstream: 'gp' })
  await stage.forward?.(attempt, attempt.next)
  void exchange.signal
  exchange.abandon({ code: 'CLIENT_GONE', message: '', status: 499, expose: false })
  const { fault, text } = await readReply(attempt.reply)
  t.ok(fault || text.length < 1_000)
})

const request: SandboxRequest = {
  model: 'm',
  text: 'w',
  images: [],
  tools: [],
  stream: false,
  size: 4,
}
t.test('sandbox: an output limit truncates the answer and is reported', async t => {
  t.match(cannedAnswer({ ...request, limit: 2 }), {
    isTruncated: true,
    outputTokens: 2,
    chunks: { length: 2 },
  })
  t.match(cannedAnswer({ ...request, limit: 0 }), { chunks: { length: 1 } })
  t.match(
    cannedAnswer({ ...request, toolResult: 'sunny' }).chunks.join(''),
    /The tool answered: "sunny"/,
  )
  t.match(cannedAnswer({ ...request, text: 'x'.repeat(500) }).chunks.join(''), /x…"$/)
  t.match(
    cannedAnswer({ ...request, images: ['https://a/b.png'] }).chunks.join(''),
    /image at https:/,
  )
})

t.test('sandbox: sampleValue makes a value for any schema', async t => {
  for (const [schema, expected] of [
    [{ type: 'string', enum: ['a', 'b'] }, 'a'],
    [{ const: 7 }, 7],
    [{ default: [1] }, [1]],
    [{ type: ['integer', 'null'], minimum: 5 }, 5],
    [{ type: 'number' }, 1],
    [{ type: 'boolean' }, true],
    [{ type: 'null' }, null],
    [{ type: 'array', items: { type: 'string' } }, ['sandbox']],
    [{ anyOf: [{ type: 'integer' }] }, 1],
    [{ type: 'STRING' }, 'sandbox'],
    [{ type: 'object', properties: { a: { type: 'string' } } }, { a: 'sandbox' }],
    [{ type: 'object', properties: { a: {}, b: {} }, required: ['b'] }, { b: {} }],
    [undefined, {}],
    [{ type: 'klingon' }, {}],
  ] as const)
    t.same(sampleValue(schema as Json | undefined), expected, JSON.stringify(schema))
})

t.test('sandbox: a task of the video API goes through its states without memory', async t => {
  let now = 1_800_000_000_000
  const call = (method: string, path: string) =>
    taskAnswer({ method, path, now, fileUrl: name => `https://gateway.example/${name}` })
  for (const [path, file] of [
    ['text2video', 'clip.mp4'],
    ['img2video', 'clip.mp4'],
    ['start-end2video', 'clip.mp4'],
    ['reference2video', 'clip.mp4'],
    ['reference2image', 'image.png'],
    ['text2audio', 'tone.wav'],
  ]) {
    const created = call('POST', `/ent/v2/${path}`)?.json
    const { task_id } = Object(created) as { task_id: string }
    const query = () => call('GET', `/ent/v2/tasks/${task_id}/creations`)?.json
    t.match(query(), { state: 'queueing', creations: [] })
    t.match(call('POST', `/ent/v2/tasks/${task_id}/cancel`), { status: 200 })
    now += 1_000
    t.match(query(), { state: 'processing', creations: [] })
    t.match(call('POST', `/ent/v2/tasks/${task_id}/cancel`), {
      status: 400,
      json: { reason: 'BadRequest' },
    })
    now += 2_000
    t.match(query(), { state: 'success', creations: [{ url: `https://gateway.example/${file}` }] })
  }
  t.match(call('POST', '/ent/v2/audio-tts')?.json, {
    state: 'success',
    file_url: 'https://gateway.example/tone.wav',
  })
  for (const [method = '', path = ''] of [
    ['GET', '/ent/v2/text2video'],
    ['POST', '/ent/v2/nothing'],
    ['GET', '/ent/v2/tasks/1/creations'],
    ['GET', '/ent/v2/tasks/91800000000000/creations'],
    ['DELETE', '/ent/v2/tasks/11800000000000/creations'],
  ])
    t.equal(call(method, path), undefined, `${method} ${path}`)
})

t.test('sandbox: serves the files that its results refer to', async t => {
  const files = sandbox.setup({ file: 'name' }, fakeHost())
  const read = async (name: string) => {
    const exchange = fakeExchange({ method: 'GET', params: { name } })
    const fault = await errorFrom(() => files.handle?.(exchange, noNext))
    return { exchange, fault }
  }
  for (const [name, type, start] of [
    ['clip.mp4', 'video/mp4', 'ftyp'],
    ['image.png', 'image/png', 'PNG'],
    ['tone.wav', 'audio/wav', 'RIFF'],
  ] as const) {
    const { reply } = (await read(name)).exchange
    t.match(reply.headers, { 'content-type': type, 'x-tollgate-sandbox': 'true' })
    t.ok(
      Buffer.from(await reply.bytes(1_000_000))
        .subarray(0, 12)
        .includes(start),
      name,
    )
  }
  t.match((await read('__proto__')).fault, { code: 'SANDBOX_FILE', status: 404 })
})
