/** Validation faults: the field as the client wrote it, and the expected value. */
import t from 'tap'
import type { Json } from '../../../engine/plugin.ts'
import { fileValidator, validatorOf } from '../../../plugins/schema/compile.ts'
import { recordings } from '../../helpers/formats/recordings.ts'
import { fakeHost } from '../../helpers/gateway/fake-exchange.ts'

const host = fakeHost()
const FILES = {
  chat: 'schemas/chat-completions.json',
  messages: 'schemas/messages.json',
  responses: 'schemas/responses.json',
  gemini: 'schemas/generate-content.json',
}
type Name = keyof typeof FILES
const validate = (name: Name, body: Json) => fileValidator(FILES[name], host).validate(body)
const hi = [{ role: 'user', content: 'hi' }]
const chat = (more: { readonly [key: string]: Json }): Json => ({
  model: 'm',
  messages: hi,
  ...more,
})
const part = (one: Json): Json => chat({ messages: [{ role: 'user', content: [one] }] })

type Row = readonly [name: Name, body: Json, code: string, param: string | undefined, words: RegExp]
const TABLE: readonly Row[] = [
  ['chat', {}, 'REQUIRED_PARAMETER', 'model', /'model'/],
  ['chat', [], 'INVALID_TYPE', undefined, /request body: expected an object, but got an array/],
  ['chat', null, 'INVALID_TYPE', undefined, /got null/],
  ['chat', 'x', 'INVALID_TYPE', undefined, /got a string/],
  ['chat', { model: 'm' }, 'REQUIRED_PARAMETER', 'messages', /'messages'/],
  ['chat', chat({ model: 1 }), 'INVALID_TYPE', 'model', /expected a string, but got a number/],
  ['chat', chat({ model: '' }), 'EMPTY_PARAMETER', 'model', /at least 1 character/],
  ['chat', chat({ messages: [] }), 'INVALID_SIZE', 'messages', /at least one message/],
  ['chat', chat({ messages: 'hi' }), 'INVALID_TYPE', 'messages', /an array/],
  ['chat', chat({ messages: [1] }), 'INVALID_TYPE', 'messages[0]', /expected an object/],
  [
    'chat',
    chat({ messages: [{ role: 'user' }] }),
    'REQUIRED_PARAMETER',
    'messages[0].content',
    /messages\[0\]\.content/,
  ],
  [
    'chat',
    chat({ messages: [{ role: 'boss', content: 'x' }] }),
    'INVALID_VALUE',
    'messages[0].role',
    /'boss'. Supported values are: 'system',/,
  ],
  [
    'chat',
    chat({ messages: [{ role: 'user', content: 7 }] }),
    'INVALID_TYPE',
    'messages[0].content',
    /one of a string, null or an array, but got a number/,
  ],
  [
    'chat',
    chat({ messages: [...hi, { role: 'tool', content: 'x' }] }),
    'REQUIRED_PARAMETER',
    'messages[1].tool_call_id',
    /tool_call_id/,
  ],
  ['chat', part({}), 'REQUIRED_PARAMETER', 'messages[0].content[0].type', /type/],
  ['chat', part({ type: 'text' }), 'REQUIRED_PARAMETER', 'messages[0].content[0].text', /text/],
  [
    'chat',
    part({ type: 'image_url', image_url: 'https://x/y.png' }),
    'INVALID_TYPE',
    'messages[0].content[0].image_url',
    /expected an object with the 'url'/,
  ],
  ['chat', chat({ temperature: 3 }), 'OUT_OF_RANGE', 'temperature', /<= 2, but got 3 instead/],
  ['chat', chat({ temperature: '1' }), 'INVALID_TYPE', 'temperature', /a number or null/],
  ['chat', chat({ n: 0 }), 'OUT_OF_RANGE', 'n', />= 1, but got 0/],
  ['chat', chat({ n: 1.5 }), 'INVALID_TYPE', 'n', /an integer or null/],
  ['chat', chat({ stop: ['1', '2', '3', '4', '5'] }), 'INVALID_SIZE', 'stop', /at most 4 items/],
  ['chat', chat({ stream: 'yes' }), 'INVALID_TYPE', 'stream', /a boolean/],
  ['chat', chat({ tools: [{ type: 'function' }] }), 'REQUIRED_PARAMETER', 'tools[0].function', /./],
  ['chat', chat({ tool_choice: 'maybe' }), 'INVALID_VALUE', 'tool_choice', /'maybe'/],
  ['messages', chat({}), 'REQUIRED_PARAMETER', 'max_tokens', /max_tokens/],
  ['messages', chat({ max_tokens: 0 }), 'OUT_OF_RANGE', 'max_tokens', />= 1/],
  [
    'messages',
    chat({ max_tokens: 9, thinking: { type: 'enabled' } }),
    'REQUIRED_PARAMETER',
    'thinking.budget_tokens',
    /budget_tokens/,
  ],
  [
    'messages',
    chat({ max_tokens: 9, thinking: { type: 'enabled', budget_tokens: 1023 } }),
    'OUT_OF_RANGE',
    'thinking.budget_tokens',
    />= 1024/,
  ],
  [
    'messages',
    chat({ max_tokens: 9, thinking: { type: 'enabled', budget_tokens: 100_001 } }),
    'OUT_OF_RANGE',
    'thinking.budget_tokens',
    /<= 100000/,
  ],
  [
    'messages',
    chat({ max_tokens: 9, temperature: 0.5, thinking: { type: 'enabled', budget_tokens: 1024 } }),
    'INVALID_VALUE',
    'temperature',
    /must be 1 while thinking/,
  ],
  ['responses', chat({}), 'UNSUPPORTED_PARAMETER', 'messages', /has moved to 'input'/],
  ['responses', { model: 'm', input: 7 }, 'INVALID_TYPE', 'input', /string, null or an array/],
  ['gemini', {}, 'REQUIRED_PARAMETER', 'contents', /contents/],
  ['gemini', { contents: [{}] }, 'REQUIRED_PARAMETER', 'contents[0].parts', /parts/],
  [
    'gemini',
    { contents: [{ parts: [{ text: 1 }] }] },
    'INVALID_TYPE',
    'contents[0].parts[0].text',
    /a string/,
  ],
]

