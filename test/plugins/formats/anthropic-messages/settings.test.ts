/** Plain settings for messages upstreams, and the fields that are dropped. */
import t from 'tap'
import type { Prompt } from '../../../../plugins/formats/hub/prompt.ts'
import { decodePrompt, encodePrompt } from '../../../helpers/formats/codec.ts'
import { encodeBody, HELLO, NAME, promptOf } from './messages.ts'

t.test('messages encoder: always sends max_tokens', async t => {
  const limits = (settings: Prompt['settings'], output?: number) =>
    encodeBody(promptOf(HELLO, { settings }), {}, output).body.max_tokens
  t.equal(limits({ limit: 7 }), 7)
  t.equal(limits({}, 64_000), 64_000)
  t.equal(limits({}), 8_192)
  t.equal(limits({ limit: 100_000 }, 64_000), 64_000, 'the limit is capped at the model’s maximum')
})

t.test('messages encoder: maps settings and reports those without a name', async t => {
  const { body, dropped } = encodeBody(
    promptOf(HELLO, {
      settings: {
        limit: 9,
        temperature: 1.5,
        topP: 0.5,
        topK: 4,
        stops: ['a', ' '],
        user: 'u',
        tier: 'default',
        seed: 1,
        frequencyPenalty: 0,
        presencePenalty: 1,
        candidates: 1,
        logprobs: false,
        store: true,
      },
    }),
  )
  t.match(body, {
    max_tokens: 9,
    temperature: 1,
    top_k: 4,
    stop_sequences: ['a'],
    metadata: { user_id: 'u' },
    service_tier: 'standard_only',
  })
  t.same([...dropped].sort(), ['presencePenalty', 'seed', 'stops', 'store', 'temperature', 'topP'])
  t.same(encodeBody(promptOf(HELLO, { settings: { tier: 'flex' } })).dropped, ['tier'])
})

t.test('messages codec: keeps cache breakpoints at every position (edge 32)', async t => {
  const cache_control = { type: 'ephemeral', ttl: '1h' }
  const body = {
    model: 'm',
    max_tokens: 5,
    cache_control: { type: 'ephemeral' },
    system: [{ type: 'text', text: 's', cache_control }],
    tools: [
      { name: 'f', input_schema: { type: 'object' }, cache_control },
      { type: 'web_search_20250305', name: 'web_search', cache_control },
    ],
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'a', cache_control }] },
      {
        role: 'assistant',
        content: [{ type: 'tool_use', id: '1', name: 'f', input: {}, cache_control }],
      },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: '1',
            content: [{ type: 'text', text: 'b' }],
            cache_control,
          },
        ],
      },
    ],
  }
  const places = [
    body.system[0],
    ...body.tools,
    body.messages[0]?.content[0],
    body.messages[1]?.content[0],
    body.messages[2]?.content[0],
  ] as { cache_control?: object }[]
  // The provider takes four, the one of the whole body included.
  for (const marked of [[0, 1, 3], [2, 4, 5], [5]]) {
    for (const [at, place] of places.entries()) {
      if (marked.includes(at)) place.cache_control = cache_control
      else delete place.cache_control
    }
    const { prompt, dropped } = decodePrompt(NAME, body)
    t.same(dropped, [])
    t.same({ ...encodePrompt(NAME, prompt).body, model: 'm' }, body)
  }
})
t.test('messages decoder: accepts counting requests without max_tokens (edge 29)', async t => {
  const { prompt } = decodePrompt(
    NAME,
    { model: 'm', messages: [{ role: 'user', content: 'a' }] },
    '/v1/messages/count_tokens',
  )
  t.equal(prompt.settings.limit, undefined)
  t.match(prompt.turns, [{ role: 'user', content: [{ text: 'a' }] }])
})
t.test('messages decoder: reports fields without an equivalent in the hub by name', async t => {
  const { dropped } = decodePrompt(NAME, {
    model: 'm',
    max_tokens: 1,
    messages: [],
    container: 'c',
    speed: 'fast',
    inference_geo: null,
    metadata: { user_id: 'u', other: 1 },
    output_config: { effort: 'low', task_budget: {} },
    tools: [{ name: 'f', input_schema: {}, defer_loading: true, eager_input_streaming: null }],
  })
  t.same([...dropped].sort(), [
    'container',
    'metadata.other',
    'output_config.task_budget',
    'speed',
    'tools[0].defer_loading',
  ])
})
