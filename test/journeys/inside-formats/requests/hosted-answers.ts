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
const claudeAnswer = (content: readonly Body[]): object => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content,
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage,
})
const claudeStream = (blocks: readonly Body[]): readonly object[] => [
  { type: 'message_start', message: { ...claudeAnswer([]), stop_reason: null } },
  ...blocks.flatMap((block, index) => {
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
const response = (code: string) => ({
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
      code,
      container_id: 'cntr_1',
      outputs: [{ type: 'logs', logs: '42\n' }],
    },
    message('msg_2', 'It is 42.'),
  ],
  usage: { ...usage, total_tokens: 5 },
})
const responseStream = (code: string): readonly object[] => [
  { type: 'response.created', response: { ...response(code), status: 'in_progress', output: [] } },
  ...response(code).output.flatMap((item, output_index) => [
    {
      type: 'response.output_item.added',
      output_index,
      item: { ...item, ...('code' in item && { code: '' }) },
    },
    { type: 'response.output_item.done', output_index, item },
  ]),
  { type: 'response.completed', response: response(code) },
]
const BACKENDS: readonly (readonly [model: string, plain: object, events: readonly object[]])[] = [
  [
    'gemini-2.5-flash',
    gemini(GEMINI_PARTS, STOP),
    [...GEMINI_PARTS.map(part => gemini([part])), gemini([{ text: '' }], STOP)],
  ],
  ['claude-sonnet-4-5', claudeAnswer(CLAUDE_BLOCKS), claudeStream(CLAUDE_BLOCKS)],
  ['gpt-5.6-r', response(CODE), responseStream(CODE)],
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

// ---------------------------------------------------------------- languages

/** Claude's tools of one container: a shell and a text editor. */
const containerBlocks = (name: string, input: Body, content: object): readonly Body[] => [
  { type: 'text', text: 'So:' },
  { type: 'server_tool_use', id: 'srvtoolu_1', name, input },
  { type: `${name}_tool_result`, tool_use_id: 'srvtoolu_1', content },
]
const SHELL = containerBlocks(
  'bash_code_execution',
  { command: 'echo 42' },
  { type: 'bash_code_execution_result', stdout: '42\n', stderr: '', return_code: 0, content: [] },
)
const EDITOR_INPUT = { command: 'create', path: 'a.txt', file_text: 'x' }
const EDITOR = containerBlocks('text_editor_code_execution', EDITOR_INPUT, {
  type: 'text_editor_code_execution_create_result',
  is_file_update: false,
})
const geminiShell = gemini(
  [{ executableCode: { language: 'LANGUAGE_UNSPECIFIED', code: 'echo 42' } }],
  STOP,
)
const itemCode = ({ out, events }: Outcome): string =>
  (out ?? events.at(-1).response).output.find((each: Body) => each.type === 'code_interpreter_call')
    ?.code
const geminiProgram = ({ out, events }: Outcome): object =>
  (out ? [out] : events)
    .flatMap((each: Body) => each.candidates?.[0]?.content?.parts ?? [])
    .find((part: Body) => part.executableCode)?.executableCode
const shellBlocks = ({ out, events }: Outcome): string => {
  const blocks = out?.content ?? events.flatMap(each => each.content_block ?? [])
  const deltas = events.map(each => each.delta?.partial_json ?? '').join('')
  const [use, result] = ['server_tool_use', 'bash_code_execution_tool_result'].map(type =>
    blocks.find((block: Body) => block.type === type),
  )
  return [
    use.name,
    out ? JSON.stringify(use.input) : deltas,
    result?.type,
    result?.content.type,
    result?.content.stdout,
  ].join('|')
}
const WHAT_CLAUDE_SHOWS =
  'bash_code_execution|{"command":"echo 42"}|bash_code_execution_tool_result|bash_code_execution_result|42\n'
const chatTools = { messages, tools: [{ type: 'code_execution' }] }
const responsesTools = {
  store: false,
  input: 'q',
  tools: [{ type: 'code_interpreter', container: { type: 'auto' } }],
}
const geminiTools = {
  contents: [{ role: 'user', parts: [{ text: 'q' }] }],
  tools: [{ codeExecution: {} }],
}
const claudeTools = {
  max_tokens: 50,
  messages,
  tools: [{ type: 'code_execution_20250825', name: 'code_execution' }],
}
const LANGUAGES: readonly (Omit<RequestCase, 'answer'> & {
  readonly answers: readonly [plain: object, events: readonly object[]]
})[] = [
  {
    name: 'a chat client reads that a program is a shell command',
    client: 'openai-chat',
    model: 'claude-sonnet-4-5',
    request: chatTools,
    answers: [claudeAnswer(SHELL), claudeStream(SHELL)],
    check: outcome => chatText(outcome) === 'So:\n\n```bash\necho 42\n```\n```output\n42\n```\n',
  },
  {
    name: 'a chat client reads the command of a text editor as JSON',
    client: 'openai-chat',
    model: 'claude-sonnet-4-5',
    request: chatTools,
    answers: [claudeAnswer(EDITOR), claudeStream(EDITOR)],
    check: outcome => chatText(outcome).includes(`\`\`\`json\n${JSON.stringify(EDITOR_INPUT)}\n`),
  },
  {
    name: 'a chat client reads no language where Gemini names none',
    client: 'openai-chat',
    model: 'gemini-2.5-flash',
    request: chatTools,
    answers: [geminiShell, [geminiShell]],
    check: outcome => chatText(outcome) === '```\necho 42\n```\n',
  },
  {
    name: 'a responses client reads that a program is a shell command',
    client: 'openai-responses',
    model: 'claude-sonnet-4-5',
    request: responsesTools,
    answers: [claudeAnswer(SHELL), claudeStream(SHELL)],
    check: outcome => itemCode(outcome) === '%%bash\necho 42',
  },
  {
    name: 'a Gemini client reads that a program is not Python',
    client: 'google-gemini',
    model: 'claude-sonnet-4-5',
    request: geminiTools,
    answers: [claudeAnswer(SHELL), claudeStream(SHELL)],
    check: outcome =>
      JSON.stringify(geminiProgram(outcome)) ===
      '{"language":"LANGUAGE_UNSPECIFIED","code":"echo 42"}',
  },
  {
    name: 'a messages client reads a shell cell of another provider as a shell command',
    client: 'anthropic-messages',
    model: 'gpt-5.6-r',
    request: claudeTools,
    answers: [response('%%bash\necho 42'), responseStream('%%bash\necho 42')],
    check: outcome => shellBlocks(outcome) === WHAT_CLAUDE_SHOWS,
  },
  {
    name: 'a chat client reads a shell cell of another provider as a shell command',
    client: 'openai-chat',
    model: 'gpt-5.6-r',
    request: chatTools,
    answers: [response('%%bash\necho 42'), responseStream('%%bash\necho 42')],
    check: outcome => chatText(outcome).includes('```bash\necho 42\n```'),
  },
]
const languages = LANGUAGES.flatMap(
  ({ answers: [plain, events], ...one }): readonly RequestCase[] => [
    { ...one, answer: plain },
    { ...one, name: `${one.name}, streamed`, stream: true, answer: events },
  ],
)
/** A shell command in the history of a client is told to a provider of another format. */
const replayed: RequestCase = {
  name: 'a shell command in the history is named in the text for another provider',
  client: 'anthropic-messages',
  model: 'gpt-5.6-r',
  request: {
    max_tokens: 50,
    messages: [...messages, { role: 'assistant', content: SHELL }, { role: 'user', content: 'n' }],
  },
  answer: response(CODE),
  check: ({ upText }) => upText.includes('[code_execution: bash] echo 42\\n42'),
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
export const cases: readonly RequestCase[] = [
  ...programs,
  failed,
  ...languages,
  replayed,
  ...searches,
  cited,
]
