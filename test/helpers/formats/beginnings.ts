/** Beginnings of answers in every format: events without content, errors, and answers. */
import { CONTENT_TYPE, writeFrame } from '../../../plugins/formats/stream/aws-event-stream.ts'

type Json = { readonly [key: string]: unknown }

/** How an upstream of one format begins, fails and answers. */
export interface Beginnings {
  readonly type: string
  /** Each is sent alone. */
  readonly preamble: readonly Uint8Array[]
  /** Errors in a stream, with the status that each names. */
  readonly errors: readonly (readonly [event: Uint8Array, status: number])[]
  /** The events of a whole answer, with the text Rome. */
  readonly answer: readonly Uint8Array[]
  /** The events of a whole answer without a text. */
  readonly emptyAnswer: readonly Uint8Array[]
  /** Whole bodies that are errors, with the status that each names. */
  readonly failures: readonly (readonly [body: unknown, status: number])[]
  /** A whole body with the text Rome. */
  readonly plain: Json
  /** A whole body that ends regularly without a text. */
  readonly empty: Json
}

const sse = (data: object | string, name = ''): Uint8Array =>
  Buffer.from(
    `${name && `event: ${name}\n`}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`,
  )
const SSE = 'text/event-stream'
const COMMENT = Buffer.from(': PROCESSING\n\n')

const chunk = (delta: Json, finish_reason: string | null = null) =>
  sse({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] })
const message = (content: string, finish_reason = 'stop') => ({
  id: 'c',
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason }],
  usage: { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 },
})
const chat: Beginnings = {
  type: SSE,
  preamble: [
    COMMENT,
    sse({ id: 'c', choices: [], prompt_filter_results: [] }),
    chunk({ role: 'assistant', content: '' }),
    chunk({ content: null, reasoning_content: '', tool_calls: null }),
    chunk({ audio: { id: 'audio_1', transcript: '' } }),
  ],
  errors: [
    [sse({ error: { message: 'later', code: 'rate_limit_exceeded' } }), 429],
    [sse({ error: { message: 'later', code: 502 }, choices: [] }), 502],
    [sse({ error: 'overloaded' }), 502],
    [
      sse({
        id: 'c',
        choices: [
          { index: 0, delta: { content: '' }, finish_reason: 'error', error: { code: 503 } },
        ],
      }),
      503,
    ],
    [chunk({ content: '' }, 'network_error'), 502],
    [chunk({}, 'insufficient_system_resource'), 502],
    [chunk({}, 'abort'), 502],
    [chunk({}, 'cancelled'), 502],
  ],
  answer: [chunk({ role: 'assistant', content: 'Rome' }), chunk({}, 'stop'), sse('[DONE]')],
  emptyAnswer: [chunk({ role: 'assistant', content: '' }), chunk({}, 'stop'), sse('[DONE]')],
  failures: [
    [{ error: { message: 'later', code: 429 } }, 429],
    [{ error: { message: 'later', code: '503' }, choices: [] }, 503],
    [{ id: 'c', object: 'chat.completion', choices: [] }, 502],
    [{ ...message(''), choices: [] }, 502],
    [{ ...message(''), choices: [{ index: 0, message: { role: 'assistant' } }] }, 502],
    [message('', 'cancelled'), 502],
    [{ ...message('', 'error'), usage: null }, 502],
    [message('', 'network_error'), 502],
    [message('', 'insufficient_system_resource'), 502],
    [{ error: 'overloaded', error_type: 'overloaded' }, 503],
    [
      {
        id: 'c',
        choices: [
          {
            index: 0,
            message: { role: 'assistant', content: '' },
            finish_reason: null,
            error: { code: 503, message: 'later' },
          },
        ],
      },
      503,
    ],
    [{ object: 'error', message: 'later', type: 'server_error', code: 500 }, 500],
  ],
  plain: message('Rome'),
  empty: message(''),
}

