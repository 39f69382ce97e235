/** Histories that another provider's model wrote in part, and the rules of upstreams about them. */
import {
  assistant,
  chatCall,
  chatTool,
  geminiUser,
  imageBlock,
  messagesTool,
  responsesTool,
  user,
} from '../../../helpers/formats/request-parts.ts'
import type { Body, RequestCase } from './request-case.ts'

const tools = [messagesTool('read')]
const THINKING = { type: 'thinking', thinking: 'deep thought' }
const use = { type: 'tool_use', id: 'toolu_01ABC', name: 'read', input: {} }
const messagesWith = (...blocks: readonly object[]): object => ({
  max_tokens: 2000,
  tools,
  messages: [
    { role: 'user', content: 'q' },
    assistant(...blocks, use),
    user({ type: 'tool_result', tool_use_id: 'toolu_01ABC', content: 'r' }),
  ],
})
const responsesWith = (reasoning: object): object => ({
  store: false,
  tools: [responsesTool('read')],
  input: [
    { role: 'user', content: 'q' },
    {
      type: 'reasoning',
      id: 'rs_gw_0',
      summary: [{ type: 'summary_text', text: 'deep thought' }],
      ...reasoning,
    },
    { type: 'function_call', call_id: 'c9', name: 'read', arguments: '{}' },
    { type: 'function_call_output', call_id: 'c9', output: 'r' },
  ],
})
const geminiWith = (call: object): object => ({
  tools: [{ functionDeclarations: [{ name: 'read' }] }],
  contents: [
    geminiUser({ text: 'q' }),
    {
      role: 'model',
      parts: [
        { text: 'deep thought', thought: true },
        { functionCall: { id: 'c9', name: 'read', args: {} }, ...call },
      ],
    },
    geminiUser({ functionResponse: { id: 'c9', name: 'read', response: { output: 'r' } } }),
  ],
})
const chatWith = (...after: readonly object[]): object => ({
  tools: [chatTool('read')],
  messages: [
    { role: 'user', content: 'q' },
    {
      role: 'assistant',
      content: null,
      reasoning_content: 'deep thought',
      tool_calls: [chatCall('toolu_01ABC', 'read')],
    },
    { role: 'tool', tool_call_id: 'toolu_01ABC', content: 'r' },
    ...after,
  ],
})
const withoutThoughts = ({ messages, ...rest }: Body): Body => ({
  ...rest,
  messages: messages.map(({ reasoning_content: _, ...message }: Body) => message),
})

const hasThought: RequestCase['check'] = ({ up }) =>
  up.messages[1].reasoning_content === 'deep thought'
/** Models that demand thoughts get a space. */
const hasSpace: RequestCase['check'] = ({ up, upText }) =>
  up.messages[1].reasoning_content === ' ' && !/deep thought/.test(upText)
const hasNone: RequestCase['check'] = ({ up, upText }) =>
  up !== undefined && !/deep thought|reasoning_content/.test(upText)

const UNSIGNED = messagesWith({ ...THINKING, signature: '' })
const SIGNED = messagesWith({ ...THINKING, signature: 'EqQBCkgIARABGAIiQL' })

