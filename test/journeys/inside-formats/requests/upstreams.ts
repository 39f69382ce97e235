/** Upstreams of all formats for the request cases: they keep what they get, and give a short text
 *  or the answer of the case. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'

export type FormatName = 'openai-chat' | 'openai-responses' | 'anthropic-messages' | 'google-gemini'

const usage = { input_tokens: 3, output_tokens: 2 }
const content = [{ type: 'text', text: 'ok' }]
const chat = {
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
}
const output = [
  {
    type: 'message',
    id: 'msg_1',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text: 'ok', annotations: [] }],
  },
]
const response = {
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  status: 'completed',
  model: 'm',
  output,
  usage: { ...usage, total_tokens: 5 },
}
const message = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content,
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage,
}
const candidates = {
  candidates: [
    { content: { role: 'model', parts: [{ text: 'ok' }] }, finishReason: 'STOP', index: 0 },
  ],
  usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 },
}
const converse = {
  output: { message: { role: 'assistant', content: [{ text: 'ok' }] } },
  stopReason: 'end_turn',
  usage: { inputTokens: 3, outputTokens: 2, totalTokens: 5 },
}
const chunk = { ...chat, object: 'chat.completion.chunk', usage: null }
/** By the end of the path that a format calls: its plain answer, and the events of its stream. */
const ANSWERS: readonly (readonly [RegExp, object, readonly object[]])[] = [
  [
    /chat\/completions$/,
    chat,
    [
      { ...chunk, choices: [{ index: 0, delta: { content: 'ok' }, finish_reason: 'stop' }] },
      { ...chunk, choices: [], usage: chat.usage },
    ],
  ],
  [
    /responses$/,
    response,
    [
      { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
      { type: 'response.output_item.done', output_index: 0, item: output[0] },
      { type: 'response.completed', response },
    ],
  ],
  [
    /messages$|:(streamR|r)awPredict$/,
    message,
    [
      { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'ok' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage },
      { type: 'message_stop' },
    ],
  ],
  [/:(generateContent|streamGenerateContent)$/, candidates, [candidates]],
  [/converse$/, converse, [converse]],
]

/** The latest request. */
export interface Received {
  readonly body: string
  readonly headers: IncomingHttpHeaders
}
const isStream = (path: string, body: string): boolean =>
  /:stream/.test(path) || JSON.parse(body).stream === true
const answerOf = (path: string, streams: boolean): object | readonly object[] => {
  const [, plain = {}, events = []] = ANSWERS.find(([ends]) => ends.test(path)) ?? []
  return streams ? events : plain
}
const eventText = (event: object): string => {
  const { type } = event as { type?: string }
  return `${type ? `event: ${type}\n` : ''}data: ${JSON.stringify(event)}\n\n`
}

/** Reads a request and answers it: with `answer`, or else with a short text in its own format. */
export const serve = async (
  request: IncomingMessage,
  response: ServerResponse,
  answer: object | undefined,
): Promise<Received> => {
  const chunks: Buffer[] = []
  for await (const each of request) chunks.push(each as Buffer)
  const body = Buffer.concat(chunks).toString()
  const path = (request.url ?? '').split('?')[0] ?? ''
  const reply = answer ?? answerOf(path, isStream(path, body))
  if (Array.isArray(reply)) {
    const done = /chat\/completions$/.test(path) ? 'data: [DONE]\n\n' : ''
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(reply.map(eventText).join('') + done)
  } else {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(reply))
  }
  return { body, headers: request.headers }
}