const response = (status: string, output: readonly Json[], error: Json | null = null) => ({
  id: 'r',
  object: 'response',
  model: 'm',
  status,
  output,
  error,
  usage: { input_tokens: 7, output_tokens: 2, total_tokens: 9 },
})
const named = (type: string, data: Json) => sse({ type, ...data }, type)
const part = (text: string) => ({ type: 'output_text', text, annotations: [] })
const item = (status: string, content: readonly Json[]) => ({
  type: 'message',
  id: 'm_1',
  role: 'assistant',
  status,
  content,
})
const at = { item_id: 'm_1', output_index: 0, content_index: 0 }
const started = response('in_progress', [])
const responses: Beginnings = {
  type: SSE,
  preamble: [
    named('response.created', { response: started }),
    named('response.in_progress', { response: started }),
    named('response.output_item.added', { output_index: 0, item: item('in_progress', []) }),
    named('response.content_part.added', { ...at, part: part('') }),
    named('response.output_text.done', { ...at, text: '' }),
  ],
  errors: [
    [named('error', { code: 'rate_limit_exceeded', message: 'later' }), 429],
    [
      named('response.failed', {
        response: response('failed', [], { code: 'server_error', message: 'later' }),
      }),
      500,
    ],
    [named('response.failed', { response: response('failed', []) }), 502],
    [named('response.cancelled', { response: response('cancelled', []) }), 502],
    [named('response.completed', { response: response('cancelled', []) }), 502],
    [named('response.completed', { response: response('failed', []) }), 502],
  ],
  answer: [
    named('response.created', { response: started }),
    named('response.output_item.added', { output_index: 0, item: item('in_progress', []) }),
    named('response.content_part.added', { ...at, part: part('') }),
    named('response.output_text.delta', { ...at, delta: 'Rome' }),
    named('response.output_text.done', { ...at, text: 'Rome' }),
    named('response.content_part.done', { ...at, part: part('Rome') }),
    named('response.output_item.done', {
      output_index: 0,
      item: item('completed', [part('Rome')]),
    }),
    named('response.completed', {
      response: response('completed', [item('completed', [part('Rome')])]),
    }),
  ],
  emptyAnswer: [
    named('response.created', { response: started }),
    named('response.completed', { response: response('completed', []) }),
  ],
  failures: [
    [response('failed', [], { code: 'rate_limit_exceeded', message: 'later' }), 429],
    [response('failed', []), 502],
    [response('cancelled', []), 502],
    [response('', []), 502],
    [{ error: { message: 'later', code: 'server_error' } }, 500],
  ],
  plain: response('completed', [item('completed', [part('Rome')])]),
  empty: response('completed', []),
}

