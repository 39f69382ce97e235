/** Responses requests that OpenAI refuses. */
import { assistant, responsesTool } from '../../helpers/formats/request-parts.ts'
import { openAiCases } from './openai-both.ts'
import type { RuleCases } from './rule-cases.ts'

const user = { role: 'user', content: 'hi' }
const call = (id: string) => ({ type: 'function_call', call_id: id, name: 'f', arguments: '{}' })
const output = (id: string) => ({ type: 'function_call_output', call_id: id, output: 'ok' })
const reasoning = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'e' }
const of = (...input: readonly object[]) => ({ body: { input } })

export const RESPONSES_CASES: RuleCases = {
  model: 'gpt-4.1',
  good: {
    input: [
      user,
      reasoning,
      call('c1'),
      output('c1'),
      { role: 'assistant', content: 'ok' },
      { role: 'user', content: [{ type: 'input_text', text: 'and?' }] },
    ],
    model: 'gpt-4.1',
    store: false,
    tools: [responsesTool('f')],
    tool_choice: 'auto',
    max_output_tokens: 100,
  },
  broken: {
    ...openAiCases(
      members => ({ type: 'function', strict: false, ...members }),
      format => ({ text: { format } }),
      ({ url }: { url?: string }) => ({
        input: [
          { role: 'user', content: [{ type: 'input_image', detail: 'auto', image_url: url }] },
        ],
      }),
    ),
    pairs: {
      'no output': of(user, call('c1')),
      'no call': of(user, output('c1')),
      twice: of(user, call('c1'), output('c1'), output('c1')),
    },
    ids: { long: of(user, call('x'.repeat(65)), output('x'.repeat(65))) },
    'item-ids': { prefix: of(user, { ...call('c1'), id: 'call_1' }, output('c1')) },
    reasoning: {
      'no content': of(user, { ...reasoning, encrypted_content: null }, call('c1'), output('c1')),
      alone: of(user, reasoning, user),
      last: of(user, reasoning),
    },
    encrypted: { 'no reasoning model': { body: { include: ['reasoning.encrypted_content'] } } },
    input: {
      empty: of(),
      both: { body: { previous_response_id: 'resp_1', conversation: 'conv_1' } },
    },
    contents: {
      'of the user': of({ role: 'user', content: [{ type: 'output_text', text: 'a' }] }),
      'of the assistant': of(user, assistant({ type: 'input_text', text: 'a' })),
    },
    'max-output': { small: { body: { max_output_tokens: 5 } } },
    files: {
      'no name': of({
        role: 'user',
        content: [{ type: 'input_file', file_data: 'data:;base64,AA' }],
      }),
    },
  },
}