type Row = readonly [
  name: string,
  client: RequestCase['client'],
  model: string,
  request: object,
  check: RequestCase['check'],
]
const THOUGHTS: readonly Row[] = [
  [
    'unsigned thoughts without a signature member to a chat backend',
    'anthropic-messages',
    'deepseek-v4',
    messagesWith(THINKING),
    hasThought,
  ],
  [
    'unsigned thoughts to an open model of OpenAI',
    'anthropic-messages',
    'gpt-oss',
    UNSIGNED,
    hasThought,
  ],
  ['unsigned thoughts to OpenAI', 'anthropic-messages', 'chat', UNSIGNED, hasNone],
  ['unsigned thoughts to Mistral', 'openai-responses', 'magistral', responsesWith({}), hasNone],
  ['unsigned thoughts to an upstream with a rule', 'google-gemini', 'own', geminiWith({}), hasNone],
  [
    'a trait of the model wins over the rule',
    'google-gemini',
    'own-accepts',
    geminiWith({}),
    hasThought,
  ],
  [
    'thoughts that Anthropic signed to a chat backend',
    'anthropic-messages',
    'deepseek-v4',
    SIGNED,
    hasSpace,
  ],
  [
    'thoughts that OpenAI encrypted to a chat backend',
    'openai-responses',
    'deepseek-v4',
    responsesWith({ encrypted_content: 'gAAAA' }),
    hasSpace,
  ],
  [
    'thoughts before a call that Google signed to a chat backend',
    'google-gemini',
    'deepseek-v4',
    geminiWith({ thoughtSignature: 'CtwB' }),
    hasSpace,
  ],
  [
    'a history without thoughts to a backend that demands them',
    'openai-responses',
    'ds',
    responsesWith({ encrypted_content: 'gAAAA' }),
    ({ up }) => up.messages[1].reasoning_content === ' ',
  ],
  [
    'the same from a chat client',
    'openai-chat',
    'ds',
    withoutThoughts(chatWith()),
    ({ up }) => up.messages[1].reasoning_content === ' ',
  ],
  [
    'thoughts of a chat client to a backend that demands them',
    'openai-chat',
    'ds',
    chatWith(),
    hasThought,
  ],
  ['thoughts of a chat client to OpenAI', 'openai-chat', 'chat', chatWith(), hasNone],
  [
    'thoughts of a chat client to an upstream with a rule',
    'openai-chat',
    'own',
    chatWith(),
    hasNone,
  ],
  ['thoughts of a chat client stay unchanged', 'openai-chat', 'plain-chat', chatWith(), hasThought],
]
const thinks = (up: Body): boolean =>
  /"(?:thinking|redacted_thinking)"/.test(JSON.stringify(up.messages))
const SIGNATURES: readonly Row[] = [
  [
    'unsigned thoughts beside breakpoints of the gateway',
    'anthropic-messages',
    'auto-cl',
    UNSIGNED,
    ({ up }) => !thinks(up) && /cache_control/.test(JSON.stringify(up.messages)),
  ],
  [
    'a thinking block without a signature member to Claude',
    'anthropic-messages',
    'cl45',
    messagesWith(THINKING),
    ({ up }) => !thinks(up),
  ],
  [
    'a signed block beside an unsigned one to Claude',
    'anthropic-messages',
    'cl45',
    messagesWith({ ...THINKING, signature: '' }, { ...THINKING, signature: 'Eq' }),
    ({ up }) => up.messages[1].content.length === 2 && up.messages[1].content[0].signature === 'Eq',
  ],
  [
    'a budget is off where a call lost its thought',
    'anthropic-messages',
    'cl45',
    { ...UNSIGNED, thinking: { type: 'enabled', budget_tokens: 1024 } },
    ({ up }) => !thinks(up) && up.thinking.type === 'disabled',
  ],
  [
    'members that the gateway does not know stay',
    'anthropic-messages',
    'cl45',
    { ...UNSIGNED, context_management: { edits: [] }, x: 1 },
    ({ up, dropped }) => up.x === 1 && up.context_management.edits.length === 0 && dropped === '',
  ],
  [
    'a turn of an unsigned thought alone to Claude',
    'anthropic-messages',
    'cl45',
    {
      max_tokens: 9,
      messages: [
        { role: 'user', content: 'a' },
        assistant(THINKING),
        { role: 'user', content: 'b' },
      ],
    },
    ({ up }) => up.messages.length === 2,
  ],
  [
    'unsigned thoughts to a backend that signs nothing',
    'anthropic-messages',
    'ds-dual',
    UNSIGNED,
    ({ up }) => thinks(up),
  ],
  [
    'unsigned thoughts to an upstream whose rule demands signatures',
    'anthropic-messages',
    'own',
    UNSIGNED,
    ({ up }) => !thinks(up),
  ],
  ['signed thoughts stay', 'anthropic-messages', 'cl45', SIGNED, ({ up }) => thinks(up)],
  [
    'encrypted thoughts stay',
    'openai-responses',
    'resp',
    responsesWith({ encrypted_content: 'gAAAA' }),
    ({ upText }) => /gAAAA/.test(upText),
  ],
  [
    'unsigned thoughts to a responses backend that signs nothing',
    'openai-responses',
    'own-responses',
    responsesWith({}),
    ({ upText }) => /deep thought/.test(upText),
  ],
  [
    'unsigned thoughts of another format to a responses backend that signs nothing',
    'anthropic-messages',
    'own-responses',
    UNSIGNED,
    ({ up }) => up.input[1].type === 'reasoning' && up.input[1].content[0].text === 'deep thought',
  ],
  [
    'a call without a signature to Gemini 3',
    'google-gemini',
    'gx3',
    geminiWith({}),
    ({ up }) => Boolean(up.contents[1].parts[1].thoughtSignature),
  ],
  [
    'a call with its signature to Gemini 3',
    'google-gemini',
    'gx3',
    geminiWith({ thoughtSignature: 'CtwB' }),
    ({ up }) => up.contents[1].parts[1].thoughtSignature === 'CtwB',
  ],
  [
    'a call without a signature to Gemini 2.5',
    'google-gemini',
    'gx25',
    geminiWith({}),
    ({ up }) => !up.contents[1].parts[1].thoughtSignature,
  ],
]
/** Mistral's rule: ids of nine letters and digits, and no user behind a result. */
const isForMistral: RequestCase['check'] = ({ up }) =>
  up.messages.every(
    ({ role, tool_calls: calls = [], tool_call_id: id }: Body, at: number) =>
      calls.every((call: Body) => /^[A-Za-z0-9]{9}$/.test(call.id)) &&
      (role !== 'tool' || up.messages.some((each: Body) => each.tool_calls?.[0].id === id)) &&
      (role !== 'tool' || ['tool', 'assistant', undefined].includes(up.messages[at + 1]?.role)),
  ) && up.messages.at(-1).role !== 'assistant'
