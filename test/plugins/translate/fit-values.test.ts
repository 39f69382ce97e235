/** Values beyond the bounds of a target of another format: fitted and named, or refused. */
import t from 'tap'
import type { LooseObject } from '../../helpers/formats/loose-json.ts'
import { send, TARGETS } from '../../oracles/cells.ts'

const sendChat = (title: string, body: LooseObject, isStreamed = false) => {
  const target = TARGETS.find(each => each.title === title)
  if (!target) throw new Error(`no target ${title}`)
  const messages = [{ role: 'user', content: 'hi' }]
  const stream = isStreamed ? { stream: true } : {}
  return send(
    { client: 'openai-chat', name: '', isStreamed, body: { messages, ...stream, ...body } },
    target,
  )
}
const GEMINI = 'google-gemini/gemini-2.5-flash'
const CLAUDE = 'anthropic-messages/claude-4-6'

/** The client's request -> the target, the members that it gets, the names that are dropped. */
const CASES: readonly (readonly [LooseObject, string, LooseObject, string])[] = [
  [{ max_tokens: 0 }, GEMINI, { generationConfig: { maxOutputTokens: 1 } }, 'max_tokens'],
  [
    { max_tokens: 0 },
    'bedrock-converse/claude-4-6',
    { inferenceConfig: { maxTokens: 1 } },
    'max_tokens',
  ],
  [{ service_tier: 'on_demand' }, 'openai-responses/gpt', { service_tier: 'default' }, ''],
  [{ service_tier: 'batch' }, 'openai-responses/gpt', { service_tier: undefined }, 'service_tier'],
  [{ max_tokens: 9.5 }, CLAUDE, { max_tokens: 9 }, 'max_tokens'],
  [{ stop: ['', 'a'] }, GEMINI, { generationConfig: { stopSequences: ['a'] } }, 'stop'],
  [{ stop: '' }, GEMINI, { generationConfig: undefined }, 'stop'],
  [{ seed: 2 ** 40 }, GEMINI, { generationConfig: undefined }, 'seed'],
  [{ top_logprobs: 3 }, 'openai-responses/gpt', { top_logprobs: undefined }, 'top_logprobs'],
  [
    { logprobs: true, top_logprobs: 50 },
    'openai-responses/gpt',
    { top_logprobs: 20 },
    'top_logprobs',
  ],
  [
    { reasoning_effort: 'xhigh' },
    CLAUDE,
    { output_config: { effort: 'high' } },
    'reasoning_effort',
  ],
  [
    { reasoning_effort: 'none' },
    'openai-responses/gpt-o',
    { reasoning: { effort: 'low' } },
    'reasoning_effort',
  ],
]
t.test('values beyond bounds: the nearest is sent, or none, and it is named', async t => {
  for (const isStreamed of [false, true])
    for (const [body, title, expected, name] of CASES) {
      const { upstreamBody = {}, dropped } = await sendChat(title, body, isStreamed)
      const label = `${JSON.stringify(body)} to ${title}`
      for (const [member, value] of Object.entries(expected))
        if (value === undefined) t.notOk(upstreamBody[member], label)
        else t.match(upstreamBody[member], value, label)
      t.ok(dropped.split(', ').includes(name), `${label} names ${dropped}`)
    }
})
t.test('users: a long id becomes a stable digest', async t => {
  const user = 'u'.repeat(300)
  const idOf = async (id: string) =>
    (await sendChat(CLAUDE, { user: id })).upstreamBody?.metadata as LooseObject
  t.match(await idOf(user), { user_id: /^[\w-]{43}$/ })
  t.same(await idOf(user), await idOf(user))
  t.same(await idOf('u'.repeat(256)), { user_id: 'u'.repeat(256) })
})
t.test('prompts: one without a message is refused by the name of its member', async t => {
  const silent = [[], [{ role: 'system', content: ' ' }]]
  for (const { title, format } of TARGETS)
    if (format !== 'openai-chat')
      for (const messages of silent)
        t.match((await sendChat(title, { messages })).refusal, /^400 .*'messages'/, title)
})
t.test('prompts: an empty last turn reaches no target as none', async t => {
  const messages = [{ role: 'user', content: [] }]
  const { upstreamBody } = await sendChat('openai-responses/gpt', { messages })
  t.match(upstreamBody?.input, [{ role: 'user', content: '.' }])
})
t.test('documents: an empty one is left out and named', async t => {
  const source = { type: 'text', media_type: 'text/plain', data: '' }
  const content = [
    { type: 'document', source },
    { type: 'text', text: 'hi' },
  ]
  const body = { max_tokens: 9, messages: [{ role: 'user', content }] } as LooseObject
  const target = TARGETS.find(({ title }) => title === GEMINI)
  if (!target) throw new Error('no target')
  const out = await send({ client: 'anthropic-messages', name: '', body }, target)
  t.match(out.upstreamBody?.contents, [{ parts: [{ text: 'hi' }] }])
  t.match(out.dropped, 'messages')
})
t.test('arguments in the history: another value than an object becomes one', async t => {
  const target = TARGETS.find(({ title }) => title === 'openai-chat/gpt')
  if (!target) throw new Error('no target')
  for (const [text, expected] of [
    ['{"a":1}', '{"a":1}'],
    ['[1]', '{"input":[1]}'],
    ['{"a":', '{"input":"{\\"a\\":"}'],
    [' ', '{}'],
  ] as const) {
    const input = [
      { role: 'user', content: 'hi' },
      { type: 'function_call', call_id: 'a', name: 'f', arguments: text },
      { type: 'function_call_output', call_id: 'a', output: 'ok' },
    ]
    const out = await send({ client: 'openai-responses', name: '', body: { input } }, target)
    t.match(out.upstreamBody?.messages, [
      {},
      { tool_calls: [{ function: { arguments: expected } }] },
      {},
    ])
  }
})
