/** Data of media that is not base64 is refused before it is sent; base64 of any client passes. */
import type { Body, RequestCase } from './request-case.ts'

const BROKEN = {
  symbols: 'iVBOR*w0KG!!',
  'a cut text': 'iVBORw0KG',
  nothing: '',
  words: 'not an image',
}
const ACCEPTED = {
  padded: 'aGVsbG8=',
  'without padding': 'aGVsbG8',
  'in lines': 'aGVs\nbG8=\n',
  'in the URL alphabet': '-_-_',
}

/** Requests with data at each place that takes some. */
type Place = readonly [RequestCase['client'], at: RegExp, request: (data: string) => object]
const chatPart = (part: object) => ({ messages: [{ role: 'user', content: [part] }] })
const inputPart = (part: object) => ({ input: [{ role: 'user', content: [part] }] })
const block = (part: object) => ({ max_tokens: 9, messages: [{ role: 'user', content: [part] }] })
const geminiPart = (part: object) => ({ contents: [{ role: 'user', parts: [part] }] })
const source = (data: string, media_type: string) => ({ type: 'base64', media_type, data })
const PLACES: Readonly<Record<string, Place>> = {
  'image_url of chat': [
    'openai-chat',
    /messages\[0\].content\[0\]/,
    data => chatPart({ type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } }),
  ],
  'file_data of chat': [
    'openai-chat',
    /messages\[0\].content\[0\]/,
    data =>
      chatPart({
        type: 'file',
        file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${data}` },
      }),
  ],
  'input_audio of chat': [
    'openai-chat',
    /messages\[0\].content\[0\]/,
    data => chatPart({ type: 'input_audio', input_audio: { data, format: 'wav' } }),
  ],
  'input_image of Responses': [
    'openai-responses',
    /input\[0\].content\[0\]/,
    data => inputPart({ type: 'input_image', image_url: `data:image/png;base64,${data}` }),
  ],
  'file_data of Responses': [
    'openai-responses',
    /input\[0\].content\[0\]/,
    data =>
      inputPart({
        type: 'input_file',
        filename: 'a.pdf',
        file_data: `data:application/pdf;base64,${data}`,
      }),
  ],
  'an image of Messages': [
    'anthropic-messages',
    /messages\[0\].content\[0\]/,
    data => block({ type: 'image', source: source(data, 'image/png') }),
  ],
  'a document of Messages': [
    'anthropic-messages',
    /messages\[0\].content\[0\]/,
    data => block({ type: 'document', source: source(data, 'application/pdf') }),
  ],
  'inlineData of Gemini': [
    'google-gemini',
    /contents\[0\]/,
    data => geminiPart({ inlineData: { mimeType: 'image/png', data } }),
  ],
}
/** A model of another format that takes sound. */
const targetOf = (client: string) => (client === 'google-gemini' ? 'chat' : 'gx25')
const messageIn = (out: Body): string => String(out.error?.message)

const refused = Object.entries(PLACES).flatMap(([place, [client, at, request]]) =>
  Object.entries(BROKEN).map(
    ([kind, data]): RequestCase => ({
      name: `${place}: ${kind} in place of base64 is a 400 that names the place`,
      client,
      model: targetOf(client),
      request: request(data),
      check: ({ status, up, out }) =>
        status === 400 && up === undefined && (data === '' || at.test(messageIn(out))),
    }),
  ),
)
const accepted = Object.entries(PLACES).flatMap(([place, [client, , request]]) =>
  Object.entries(ACCEPTED).map(
    ([kind, data]): RequestCase => ({
      name: `${place}: base64 ${kind} passes`,
      client,
      model: targetOf(client),
      request: request(data),
      check: ({ status, up }) => status === 200 && up !== undefined,
    }),
  ),
)
export const cases: readonly RequestCase[] = [
  ...refused,
  ...accepted,
  {
    name: 'a data URL without data is a 400, also for targets that take URLs',
    client: 'openai-chat',
    model: 'claude-sonnet-4-5',
    request: chatPart({ type: 'image_url', image_url: { url: 'data:image/png;base64' } }),
    check: ({ status, up, out }) =>
      status === 400 && up === undefined && /base64/.test(messageIn(out)),
  },
  {
    name: 'a request that passes in its own format is judged by its provider',
    client: 'openai-chat',
    model: 'chat',
    request: chatPart({ type: 'image_url', image_url: { url: 'data:image/png;base64,!!' } }),
    check: ({ status, upText }) => status === 200 && upText.includes('base64,!!'),
  },
]