const RULES: readonly Row[] = [
  ['a history of Claude to Mistral', 'anthropic-messages', 'magistral', SIGNED, isForMistral],
  [
    'a history of OpenAI to Mistral',
    'openai-responses',
    'magistral',
    responsesWith({}),
    isForMistral,
  ],
  [
    'a chat history to Mistral',
    'openai-chat',
    'magistral',
    chatWith({ role: 'user', content: 'go on' }),
    isForMistral,
  ],
  [
    'a system message behind a result to Mistral',
    'openai-chat',
    'magistral',
    chatWith({ role: 'system', content: 'be brief' }),
    isForMistral,
  ],
  [
    'an image in a result to Mistral',
    'anthropic-messages',
    'magistral',
    {
      ...SIGNED,
      messages: [
        { role: 'user', content: 'q' },
        assistant(use),
        user({ type: 'tool_result', tool_use_id: use.id, content: [imageBlock('image/png')] }),
      ],
    },
    isForMistral,
  ],
  [
    'an assistant turn at the end to Mistral',
    'openai-chat',
    'magistral',
    chatWith({ role: 'assistant', content: 'so' }),
    isForMistral,
  ],
  [
    'ids of an own upstream',
    'openai-chat',
    'own',
    chatWith(),
    ({ up }) =>
      /^[A-Za-z0-9]{12}$/.test(up.messages[2].tool_call_id) &&
      up.messages[1].tool_calls[0].id === up.messages[2].tool_call_id,
  ],
  [
    'ids stay where no rule is',
    'openai-chat',
    'chat',
    chatWith(),
    ({ up }) => up.messages[2].tool_call_id === 'toolu_01ABC',
  ],
]

export const cases: readonly RequestCase[] = [...THOUGHTS, ...SIGNATURES, ...RULES].map(
  ([name, client, model, request, check]) => ({
    name: `${name} (${client} to ${model})`,
    client,
    model,
    request,
    check,
  }),
)
