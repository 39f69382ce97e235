/** Turns of a responses request: messages, calls and results in both directions. */
import t from 'tap'
import type { Turn } from '../../../../plugins/formats/hub/prompt.ts'
import { encodePrompt } from '../../../helpers/formats/codec.ts'
import { assistant, user } from '../../../helpers/formats/request-parts.ts'
import { errorFrom } from '../../../helpers/gateway/fake-exchange.ts'
import { decodeRequest, encodeRequest, itemsOf, turnsOf } from './requests.ts'

const NAME = 'openai-responses'
const hi = { type: 'text', text: 'hi' } as const
const call = { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{"a":1}' }
const resultItem = { type: 'function_call_output', call_id: 'c1', output: 'ok' }
const url = 'data:image/png;base64,AAAA'

t.test('responses codec: instructions are the system prompt', async t => {
  const { prompt } = decodeRequest({ instructions: 'be short' })
  t.same(prompt.turns, [
    { role: 'system', content: [{ type: 'text', text: 'be short' }] },
    user(hi),
  ])
  t.match(encodePrompt(NAME, prompt).body, { instructions: 'be short', input: [{ role: 'user' }] })
  const alone: Turn = { role: 'system', content: [hi] }
  t.match(encodeRequest({ turns: [alone] }).body, { input: [{ role: 'system', content: 'hi' }] })
})
t.test('responses codec: later system messages keep their position (edge 21)', async t => {
  const turns = turnsOf(
    { role: 'user', content: 'one' },
    { role: 'developer', content: 'now in French' },
    { role: 'user', content: 'two' },
  )
  t.same(
    turns.map(({ role }) => role),
    ['user', 'system', 'user'],
  )
  t.match(itemsOf(...turns), [{ role: 'user' }, { role: 'system' }, { role: 'user' }])
})
t.test('responses decoder: reads messages and parts of every kind', async t => {
  const [turn] = turnsOf({
    type: 'message',
    role: 'user',
    content: [
      { type: 'input_text', text: 'see' },
      { type: 'input_image', image_url: url, detail: 'low' },
      { type: 'input_image', image_url: 'https://x/y.png' },
      { type: 'input_image', file_id: 'file-1' },
      { type: 'input_file', file_data: 'data:application/pdf;base64,BBBB', filename: 'a.pdf' },
      { type: 'input_file', file_data: 'aGk=', filename: 'a.txt' },
      { type: 'input_file', file_url: 'https://x/y.pdf' },
      { type: 'input_file', file_id: 'file-2' },
    ],
  })
  t.match(turn?.content, [
    { type: 'text', text: 'see' },
    { kind: 'image', detail: 'low', source: { data: 'AAAA', mime: 'image/png' } },
    { kind: 'image', source: { url: 'https://x/y.png' }, at: 'input[0].content[2]' },
    { kind: 'image', source: { type: 'file', file: 'file-1' } },
    { kind: 'document', name: 'a.pdf', source: { mime: 'application/pdf' } },
    { kind: 'document', source: { mime: 'text/plain', data: 'aGk=' } },
    { kind: 'document', source: { url: 'https://x/y.pdf' } },
    { kind: 'document', source: { file: 'file-2' } },
  ])
  t.match(itemsOf(turn as Turn), [
    {
      content: [
        { type: 'input_text', text: 'see' },
        { type: 'input_image', image_url: url, detail: 'low' },
        { type: 'input_image', image_url: 'https://x/y.png' },
        { type: 'input_image', file_id: 'file-1' },
        { type: 'input_file', file_data: 'data:application/pdf;base64,BBBB', filename: 'a.pdf' },
        { type: 'input_file', file_data: 'data:text/plain;base64,aGk=' },
        { type: 'input_file', file_url: 'https://x/y.pdf' },
        { type: 'input_file', file_id: 'file-2' },
      ],
    },
  ])
})
t.test('responses encoder: rejects content without a part type by its path', async t => {
  const media = { type: 'media', source: { type: 'url', url: 'https://x' }, at: 'x[3]' } as const
  for (const kind of ['audio', 'video'] as const) {
    const turns: Turn[] = [user({ ...media, kind })]
    const fault = await errorFrom(async () => encodeRequest({ turns }))
    t.match(fault, { status: 400, param: 'x[3]', message: /cannot be sent to this model/ })
  }
  const source = { type: 'file', file: 'f', origin: 'elsewhere' } as const
  const turns: Turn[] = [user({ ...media, kind: 'image', source })]
  t.match(await errorFrom(async () => encodeRequest({ turns })), { status: 400, param: 'x[3]' })
  const tools = [{ type: 'hosted', tool: 'url_context', clientName: 'urlContext' }] as const
  t.match(await errorFrom(async () => encodeRequest({ tools })), {
    status: 400,
    message: /'urlContext'/,
  })
})

t.test('responses codec: pairs calls and results and names their tool', async t => {
  const turns = turnsOf({ role: 'user', content: 'go' }, call, resultItem)
  t.same(turns.slice(1), [
    assistant({ type: 'call', id: 'c1', name: 'f', input: '{"a":1}' }),
    user({ type: 'result', id: 'c1', name: 'f', content: [{ type: 'text', text: 'ok' }] }),
  ])
  t.same(itemsOf(...turns).slice(1), [call, resultItem])
})
t.test('responses codec: missing arguments are an empty object (edge 16)', async t => {
  const [turn] = turnsOf({ ...call, arguments: '' })
  t.match(turn?.content, [{ input: '{}' }])
  const bare = { type: 'call', id: 'c', name: 'f', input: '' } as const
  t.match(itemsOf(assistant(bare)), [{ arguments: '{}' }])
})
t.test('responses codec: converts and restores invalid ids (edge 18)', async t => {
  for (const id of ['functions.f:0', 'x'.repeat(90)]) {
    const items = itemsOf(
      assistant({ type: 'call', id, name: 'f', input: '{}' }),
      user({ type: 'result', id, content: [hi] }),
    ) as readonly { readonly call_id: string }[]
    const [first, second] = items.map(item => item.call_id)
    t.equal(first, second)
    t.match(first, /^[\w-]{1,64}$/)
    if (id.length < 40) t.match(turnsOf(items[0] as object)[0]?.content, [{ id }])
  }
})
t.test('responses codec: puts tool results before other user content (edge 19)', async t => {
  const turns = turnsOf(
    call,
    { ...call, call_id: 'c2' },
    resultItem,
    { ...resultItem, call_id: 'c2' },
    { role: 'user', content: 'and?' },
  )
  t.match(turns[1]?.content, [{ id: 'c1' }, { id: 'c2' }, { text: 'and?' }])
})
t.test('responses codec: keeps media in tool results (edge 20)', async t => {
  const output = [
    { type: 'input_text', text: 'a plot' },
    { type: 'input_image', image_url: url, detail: 'auto' },
  ]
  const turns = turnsOf(call, { ...resultItem, output })
  t.match(turns[1]?.content, [{ content: [{ text: 'a plot' }, { kind: 'image' }] }])
  t.match(itemsOf(...turns)[1], { output })
})
t.test('responses codec: calls a free-text tool with text, and marks its result', async t => {
  const free = { type: 'custom_tool_call', call_id: 'c', name: 'sql', input: 'SELECT 1' }
  const result = { type: 'custom_tool_call_output', call_id: 'c', output: '1' }
  const turns = turnsOf(free, result)
  t.match(turns, [
    { content: [{ isFreeText: true, input: 'SELECT 1' }] },
    { content: [{ isFreeText: true }] },
  ])
  t.same(itemsOf(...turns), [free, result])
  const bare: Turn = user({ type: 'result', id: 'c', content: [hi] })
  t.match(itemsOf(turns[0] as Turn, bare)[1], { type: 'custom_tool_call_output' })
})
t.test('responses encoder: marks the result of a failed tool in its text', async t => {
  const result = { type: 'result', id: 'c', hasFailed: true } as const
  const image = { type: 'media', kind: 'image', source: { type: 'url', url: 'https://x' } } as const
  const items = itemsOf(
    user(
      { ...result, content: [hi] },
      { ...result, content: [image] },
      { ...result, content: [], value: { a: 1 } },
      { ...result, content: [], hasFailed: false },
    ),
  )
  t.match(items, [
    { output: 'Error: hi' },
    { output: [{ type: 'input_text', text: 'Error: ' }, { type: 'input_image' }] },
    { output: 'Error: {"a":1}' },
    { output: '' },
  ])
})
t.test('responses encoder: sends document descriptions as text', async t => {
  const source = { type: 'text', text: 'words' } as const
  const document = {
    type: 'media',
    kind: 'document',
    source,
    context: 'of old',
    citationsEnabled: true,
  } as const
  const turns = [{ role: 'user', content: [document, { ...hi, cache: {} }], name: 'Ann' }] as const
  const { body, dropped } = encodeRequest({ turns })
  t.match(body.input, [{ content: [{ text: 'of old' }, { text: 'words' }, { text: 'hi' }] }])
  t.same(dropped, ['name', 'citations', 'cache_control'])
})
