/** Reasoning goes back to the backend that made it, and to no other. */

import {
  assistant,
  EMPTY_SCHEMA,
  geminiUser,
  messagesTool,
  user,
} from '../../../helpers/formats/request-parts.ts'
import { chatAnswer, chatStream } from './chat-answers.ts'
import type { Body, RequestCase } from './request-case.ts'

/** A thought without a signature, a call and its result. */
const MESSAGES = {
  tools: [messagesTool('read')],
  messages: [
    { role: 'user', content: 'q' },
    assistant(
      { type: 'thinking', thinking: 'deep thought', signature: '' },
      { type: 'tool_use', id: 'c9', name: 'read', input: {} },
    ),
    user({ type: 'tool_result', tool_use_id: 'c9', content: 'r' }),
  ],
}
/** The same in Responses. */
const RESPONSES = {
  store: false,
  tools: [{ type: 'function', name: 'read', parameters: EMPTY_SCHEMA }],
  input: [
    { role: 'user', content: 'q' },
    {
      type: 'reasoning',
      id: 'rs_gw_0',
      summary: [{ type: 'summary_text', text: 'deep thought' }],
    },
    {
      type: 'function_call',
      id: 'fc_gw_1',
      call_id: 'c9',
      name: 'read',
      arguments: '{}',
      status: 'completed',
    },
    { type: 'function_call_output', call_id: 'c9', output: 'r' },
  ],
}

export const cases: readonly RequestCase[] = [
  {
    name: 'unsigned thoughts go back to the chat upstream that made them, from messages',
    client: 'anthropic-messages',
    model: 'deepseek-v4',
    request: { max_tokens: 1000, ...MESSAGES },
    check: ({ up }) => up.messages[1].reasoning_content === 'deep thought',
  },
  {
    name: 'unsigned thoughts go back to the chat upstream that made them, from responses',
    client: 'openai-responses',
    model: 'deepseek-v4',
    request: RESPONSES,
    check: ({ up }) => up.messages[1].reasoning_content === 'deep thought',
  },
  {
    name: 'unsigned thoughts go back to the chat upstream that made them, from Gemini',
    client: 'google-gemini',
    model: 'deepseek-v4',
    request: {
      tools: [{ functionDeclarations: [{ name: 'read' }] }],
      contents: [
        geminiUser({ text: 'q' }),
        {
          role: 'model',
          parts: [
            { text: 'deep thought', thought: true },
            { functionCall: { id: 'c9', name: 'read', args: {} } },
          ],
        },
        geminiUser({ functionResponse: { id: 'c9', name: 'read', response: { output: 'r' } } }),
      ],
    },
    check: ({ up }) => up.messages[1].reasoning_content === 'deep thought',
  },
  {
    name: 'a thinking block without a signature is left out for Anthropic',
    client: 'anthropic-messages',
    model: 'claude-sonnet-4-5',
    request: { max_tokens: 2000, ...MESSAGES },
    check: ({ up }) => !/"thinking"/.test(JSON.stringify(up.messages)),
  },
  {
    name: 'a reasoning item of the gateway is left out for OpenAI',
    client: 'openai-responses',
    model: 'gpt-5.6-r',
    request: RESPONSES,
    check: ({ up }) => !up.input.some((i: Body) => i.type === 'reasoning'),
  },
  {
    name: 'lists as delta.content are text and thoughts',
    client: 'anthropic-messages',
    model: 'magistral',
    stream: true,
    request: { max_tokens: 50, messages: [{ role: 'user', content: 'q' }] },
    answer: chatStream(
      [
        assistant({ type: 'thinking', thinking: [{ type: 'text', text: 'hmm' }] }),
        { content: [{ type: 'text', text: 'answer' }] },
      ],
      'stop',
    ),
    check: ({ events }) =>
      /answer/.test(JSON.stringify(events)) && /hmm/.test(JSON.stringify(events)),
  },
  {
    name: 'a list as the content of a message is text and thoughts',
    client: 'openai-responses',
    model: 'magistral',
    request: { input: 'q' },
    answer: chatAnswer(
      {
        content: [
          { type: 'thinking', thinking: [{ type: 'text', text: 'hmm' }] },
          { type: 'text', text: 'answer' },
        ],
      },
      'stop',
    ),
    check: ({ out }) => /hmm/.test(JSON.stringify(out)),
  },
  {
    name: 'a thinking block without a signature member',
    client: 'anthropic-messages',
    model: 'chat-r',
    request: {
      max_tokens: 100,
      messages: [
        { role: 'user', content: 'w?' },
        assistant({ type: 'thinking', thinking: 'x' }, { type: 'text', text: 'yo' }),
        { role: 'user', content: 'x' },
      ],
    },
    check: ({ status }) => status === 200,
  },
  {
    name: 'thinking between tools',
    client: 'anthropic-messages',
    model: 'cl5',
    request: {
      max_tokens: 100,
      thinking: { type: 'between_tools' },
      messages: [{ role: 'user', content: 'hi' }],
    },
    check: ({ up }) => up.thinking.type === 'between_tools',
  },
]
