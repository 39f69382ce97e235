/** Settings that a target of another format does not support: each is named as the client wrote
 *  it. */
import t from 'tap'
import { plain } from '../../fixtures/upstream/scenarios.ts'
import { postWithKey, upstream } from './shipped-gateway.ts'

const post = async (path: string, body: object) => {
  const response = await postWithKey(path, body)
  const text = await response.text()
  const droppedHeader = response.headers.get('x-tollgate-dropped')
  return { status: response.status, dropped: droppedHeader?.split(', ').sort() ?? [], text }
}
const sentBody = async (name: string): Promise<object> => {
  const [body] = await upstream.events('body', name)
  return JSON.parse(Buffer.from(body?.body.bytes ?? []).toString())
}
const ANSWERS = {
  gx: { candidates: [{ content: { parts: [{ text: 'hi' }] }, finishReason: 'STOP' }] },
  cl: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'there',
    stop_reason: 'end_turn',
    content: [{ type: 'text', text: 'hi' }],
    usage: { input_tokens: 1, output_tokens: 1 },
  },
  fx: { created: 7, data: [{ b64_json: 'AAAA' }] },
}
const scriptAnswers = async () => {
  for (const [name, answer] of Object.entries(ANSWERS))
    await upstream.script(name, [{ do: 'body' }, plain(answer)])
}
const messages = [{ role: 'user', content: 'hi' }]
const CHAT = '/v1/chat/completions'
const RESPONSES = '/v1/responses'
const MESSAGES = '/v1/messages'
const chat = { messages }
const response = { input: 'hi', store: false }
const message = { messages, max_tokens: 9 }
const tools = [{ name: 'find', input_schema: { type: 'object' } }]
const functions = [{ type: 'function', function: { name: 'find' } }]
const both = { user: 'ann', safety_identifier: 'a1' }

for (const [what, path, body, names] of [
  ['a user', RESPONSES, { model: 'gx-2.5-flash', ...response, user: 'ann' }, ['user']],
  ['a user', CHAT, { model: 'gx-2.5-flash', ...chat, user: 'ann' }, ['user']],
  [
    'a user by the newer field',
    RESPONSES,
    { model: 'gx-2.5-flash', ...response, safety_identifier: 'a1' },
    ['safety_identifier'],
  ],
  [
    'a user by the newer field',
    CHAT,
    { model: 'gx-2.5-flash', ...chat, safety_identifier: 'a1' },
    ['safety_identifier'],
  ],
  [
    'both user fields',
    RESPONSES,
    { model: 'gx-2.5-flash', ...response, ...both },
    ['safety_identifier', 'user'],
  ],
  [
    'a tool choice and an output limit',
    MESSAGES,
    { model: 'flux-1.1-pro', ...message, tools, tool_choice: { type: 'any' } },
    ['max_tokens', 'tool_choice', 'tools'],
  ],
  [
    'thinking',
    MESSAGES,
    {
      model: 'flux-1.1-pro',
      messages,
      max_tokens: 2_000,
      thinking: { type: 'enabled', budget_tokens: 1_024 },
    },
    ['max_tokens', 'thinking'],
  ],
  [
    'a tool choice and the older output limit',
    CHAT,
    { model: 'flux-1.1-pro', ...chat, max_tokens: 9, tools: functions, tool_choice: 'required' },
    ['max_tokens', 'tool_choice', 'tools'],
  ],
  [
    'a text format and effort',
    RESPONSES,
    {
      model: 'flux-1.1-pro',
      ...response,
      reasoning: { effort: 'low' },
      text: { format: { type: 'json_object' } },
    },
    ['reasoning', 'text.format'],
  ],
] as const)
  t.test(`dropped settings: ${path} to ${body.model}: ${what}`, async t => {
    await scriptAnswers()
    const { status, dropped, text } = await post(path, body)
    t.equal(status, 200, text)
    t.same(dropped, names)
  })

t.test('dropped settings: of two users one is sent and the other named', async t => {
  await scriptAnswers()
  for (const [path, body] of [
    [CHAT, chat],
    [RESPONSES, response],
  ] as const) {
    await upstream.forget()
    const { status, dropped } = await post(path, { model: 'cl-haiku-4-5', ...body, ...both })
    t.same([status, dropped], [200, ['user']], path)
    t.match(await sentBody('cl'), { metadata: { user_id: 'a1' } })
    const same = { user: 'a1', safety_identifier: 'a1' }
    t.same((await post(path, { model: 'cl-haiku-4-5', ...body, ...same })).dropped, [], 'the same')
  }
})
t.test('service tier: is translated, and the default tier is left out', async t => {
  await scriptAnswers()
  const body = { model: 'gx-2.5-flash', ...message }
  const ask = async (tier: string) => {
    await upstream.forget()
    const { status, dropped } = await post(MESSAGES, { ...body, service_tier: tier })
    t.same([status, dropped], [200, []], tier)
    return (await sentBody('gx')) as { readonly serviceTier?: string }
  }
  t.equal((await ask('standard_only')).serviceTier, 'standard')
  t.notOk('serviceTier' in (await ask('auto')))
})
