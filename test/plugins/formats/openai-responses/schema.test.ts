/** Errors for bodies of the responses format that do not match the schema. */
import t from 'tap'
import type { Json } from '../../../../engine/plugin.ts'
import { fileValidator } from '../../../../plugins/schema/compile.ts'
import { fakeHost } from '../../../helpers/gateway/fake-exchange.ts'

const { validate: judge } = fileValidator('schemas/responses.json', fakeHost())
const requestWith = (members: object): Json => ({ model: 'm', input: 'hi', ...members })
const replyTo = (item: object): Json => requestWith({ input: [item] })

type Row = readonly [body: Json, code: string, param: string, words: RegExp]
const TABLE: readonly Row[] = [
  [replyTo({}), 'REQUIRED_PARAMETER', 'input[0].type', /type/],
  [replyTo({ role: 'boss' }), 'REQUIRED_PARAMETER', 'input[0].content', /content/],
  [replyTo({ role: 'boss', content: '' }), 'INVALID_VALUE', 'input[0].role', /'boss'/],
  [
    replyTo({ role: 'user', content: [{ type: 'input_text' }] }),
    'REQUIRED_PARAMETER',
    'input[0].content[0].text',
    /text/,
  ],
  [
    replyTo({ role: 'user', content: [{ type: 'input_image', image_url: { url: 'https://x' } }] }),
    'INVALID_TYPE',
    'input[0].content[0].image_url',
    /the URL of the image as a string/,
  ],
  [
    replyTo({ role: 'user', content: [{ type: 'input_image' }] }),
    'INVALID_VALUE',
    'input[0].content[0]',
    /needs an 'image_url' or a 'file_id'/,
  ],
  [
    replyTo({ type: 'function_call', call_id: 'c', name: 'f' }),
    'REQUIRED_PARAMETER',
    'input[0].arguments',
    /arguments/,
  ],
  [
    replyTo({ type: 'custom_tool_call_output', output: '' }),
    'REQUIRED_PARAMETER',
    'input[0].call_id',
    /call_id/,
  ],
  [requestWith({ tools: [{ type: 'function' }] }), 'REQUIRED_PARAMETER', 'tools[0].name', /./],
  [requestWith({ tool_choice: 'maybe' }), 'INVALID_VALUE', 'tool_choice', /'maybe'/],
  [requestWith({ max_output_tokens: 0 }), 'OUT_OF_RANGE', 'max_output_tokens', />= 1/],
  [requestWith({ truncation: 'hard' }), 'INVALID_VALUE', 'truncation', /'hard'/],
  [
    requestWith({ text: { format: { type: 'json_schema', name: 'x' } } }),
    'REQUIRED_PARAMETER',
    'text.format.schema',
    /schema/,
  ],
]

for (const [body, code, param, words] of TABLE)
  t.test(JSON.stringify(body).slice(0, 90), async t => {
    const fault = judge(body)
    t.match(fault, { code, status: 400, expose: true, message: words })
    t.equal(fault?.param, param)
  })

t.test('responses schema: accepts fields that upstreams may add later', async t => {
  const items = [
    { role: 'user', content: 'hi' },
    { type: 'smell_call', id: 'x', strength: 7 },
    { role: 'assistant', content: [{ type: 'output_smell', smell: 'rose' }] },
  ]
  t.equal(judge(requestWith({ input: items, tools: [{ type: 'nose' }], smell: true })), undefined)
})
