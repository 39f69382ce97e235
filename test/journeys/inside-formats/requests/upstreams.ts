/** Upstreams of all formats for the request cases: they keep what they get, and give a short text
 *  or the answer of the case. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { writeFrame } from '../../../../plugins/formats/stream/aws-event-stream.ts'
import { PLAIN_ANSWERS } from '../../../helpers/formats/plain-answers.ts'

export type FormatName = 'openai-chat' | 'openai-responses' | 'anthropic-messages' | 'google-gemini'

const {
  'openai-chat': chat,
  'openai-responses': response,
  'anthropic-messages': message,
} = PLAIN_ANSWERS
const { 'google-gemini': candidates, 'bedrock-converse': converse } = PLAIN_ANSWERS
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
      { type: 'response.output_item.done', output_index: 0, item: response.output[0] },
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
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: message.usage },
      { type: 'message_stop' },
    ],
  ],
  [/:(generateContent|streamGenerateContent)$/, candidates, [candidates]],
  [/converse$/, converse, []],
]

/** The stream of Bedrock, which is not text. */
const CONVERSE_STREAM = Buffer.concat([
  writeFrame('messageStart', { role: 'assistant' }),
  writeFrame('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'ok' } }),
  writeFrame('contentBlockStop', { contentBlockIndex: 0 }),
  writeFrame('messageStop', { stopReason: 'end_turn' }),
  writeFrame('metadata', { usage: { ...converse.usage }, metrics: {} }),
])

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
  if (/converse-stream$/.test(path)) {
    response.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' })
    response.end(CONVERSE_STREAM)
  } else if (Array.isArray(reply)) {
    const done = /chat\/completions$/.test(path) ? 'data: [DONE]\n\n' : ''
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(reply.map(eventText).join('') + done)
  } else {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(reply))
  }
  return { body, headers: request.headers }
}
