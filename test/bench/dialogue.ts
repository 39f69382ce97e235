/** One request and response of the bench in each of four formats, of equal size: differences in the
 *  figures come from the translation. */
import { DONE, event, QUESTION, RULES } from './answers.ts'

export const FORMATS = [
  'openai-chat',
  'openai-responses',
  'anthropic-messages',
  'google-gemini',
] as const
export type FormatName = (typeof FORMATS)[number]

/** How the upstream responds; the model name of the request selects it. */
export type Manner = 'plain' | 'burst' | 'long'
export const MODEL_NAMES: Readonly<Record<Manner, string>> = {
  plain: 'translate-plain',
  burst: 'translate-burst',
  long: 'translate-long',
}

interface Dialogue {
  /** Part of the path that only requests of this format have. */
  readonly mark: string
  path(model: string, stream: boolean): string
  ask(model: string, stream: boolean): object
  plain(): object
  readonly opening: string
  piece(index: number): string
  closing(pieces: number): string
}

const ID = '0123456789abcdefghijklmnop'
const TEXT = RULES + QUESTION
const PIECE = (index: number): string => ` word${index % 1_000}`
const SETTINGS = { temperature: 0.7 }
const MESSAGE_USAGE = {
  input_tokens: 152,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  output_tokens: 118,
}
const RESPONSE_USAGE = {
  input_tokens: 152,
  output_tokens: 118,
  total_tokens: 270,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens_details: { reasoning_tokens: 0 },
}
const CHAT_USAGE = {
  prompt_tokens: 152,
  completion_tokens: 118,
  total_tokens: 270,
  prompt_tokens_details: { cached_tokens: 0 },
}
const GEMINI_USAGE = { promptTokenCount: 152, candidatesTokenCount: 118, totalTokenCount: 270 }
const NAME = MODEL_NAMES.burst

const namedEvent = (type: string, more: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`
const chunk = (choices: object[], more: object = {}): string =>
  `data: ${JSON.stringify({ id: `chatcmpl-${ID}`, object: 'chat.completion.chunk', created: 1_750_000_000, model: NAME, choices, ...more })}\n\n`
const geminiAnswer = (parts: object[], more: object = {}): object => ({
  candidates: [{ content: { parts, role: 'model' }, index: 0, ...more }],
  usageMetadata: GEMINI_USAGE,
  modelVersion: NAME,
  responseId: ID,
})

const part = (text: string) => ({ type: 'output_text', text, annotations: [], logprobs: [] })
const item = (status: string, content: object[]) => ({
  id: `msg_${ID}`,
  type: 'message',
  role: 'assistant',
  status,
  content,
})
const response = (status: string, output: object[], usage: object | null) => ({
  id: `resp_${ID}`,
  object: 'response',
  created_at: 1_750_000_000,
  status,
  model: NAME,
  error: null,
  incomplete_details: null,
  instructions: null,
  metadata: {},
  output,
  parallel_tool_calls: true,
  temperature: 0.7,
  tool_choice: 'auto',
  tools: [],
  top_p: 1,
  usage,
})
const PLACE = { item_id: `msg_${ID}`, output_index: 0, content_index: 0 }

const message = (content: object[], stop: string | null) => ({
  id: `msg_${ID}`,
  type: 'message',
  role: 'assistant',
  model: NAME,
  content,
  stop_reason: stop,
  stop_sequence: null,
  usage: MESSAGE_USAGE,
})

export const DIALOGUES: Readonly<Record<FormatName, Dialogue>> = {
  'openai-chat': {
    mark: '/chat/completions',
    path: () => '/v1/chat/completions',
    ask: (model, stream) => ({
      model,
      stream,
      ...SETTINGS,
      max_tokens: 512,
      // Translated streams always have usage; pass-through streams must request it.
      ...(stream && { stream_options: { include_usage: true } }),
      messages: [
        { role: 'system', content: RULES },
        { role: 'user', content: QUESTION },
      ],
    }),
    plain: () => ({
      id: `chatcmpl-${ID}`,
      object: 'chat.completion',
      created: 1_750_000_000,
      model: NAME,
      choices: [{ index: 0, message: { role: 'assistant', content: TEXT }, finish_reason: 'stop' }],
      usage: CHAT_USAGE,
    }),
    opening: chunk([{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }]),
    piece: index => event(index % 1_000),
    closing: () =>
      chunk([{ index: 0, delta: {}, finish_reason: 'stop' }]) +
      chunk([], { usage: CHAT_USAGE }) +
      DONE,
  },
  'openai-responses': {
    mark: '/responses',
    path: () => '/v1/responses',
    ask: (model, stream) => ({
      model,
      stream,
      ...SETTINGS,
      max_output_tokens: 512,
      instructions: RULES,
      input: QUESTION,
    }),
    plain: () => response('completed', [item('completed', [part(TEXT)])], RESPONSE_USAGE),
    opening:
      namedEvent('response.created', { response: response('in_progress', [], null) }) +
      namedEvent('response.output_item.added', { output_index: 0, item: item('in_progress', []) }) +
      namedEvent('response.content_part.added', { ...PLACE, part: part('') }),
    piece: index => namedEvent('response.output_text.delta', { ...PLACE, delta: PIECE(index) }),
    closing(pieces) {
      const text = Array.from({ length: pieces }, (_, index) => PIECE(index)).join('')
      const whole = item('completed', [part(text)])
      return (
        namedEvent('response.output_text.done', { ...PLACE, text }) +
        namedEvent('response.content_part.done', { ...PLACE, part: part(text) }) +
        namedEvent('response.output_item.done', { output_index: 0, item: whole }) +
        namedEvent('response.completed', {
          response: response('completed', [whole], RESPONSE_USAGE),
        })
      )
    },
  },
  'anthropic-messages': {
    mark: '/messages',
    path: () => '/v1/messages',
    ask: (model, stream) => ({
      model,
      stream,
      ...SETTINGS,
      max_tokens: 512,
      system: RULES,
      messages: [{ role: 'user', content: QUESTION }],
    }),
    plain: () => message([{ type: 'text', text: TEXT }], 'end_turn'),
    opening:
      namedEvent('message_start', { message: message([], null) }) +
      namedEvent('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    piece: index =>
      namedEvent('content_block_delta', {
        index: 0,
        delta: { type: 'text_delta', text: PIECE(index) },
      }),
    closing: () =>
      namedEvent('content_block_stop', { index: 0 }) +
      namedEvent('message_delta', {
        delta: { stop_reason: 'end_turn', stop_sequence: null },
        usage: MESSAGE_USAGE,
      }) +
      namedEvent('message_stop', {}),
  },
  'google-gemini': {
    mark: 'enerateContent',
    path: (model, stream) =>
      `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    ask: () => ({
      systemInstruction: { parts: [{ text: RULES }] },
      contents: [{ role: 'user', parts: [{ text: QUESTION }] }],
      generationConfig: { ...SETTINGS, maxOutputTokens: 512 },
    }),
    plain: () => geminiAnswer([{ text: TEXT }], { finishReason: 'STOP' }),
    opening: '',
    piece: index => `data: ${JSON.stringify(geminiAnswer([{ text: PIECE(index) }]))}\r\n\r\n`,
    closing: () =>
      `data: ${JSON.stringify(geminiAnswer([{ text: '.' }], { finishReason: 'STOP' }))}\r\n\r\n`,
  },
}
