/** Requests of any length, each of one kind of content: as prompts of the hub, and in the words of
 *  one format. */
import type { Json } from '../../../../engine/plugin.ts'
import type { Citation, Content, HostedCall } from '../../../../plugins/formats/hub/content.ts'
import type { FunctionTool, Prompt, Turn } from '../../../../plugins/formats/hub/prompt.ts'
import { PROMPT } from '../../../helpers/formats/codec.ts'

export const list = <T>(length: number, each: (index: number) => T): T[] =>
  Array.from({ length }, (_, index) => each(index))

const text = (index: number) => ({ type: 'text', text: `t${index}` }) as const
const call = (id: string, name = 'f0') => ({ type: 'call', id, name, input: '{"a":1}' }) as const
const result = (id: string, content: Extract<Content, { type: 'result' }>['content']) =>
  ({ type: 'result', id, name: 'f0', content }) as const
const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
export const image = (index: number) =>
  ({
    type: 'media',
    kind: 'image',
    source: { type: 'data', data: PIXEL, mime: 'image/png' },
    at: `messages[${index}]`,
  }) as const
const document = (index: number) =>
  ({
    type: 'media',
    kind: 'document',
    source: { type: 'text', text: 'd' },
    name: 'd',
    at: `messages[${index}]`,
  }) as const
export const search = (index: number): HostedCall => ({
  type: 'hostedCall',
  tool: 'web_search',
  id: `w${index}`,
  input: { query: 'q' },
  sources: [{ url: 'https://a.example/' }],
})
export const program = (index: number): HostedCall => ({
  type: 'hostedCall',
  tool: 'code_execution',
  id: `w${index}`,
  input: { code: '1', language: 'python' },
  output: 'o',
})
export const citation = (index: number): Citation => ({
  url: `https://a.example/${index}`,
  title: 't',
  start: index,
  end: index + 1,
})
const tool = (index: number): FunctionTool => ({
  type: 'function',
  name: `f${index}`,
  description: 'd',
  schema: { type: 'object', properties: { a: { type: 'string' } } },
})
const user = (...content: readonly Content[]): Turn => ({ role: 'user', content })
const assistant = (...content: readonly Content[]): Turn => ({ role: 'assistant', content })
const system = (...content: readonly Content[]): Turn => ({ role: 'system', content })
const prompt = (...turns: readonly Turn[]): Prompt => ({
  ...PROMPT,
  turns,
  tools: [tool(0)],
  settings: { limit: 100 },
})
/** A turn of the assistant between two of the user. */
const afterQuestion = (...content: readonly Content[]): Prompt =>
  prompt(user(text(0)), assistant(...content), user(text(1)))
const properties = (length: number): Json => ({
  type: 'object',
  properties: Object.fromEntries(list(length, index => [`p${index}`, { $ref: '#/$defs/a' }])),
  required: list(length, index => `p${index}`),
  $defs: { a: { type: 'string' } },
})

const alternatives = (length: number): Json =>
  list(length, index => ({
    type: 'object',
    properties: { kind: { const: index }, [`p${index}`]: { type: 'string' } },
    required: ['kind'],
  }))

type Make<T> = (length: number) => T
export const PROMPTS: Readonly<Record<string, Make<Prompt>>> = {
  turns: n => prompt(...list(n, index => (index % 2 ? assistant : user)(text(index)))),
  'texts of the user': n => prompt(user(...list(n, text))),
  'texts of the assistant': n => afterQuestion(...list(n, text)),
  'turns of the assistant': n =>
    prompt(user(text(0)), ...list(n, index => assistant(text(index))), user(text(1))),
  'system turns': n => prompt(...list(n, index => (index % 2 ? user : system)(text(index)))),
  'calls, then their results': n =>
    prompt(
      user(text(0)),
      assistant(...list(n, index => call(`c${index}`))),
      user(...list(n, index => result(`c${n - 1 - index}`, [text(0)]))),
    ),
  'turns of calls, then their results': n =>
    prompt(
      user(text(0)),
      ...list(n, index => assistant(call(`c${index}`))),
      ...list(n, index => user(result(`c${index}`, [text(0)]))),
    ),
  'calls of many tools': n => ({
    ...prompt(
      user(text(0)),
      ...list(n, index => [
        assistant(text(0), call(`c${index}`, `f${index}`)),
        user({ ...result(`c${index}`, [text(0)]), name: `f${index}` }, text(0)),
      ]).flat(),
    ),
    tools: list(n, tool),
  }),
  images: n => prompt(user(...list(n, image))),
  documents: n => prompt(user(...list(n, document))),
  'a result of many images': n =>
    prompt(user(text(0)), assistant(call('c')), user(result('c', list(n, image)))),
  'hosted calls': n => afterQuestion(...list(n, program)),
  searches: n => afterQuestion(...list(n, index => [search(index), text(index)]).flat()),
  citations: n =>
    afterQuestion({ type: 'text', text: 'ä'.repeat(n + 1), citations: list(n, citation) }),
  thoughts: n =>
    afterQuestion(
      ...list(n, index => {
        const payload = { origin: 'google-gemini', data: `s${index}` }
        return { type: 'thought', text: 'h', payload } as const
      }),
    ),
  'properties of a tool': n => ({
    ...prompt(user(text(0))),
    tools: [{ ...tool(0), schema: properties(n), strict: true }],
  }),
  'alternatives of a tool': n => ({
    ...prompt(user(text(0))),
    tools: [{ ...tool(0), schema: { anyOf: alternatives(n) } }],
  }),
  'parts of a tool': n => ({
    ...prompt(user(text(0))),
    tools: [{ ...tool(0), schema: { allOf: alternatives(n) } }],
  }),
  'properties of an answer': n => ({
    ...prompt(user(text(0))),
    form: { type: 'schema', name: 's', schema: properties(n), strict: true },
  }),
}

