/** Whole answers of the responses format in both directions. */
import t from 'tap'
import type { Json } from '../../../../engine/plugin.ts'
import type { Fields } from '../../../../plugins/formats/fields.ts'
import type { Answer, Stop } from '../../../../plugins/formats/hub/answer.ts'
import type { Content } from '../../../../plugins/formats/hub/content.ts'
import { codecOf, contextWith, decodePrompt, PROMPT } from '../../../helpers/formats/codec.ts'

const NAME = 'openai-responses'
const codec = codecOf(NAME)
const decode = (response: object): Answer => codec.decodeAnswer(response as Fields)
const output = (...items: readonly object[]) =>
  decode({ status: 'completed', output: items }).choices[0]?.content
const encode = (content: readonly Content[], stop: Stop = { reason: 'end' }, body: Fields = {}) =>
  codec.encodeAnswer(
    { choices: [{ content, stop }], meters: { input: 1 } },
    contextWith({ id: 'abc', prompt: { ...PROMPT, body } }),
  )
const text = (words: string, more: object = {}): Content => ({ type: 'text', text: words, ...more })

t.test('responses encoder: writes all members and echoes settings', async t => {
  const body = {
    model: 'm',
    instructions: 'be short',
    temperature: 0.3,
    max_output_tokens: 7,
    store: false,
    metadata: { a: 'b' },
    tools: [{ type: 'function', name: 'f' }],
    tool_choice: 'required',
    text: { verbosity: 'low' },
    reasoning: { effort: 'low' },
    previous_response_id: 'resp_0',
  }
  const expected = [
    'id',
    'object',
    'created_at',
    'completed_at',
    'status',
    'incomplete_details',
    'model',
    'previous_response_id',
    'instructions',
    'output',
    'error',
    'tools',
    'tool_choice',
    'truncation',
    'parallel_tool_calls',
    'text',
    'top_p',
    'presence_penalty',
    'usage',
    'frequency_penalty',
    'top_logprobs',
    'temperature',
    'reasoning',
    'max_output_tokens',
    'max_tool_calls',
    'store',
    'background',
    'service_tier',
    'metadata',
    'safety_identifier',
    'prompt_cache_key',
    'user',
  ]
  const bare = encode([text('hi')])
  t.same(
    expected.filter(key => !(key in bare)),
    [],
  )
  t.match(bare, {
    id: 'resp_abc',
    object: 'response',
    status: 'completed',
    model: 'asked',
    error: null,
    created_at: 1_700_000_000,
    tool_choice: 'auto',
    text: { format: { type: 'text' } },
    instructions: null,
    metadata: {},
    reasoning: { effort: null, summary: null },
  })
  t.match(encode([text('hi')], { reason: 'end' }, body), {
    instructions: 'be short',
    temperature: 0.3,
    max_output_tokens: 7,
    store: false,
    metadata: { a: 'b' },
    tool_choice: 'required',
    previous_response_id: 'resp_0',
    tools: [{ type: 'function', name: 'f', description: null, parameters: null, strict: true }],
    text: { format: { type: 'text' }, verbosity: 'low' },
    reasoning: { effort: 'low', summary: null },
  })
  t.match(encode([], { reason: 'end' }, { conversation: 'conv_1' }), {
    conversation: { id: 'conv_1' },
  })
})
t.test('responses encoder: uses the client’s name of the model (edge 33)', async t => {
  const answer = { model: 'gpt-5-2025', id: 'resp_theirs', choices: [] }
  t.match(codec.encodeAnswer(answer, contextWith()), { model: 'asked', id: /^resp_0123/ })
})

