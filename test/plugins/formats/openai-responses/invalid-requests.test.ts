/** Invalid requests of the responses format: each is rejected by the name of the invalid field. */
import t from 'tap'
import type { Json } from '../../../../engine/plugin.ts'
import { decodePrompt, encodePrompt } from '../../../helpers/formats/codec.ts'
import { recordings } from '../../../helpers/formats/recordings.ts'
import { errorFrom } from '../../../helpers/gateway/fake-exchange.ts'
import fc from '../../../helpers/property.ts'
import { shortOrLong } from '../../../helpers/run-settings.ts'

const NAME = 'openai-responses'
const item = (...input: readonly Json[]): Json => ({ input })
const part = (content: Json): Json => item({ role: 'user', content: [content] })

t.test('responses decoder: names the invalid field', async t => {
  const cases: readonly (readonly [Json, string])[] = [
    [{ messages: [] }, 'messages'],
    [{}, 'input'],
    [{ input: 7 }, 'input'],
    [{ input: 'hi', prompt: { id: 'p' } }, 'prompt'],
    [{ input: 'hi', instructions: [] }, 'instructions'],
    [item('hi'), 'input[0]'],
    [item({}), 'input[0].type'],
    [item({ type: 7 }), 'input[0].type'],
    [item({ role: 'boss', content: '' }), 'input[0].role'],
    [item({ role: 'user' }), 'input[0].content'],
    [item({ role: 'user', content: 7 }), 'input[0].content'],
    [part('hi'), 'input[0].content[0]'],
    [part({ type: 'smell' }), 'input[0].content[0]'],
    [part({ type: 'input_text' }), 'input[0].content[0].text'],
    [part({ type: 'input_image' }), 'input[0].content[0].image_url'],
    [part({ type: 'input_image', image_url: 'y.png' }), 'input[0].content[0].image_url'],
    [part({ type: 'input_file' }), 'input[0].content[0].file_data'],
    [part({ type: 'input_audio' }), 'input[0].content[0].input_audio'],
    [item({ type: 'function_call', call_id: 'c', arguments: '' }), 'input[0].name'],
    [item({ type: 'function_call', call_id: 'c', name: 'f' }), 'input[0].arguments'],
    [item({ type: 'function_call_output', output: '' }), 'input[0].call_id'],
    [item({ type: 'function_call_output', call_id: 'c' }), 'input[0].output'],
    [item({ type: 'reasoning', summary: 'x' }), 'input[0].summary'],
    [item({ type: 'reasoning', encrypted_content: 1 }), 'input[0].encrypted_content'],
    [item({ type: 'item_reference', id: 'msg_1' }), 'input[0]'],
    [{ input: 'hi', tools: {} }, 'tools'],
    [{ input: 'hi', tools: [{}] }, 'tools[0].type'],
    [{ input: 'hi', tools: [{ type: 'function' }] }, 'tools[0].name'],
    [
      { input: 'hi', tools: [{ type: 'file_search', vector_store_ids: [1] }] },
      'tools[0].vector_store_ids[0]',
    ],
    [{ input: 'hi', tool_choice: 7 }, 'tool_choice'],
    [{ input: 'hi', temperature: 'hot' }, 'temperature'],
    [{ input: 'hi', text: { format: { type: 'smell' } } }, 'text'],
    [{ input: 'hi', text: { format: { type: 'json_schema' } } }, 'text.format.schema'],
    [{ input: 'hi', reasoning: 'much' }, 'reasoning'],
    [{ input: 'hi', include: 'all' }, 'include'],
    [{ input: 'hi', conversation: 7 }, 'conversation'],
  ]
  for (const [body, param] of cases) {
    const fault = await errorFrom(async () => decodePrompt(NAME, body))
    t.match(fault, { status: 400, param }, `${param}: ${JSON.stringify(body)}`)
  }
  t.match(await errorFrom(async () => decodePrompt(NAME, { messages: [] })), {
    code: 'UNSUPPORTED_PARAMETER',
    message: /this parameter has moved to 'input'/,
  })
})

/** Decodes and encodes a body, or catches status 400; anything else is thrown. */
const survives = (body: Json): boolean => {
  try {
    encodePrompt(NAME, decodePrompt(NAME, body).prompt)
  } catch (error) {
    if ((error as { status?: number }).status !== 400) throw error
  }
  return true
}
const MEMBERS = [
  'input',
  'instructions',
  'tools',
  'tool_choice',
  'text',
  'reasoning',
  'include',
  'metadata',
  'conversation',
  'previous_response_id',
  'temperature',
  'stream',
  'max_tool_calls',
  'user',
]
const TYPES = [
  'message',
  'function_call',
  'function_call_output',
  'custom_tool_call',
  'reasoning',
  'image_generation_call',
  'web_search_call',
  'code_interpreter_call',
  'file_search_call',
]
t.test('responses decoder: accepts or rejects any body, and never throws anything else', t => {
  const some = fc.jsonValue({ maxDepth: 4 })
  const keys = ['role', 'content', 'call_id', 'name', 'arguments', 'output', 'summary', 'action']
  const items = fc.record(
    {
      type: fc.constantFrom(...TYPES),
      ...Object.fromEntries([...keys, 'result', 'outputs', 'phase'].map(key => [key, some])),
    },
    { requiredKeys: ['type'] },
  )
  const members = fc.dictionary(fc.constantFrom(...MEMBERS), some)
  fc.assert(
    fc.property(members, fc.array(items), (more, input) =>
      survives({ input, ...(more as object) } as Json),
    ),
    { numRuns: shortOrLong(70, 10_000) },
  )
  t.end()
})

const recorded = (recordings() ?? []).flatMap(({ format, request }) =>
  format.startsWith('responses') && request ? [request as { readonly [key: string]: Json }] : [],
)
t.test(
  'responses decoder: accepts or rejects a mutated recording',
  {
    skip: recorded.length === 0 && 'RECORDINGS is not set',
  },
  t => {
    const wrong = fc.constantFrom<Json>(null, 0, '', 'x', true, [], {}, [[]], [{}], {
      type: 'text',
    })
    fc.assert(
      fc.property(fc.constantFrom(...recorded), fc.nat(), wrong, (request, at, value) =>
        survives(changeValue(request, at, value)),
      ),
      { numRuns: shortOrLong(200, 20_000) },
    )
    t.end()
  },
)
/** Replaces one value, selected by `at` modulo the number of values. */
const changeValue = (complete: Json, at: number, value: Json): Json => {
  const copy = structuredClone(complete)
  const replacements: (() => boolean)[] = []
  const walk = (into: Json): void => {
    if (typeof into !== 'object' || into === null) return
    for (const [key, each] of Object.entries(into)) {
      replacements.push(() => Reflect.set(into, key, value))
      walk(each as Json)
    }
  }
  walk(copy)
  replacements[at % replacements.length]?.()
  return copy
}
