/** Answers with calls of hosted tools: programs and what they printed in the text of a chat, and
 *  searches before the message that cites them. */
import type { Body, Outcome, RequestCase } from './request-case.ts'

const CODE = 'print(6 * 7)'
const usage = { input_tokens: 3, output_tokens: 2 }
const gemini = (parts: readonly object[], more: object = {}): object => ({
  candidates: [{ index: 0, content: { role: 'model', parts }, ...more }],
  usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2 },
})
const STOP = { finishReason: 'STOP' }

// ---------------------------------------------------------------- programs

const GEMINI_PARTS = [
  { text: 'So:' },
  { executableCode: { language: 'PYTHON', code: CODE } },
  { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '42\n' } },
  { text: 'It is 42.' },
]
const CLAUDE_BLOCKS: readonly Body[] = [
  { type: 'text', text: 'So:' },
  { type: 'server_tool_use', id: 'srvtoolu_1', name: 'code_execution', input: { code: CODE } },
  {
    type: 'code_execution_tool_result',
    tool_use_id: 'srvtoolu_1',
    content: {
      type: 'code_execution_result',
      stdout: '42\n',
      stderr: '',
      return_code: 0,
      content: [],
    },
  },
  { type: 'text', text: 'It is 42.' },
]
const claude = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: CLAUDE_BLOCKS,
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage,
}
const claudeStream = [
  { type: 'message_start', message: { ...claude, content: [], stop_reason: null } },
  ...CLAUDE_BLOCKS.flatMap((block, index) => {
    const isText = block.type === 'text'
    const content_block = isText
      ? { ...block, text: '' }
      : block.input
        ? { ...block, input: {} }
        : block
    const delta = isText
      ? { type: 'text_delta', text: block.text }
      : { type: 'input_json_delta', partial_json: JSON.stringify(block.input) }
    return [
      { type: 'content_block_start', index, content_block },
      ...(isText || block.input ? [{ type: 'content_block_delta', index, delta }] : []),
      { type: 'content_block_stop', index },
    ]
  }),
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage },
  { type: 'message_stop' },
]
const message = (id: string, text: string) => ({
  id,
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text, annotations: [] }],
})
const response = {
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  model: 'm',
  status: 'completed',
  output: [
    message('msg_1', 'So:'),
    {
      id: 'ci_1',
      type: 'code_interpreter_call',
      status: 'completed',
      code: CODE,
      container_id: 'cntr_1',
      outputs: [{ type: 'logs', logs: '42\n' }],
    },
    message('msg_2', 'It is 42.'),
  ],
  usage: { ...usage, total_tokens: 5 },
}
const responseStream = [
  { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
  ...response.output.flatMap((item, output_index) => [
    { type: 'response.output_item.done', output_index, item },
  ]),
  { type: 'response.completed', response },
]
const BACKENDS: readonly (readonly [model: string, plain: object, events: readonly object[]])[] = [
  [
    'gemini-2.5-flash',
    gemini(GEMINI_PARTS, STOP),
    [...GEMINI_PARTS.map(part => gemini([part])), gemini([{ text: '' }], STOP)],
  ],
  ['claude-sonnet-4-5', claude, claudeStream],
  ['gpt-5.6-r', response, responseStream],
]
const EXPECTED = 'So:\n\n```python\nprint(6 * 7)\n```\n```output\n42\n```\nIt is 42.'
const chatText = ({ out, events }: Outcome): string =>
  out
    ? out.choices[0].message.content
    : events.map(each => each.choices[0]?.delta.content ?? '').join('')
const messages = [{ role: 'user', content: 'q' }]

const programs = BACKENDS.flatMap(([model, plain, events]): readonly RequestCase[] =>
  [plain, events].map(answer => ({
    name: `a chat client reads the program of ${model} and what it printed${answer === events ? ', streamed' : ''}`,
    client: 'openai-chat',
    model,
    ...(answer === events && { stream: true as const }),
    request: { messages, tools: [{ type: 'code_execution' }] },
    answer,
    check: outcome => chatText(outcome) === EXPECTED,
  })),
)
const failed: RequestCase = {
  name: 'a chat client reads the error of a program that holds a fence',
  client: 'openai-chat',
  model: 'gemini-2.5-flash',
  request: { messages, tools: [{ type: 'code_execution' }] },
  answer: gemini(
    [
      { executableCode: { language: 'PYTHON', code: 'print("```")' } },
      { codeExecutionResult: { outcome: 'OUTCOME_FAILED', output: 'no' } },
    ],
    STOP,
  ),
  check: outcome => chatText(outcome) === '````python\nprint("```")\n````\n```output\nno\n```\n',
}

// ---------------------------------------------------------------- searches

const GROUNDING = {
  groundingMetadata: {
    webSearchQueries: ['sky'],
    groundingChunks: [{ web: { uri: 'https://example.org/sky', title: 'Sky' } }],
    groundingSupports: [
      { segment: { startIndex: 0, endIndex: 4, text: 'Blue' }, groundingChunkIndices: [0] },
    ],
  },
}
const BLUE = [{ text: 'Blue.' }]
const SEARCHES: readonly (readonly [what: string, answer: object])[] = [
  ['', gemini(BLUE, { ...STOP, ...GROUNDING })],
  [
    ' of a stream that names its sources first',
    [gemini([{ text: 'Bl' }], GROUNDING), gemini([{ text: 'ue.' }], STOP)],
  ],
]
const itemTypes = ({ out, events }: Outcome): string =>
  (out ?? events.at(-1).response).output.map(({ type }: Body) => type).join()
const blockTypes = ({ out, events }: Outcome): string =>
  (out?.content ?? events.flatMap(each => each.content_block ?? []))
    .map(({ type }: Body) => type)
    .join()
const searches = SEARCHES.flatMap(([what, answer]): readonly RequestCase[] => {
  const stream = Array.isArray(answer) && { stream: true as const }
  const shared = { model: 'gemini-2.5-flash', answer, ...stream }
  return [
    {
      name: `a search is before the message${what}: responses`,
      client: 'openai-responses',
      ...shared,
      request: { store: false, input: 'q', tools: [{ type: 'web_search' }] },
      check: outcome => itemTypes(outcome) === 'web_search_call,message',
    },
    {
      name: `a search is before the message${what}: messages`,
      client: 'anthropic-messages',
      ...shared,
      request: {
        max_tokens: 50,
        messages,
        tools: [{ type: 'web_search_20250305', name: 'web_search' }],
      },
      check: outcome => blockTypes(outcome) === 'server_tool_use,web_search_tool_result,text',
    },
  ]
})
/** Citations refer to the whole text of a chat message, with the program before them. */
const cited: RequestCase = {
  name: 'a citation behind a program keeps its place in the text of a chat',
  client: 'openai-chat',
  model: 'gemini-2.5-flash',
  request: { messages, tools: [{ type: 'code_execution' }] },
  answer: gemini([...GEMINI_PARTS.slice(1, 3), ...BLUE], { ...STOP, ...GROUNDING }),
  check: ({ out }) => {
    const { content, annotations } = out.choices[0].message
    const { start_index, end_index } = annotations[0].url_citation
    return content.slice(start_index, end_index) === 'Blue'
  },
}
export const cases: readonly RequestCase[] = [...programs, failed, ...searches, cited]
