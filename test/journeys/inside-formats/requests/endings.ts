/** Finish reasons that are no end of a turn. */
import type { RequestCase } from './request-case.ts'

export const cases: readonly RequestCase[] = [
  {
    name: 'a full context is no end of the turn',
    isWrong: true,
    client: 'anthropic-messages',
    model: 'plain-chat',
    stream: true,
    request: { max_tokens: 50, messages: [{ role: 'user', content: 'q' }] },
    answer: [
      {
        id: 'c',
        object: 'chat.completion.chunk',
        created: 1,
        model: 'm',
        choices: [{ index: 0, delta: { content: 'par' }, finish_reason: null }],
      },
      {
        id: 'c',
        object: 'chat.completion.chunk',
        created: 1,
        model: 'm',
        choices: [{ index: 0, delta: {}, finish_reason: 'model_context_window_exceeded' }],
      },
      {
        id: 'c',
        object: 'chat.completion.chunk',
        created: 1,
        model: 'm',
        choices: [],
        usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
      },
    ],
    check: ({ events }) => !/end_turn/.test(JSON.stringify(events)),
  },
  {
    name: 'a finish reason of an error is an error',
    isWrong: true,
    client: 'anthropic-messages',
    model: 'plain-chat',
    request: { max_tokens: 50, messages: [{ role: 'user', content: 'q' }] },
    answer: {
      id: 'c',
      object: 'chat.completion',
      created: 1,
      model: 'm',
      choices: [
        { index: 0, message: { role: 'assistant', content: 'par' }, finish_reason: 'error' },
      ],
      usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
    },
    check: ({ out }) => out.type === 'error',
  },
]
