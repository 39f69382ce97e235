/** Chat completions that a provider refuses. */
import { chatCall, chatTool, imagePart } from '../../helpers/formats/request-parts.ts'
import { openAiCases } from './openai-both.ts'
import type { RuleCases } from './rule-cases.ts'

const call = (id: string, name = 'f', text = '{}') => chatCall(id, name, text)
const user = { role: 'user', content: 'hi' }
const calling = (...calls: readonly object[]) => ({
  role: 'assistant',
  content: null,
  tool_calls: calls,
})
const result = (id: string) => ({ role: 'tool', tool_call_id: id, content: 'ok' })
const of = (...messages: readonly object[]) => ({ body: { messages } })
const MISTRAL = 'mistral-large-latest'

export const CHAT_CASES: RuleCases = {
  model: 'gpt-4.1',
  good: {
    messages: [
      { role: 'system', content: 'be brief' },
      user,
      calling(call('c1'), call('c2')),
      result('c1'),
      result('c2'),
      { role: 'assistant', content: 'ok' },
      { role: 'user', content: [{ type: 'text', text: 'and?' }] },
    ],
    model: 'gpt-4.1',
    tools: [chatTool('f')],
    tool_choice: 'auto',
    max_completion_tokens: 100,
  },
  broken: {
    ...openAiCases(
      members => ({ type: 'function', function: members }),
      ({ type, ...rest }: { type?: string }) => ({
        response_format: { type, ...(type === 'json_schema' && { json_schema: rest }) },
      }),
      image_url => ({ messages: [{ role: 'user', content: [{ type: 'image_url', image_url }] }] }),
    ),
    metadata: { 'no store': { path: '/v1/chat/completions', body: { metadata: { a: 'b' } } } },
    order: {
      'no result': of(user, calling(call('c1')), user),
      'calls are last': of(user, calling(call('c1'))),
      'no call': of(user, result('c1')),
      'one id twice': of(user, calling(call('c1'), call('c1')), result('c1')),
      'two turns of calls': of(
        user,
        calling(call('a')),
        calling(call('b')),
        result('a'),
        result('b'),
      ),
    },
    ids: { long: of(user, calling(call('x'.repeat(65))), result('x'.repeat(65))) },
    contents: {
      none: of(),
      'no content': of({ role: 'user', content: null }),
      'an empty list': of({ role: 'user', content: [] }),
      'no calls': of(user, { role: 'assistant', content: 'a', tool_calls: [] }),
    },
    'part-types': {
      'an image in a result': of(user, calling(call('c1')), {
        ...result('c1'),
        content: [imagePart('https://example.com/a.png')],
      }),
    },
    stops: { five: { body: { stop: ['a', 'b', 'c', 'd', 'e'] } } },
    modalities: {
      image: { body: { modalities: ['text', 'image'] } },
      'no audio': { body: { modalities: ['text', 'audio'] } },
      'no format': { body: { modalities: ['text', 'audio'], audio: { voice: 'alloy' } } },
    },
    logprobs: { alone: { body: { top_logprobs: 3 } } },
    'call-arguments': {
      empty: of(user, calling(call('c1', 'f', '')), result('c1')),
      list: of(user, calling(call('c1', 'f', '[]')), result('c1')),
    },
    mistral: {
      'a long id': { model: MISTRAL, ...of(user, calling(call('call_1')), result('call_1')) },
      'user after tool': {
        model: MISTRAL,
        ...of(user, calling(call('abcdefgh1')), result('abcdefgh1'), user),
      },
      'the last is of assistant': {
        model: MISTRAL,
        ...of(user, { role: 'assistant', content: 'a' }),
      },
    },
    'reasoning-back': {
      none: { model: 'deepseek-v4', ...of(user, calling(call('c1')), result('c1')) },
    },
  },
}
