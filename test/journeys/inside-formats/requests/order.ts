/** The order of calls, results and other turns, in every format of clients and targets. */
import {
  assistant,
  chatCall,
  chatTool,
  geminiUser,
  messagesTool,
  responsesTool,
  user,
} from '../../../helpers/formats/request-parts.ts'
import type { Body, RequestCase } from './request-case.ts'

const chatTools = [chatTool('w')]
/** Two assistant messages with a call each, words between them, then both results. */
const chat = {
  messages: [
    { role: 'user', content: 'q' },
    { role: 'assistant', content: null, tool_calls: [chatCall('a1', 'w')] },
    { role: 'user', content: 'hurry' },
    { role: 'assistant', content: null, tool_calls: [chatCall('b2', 'w')] },
    { role: 'system', content: 'be brief' },
    { role: 'tool', tool_call_id: 'a1', content: '1' },
    { role: 'tool', tool_call_id: 'b2', content: '2' },
  ],
  tools: chatTools,
}
const use = (id: string): object => ({ type: 'tool_use', id, name: 'w', input: {} })
const messages = {
  max_tokens: 100,
  messages: [
    { role: 'user', content: 'q' },
    assistant(use('a1'), use('b2')),
    user({ type: 'tool_result', tool_use_id: 'a1', content: '1' }, { type: 'text', text: 'hurry' }),
    user({ type: 'tool_result', tool_use_id: 'b2', content: '2' }),
  ],
  tools: [messagesTool('w')],
}
const responses = {
  store: false,
  input: [
    { role: 'user', content: 'q' },
    { type: 'function_call', call_id: 'a1', name: 'w', arguments: '{}' },
    { role: 'user', content: 'hurry' },
    { role: 'assistant', content: 'I wait' },
    { type: 'function_call_output', call_id: 'a1', output: '1' },
    { role: 'user', content: 'and?' },
  ],
  tools: [responsesTool('w')],
}
const gemini = {
  contents: [
    geminiUser({ text: 'q' }),
    { role: 'model', parts: [{ functionCall: { id: 'a1', name: 'w', args: {} } }] },
    geminiUser({ text: 'hurry' }),
    { role: 'model', parts: [{ functionCall: { id: 'b2', name: 'w', args: {} } }] },
    {
      role: 'user',
      parts: ['a1', 'b2'].map(id => ({
        functionResponse: { id, name: 'w', response: { output: id } },
      })),
    },
  ],
  tools: [{ functionDeclarations: [{ name: 'w' }] }],
}

/** Each message with calls is followed by a message for each of them. */
const isChatOrder = ({ up }: { readonly up: Body }): boolean =>
  up.messages.every((each: Body, at: number) =>
    (each.tool_calls ?? []).every((call: Body, index: number) =>
      up.messages
        .slice(at + 1, at + 1 + each.tool_calls.length)
        .some(
          ({ role, tool_call_id: id }: Body) => role === 'tool' && id === call.id && index >= 0,
        ),
    ),
  ) && up.messages.filter(({ role }: Body) => role === 'tool').length > 0
const idsIn = (content: Body, type: string, member: string): string =>
  (Array.isArray(content) ? content : [])
    .filter((each: Body) => each.type === type)
    .map((each: Body) => each[member])
    .join()
const isMessagesOrder = ({ up }: { readonly up: Body }): boolean =>
  up.messages.every(({ role, content }: Body, at: number) => {
    const next = up.messages[at + 1]
    const ids = role === 'assistant' ? idsIn(content, 'tool_use', 'id') : ''
    return ids === '' || ids === idsIn(next?.content, 'tool_result', 'tool_use_id')
  }) && up.messages.every((each: Body, at: number) => each.role !== up.messages[at + 1]?.role)
const isGeminiOrder = ({ up }: { readonly up: Body }): boolean =>
  up.contents.every(({ parts }: Body, at: number) => {
    const calls = parts.filter((part: Body) => part.functionCall)
    const next = up.contents[at + 1]?.parts ?? []
    return calls.every((_: Body, index: number) => next[index]?.functionResponse)
  })
/** Between a call and its output are only calls and outputs. */
const isResponsesOrder = ({ up }: { readonly up: Body }): boolean =>
  up.input.every(({ type, call_id: id }: Body, at: number) => {
    const output = up.input.findIndex(
      (each: Body) => each.type === 'function_call_output' && each.call_id === id,
    )
    const between = up.input.slice(at + 1, output)
    return (
      type !== 'function_call' ||
      (output > at && between.every((each: Body) => String(each.type).startsWith('function_call')))
    )
  })

const INPUTS = {
  'openai-chat': chat,
  'openai-responses': responses,
  'anthropic-messages': messages,
  'google-gemini': gemini,
} as const
const TARGETS = [
  ['chat', 'openai-chat', isChatOrder],
  ['resp', 'openai-responses', isResponsesOrder],
  ['cl45', 'anthropic-messages', isMessagesOrder],
  ['cl5', 'anthropic-messages', isMessagesOrder],
  [
    'b-claude',
    undefined,
    ({ up }) => /toolUse.*toolResult.*(?:hurry|I wait)/.test(JSON.stringify(up)),
  ],
  ['gx25', 'google-gemini', isGeminiOrder],
] as const satisfies readonly (readonly [string, string | undefined, RequestCase['check']])[]

const SYSTEM_PLACES = [
  ['first of several', [['user'], ['system'], ['system'], ['user'], ['assistant'], ['user']]],
  ['behind an assistant turn, last', [['user'], ['assistant'], ['system']]],
  ['between two assistant turns', [['user'], ['assistant'], ['system'], ['assistant'], ['user']]],
] as const
const EMPTY_LAST = [
  { role: 'user', content: 'q' },
  { role: 'assistant', content: 'yo' },
  { role: 'user', content: '  ' },
]

export const cases: readonly RequestCase[] = [
  ...TARGETS.flatMap(([model, target, check]) =>
    (['openai-chat', 'openai-responses', 'anthropic-messages', 'google-gemini'] as const)
      .filter(client => client !== target)
      .map(client => ({
        name: `results follow their calls: ${client} to ${model}`,
        client,
        model,
        request: INPUTS[client],
        check,
      })),
  ),
  ...SYSTEM_PLACES.map(
    ([name, roles]): RequestCase => ({
      name: `system turns where Anthropic takes them: ${name}`,
      client: 'openai-chat',
      model: 'cl5',
      request: { messages: roles.map(([role], at) => ({ role, content: `t${at}` })) },
      check: ({ up, upText }) =>
        roles.every((_, at) => upText.includes(`t${at}`)) &&
        up.messages.every(
          ({ role }: Body, at: number) =>
            role !== 'system' ||
            (up.messages[at - 1]?.role === 'user' &&
              [undefined, 'assistant'].includes(up.messages[at + 1]?.role)),
        ),
    }),
  ),
  ...(['cl45', 'cl5', 'gx25', 'b-claude'] as const).map(
    (model): RequestCase => ({
      name: `an empty last user turn is not a prefill: ${model}`,
      client: 'openai-chat',
      model,
      request: { messages: EMPTY_LAST },
      check: ({ up }) => (up.messages ?? up.contents).at(-1).role === 'user',
    }),
  ),
]