const chatCall = (id: string): Json => ({
  role: 'assistant',
  tool_calls: [{ id, type: 'function', function: { name: 'f', arguments: '{}' } }],
})
const chatResult = (id: string): Json => ({ role: 'tool', tool_call_id: id, content: 'r' })
const functionCall = (name: string): Json => ({
  role: 'assistant',
  content: null,
  function_call: { name, arguments: '{}' },
})
const modelParts = (parts: Json): Json => ({
  contents: [
    { role: 'user', parts: [{ text: 'a' }] },
    { role: 'model', parts },
  ],
})
const CODE = { executableCode: { language: 'PYTHON', code: 'x' } }
const OUTPUT = { codeExecutionResult: { outcome: 'OUTCOME_OK', output: 'x' } }
const toolCall = (id: string): Json => ({ toolCall: { id, toolType: 'GOOGLE_SEARCH_WEB' } })
const toolResponse = (id: string): Json => ({
  toolResponse: { id, toolType: 'GOOGLE_SEARCH_WEB', response: {} },
})
/** The first half of a list, and the second half, which counts from 0 again. */
const halves = (length: number, first: Make<Json>, second: Make<Json>): Json =>
  list(length, index => (index < length / 2 ? first(index) : second(index - length / 2)))
const steps = (length: number, resultId: string): Json => ({
  model: 'm',
  input: halves(
    length,
    index => ({ type: 'code_execution_call', id: `c${index}`, arguments: { code: '1' } }),
    index => ({ type: 'code_execution_result', call_id: `${resultId}${index}`, result: 'x' }),
  ),
})

/** A title, the client's format, and the body. */
export type BodyCase = readonly [title: string, format: string, body: Make<Json>]
export const BODIES: readonly BodyCase[] = [
  ['calls of one id', 'openai-chat', n => ({ messages: list(n, () => chatCall('a')) })],
  ['results of one id', 'openai-chat', n => ({ messages: list(n, () => chatResult('a')) })],
  [
    'calls and results of one id',
    'openai-chat',
    n => ({ messages: list(n, index => (index % 2 ? chatResult('a') : chatCall('a'))) }),
  ],
  [
    'calls before their results',
    'openai-chat',
    n => ({
      messages: halves(
        n,
        index => chatCall(`${index}`),
        index => chatResult(`${n / 2 - index}`),
      ),
    }),
  ],
  [
    'functions without results',
    'openai-chat',
    n => ({ messages: list(n, index => functionCall(`f${index}`)) }),
  ],
  [
    'calls, then their results',
    'openai-responses',
    n => ({
      input: halves(
        n,
        index => ({ type: 'function_call', call_id: `${index}`, name: 'f', arguments: '{}' }),
        index => ({ type: 'function_call_output', call_id: `${index}`, output: 'r' }),
      ),
    }),
  ],
  [
    'results that name only their tool',
    'google-gemini',
    n => ({
      contents: halves(
        n,
        index => ({ role: 'model', parts: [{ functionCall: { name: `f${index}` } }] }),
        index => ({
          role: 'user',
          parts: [{ functionResponse: { name: `f${n / 2 - 1 - index}`, response: {} } }],
        }),
      ),
    }),
  ],
  [
    'programs, then their results',
    'google-gemini',
    n =>
      modelParts(
        halves(
          n,
          () => CODE,
          () => OUTPUT,
        ),
      ),
  ],
  ['results without programs', 'google-gemini', n => modelParts(list(n, () => OUTPUT))],
  [
    'searches, then their results',
    'google-gemini',
    n =>
      modelParts(
        halves(
          n,
          index => toolCall(`${index}`),
          index => toolResponse(`${index}`),
        ),
      ),
  ],
  [
    'searches, then results of others',
    'google-gemini',
    n =>
      modelParts(
        halves(
          n,
          index => toolCall(`${index}`),
          () => toolResponse('other'),
        ),
      ),
  ],
  ['programs, then their results', 'google-interactions', n => steps(n, 'c')],
  ['programs, then results of others', 'google-interactions', n => steps(n, 'd')],
  [
    'messages of one side',
    'anthropic-messages',
    n => ({ max_tokens: 9, messages: list(n, () => ({ role: 'user', content: 'x' })) }),
  ],
  [
    'MCP servers',
    'anthropic-messages',
    n => ({
      max_tokens: 9,
      messages: [{ role: 'user', content: 'x' }],
      mcp_servers: list(n, i => ({ type: 'url', name: `s${i}`, url: 'https://a.example/' })),
      tools: list(n, index => ({ type: 'mcp_toolset', mcp_server_name: `s${index}` })),
    }),
  ],
]
