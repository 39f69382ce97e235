/** Requests that break the rules of both OpenAI formats. `tool` writes a function of the format. */
import type { RuleCases } from './rule-cases.ts'

type Write = (members: object) => object
const PLAIN = { type: 'object', properties: {} }

export const openAiCases = (
  tool: Write,
  form: (format: object) => object,
  ask: (part: object) => object,
): RuleCases['broken'] => {
  const tools = (...list: readonly object[]) => ({ body: { tools: list.map(tool) } })
  const parameters = (schema: object) => tools({ name: 'f', parameters: schema })
  return {
    'tool-names': {
      'a space': tools({ name: 'a b', parameters: PLAIN }),
      twice: tools({ name: 'f', parameters: PLAIN }, { name: 'f', parameters: PLAIN }),
    },
    'tool-schemas': {
      'no type': parameters({ properties: {} }),
      'anyOf at the root': parameters({ ...PLAIN, anyOf: [PLAIN] }),
      'no properties': parameters({ type: 'object' }),
      'no items': parameters({ ...PLAIN, properties: { a: { type: 'array' } } }),
      'open and strict': tools({ name: 'f', parameters: PLAIN, strict: true }),
    },
    'tool-choice': {
      'no tools': { body: { tools: undefined, tool_choice: 'required' } },
      'an empty list': { body: { tools: [] } },
    },
    metadata: {
      'a long value': { body: { store: true, metadata: { a: 'x'.repeat(513) } } },
    },
    'user-lengths': { user: { body: { user: 'u'.repeat(65) } } },
    sampling: {
      'a reasoning model': { model: 'gpt-5.5', body: { temperature: 0.5 } },
      range: { body: { temperature: 2.5 } },
    },
    ranges: {
      'no output': { body: { max_completion_tokens: 0, max_output_tokens: 0 } },
      fraction: { body: { top_logprobs: 1.5, logprobs: true } },
      beyond: { body: { top_p: -1 } },
    },
    effort: {
      'a word of newer models': {
        model: 'gpt-5-mini',
        body: { reasoning_effort: 'xhigh', reasoning: { effort: 'xhigh' } },
      },
      'no reasoning model': { body: { reasoning_effort: 'low', reasoning: { effort: 'low' } } },
    },
    images: {
      bmp: { body: ask({ url: 'data:image/bmp;base64,AAAA' }) },
      ftp: { body: ask({ url: 'ftp://example.com/a.png' }) },
    },
    schemas: {
      name: { body: form({ type: 'json_schema', name: 'a b', schema: PLAIN }) },
      strict: { body: form({ type: 'json_schema', name: 'a', schema: PLAIN, strict: true }) },
    },
    'json-word': { none: { body: form({ type: 'json_object' }) } },
    'stream-options': { plain: { body: { stream_options: {} } } },
  }
}
