/** Endings that are not ends of a turn: finish reasons of the backends for each client, plain and
 *  streamed; refusals with their explanation; pauses. */
import { chatAnswer, chatStream } from './chat-answers.ts'
import type { Body, Outcome, RequestCase } from './request-case.ts'
import type { FormatName } from './upstreams.ts'

const q = 'q'
const messages = [{ role: 'user', content: q }]
const REQUESTS: Readonly<Record<FormatName, object>> = {
  'openai-chat': { messages },
  'openai-responses': { store: false, input: q },
  'anthropic-messages': { max_tokens: 50, messages },
  'google-gemini': { contents: [{ role: 'user', parts: [{ text: q }] }] },
}
const CLIENTS = Object.keys(REQUESTS) as FormatName[]

const part = { content: 'par' }
const explanation = 'No thanks.'
const claude = (delta: object) => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [{ type: 'text', text: 'par' }],
  stop_sequence: null,
  ...delta,
  usage: { input_tokens: 3, output_tokens: 2 },
})
const claudeStream = (delta: object) => [
  { type: 'message_start', message: { ...claude({ stop_reason: null }), content: [] } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'par' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta, usage: { output_tokens: 2 } },
  { type: 'message_stop' },
]
const REFUSAL = {
  stop_reason: 'refusal',
  stop_details: { type: 'refusal', category: null, explanation },
}
const PAUSE = { stop_reason: 'pause_turn' }

/** An ending as the client reads it: the finish reason of its format, or `error`. */
const endingIn = ({ out, events }: Outcome): string => {
  const all: readonly Body[] = out ? [out] : events
  if (all.some(({ error, type }) => error || type === 'error')) return 'error'
  const reasons = all.flatMap(each => {
    const { response, delta = {}, candidates = [], choices = [] } = each
    const { status, incomplete_details: details } = response ?? each
    return [
      each.stop_reason ?? delta.stop_reason,
      candidates[0]?.finishReason,
      choices[0]?.finish_reason,
      details?.reason ?? (/^(completed|failed)$/.test(status) ? status : undefined),
    ].filter(Boolean)
  })
  return reasons.join()
}
/** By kind: the words of backends, and those that a client of each format may read. */
const KINDS: readonly (readonly [
  words: readonly string[],
  read: Readonly<Record<FormatName, RegExp>>,
])[] = [
  [
    [
      'length',
      'model_length',
      'model_context_window_exceeded',
      'max_tokens',
      'MAX_TOKENS',
      'repetition_truncation',
    ],
    {
      'openai-chat': /^length$/,
      'openai-responses': /^max_output_tokens$/,
      'anthropic-messages': /^(max_tokens|model_context_window_exceeded)$/,
      'google-gemini': /^MAX_TOKENS$/,
    },
  ],
  [
    [
      'content_filter',
      'sensitive',
      'SAFETY',
      'moderation_blocked',
      'refusal',
      'content_policy_violation',
    ],
    {
      'openai-chat': /^content_filter$/,
      'openai-responses': /^content_filter$/,
      'anthropic-messages': /^refusal$/,
      'google-gemini': /^SAFETY$/,
    },
  ],
  [
    ['error', 'network_error', 'insufficient_system_resource', 'abort', 'cancelled'],
    {
      'openai-chat': /^error$/,
      'openai-responses': /^error$/,
      'anthropic-messages': /^error$/,
      'google-gemini': /^error$/,
    },
  ],
]
const both = (one: RequestCase, streamed: readonly object[]): readonly RequestCase[] => [
  one,
  { ...one, name: `${one.name}, streamed`, stream: true, answer: streamed },
]
/** A client of the same format gets the word of the backend itself. */
const ofChat: readonly RequestCase[] = KINDS.flatMap(([words, read]) =>
  words.flatMap(word =>
    CLIENTS.filter(client => client !== 'openai-chat').flatMap(client =>
      both(
        {
          name: `${word} for ${client}`,
          client,
          model: 'plain-chat',
          request: REQUESTS[client],
          answer: chatAnswer(part, word),
          check: outcome => read[client].test(endingIn(outcome)),
        },
        chatStream([part], word),
      ),
    ),
  ),
)
const OTHERS = CLIENTS.filter(client => client !== 'anthropic-messages')
const ofClaude: readonly RequestCase[] = OTHERS.flatMap(client => [
  ...both(
    {
      name: `the explanation of a refusal for ${client}`,
      client,
      model: 'claude-sonnet-4-5',
      request: REQUESTS[client],
      answer: claude(REFUSAL),
      check: ({ out, events }) => JSON.stringify(out ?? events).includes(explanation),
    },
    claudeStream(REFUSAL),
  ),
  ...both(
    {
      name: `a pause is not an end for ${client}`,
      client,
      model: 'claude-sonnet-4-5',
      request: REQUESTS[client],
      answer: claude(PAUSE),
      check: outcome => KINDS[0]?.[1][client].test(endingIn(outcome)) === true,
    },
    claudeStream(PAUSE),
  ),
])
const blocked = {
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  status: 'completed',
  model: 'm',
  output: [
    {
      type: 'image_generation_call',
      id: 'ig_1',
      status: 'failed',
      result: null,
      error: { type: 'invalid_request_error', code: 'moderation_blocked', message: explanation },
    },
  ],
  usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
}
const ofResponses: readonly RequestCase[] = CLIENTS.filter(
  client => client !== 'openai-responses',
).map(client => ({
  name: `an image that moderation blocked for ${client}`,
  client,
  model: 'resp',
  request: REQUESTS[client],
  answer: blocked,
  check: ({ out }) => JSON.stringify(out).includes(explanation),
}))
export const cases: readonly RequestCase[] = [...ofChat, ...ofClaude, ...ofResponses]