for (const [name, body, code, param, words] of TABLE)
  t.test(
    `validation fault in ${name}: names the field of ${JSON.stringify(body).slice(0, 90)}`,
    async t => {
      const fault = validate(name, body)
      t.match(fault, { code, status: 400, expose: true, message: words })
      t.equal(fault?.param, param)
    },
  )

t.test('shipped schemas: accept unknown fields', async t => {
  t.equal(validate('chat', chat({ some_new_field: { a: [1] }, service_tier: 'flex' })), undefined)
  t.equal(validate('chat', part({ type: 'smell', smell: 'roses' })), undefined)
  t.equal(validate('messages', chat({ max_tokens: 9, temperature: 0.5 })), undefined)
})

t.test('validation fault: shortens long values and omits objects', async t => {
  const schema = { properties: { a: { enum: [1] } } }
  const long = validatorOf(schema, 'x', host).validate({ a: 'x'.repeat(10_000) })
  t.ok((long?.message.length ?? 0) < 200)
  t.match(validatorOf(schema, 'x', host).validate({ a: { secret: 1 } })?.message, /an object/)
})

t.test('validation fault: names fields with slashes, tildes and digits', async t => {
  const schema = { properties: { 'a/b~c': { properties: { 0: { type: 'string' } } } } }
  t.equal(validatorOf(schema, 'x', host).validate({ 'a/b~c': { 0: 1 } })?.param, 'a/b~c[0]')
})

t.test('validation fault: each keyword has a message', async t => {
  const rows: readonly (readonly [schema: Json, body: Json, code: string, words: RegExp])[] = [
    [{ additionalProperties: false }, { a: 1 }, 'UNKNOWN_PARAMETER', /Unknown parameter: 'a'/],
    [{ properties: { a: { const: 1 } } }, { a: 2 }, 'INVALID_VALUE', /must be 1/],
    [{ properties: { a: { pattern: '^b$' } } }, { a: 'c' }, 'INVALID_VALUE', /pattern \^b\$/],
    [{ properties: { a: { format: 'uri' } } }, { a: 'c' }, 'INVALID_VALUE', /valid uri/],
    [{ properties: { a: { multipleOf: 5 } } }, { a: 3 }, 'INVALID_VALUE', /multiple of 5/],
    [
      { properties: { a: { uniqueItems: true, maxItems: 9 } } },
      { a: [1, 1] },
      'INVALID_VALUE',
      /same/,
    ],
    [{ properties: { a: { maxLength: 1 } } }, { a: 'bc' }, 'INVALID_VALUE', /at most 1 character,/],
    [{ properties: { a: { exclusiveMinimum: 0 } } }, { a: 0 }, 'OUT_OF_RANGE', /> 0/],
    [
      { dependentRequired: { a: ['b'] } },
      { a: 1 },
      'REQUIRED_PARAMETER',
      /'b' is required with 'a'/,
    ],
    [{ minProperties: 1 }, {}, 'INVALID_VALUE', /request body/],
    [{ not: {} }, {}, 'INVALID_VALUE', /request body/],
    [false, {}, 'INVALID_VALUE', /request body/],
    [
      {
        discriminator: { propertyName: 'kind' },
        required: ['kind'],
        oneOf: [
          { properties: { kind: { const: 'a' } } },
          { properties: { kind: { enum: ['b', 'c'] } } },
        ],
      },
      { kind: 'd' },
      'INVALID_VALUE',
      /'kind': 'd'. Supported values are: 'a', 'b', 'c'/,
    ],
    [
      { properties: { kind: { enum: ['a', null, true] } } },
      { kind: 'null' },
      'INVALID_VALUE',
      /'kind': 'null'. Supported values are: 'a', null, true/,
    ],
  ]
  for (const [schema, body, code, words] of rows)
    t.match(
      validatorOf(
        typeof schema === 'object' ? { type: 'object', ...schema } : schema,
        'x',
        host,
      ).validate(body),
      { code, message: words },
      JSON.stringify(schema),
    )
})

const recordedRequests = recordings()
t.test(
  'shipped schemas: accept every recorded request that a provider accepted',
  { skip: recordedRequests === undefined && 'RECORDINGS is not set' },
  async t => {
    let requestCount = 0
    for (const { id, format, status, request } of recordedRequests ?? []) {
      const name = format.split('-')[0] ?? ''
      if (status !== 200 || !request || !(name in FILES)) continue
      const fault = validate(name as Name, request as Json)
      requestCount++
      if (fault) t.fail(`${id}: ${fault.message}`)
    }
    t.ok(requestCount > 150, `${requestCount} requests`)
  },
)