const claude = (content: readonly Json[], stop_reason: string) => ({
  id: 'm',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content,
  stop_reason,
  usage: { input_tokens: 7, output_tokens: 2 },
})
const start = named('message_start', {
  message: { ...claude([], ''), stop_reason: null, usage: { input_tokens: 7, output_tokens: 1 } },
})
const block = named('content_block_start', { index: 0, content_block: { type: 'text', text: '' } })
const ended = [
  named('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } }),
  named('message_stop', {}),
]
const claudeError = (type: string) => ({ type: 'error', error: { type, message: 'later' } })
const messages: Beginnings = {
  type: SSE,
  preamble: [
    start,
    named('ping', {}),
    block,
    named('content_block_delta', { index: 0, delta: { type: 'text_delta', text: '' } }),
    named('content_block_start', {
      index: 0,
      content_block: { type: 'compaction', content: null },
    }),
  ],
  errors: [
    [sse(claudeError('overloaded_error'), 'error'), 529],
    [sse(claudeError('api_error'), 'error'), 500],
    [sse(claudeError('rate_limit_error'), 'error'), 429],
  ],
  answer: [
    start,
    block,
    named('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'Rome' } }),
    named('content_block_stop', { index: 0 }),
    ...ended,
  ],
  emptyAnswer: [start, ...ended],
  failures: [
    [claudeError('overloaded_error'), 529],
    [{ type: 'error', error: { type: 'strange', message: 'later' } }, 502],
    [{ ...claude([], ''), stop_reason: null, usage: { input_tokens: 7, output_tokens: 0 } }, 502],
    [{ ...claude([], ''), stop_reason: null }, 502],
  ],
  plain: claude([{ type: 'text', text: 'Rome' }], 'end_turn'),
  empty: claude([], 'end_turn'),
}

const usageMetadata = { promptTokenCount: 7, candidatesTokenCount: 2, totalTokenCount: 9 }
const candidate = (text: string, finishReason?: string) => ({
  candidates: [
    {
      index: 0,
      content: { role: 'model', parts: [{ text }] },
      ...(finishReason && { finishReason }),
    },
  ],
  usageMetadata,
})
const googleError = (code: number, status: string) => ({
  error: { code, status, message: 'later' },
})
const google: Beginnings = {
  type: SSE,
  preamble: [sse({ usageMetadata: { promptTokenCount: 7 } }), sse(candidate(''))],
  errors: [
    [sse(googleError(503, 'UNAVAILABLE')), 503],
    [sse(googleError(429, 'RESOURCE_EXHAUSTED')), 429],
    [sse(googleError(500, 'INTERNAL')), 500],
    [sse(candidate('', 'MALFORMED_FUNCTION_CALL')), 502],
    [sse({ candidates: [{ finishReason: 'OTHER', index: 0 }], usageMetadata }), 502],
    [sse({ candidates: [{ content: {}, finishReason: 'NO_IMAGE' }] }), 502],
  ],
  answer: [sse(candidate('Rome')), sse(candidate('', 'STOP'))],
  emptyAnswer: [sse({ usageMetadata: { promptTokenCount: 7 } }), sse(candidate('', 'STOP'))],
  failures: [
    [googleError(503, 'UNAVAILABLE'), 503],
    [[googleError(429, 'RESOURCE_EXHAUSTED')], 429],
    [{ usageMetadata }, 502],
    [{ candidates: [], usageMetadata }, 502],
    [candidate('', 'MALFORMED_FUNCTION_CALL'), 502],
    [{ candidates: [{ finishReason: 'OTHER', index: 0 }], usageMetadata }, 502],
    [{ candidates: [{ finishReason: 'UNEXPECTED_TOOL_CALL', finishMessage: 'later' }] }, 502],
  ],
  plain: candidate('Rome', 'STOP'),
  empty: { promptFeedback: { blockReason: 'SAFETY' }, usageMetadata },
}

const frame = (name: string, fields: Json) => writeFrame(name, fields)
const converse: Beginnings = {
  type: CONTENT_TYPE,
  preamble: [
    frame('messageStart', { role: 'assistant' }),
    frame('contentBlockDelta', { contentBlockIndex: 0, delta: { text: '' } }),
  ],
  errors: [
    [writeFrame('throttlingException', { message: 'later' }, 'exception'), 429],
    [writeFrame('modelStreamErrorException', { message: 'later' }, 'exception'), 502],
    [writeFrame('internalServerException', { message: 'later' }, 'exception'), 500],
    [frame('messageStop', { stopReason: 'malformed_model_output' }), 502],
    [frame('messageStop', { stopReason: 'malformed_tool_use' }), 502],
  ],
  answer: [
    frame('messageStart', { role: 'assistant' }),
    frame('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'Rome' } }),
    frame('contentBlockStop', { contentBlockIndex: 0 }),
    frame('messageStop', { stopReason: 'end_turn' }),
    frame('metadata', { usage: { inputTokens: 7, outputTokens: 2, totalTokens: 9 } }),
  ],
  emptyAnswer: [
    frame('messageStart', { role: 'assistant' }),
    frame('messageStop', { stopReason: 'end_turn' }),
    frame('metadata', { usage: { inputTokens: 7, outputTokens: 0, totalTokens: 7 } }),
  ],
  failures: [
    [{ __type: 'com.amazon.coral.service#ThrottlingException', message: 'later' }, 429],
    [{ message: 'later' }, 502],
    [
      { output: { message: { role: 'assistant', content: [] } }, stopReason: 'malformed_tool_use' },
      502,
    ],
  ],
  plain: {
    output: { message: { role: 'assistant', content: [{ text: 'Rome' }] } },
    stopReason: 'end_turn',
    usage: { inputTokens: 7, outputTokens: 2, totalTokens: 9 },
  },
  empty: {
    output: { message: { role: 'assistant', content: [] } },
    stopReason: 'end_turn',
    usage: { inputTokens: 7, outputTokens: 0, totalTokens: 7 },
  },
}

const typed = (type: string, data: Json) => sse({ type, ...data }, type)
const text = (type: string, text: string) =>
  typed(type, { index: 0, delta: { message: { content: { type: 'text', text } } } })
const coherePlain = (content: readonly Json[], finish_reason: string) => ({
  id: 'c',
  finish_reason,
  message: { role: 'assistant', content },
  usage: { tokens: { input_tokens: 7, output_tokens: 2 } },
})
const cohere: Beginnings = {
  type: SSE,
  preamble: [
    typed('message-start', { id: 'c', delta: { message: { role: 'assistant' } } }),
    text('content-start', ''),
  ],
  errors: [
    [typed('message-end', { delta: { finish_reason: 'ERROR', error: 'later' } }), 502],
    [typed('message-end', { delta: { finish_reason: 'TIMEOUT' } }), 504],
    [typed('message-end', { delta: { finish_reason: 'CANCELLED' } }), 502],
  ],
  answer: [
    typed('message-start', { id: 'c', delta: { message: { role: 'assistant' } } }),
    text('content-start', ''),
    text('content-delta', 'Rome'),
    typed('content-end', { index: 0 }),
    typed('message-end', { delta: { finish_reason: 'COMPLETE' } }),
  ],
  emptyAnswer: [
    typed('message-start', { id: 'c', delta: { message: { role: 'assistant' } } }),
    typed('message-end', { delta: { finish_reason: 'COMPLETE' } }),
  ],
  failures: [
    [coherePlain([], 'ERROR'), 502],
    [coherePlain([], 'CANCELLED'), 502],
    [{ message: 'later' }, 502],
  ],
  plain: coherePlain([{ type: 'text', text: 'Rome' }], 'COMPLETE'),
  empty: coherePlain([], 'COMPLETE'),
}

export const BEGINNINGS: Readonly<Record<string, Beginnings>> = {
  'openai-chat': chat,
  'openai-responses': responses,
  'anthropic-messages': messages,
  'google-gemini': google,
  'bedrock-converse': converse,
  'cohere-chat': cohere,
}
