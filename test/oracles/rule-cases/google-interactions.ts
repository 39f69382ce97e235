/** Requests that break the rules of interactions. */
import type { RuleCases } from './rule-cases.ts'

const user = (...content: readonly object[]) => ({ type: 'user_input', content })
const text = { type: 'text', text: 'hi' }
const call = { type: 'function_call', id: 'a', name: 'f', arguments: {} }
const result = { type: 'function_result', call_id: 'a', name: 'f', result: 'ok' }
const of = (...input: readonly object[]) => ({ body: { input } })
const tool = (name: string) => ({ type: 'function', name })

export const INTERACTIONS_CASES: RuleCases = {
  model: 'gemini-3-pro',
  good: {
    input: [user(text), call, result],
    model: 'gemini-3-pro',
    tools: [tool('f')],
    generation_config: { tool_choice: { allowed_tools: { mode: 'any', tools: ['f'] } } },
  },
  broken: {
    input: {
      'an empty text': { body: { input: '' } },
      'no step': of(),
      'an empty step': of(user()),
    },
    calls: {
      twice: of(call, call, result),
      'no result': of(user(text), call),
      'no call': of(result),
      'the wrong order': of(result, call),
    },
    tools: {
      'a name': { body: { tools: [tool('f'), tool('a b')] } },
      twice: { body: { tools: [tool('f'), tool('f')] } },
      'another choice': { body: { tools: [tool('g')] } },
    },
    settings: {
      output: { body: { generation_config: { max_output_tokens: 0 } } },
      seed: { body: { generation_config: { seed: 2 ** 40 } } },
      stop: { body: { generation_config: { stop_sequences: [''] } } },
    },
    media: {
      'no data': of(user({ type: 'image', mime_type: 'image/png' })),
      'no type': of(user({ type: 'image', data: 'AA' })),
      http: of(user({ type: 'image', uri: 'http://example.com/a.png' })),
    },
  },
}
