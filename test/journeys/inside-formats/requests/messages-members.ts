/** Members that only Messages has: threads, and the count of searches. */
import type { RequestCase } from './request-case.ts'

const messages = [{ role: 'user', content: 'q' }]
const item = (action: object) => ({
  type: 'web_search_call',
  id: 'ws_1',
  status: 'completed',
  action,
})
const text = {
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: 'ok', annotations: [] }],
}
const output = [item({ type: 'search', query: 'rome' }), item({ type: 'search', query: 'x' }), text]
const searched = {
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  status: 'completed',
  model: 'm',
  output,
  usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
}
const request = {
  max_tokens: 50,
  messages,
  tools: [{ type: 'web_search_20250305', name: 'web_search' }],
}
const TWO = { web_search_requests: 2, web_fetch_requests: 0 }
const isTwo = (usage: { server_tool_use?: unknown }): boolean =>
  JSON.stringify(usage.server_tool_use) === JSON.stringify(TWO)

const threads: readonly RequestCase[] = [
  { type: 'create' },
  { type: 'continue', previous_message_id: 'msg_1' },
].flatMap(thread =>
  ['plain-chat', 'resp', 'gx3'].flatMap((model): RequestCase[] => {
    const one: RequestCase = {
      name: `a thread (${thread.type}) on ${model} is refused as SDKs expect`,
      client: 'anthropic-messages',
      model,
      request: { max_tokens: 50, thread, messages },
      check: ({ status, out }) =>
        status === 400 && out.error.details.error_code === 'thread_unsupported_request',
    }
    return [one, { ...one, name: `${one.name}, streamed`, stream: true }]
  }),
)
/** Claude Code's request to a model whose name it does not know. */
const unknownName = {
  max_tokens: 32_000,
  thinking: { type: 'adaptive' },
  output_config: { effort: 'high' },
  messages: [...messages, { role: 'system', content: 'note' }],
}
const agents: readonly RequestCase[] = [
  {
    name: 'adaptive thinking, an effort and a system turn fit a model with budgets',
    client: 'anthropic-messages',
    model: 'cl45b',
    request: unknownName,
    check: ({ up, status }) =>
      status === 200 &&
      up.thinking.type === 'enabled' &&
      up.thinking.budget_tokens < up.max_tokens &&
      up.output_config?.effort === undefined &&
      up.messages.every(({ role }: { role: string }) => role !== 'system') &&
      JSON.stringify(up).includes('note'),
  },
  {
    name: 'an effort alone fits a model with budgets',
    client: 'anthropic-messages',
    model: 'cl45b',
    stream: true,
    request: { max_tokens: 32_000, output_config: { effort: 'low' }, messages },
    check: ({ up }) => up.thinking.type === 'enabled' && up.output_config === undefined,
  },
  {
    name: 'a budget passes to a model with budgets as it came',
    client: 'anthropic-messages',
    model: 'cl45b',
    request: {
      max_tokens: 3_000,
      thinking: { type: 'enabled', budget_tokens: 2_000 },
      x: 1,
      messages,
    },
    check: ({ up }) => up.thinking.budget_tokens === 2_000 && up.x === 1,
  },
  {
    name: 'a model without these traits gets adaptive thinking as it came',
    client: 'anthropic-messages',
    model: 'cl45',
    request: unknownName,
    check: ({ up }) => up.thinking.type === 'adaptive' && up.messages[1].role === 'system',
  },
]
export const cases: readonly RequestCase[] = [
  ...agents,
  ...threads,
  {
    name: 'a thread reaches Anthropic',
    client: 'anthropic-messages',
    model: 'claude-sonnet-4-5',
    request: { max_tokens: 50, thread: { type: 'create' }, messages },
    check: ({ up }) => up.thread.type === 'create',
  },
  {
    name: 'searches are counted',
    client: 'anthropic-messages',
    model: 'resp',
    request,
    answer: searched,
    check: ({ out }) => isTwo(out.usage),
  },
  {
    name: 'searches are counted, streamed',
    client: 'anthropic-messages',
    model: 'resp',
    stream: true,
    request,
    answer: [
      { type: 'response.created', response: { ...searched, status: 'in_progress', output: [] } },
      ...output.map((item, output_index) => ({
        type: 'response.output_item.done',
        output_index,
        item,
      })),
      { type: 'response.completed', response: searched },
    ],
    check: ({ events }) => isTwo(events.find(({ type }) => type === 'message_delta').usage),
  },
]
