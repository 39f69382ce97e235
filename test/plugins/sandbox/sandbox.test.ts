/** The sandbox: valid in each format, plain and streamed, and marked by a header. */
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import type { Json, Stage } from '../../../engine/plugin.ts'
import { JSON_REQUEST, schemaRequest } from '../../../plugins/formats/hub/form-request.ts'
import { formats } from '../../../plugins/formats/index.ts'
import { eventsIn } from '../../../plugins/formats/stream/sse.ts'
import { imageTaskAnswer } from '../../../plugins/sandbox/image-tasks.ts'
import sandbox from '../../../plugins/sandbox/index.ts'
import { sampleValue } from '../../../plugins/sandbox/sample-value.ts'
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
  t.match(await errorFrom(() => ask('/v1/nosuch', {})), {
    status: 501,
    message: /POST \/v1\/nosuch/,
    headers: { 'x-tollgate-sandbox': 'true' },
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

const user = (...content: Json[]) => [{ role: 'user', content }]
const imagePart = (url: string) => ({ type: 'image_url', image_url: { url } })
const filePart = (file: { readonly [key: string]: Json }) => ({ type: 'file', file })
const contents = (...parts: Json[]) => [{ role: 'user', parts }]
const results = [
  { role: 'user', content: 'x' },
  {
    role: 'assistant',
    tool_calls: [{ id: 'a', type: 'function', function: { name: 'weather', arguments: '{}' } }],
  },
  { role: 'tool', tool_call_id: 'a', content: 'sunny' },
]
const chatTool = [{ type: 'function', function: { name: 'weather', parameters: tool } }]
const schemaForm = { type: 'json_schema', json_schema: { name: 'x', schema: tool } }
const text = (pattern: RegExp | string) => ({ choices: [{ message: { content: pattern } }] })
const native = (...parts: object[]) => ({ candidates: [{ content: { parts } }] })
/** Title, path, body, and a part of the answer. */
const ANSWERS: readonly (readonly [string, string, { readonly [key: string]: Json }, object])[] = [
  [
    'stops at the output limit',
    'chat',
    { messages: hello, max_tokens: 2 },
    {
      choices: [{ finish_reason: 'length', message: { content: 'This is ' } }],
      usage: { completion_tokens: 2 },
    },
  ],
  [
    'spends the output limit on thoughts first',
    'messages',
    { messages: hello, max_tokens: 14, thinking: { type: 'enabled', budget_tokens: 5 } },
    { content: [{ type: 'thinking' }, { type: 'text', text: 'This ' }], stop_reason: 'max_tokens' },
  ],
  [
    'shortens the text that it repeats',
    'chat',
    { messages: user({ type: 'text', text: 'x'.repeat(500) }) },
    text(/x…"$/),
  ],
  [
    'calls a tool of a group',
    'responses',
    {
      input: 'hi',
      tools: [{ type: 'namespace', name: 'agents', tools: [{ type: 'function', name: 'wait' }] }],
    },
    { output: [{ type: 'function_call', namespace: 'agents', name: 'wait' }] },
  ],
  [
    'repeats the result of a tool',
    'chat',
    { messages: results, tools: chatTool },
    text('The tool answered: "sunny"'),
  ],
  [
    'calls no tool where the request forbids it',
    'chat',
    { messages: hello, tools: chatTool, tool_choice: 'none' },
    text(/sandbox answering/),
  ],
  [
    'calls the tool that the request names',
    'chat',
    {
      messages: hello,
      tools: [{ type: 'function', function: { name: 'other' } }, ...chatTool],
      tool_choice: { type: 'function', function: { name: 'weather' } },
    },
    {
      choices: [
        {
          message: { tool_calls: [{ function: { name: 'weather' } }] },
          finish_reason: 'tool_calls',
        },
      ],
    },
  ],
  [
    'answers in JSON where a schema is set',
    'chat',
    { messages: hello, response_format: schemaForm },
    text('{"city":"sandbox"}'),
  ],
  [
    'answers in JSON where the request asks for it',
    'chat',
    { messages: hello, response_format: { type: 'json_object' } },
    text('{"answer":"sandbox"}'),
  ],
  [
    'gives as many answers as requested',
    'chat',
    { messages: hello, n: 3 },
    { choices: { length: 3 }, usage: { completion_tokens: 45 } },
  ],
  [
    'names an image by its address',
    'chat',
    { messages: user(imagePart('https://a/b.png')) },
    text(/an image at https:\/\/a\/b.png/),
  ],
  [
    'describes an inline document',
    'chat',
    {
      messages: user(
        filePart({ filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' }),
      ),
    },
    text(/an inline PDF document of 3 bytes/),
  ],
  [
    'names a file by its id',
    'chat',
    { messages: user(filePart({ file_id: 'file-1' })) },
    text(/the file file-1/),
  ],
  [
    'describes an inline video',
    'native',
    { contents: contents({ inlineData: { mimeType: 'video/mp4', data: 'AAAA' } }) },
    native({ text: /an inline MP4 video of 3 bytes/ }),
  ],
  [
    'counts a large image as a provider does',
    'chat',
    { messages: user(imagePart(`data:image/png;base64,${'A'.repeat(4_000_000)}`)) },
    { usage: { prompt_tokens: 1_100 } },
  ],
  [
    'shows no thoughts unless asked',
    'chat',
    { messages: hello },
    {
      choices: [{ message: { reasoning_content: undefined } }],
      usage: { completion_tokens_details: { reasoning_tokens: 0 } },
    },
  ],
  [
    'shows thoughts in the field of chat models that have them',
    'chat',
    { messages: hello, reasoning_effort: 'low' },
    {
      choices: [{ message: { reasoning_content: /repeat the request/ } }],
      usage: { completion_tokens_details: { reasoning_tokens: 14 } },
    },
  ],
  [
    'signs a thought that it does not show',
    'messages',
    {
      messages: hello,
      max_tokens: 5_000,
      thinking: { type: 'enabled', budget_tokens: 1_024, display: 'omitted' },
    },
    { content: [{ type: 'thinking', thinking: '', signature: /.{80}/ }, { type: 'text' }] },
  ],
  [
    'thinks without a summary',
    'responses',
    { input: 'x', reasoning: { effort: 'low' } },
    {
      output: [
        { type: 'reasoning', summary: [], encrypted_content: undefined },
        { type: 'message' },
      ],
      usage: { output_tokens_details: { reasoning_tokens: 13 } },
    },
  ],
  [
    'encrypts thoughts where asked',
    'responses',
    { input: 'x', reasoning: { effort: 'low' }, include: ['reasoning.encrypted_content'] },
    { output: [{ type: 'reasoning', encrypted_content: /^.{88}$/ }] },
  ],
  [
    'counts thoughts that the request hides',
    'native',
    {
      contents: contents({ text: 'x' }),
      generationConfig: { thinkingConfig: { thinkingBudget: 512 } },
    },
    {
      candidates: [{ content: { parts: [{ thought: undefined }] } }],
      usageMetadata: { thoughtsTokenCount: 13 },
    },
  ],
  [
    'signs a call after thoughts',
    'native',
    {
      contents: contents({ text: 'x' }),
      generationConfig: { thinkingConfig: { includeThoughts: true } },
      tools: [{ functionDeclarations: [{ name: 'weather' }] }],
    },
    native({ thought: true }, { functionCall: { name: 'weather' }, thoughtSignature: /.{80}/ }),
  ],
  [
    'fetches the page that the user names',
    'native',
    { contents: contents({ text: 'read https://a.example/b' }), tools: [{ urlContext: {} }] },
    {
      candidates: [
        { urlContextMetadata: { urlMetadata: [{ retrievedUrl: 'https://a.example/b' }] } },
      ],
    },
  ],
  [
    'fetches no page where the user names none',
    'native',
    { contents: contents({ text: 'read' }), tools: [{ urlContext: {} }] },
    { candidates: [{ urlContextMetadata: undefined }] },
  ],
  [
    'runs code',
    'messages',
    {
      messages: hello,
      max_tokens: 500,
      tools: [{ type: 'code_execution_20250522', name: 'code_execution' }],
    },
    {
      content: [
        { type: 'server_tool_use', input: { code: String } },
        { type: 'code_execution_tool_result', content: { stdout: 'sandbox\n' } },
        { text: /The tool returned: "sandbox"/ },
      ],
    },
  ],
  [
    'searches files',
    'responses',
    { input: 'x', tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }] },
    {
      output: [
        { type: 'file_search_call', status: 'completed', queries: ['x'] },
        { content: [{ annotations: [{ type: 'file_citation' }] }] },
      ],
    },
  ],
  [
    'generates an image',
    'responses',
    { input: 'x', tools: [{ type: 'image_generation' }] },
    {
      output: [
        { type: 'image_generation_call', status: 'completed', result: /^iVBOR/ },
        { type: 'message' },
      ],
    },
  ],
  [
    'repeats the settings of a response',
    'responses',
    { input: 'x', instructions: 'y', metadata: { a: 'b' }, tools: [{ type: 'web_search' }] },
    { instructions: 'y', metadata: { a: 'b' }, tools: [{ type: 'web_search' }] },
  ],
]
const PATHS: Readonly<Record<string, string>> = {
  chat: '/v1/chat/completions',
  responses: '/v1/responses',
  messages: '/v1/messages',
  native: '/v1beta/models/gemini-2.5-pro:generateContent',
}
t.test('sandbox: answers in detail', async t => {
  for (const [title, path, body, expected] of ANSWERS) {
    const reply = await ask(PATHS[path] ?? '', { model: 'm', ...body })
    t.match(JSON.parse(reply.text), expected, title)
  }
})

t.test('sandbox: an invalid request is refused as by a provider', async t => {
  const fault = await errorFrom(() =>
    ask('/v1/chat/completions', { messages: [{ role: 'user', content: 7 }] }),
  )
  t.match(fault, { status: 400, param: 'messages[0].content' })
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

t.test('sandbox: a task of the image queue goes through its statuses without memory', async t => {
  let now = 1_800_000_000_000
  const call = (method: string, path: string) =>
    imageTaskAnswer({ method, path, now, fileUrl: name => `https://gateway.example/${name}` })
  for (const prefix of ['', '/mj-relax', '/mj-fast', '/mj-turbo']) {
    const created = call('POST', `/base${prefix}/mj/submit/imagine`)?.json
    const { code, result } = Object(created) as { code: number; result: string }
    t.equal(code, 1)
    const fetchTask = () => call('GET', `/base${prefix}/mj/task/${result}/fetch`)?.json
    t.match(fetchTask(), { id: result, status: 'SUBMITTED', progress: '0%', imageUrl: null })
    now += 2_000
    t.match(fetchTask(), { status: 'IN_PROGRESS', progress: '50%' })
    now += 1_500
    const imageUrl = 'https://gateway.example/image.png'
    t.match(fetchTask(), { status: 'SUCCESS', progress: '100%', imageUrl })
  }
  for (const [method = '', path = ''] of [
    ['GET', '/mj/submit/imagine'],
    ['POST', '/mj/submit/edits'],
    ['POST', '/mj-slow/submit/imagine'],
    ['GET', '/mj/task/1/fetch'],
    ['POST', '/mj/task/1800000000000000/fetch'],
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
    ['0a1b2c.png', 'image/png', 'PNG'],
    ['0a1b2c.svg', 'image/svg+xml', '<svg'],
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
  for (const name of ['__proto__', '0a1b2c.gif', 'red.png', '0a1b2c.svg/x'])
    t.match((await read(name)).fault, { code: 'SANDBOX_FILE', status: 404 }, name)
})

t.test('sandbox: sample values follow references, allOf, bounds and formats', t => {
  const $defs = {
    step: {
      type: 'object',
      required: ['note', 'next'],
      properties: {
        note: { type: 'string', minLength: 9 },
        next: { anyOf: [{ $ref: '#/$defs/step' }, { type: 'null' }] },
      },
    },
    name: { type: 'string', enum: ['ann'] },
  }
  const schema = {
    $defs,
    allOf: [{ properties: { who: { $ref: '#/$defs/name' } }, required: ['who'] }],
    type: 'object',
    required: ['steps', 'at', 'count', 'pair'],
    properties: {
      steps: { type: 'array', minItems: 2, items: { $ref: '#/$defs/step' } },
      at: { type: 'string', format: 'date-time' },
      count: { type: 'integer', exclusiveMinimum: 4, multipleOf: 5 },
      pair: { prefixItems: [{ const: 1 }, { $ref: '#/properties/at' }], type: 'array' },
    },
  } as const
  const validate = new Ajv2020({ formats: { 'date-time': true } }).compile(schema)
  t.ok(validate(sampleValue(schema as never)), JSON.stringify(validate.errors))
  t.match(sampleValue(schema as never), {
    who: 'ann',
    steps: [{ note: 'sandboxxx' }, {}],
    count: 5,
  })
  t.same(sampleValue({ $ref: '#' }), {}, 'a reference to itself')
  t.same(sampleValue({ $ref: '#/$defs/none' }), {})
  t.end()
})

const callOf = (id: string) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })
/** Requests with the result of a call: the call is in the conversation or not. */
const RESULTS: Readonly<Record<string, (id: string) => Json>> = {
  '/v1/chat/completions': id => ({
    messages: [
      ...hello,
      { role: 'assistant', content: null, tool_calls: [callOf('c1')] },
      { role: 'tool', tool_call_id: id, content: 'x' },
    ],
  }),
  '/v1/responses': id => ({
    input: [
      { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: id, output: 'x' },
    ],
  }),
  '/v1/messages': id => ({
    max_tokens: 50,
    messages: [
      ...hello,
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'f', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'x' }] },
    ],
  }),
  '/v1beta/models/gx:generateContent': id => ({
    contents: [
      { role: 'model', parts: [{ functionCall: { id: 'c1', name: 'f', args: {} } }] },
      { role: 'user', parts: [{ functionResponse: { id, name: 'f', response: {} } }] },
    ],
  }),
  '/model/x/converse': id => ({
    messages: [
      { role: 'assistant', content: [{ toolUse: { toolUseId: 'c1', name: 'f', input: {} } }] },
      { role: 'user', content: [{ toolResult: { toolUseId: id, content: [{ text: 'x' }] } }] },
    ],
  }),
  '/v2/chat': id => ({
    messages: [
      ...hello,
      { role: 'assistant', tool_calls: [callOf('c1')] },
      { role: 'tool', tool_call_id: id, content: 'x' },
    ],
  }),
}
for (const [path, bodyOf] of Object.entries(RESULTS))
  t.test(`sandbox: ${path} takes results of its calls alone`, async t => {
    t.equal((await ask(path, bodyOf('c1'))).status, 200)
    t.match(await errorFrom(() => ask(path, bodyOf('c2'))), { status: 400, code: 'CALL_UNKNOWN' })
  })

const JSON_MODES: Readonly<Record<string, Json>> = {
  '/v1/chat/completions': { messages: hello, response_format: { type: 'json_object' } },
  '/v1/responses': { input: 'hello', text: { format: { type: 'json_object' } } },
  '/v1/messages': { max_tokens: 50, messages: hello, system: JSON_REQUEST },
  '/v1beta/models/gx:generateContent': {
    contents: [{ parts: [{ text: 'hello' }] }],
    generationConfig: { responseMimeType: 'application/json' },
  },
  '/model/x/converse': {
    system: [{ text: schemaRequest({ const: { answer: 'sandbox' } }) }],
    messages: [{ role: 'user', content: [{ text: 'hello' }] }],
  },
  '/v2/chat': { messages: hello, response_format: { type: 'json_object' } },
}
for (const [path, body] of Object.entries(JSON_MODES))
  t.test(`sandbox: ${path} answers with JSON in JSON mode`, async t => {
    t.match((await ask(path, body)).text, '{\\"answer\\":\\"sandbox\\"}')
  })
