/** Streams of every format that wait in the middle of their text, and the routes that serve
 *  them. */
import { text } from '../../fixtures/upstream/scenarios.ts'
import type { Step } from '../../fixtures/upstream/script.ts'
import type { Tree } from '../gateway-tree.ts'

const events = (...all: readonly object[]): string =>
  all
    .map(each => {
      const { type } = each as { readonly type?: string }
      return `${type === undefined ? '' : `event: ${type}\n`}data: ${JSON.stringify(each)}\n\n`
    })
    .join('')
const chatChunk = (choice: object, more: object = {}): object => ({
  id: 'c1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, finish_reason: null, ...choice }],
  ...more,
})
const response = (status: string): object => ({
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  model: 'm',
  status,
  output: [],
})
interface StreamCase {
  readonly path: string
  readonly format: string
  readonly body: object
  /** The texts that the upstream sends before and after the store goes away. */
  readonly begin: string
  readonly end: string
  /** The last bytes for the client. */
  readonly terminal: RegExp
}
const messages = [{ role: 'user', content: 'hello' }]
export const CASES: Readonly<Record<string, StreamCase>> = {
  chat: {
    path: '/v1/chat/completions',
    format: 'openai-chat',
    body: { messages, stream: true, stream_options: { include_usage: true } },
    begin: events(chatChunk({ delta: { role: 'assistant', content: 'one' } })),
    end: `${events(
      chatChunk({ delta: { content: ' two' } }),
      chatChunk({ delta: {}, finish_reason: 'stop' }),
      { ...chatChunk({}), choices: [], usage: { prompt_tokens: 7, completion_tokens: 5 } },
    )}data: [DONE]\n\n`,
    terminal: /data: \[DONE\]\n\n$/,
  },
  messages: {
    path: '/v1/messages',
    format: 'anthropic-messages',
    body: { messages, max_tokens: 50, stream: true },
    begin: events(
      {
        type: 'message_start',
        message: {
          id: 'm1',
          type: 'message',
          role: 'assistant',
          model: 'm',
          content: [],
          stop_reason: null,
          usage: { input_tokens: 7, output_tokens: 1 },
        },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'one' } },
    ),
    end: events(
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 5 } },
      { type: 'message_stop' },
    ),
    terminal: /event: message_stop\ndata: .*\n\n$/,
  },
  responses: {
    path: '/v1/responses',
    format: 'openai-responses',
    body: { input: 'hello', stream: true },
    begin: events(
      { type: 'response.created', response: response('in_progress'), sequence_number: 0 },
      {
        type: 'response.output_text.delta',
        item_id: 'i',
        output_index: 0,
        content_index: 0,
        delta: 'one',
        sequence_number: 1,
      },
    ),
    end: events({
      type: 'response.completed',
      response: {
        ...response('completed'),
        usage: { input_tokens: 7, output_tokens: 5, total_tokens: 12 },
      },
      sequence_number: 2,
    }),
    terminal: /event: response\.completed\ndata: .*\n\n$/,
  },
  gemini: {
    path: '/v1beta/models/gemini:streamGenerateContent?alt=sse',
    format: 'google-gemini',
    body: { contents: [{ role: 'user', parts: [{ text: 'hello' }] }] },
    begin: events({
      candidates: [{ index: 0, content: { role: 'model', parts: [{ text: 'one' }] } }],
    }),
    end: events({
      candidates: [
        { index: 0, content: { role: 'model', parts: [{ text: ' two' }] }, finishReason: 'STOP' },
      ],
      usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 5, totalTokenCount: 12 },
    }),
    terminal: /"finishReason": ?"STOP".*\n\n$/,
  },
}
/** 7 tokens of 0.001 in, 5 of 0.002 out, in nanos. */
export const COST = 7 * 1_000_000 + 5 * 2_000_000

export const scriptOf = ({ begin, end }: StreamCase): readonly Step[] => [
  { do: 'body' },
  text('HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n'),
  { do: 'send', bytes: begin, inChunks: true },
  { do: 'gate', name: 'end' },
  { do: 'send', bytes: end, inChunks: true },
  text('0\r\n\r\n'),
]
export const routesTo = (url: string): string => `
pipeline: [errors, auth, model, idempotency, responses, meter, translate]
upstreams:
${Object.entries(CASES)
  .map(([name, { format }]) => `  ${name}: { url: '${url}/s/${name}', formats: [${format}] }`)
  .join('\n')}
models:
${Object.keys(CASES)
  .map(name => `  ${name}: { to: ${name}/m, price: { input: 0.001, output: 0.002 } }`)
  .join('\n')}
routes:
${Object.entries(CASES)
  .map(
    ([name, { path, format }]) =>
      `  - { path: 'POST ${path.replace('gemini:', '{model}:').replace(/\?.*/, '')}', name: ${name}, errors: ${format.split('-')[0]}, model: ${name === 'gemini' ? '{ path: model }' : 'body'}, idempotency: true, translate: ${format}${name === 'responses' ? ', responses: create' : ''} }`,
  )
  .join('\n')}
`

export const headersOf = (key: string) => ({
  authorization: `Bearer ${key}`,
  'content-type': 'application/json',
  'idempotency-key': 'once',
})
export const startStreams = async (tree: Tree, key: string) =>
  Promise.all(
    Object.entries(CASES).map(async ([name, { path, body }]) => {
      const reply = await fetch(tree.url() + path, {
        method: 'POST',
        body: JSON.stringify({ model: name, ...body }),
        headers: headersOf(key),
      })
      const reader = (reply.body as ReadableStream<Uint8Array>).getReader()
      const first = await reader.read()
      const decoder = new TextDecoder()
      let received = decoder.decode(first.value, { stream: true })
      const end = (async () => {
        for (;;) {
          const { done, value } = await reader.read()
          if (done) return received
          received += decoder.decode(value, { stream: true })
        }
      })()
      return { name, end }
    }),
  )
