/** The official SDK reads the gateway's Gemini encoding: every recording, decoded and encoded
 *  again, over a real socket. */
import { GoogleGenAI } from '@google/genai'
import t from 'tap'
import type { Json } from '../../../../engine/plugin.ts'
import { partsOf as unrolled } from '../../../../plugins/formats/hub/answer-parts.ts'
import type { Content } from '../../../../plugins/formats/hub/content.ts'
import { codecOf, contextWith, decodeParts, encodeStream } from '../../../helpers/formats/codec.ts'
import { recordings } from '../../../helpers/formats/recordings.ts'
import { startHttpUpstream } from '../../../helpers/gateway/test-server.ts'
import { finishOf, type Gemini, readDirectly } from './reader.ts'

const NAME = 'google-gemini'
const codec = codecOf(NAME)
const recorded = (recordings() ?? []).filter(
  ({ format, status }) => format.startsWith('gemini') && status === 200,
)
const skip = recorded.length === 0 && 'RECORDINGS is not set'

/** The answer to the next request. */
let body = ''
let status = 200
const baseUrl = await startHttpUpstream(t, (request, response) => {
  request.resume().on('end', () => {
    const type = request.url?.includes('alt=sse') ? 'text/event-stream' : 'application/json'
    response.writeHead(status, { 'content-type': type }).end(body)
  })
})
const sdk = new GoogleGenAI({
  apiKey: 'x',
  httpOptions: { baseUrl, retryOptions: { attempts: 1 } },
})
const REQUEST = { model: 'asked', contents: 'hi' }
const toJson = (value: unknown): Gemini => JSON.parse(JSON.stringify(value)) as Gemini
const chunksBy = async (bytes: string): Promise<readonly Gemini[]> => {
  body = bytes
  const chunks: Gemini[] = []
  for await (const chunk of await sdk.models.generateContentStream(REQUEST))
    chunks.push(toJson(chunk))
  return chunks
}
const path = '/v1beta/models/asked:streamGenerateContent?alt=sse'

t.test('official Google SDK: reads whole answers', { skip }, async t => {
  for (const { id, response_body: text } of recorded.filter(({ stream }) => !stream)) {
    const source = JSON.parse(text) as Json
    body = JSON.stringify(codec.encodeAnswer(codec.decodeAnswer(source as never), contextWith()))
    const read = toJson(await sdk.models.generateContent(REQUEST))
    t.same(readDirectly([read]), readDirectly([toJson(source)]), id)
    t.equal(finishOf([read]), finishOf([toJson(source)]), id)
    const parts = unrolled(codec.decodeAnswer(source as never))
    const chunks = await chunksBy(encodeStream(NAME, parts, { path }))
    t.same(readDirectly(chunks), readDirectly([toJson(source)]), `${id} as a stream`)
  }
})
t.test('official Google SDK: reads streams', { skip }, async t => {
  for (const { id, response_body: text } of recorded.filter(({ stream }) => stream)) {
    const source = text
      .split(/\r?\n/)
      .filter(line => line.startsWith('data:'))
      .map(line => JSON.parse(line.slice(5)) as Gemini)
    const chunks = await chunksBy(encodeStream(NAME, decodeParts(NAME, text).parts, { path }))
    t.same(readDirectly(chunks), readDirectly(source), id)
    t.equal(finishOf(chunks), finishOf(source), id)
  }
})
t.test('official Google SDK: sends a streamed conversation back', async t => {
  const payload = { origin: 'anthropic-messages', data: 'secret' }
  const content: readonly Content[] = [
    { type: 'thought', text: 'hm', payload },
    { type: 'text', text: 'hello' },
    { type: 'call', id: 'toolu_1', name: 'f', input: '{"a":1}' },
  ]
  const choices = [{ content, stop: { reason: 'call' as const } }]
  body = encodeStream(NAME, unrolled({ choices }), { path })
  const chat = sdk.chats.create({ model: 'asked' })
  for await (const _ of await chat.sendMessageStream({ message: 'hi' })) {
    // Reads to the end.
  }
  const contents = toJson(chat.getHistory(true)) as never as Json
  const { turns } = codec.decodePrompt({ contents }, '/', { add: field => t.fail(field) })
  t.match(turns[0], { role: 'user' })
  t.match(turns[1], { role: 'assistant', content }, 'payloads and ids come back too')
})
t.test('official Google SDK: throws on a truncated stream', async t => {
  const encoder = codec.encodeStream(contextWith({ path }))
  const [begin, open, grow] = unrolled({
    choices: [{ content: [{ type: 'text', text: 'a' }], stop: { reason: 'end' } }],
  })
  const text = [begin, open, grow].map(part => part && encoder.push(part)).join('')
  const error = { code: 502, message: 'it broke', status: 'UNAVAILABLE' }
  await t.rejects(chunksBy(text + encoder.failure({ error })), {
    name: 'ApiError',
    message: /it broke/,
  })
  status = 429
  await t.rejects(chunksBy(JSON.stringify({ error: { ...error, code: 429 } })), {
    name: 'ApiError',
    message: /it broke/,
  })
  status = 200
})
