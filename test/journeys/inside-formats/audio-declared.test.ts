/** Audio models of a custom upstream are configured, not programmed: the entries from
 *  docs/formats.md, and an upstream for audio only. */
import { fileURLToPath } from 'node:url'
import OpenAI, { toFile } from 'openai'
import t from 'tap'
import { pageOf } from '../../docs/blocks.ts'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { startHttpUpstream } from '../../helpers/gateway/test-server.ts'

const requests: { readonly path: string; readonly body: Buffer }[] = []
const url = await startHttpUpstream(t, async (request, response) => {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  requests.push({ path: request.url ?? '', body: Buffer.concat(parts) })
  const speech = request.url === '/v1/audio/speech'
  response.writeHead(200, { 'content-type': speech ? 'audio/opus' : 'application/json' })
  response.end(speech ? Buffer.from([0, 255, 128]) : '{"text":"x"}')
})
const entries = pageOf('docs/formats.md').match(/^ {2}my-(?:voice|ears): .*$/gm) ?? []
const schema = (name: string) =>
  fileURLToPath(new URL(`../../../schemas/audio-${name}.json`, import.meta.url))
const gateway = await startGateway({
  inside: true,
  routes: `
pipeline: [errors, form, validate, model, translate]
upstreams:
  gp: { url: '${url}', key: k, formats: [openai-chat] }
  ears: { url: '${url}', key: k, formats: [openai-transcription] }
  anything: { url: '${url}', key: k }
models:
${entries.join('\n')}
  whisper: { to: ears/large-v3, free: true }
  local: { to: anything, free: true }
  words: { to: gp/words, free: true }
routes:
  - { path: POST /v1/chat/completions, model: body, translate: openai-chat, errors: openai }
  - { path: POST /v1/audio/speech, name: speech, validate: '${schema('speech')}', model: body, translate: openai-speech, errors: openai }
  - path: POST /v1/audio/transcriptions
    name: transcriptions
    form: { files: [file], only: true }
    validate: '${schema('transcriptions')}'
    model: body
    translate: openai-transcription
    errors: openai
`,
})
t.teardown(() => gateway.stop())
t.beforeEach(() => {
  requests.length = 0
})
const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'k', maxRetries: 0 })
const requestSpeech = async (model: string) => {
  const response = await openai.audio.speech.create({ model, voice: 'a', input: 'Hi' })
  return Buffer.from(await response.arrayBuffer())
}
const requestTranscription = async (model: string) =>
  openai.audio.transcriptions.create({ model, file: await toFile(Buffer.from('sound'), 'a.wav') })

t.test('audio models: the entries of docs/formats.md work', async t => {
  t.equal(entries.length, 2)
  t.same(await requestSpeech('my-voice'), Buffer.from([0, 255, 128]))
  t.same(await requestTranscription('my-ears'), { text: 'x' })
  t.same(
    requests.map(({ path }) => path),
    ['/v1/audio/speech', '/v1/audio/transcriptions'],
  )
})
t.test('audio models: work on upstreams with and without a list of formats', async t => {
  await requestTranscription('whisper')
  t.match(requests[0]?.body.toString(), /name="model"\r\n\r\nlarge-v3\r\n/)
  await requestTranscription('local')
  await requestSpeech('local')
  t.match(requests[2]?.body.toString(), '"model":"local"')
})
t.test('audio models: are rejected on endpoints that they are not configured for', async t => {
  const messages = [{ role: 'user', content: 'hi' }] as const
  for (const [what, ask] of [
    ['a chat model on the speech endpoint', () => requestSpeech('words')],
    ['a transcription model on the speech endpoint', () => requestSpeech('whisper')],
    ['a chat model on the transcription endpoint', () => requestTranscription('words')],
    [
      'a transcription model on the chat endpoint',
      () => openai.chat.completions.create({ model: 'whisper', messages: [...messages] }),
    ],
  ] as readonly (readonly [string, () => Promise<unknown>])[])
    await t.rejects(ask(), { message: /404.*not available on this endpoint/ }, what)
  t.same(requests, [])
})