t.test('responses decoder: keeps a thought with a payload only (edge 10)', async t => {
  const payload = { origin: NAME, data: 'gAAA', id: 'rs_1' }
  t.same(output({ type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAA' }), [
    { type: 'thought', text: '', payload },
  ])
  t.same(output({ type: 'reasoning', id: 'rs_1', summary: [] }), [])
  t.same(output({ type: 'reasoning', content: [{ type: 'reasoning_text', text: 'hm' }] }), [
    { type: 'thought', text: 'hm' },
  ])
  const summary = [{ text: 'one' }, { text: 'two' }]
  t.match(output({ type: 'reasoning', summary }), [{ text: 'one\n\ntwo' }])
})
t.test('responses codec: carries other providers’ thoughts through the client', async t => {
  const payload = { origin: 'anthropic-messages', data: 'sig', kind: 'signature' }
  const call = { type: 'call', id: 'c', name: 'f', input: '{}' } as const
  const google = { origin: 'google-gemini', data: 'c2ln' }
  const thought = { type: 'thought', text: 'hm', payload } as const
  const { output: items } = encode([thought, { ...call, payload: google }], { reason: 'call' })
  t.match(items, [
    { type: 'reasoning', id: 'rs_abc_0', summary: [{ type: 'summary_text', text: 'hm' }] },
    { type: 'reasoning', id: 'rs_abc_1', summary: [] },
    { type: 'function_call', id: 'fc_abc_2', call_id: 'c' },
  ])
  const [turn] = decodePrompt(NAME, { input: items as Json }).prompt.turns
  t.same(turn?.content, [thought, { type: 'thought', text: '', payload: google }, call])
})
t.test('responses encoder: packs its own payload if the item has another id', async t => {
  const payload = { origin: NAME, data: 'gAAA', id: 'rs_theirs' }
  const { output: items } = encode([{ type: 'thought', text: '', payload }, text('hi')])
  const [turn] = decodePrompt(NAME, { input: items as Json }).prompt.turns
  t.match(turn?.content, [{ type: 'thought', payload }])
})
t.test('responses encoder: joins consecutive texts and shifts their citations', async t => {
  const url = 'https://x'
  const content = [
    text('Rain. '),
    text('Then sun.', { citations: [{ url, title: 'W', start: 5, end: 8 }] }),
    text(' And snow.', { citations: [{ url }, { document: 1, title: 'doc' }] }),
  ]
  t.match(encode(content).output, [
    {
      type: 'message',
      id: 'msg_abc_0',
      role: 'assistant',
      status: 'completed',
      content: [
        {
          type: 'output_text',
          text: 'Rain. Then sun. And snow.',
          annotations: [
            { type: 'url_citation', url, title: 'W', start_index: 11, end_index: 14 },
            { type: 'url_citation', url, start_index: 15, end_index: 25 },
            { type: 'file_citation', file_id: 'document_1', filename: 'doc', index: 25 },
          ],
          logprobs: [],
        },
      ],
    },
  ])
})
t.test('responses decoder: reads annotations as citations', async t => {
  const annotations = [
    { type: 'url_citation', url: 'https://x', title: 'X', start_index: 1, end_index: 2 },
    { type: 'file_citation', file_id: 'f', filename: 'a.pdf', index: 3 },
    { type: 'container_file_citation', file_id: 'g', start_index: 0, end_index: 1 },
  ]
  const content = [{ type: 'output_text', text: 'words', annotations }]
  t.match(output({ type: 'message', content }), [
    {
      citations: [
        { url: 'https://x', title: 'X', start: 1, end: 2 },
        { file: 'f', title: 'a.pdf', start: 3, end: 3 },
        { file: 'g', start: 0, end: 1 },
      ],
    },
  ])
})
t.test('responses codec: reads and writes calls (edges 16 and 18)', async t => {
  t.same(output({ type: 'function_call', call_id: 'c', name: 'f', arguments: '' }), [
    { type: 'call', id: 'c', name: 'f', input: '{}' },
  ])
  const odd = { type: 'call', id: 'functions.f:0', name: 'f', input: '' } as const
  const { output: items } = encode([odd, { ...odd, id: 'c', isFreeText: true, input: 'x' }], {
    reason: 'call',
  })
  t.match(items, [
    { call_id: /^[\w-]{1,64}$/, arguments: '{}', status: 'completed' },
    { type: 'custom_tool_call', call_id: 'c', input: 'x' },
  ])
  t.match(decodePrompt(NAME, { input: items as Json }).prompt.turns[0]?.content, [
    { id: odd.id },
    {},
  ])
})
t.test('responses decoder: an upstream’s own search is not a client call', async t => {
  const search = { type: 'custom_tool_call', call_id: 'xs_call_1', name: 'x_search', input: '{}' }
  t.match(output(search), [{ type: 'hostedCall', tool: 'other' }])
  const odd = {
    type: 'web_search_call',
    arguments: '{"query":"q"}',
    call_id: '',
    name: 'web_search',
  }
  t.match(output(odd), [{ type: 'hostedCall', tool: 'web_search', input: { query: 'q' } }])
})
t.test('responses encoder: writes foreign hosted calls as items (edge 26)', async t => {
  const call = (tool: string, input: Json, more: object = {}) =>
    ({ type: 'hostedCall', id: 'w', tool, input, ...more }) as Content
  const { output: items } = encode([
    call('web_search', { query: 'q' }, { sources: [{ url: 'https://x' }] }),
    call('web_fetch', { url: 'https://x' }),
    call('code_execution', { code: '1+1' }, { output: { stdout: '2', stderr: '' } }),
    call('code_execution', 'print()', { output: 'x', error: 'no' }),
    call('file_search', 'q', { sources: [{ file: 'f', title: 'a', quote: 'b' }] }),
    call('other', null),
    text('done'),
  ])
  t.match(items, [
    { type: 'web_search_call', id: 'ws_abc_0', action: { type: 'search', query: 'q' } },
    { type: 'web_search_call', action: { type: 'open_page', url: 'https://x' } },
    { type: 'code_interpreter_call', code: '1+1', outputs: [{ type: 'logs', logs: '2' }] },
    { type: 'code_interpreter_call', code: 'print()', status: 'failed' },
    { type: 'file_search_call', queries: ['q'], results: [{ file_id: 'f', text: 'b' }] },
    { type: 'message' },
  ])
  t.match((items as readonly Fields[])[0]?.action, {
    sources: [{ type: 'url', url: 'https://x' }],
  })
})
t.test('responses codec: writes images as items, or as text if there is only a URL', async t => {
  const image = (source: object) => ({ type: 'media', kind: 'image', source }) as Content
  t.match(encode([image({ type: 'data', data: 'AAAA', mime: 'image/webp' })]).output, [
    { type: 'image_generation_call', result: 'AAAA', output_format: 'webp', status: 'completed' },
  ])
  t.match(encode([image({ type: 'url', url: 'https://x/y.png' })]).output, [
    { content: [{ text: '![image](https://x/y.png)' }] },
  ])
  t.match(output({ type: 'image_generation_call', result: 'AAAA' }), [
    { type: 'media', source: { data: 'AAAA', mime: 'image/png' } },
  ])
  t.same(output({ type: 'image_generation_call', result: null }), [])
})
