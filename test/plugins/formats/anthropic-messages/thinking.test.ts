/** Thinking settings for messages upstreams, and the settings that conflict with them. */
import t from 'tap'
import type { Fields } from '../../../../plugins/formats/fields.ts'
import type { Content } from '../../../../plugins/formats/hub/content.ts'
import type { Prompt } from '../../../../plugins/formats/hub/prompt.ts'
import {
  call,
  encodeBody,
  HELLO,
  model,
  NAME,
  promptOf,
  result,
  textPart,
  user,
} from './messages.ts'

t.test('messages encoder: fits budgets and removes conflicts (edge 27)', async t => {
  const think = (
    thinking: Prompt['thinking'],
    more: Partial<Prompt> = {},
    traits: Fields = {},
    output?: number,
  ) => encodeBody(promptOf(HELLO, { ...(thinking && { thinking }), ...more }), traits, output)
  t.match(think({ mode: 'effort', effort: 'low' }).body, {
    max_tokens: 9_216,
    thinking: { budget_tokens: 1_024 },
  })
  t.match(think({ mode: 'effort', effort: 'high' }, {}, {}, 64_000).body, {
    max_tokens: 64_000,
    thinking: { budget_tokens: 24_576 },
  })
  t.match(think({ mode: 'budget', budget: 24_576 }, { settings: { limit: 10_000 } }).body, {
    max_tokens: 10_000,
    thinking: { budget_tokens: 8_000 },
  })
  t.match(
    think({ mode: 'budget', budget: 9_999 }, { settings: { limit: 10_000 } }).body,
    { thinking: { budget_tokens: 9_999 } },
    'compatible settings are kept',
  )
  t.match(think({ mode: 'budget', budget: 10 }).body, { thinking: { budget_tokens: 1_024 } })
  t.notOk('thinking' in think({ mode: 'budget', budget: 10 }, { settings: { limit: 1_024 } }).body)
  const small = think({ mode: 'effort', effort: 'low' }, { settings: { limit: 500 } })
  t.notOk('thinking' in small.body)
  t.same(small.dropped, ['thinking'])
  t.same(think({ mode: 'off' }).body.thinking, { type: 'disabled' })
  t.same(think({ mode: 'effort', effort: 'none' }).body.thinking, { type: 'disabled' })
  const budget = { mode: 'budget', budget: 2_000 } as const
  const refused = think(budget, {
    settings: { temperature: 0.2, topK: 3, topP: 0.1, parallel: false },
  })
  t.same([...refused.dropped].sort(), ['temperature', 'topK', 'topP'])
  for (const member of ['temperature', 'top_k', 'top_p']) t.notOk(member in refused.body, member)
  const forced = think(budget, {
    settings: { parallel: false },
    choice: { type: 'required' },
    tools: [{ type: 'function', name: 'f' }],
  })
  t.same(forced.dropped, ['thinking'], 'a call that must come wins')
  t.same(forced.body.tool_choice, { type: 'any', disable_parallel_tool_use: true })
  t.same(think(budget, { settings: { temperature: 1 } }).dropped, [])
})
t.test('messages encoder: uses adaptive thinking on models that support it', async t => {
  const adaptive = { thinking: 'adaptive' }
  const think = (thinking: NonNullable<Prompt['thinking']>) =>
    encodeBody(promptOf(HELLO, { thinking }), adaptive).body
  t.match(think({ mode: 'effort', effort: 'xhigh' }), {
    thinking: { type: 'adaptive' },
    output_config: { effort: 'xhigh' },
  })
  t.match(think({ mode: 'effort', effort: 'minimal' }), { output_config: { effort: 'low' } })
  t.match(think({ mode: 'budget', budget: 8_000, show: true }), {
    thinking: { type: 'adaptive', display: 'summarized' },
    output_config: { effort: 'medium' },
  })
  t.same(think({ mode: 'adaptive' }).thinking, { type: 'adaptive' })
})
t.test('messages encoder: no thinking in another provider’s turn (edge 9)', async t => {
  const turns = (content: readonly Content[]) => [
    ...HELLO,
    model(...content, call('1')),
    user(result('1')),
  ]
  const thinking = { mode: 'budget', budget: 2_000 } as const
  const foreignPayload = encodeBody(
    promptOf(
      turns([{ type: 'thought', text: 'x', payload: { origin: 'google-gemini', data: 's' } }]),
      {
        thinking,
      },
    ),
  )
  t.notOk('thinking' in foreignPayload.body)
  t.same(foreignPayload.dropped, ['thinking'])
  const own = encodeBody(
    promptOf(turns([{ type: 'thought', text: '', payload: { origin: NAME, data: 's' } }]), {
      thinking,
    }),
  )
  t.match(own.body, { thinking: { type: 'enabled' } })
  t.match(
    encodeBody(promptOf([...HELLO, model(textPart('a')), ...HELLO], { thinking })).body,
    { thinking: { type: 'enabled' } },
    'no tool result is pending',
  )
})
