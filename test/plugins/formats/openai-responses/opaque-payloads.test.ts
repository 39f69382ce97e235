/** Opaque payloads in responses requests, and items of hosted tools. */
import t from 'tap'
import { encodePayload } from '../../../../plugins/formats/hub/opaque-payload.ts'
import { encodeRequest, itemsOf, turnsOf } from './requests.ts'

const NAME = 'openai-responses'
const call = { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{"a":1}' }
const resultItem = { type: 'function_call_output', call_id: 'c1', output: 'ok' }
const url = 'data:image/png;base64,AAAA'

t.test('responses encoder: returns encrypted thoughts (edge 11)', async t => {
  const thought = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAA' }
  const turns = turnsOf(thought, call, resultItem)
  const payload = { origin: NAME, data: 'gAAA', id: 'rs_1' }
  t.match(turns[0]?.content, [{ type: 'thought', text: '', payload }, { type: 'call' }])
  t.same(itemsOf(...turns), [thought, call, resultItem])
  const { body } = encodeRequest({ turns })
  t.match(body, { store: false, include: ['reasoning.encrypted_content'] })
  // The provider rejects a thought that nothing follows; one without ciphertext means nothing to
  // it.
  t.same(itemsOf(...turnsOf({ role: 'user', content: 'x' }, thought)).length, 1)
  t.same(itemsOf(...turnsOf({ ...thought, encrypted_content: null }, call)), [call])
})
t.test('responses codec: sends payloads to their origin only (edge 11)', async t => {
  const foreignPayload = { origin: 'anthropic-messages', data: 'sig' }
  const encodedPayload = {
    type: 'reasoning',
    id: 'rs_2',
    encrypted_content: encodePayload(NAME, foreignPayload),
  }
  const turns = turnsOf(
    { ...encodedPayload, summary: [{ type: 'summary_text', text: 'hm' }] },
    call,
  )
  t.match(turns[0]?.content, [
    { type: 'thought', text: 'hm', payload: foreignPayload },
    { type: 'call' },
  ])
  t.same(itemsOf(...turns), [call])
})
t.test('responses encoder: returns a payload to the item that it belongs to', async t => {
  const thoughtWithPayload = (kind: string, data: string) =>
    ({ type: 'thought', text: '', payload: { origin: NAME, kind, data } }) as const
  const items = itemsOf({
    role: 'assistant',
    content: [
      thoughtWithPayload('phase', 'commentary'),
      { type: 'text', text: 'wait' },
      thoughtWithPayload('namespace', 'ns'),
      { type: 'call', id: 'c', name: 'f', input: '{}' },
      { type: 'text', text: 'done' },
    ],
  })
  t.match(items, [{ phase: 'commentary' }, { namespace: 'ns' }, { content: 'done' }])
  t.notOk('phase' in (items[2] as object))
})
t.test('responses codec: keeps items of hosted tools for their provider', async t => {
  const items = [
    {
      type: 'web_search_call',
      id: 'ws_1',
      status: 'completed',
      action: { type: 'search', query: 'q', sources: [{ type: 'url', url: 'https://x' }] },
    },
    {
      type: 'code_interpreter_call',
      id: 'ci_1',
      status: 'completed',
      container_id: 'k',
      code: '1+1',
      outputs: [{ type: 'logs', logs: '2' }],
    },
    { type: 'file_search_call', id: 'fs_1', status: 'failed', queries: ['q'], results: null },
    { type: 'mcp_call', id: 'mcp_1', name: 'x', arguments: '{}', server_label: 's' },
    {
      type: 'image_generation_call',
      id: 'ig_1',
      status: 'completed',
      output_format: 'webp',
      result: 'AAAA',
    },
  ]
  const turns = turnsOf(...items)
  t.match(turns[0]?.content, [
    { tool: 'web_search', input: { query: 'q' }, sources: [{ url: 'https://x' }] },
    { tool: 'code_execution', input: { code: '1+1' }, output: '2' },
    { tool: 'file_search', error: 'failed' },
    { tool: 'other' },
    { type: 'media', kind: 'image', source: { data: 'AAAA', mime: 'image/webp' } },
  ])
  t.same(itemsOf(...turns), items)
})
t.test('responses encoder: describes foreign hosted calls as text', async t => {
  const content = [
    {
      type: 'hostedCall',
      tool: 'web_search',
      id: 'x',
      input: { query: 'q' },
      sources: [{ url: 'https://x' }],
    },
    { type: 'hostedCall', tool: 'other', id: 'y', input: null },
    { type: 'media', kind: 'image', source: { type: 'data', data: 'AAAA', mime: 'image/png' } },
  ] as const
  t.match(itemsOf({ role: 'assistant', content }), [
    { role: 'assistant', content: /https:\/\/x/ },
    { role: 'user', content: [{ type: 'input_image', image_url: url }] },
  ])
})
t.test('responses codec: keeps a refusal in the history', async t => {
  const refusalMessage = { role: 'assistant', content: [{ type: 'refusal', refusal: 'no' }] }
  const turns = turnsOf(refusalMessage)
  t.same(turns[0]?.content, [{ type: 'refusal', text: 'no' }])
  t.match(itemsOf(...turns), [refusalMessage])
})
