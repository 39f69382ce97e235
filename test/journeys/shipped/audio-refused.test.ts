/** Invalid requests on audio routes, and models on routes that do not serve them: refused with the
 *  field's name in OpenAI's dialect, without an upstream call or a charge. */
import t, { type Test } from 'tap'
import { sound, totalCharged } from './audio.ts'
import { gateway, key, sentCalls } from './shipped-gateway.ts'

interface Refusal {
  readonly status: number
  readonly code: unknown
  readonly param: unknown
  readonly message: string
}
const post = async (
  path: string,
  body: string | Buffer | FormData,
  type?: string,
): Promise<Refusal> => {
  const headers = { authorization: `Bearer ${key}`, ...(type && { 'content-type': type }) }
  const response = await fetch(`${gateway.url}${path}`, { method: 'POST', headers, body })
  const { error } = (await response.json()) as { readonly error: Refusal }
  return { ...error, status: response.status }
}
const JSON_TYPE = 'application/json'
const asJson = (path: string, body: unknown) => post(path, JSON.stringify(body), JSON_TYPE)
const speech = { model: 'tts-1', input: 'Hi', voice: 'alloy' }
const requestSpeech = (more: object) => asJson('/v1/audio/speech', { ...speech, ...more })
const checkNoUpstreamCall = async (t: Test, ask: () => Promise<void>): Promise<void> => {
  const before = await totalCharged()
  await ask()
  t.same(await sentCalls(), [], 'no upstream request')
  t.equal(await totalCharged(), before, 'nothing charged')
}
const missing = 'missing_required_parameter'

t.test('audio speech: names invalid fields', t =>
  checkNoUpstreamCall(t, async () => {
    for (const [more, param, code, message] of [
      [{ model: undefined }, 'model', missing, /'model'/],
      [{ input: undefined }, 'input', missing, /'input'/],
      [{ voice: undefined }, 'voice', missing, /'voice'/],
      [{ input: '' }, 'input', 'invalid_value', /'input'/],
      [{ input: '😀'.repeat(4_097) }, 'input', 'invalid_value', /at most 4096 characters/],
      [{ input: ['Hi'] }, 'input', 'invalid_type', /expected a string/],
      [{ model: 7 }, 'model', 'invalid_type', /expected a string/],
      [{ voice: 7 }, 'voice', 'invalid_type', /'voice'/],
      [{ voice: {} }, 'voice.id', missing, /'voice.id'/],
      [{ voice: '' }, 'voice', 'invalid_value', /'voice'/],
      [{ response_format: 'ogg' }, 'response_format', 'invalid_value', /'mp3', 'opus'/],
      [{ stream_format: 'json' }, 'stream_format', 'invalid_value', /'sse'/],
      [{ speed: 4.1 }, 'speed', 'invalid_value', /'speed'/],
      [{ speed: 0.2 }, 'speed', 'invalid_value', /'speed'/],
      [{ speed: 'fast' }, 'speed', 'invalid_type', /'speed'/],
      [{ instructions: 'x'.repeat(4_097) }, 'instructions', 'invalid_value', /4096/],
    ] as const) {
      const refusal = await requestSpeech(more)
      t.match(refusal, { status: 400, param, code, message }, JSON.stringify(more).slice(0, 60))
    }
  }),
)
t.test('audio speech: refuses invalid bodies', t =>
  checkNoUpstreamCall(t, async () => {
    const path = '/v1/audio/speech'
    const text = JSON.stringify(speech)
    t.match(await post(path, text, 'text/plain'), { status: 415, code: 'unsupported_media_type' })
    const form = new FormData()
    for (const [name, value] of Object.entries(speech)) form.append(name, value)
    t.match(await post(path, form), { status: 415, message: /accepts application\/json/ })
    t.match(await post(path, '{"model":', JSON_TYPE), { status: 400, code: null })
    t.match(await post(path, '[]', JSON_TYPE), { status: 400, code: 'invalid_type' })
    t.match(await post(path, '[['.repeat(5_000), JSON_TYPE), { status: 400 })
  }),
)

const field = (name: string, value: string) =>
  `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
const fileOf = (content: string, name = 'file') =>
  `--b\r\ncontent-disposition: form-data; name="${name}"; filename="a.mp3"\r\n\r\n${content}\r\n`
const END = '--b--\r\n'
const model = field('model', 'whisper-1')
const file = fileOf('sound')
const FORM = 'multipart/form-data; boundary=b'
const PATHS = ['/v1/audio/transcriptions', '/v1/audio/translations'] as const

t.test('audio transcription: names invalid fields', t =>
  checkNoUpstreamCall(t, async () => {
    for (const [body, param, code] of [
      [file, 'model', missing],
      [model, 'file', missing],
      [model + fileOf(''), 'file', 'invalid_value'],
      [model + file + file, 'file', 'invalid_value'],
      [model + field('file', 'sound'), 'file', null],
      [fileOf('whisper-1', 'model') + file, 'model', null],
      [model + file + field('language', 'de') + field('language', 'en'), 'language', null],
      [model + file + field('language', 'german!'), 'language', 'invalid_value'],
      [model + file + field('response_format', 'xml'), 'response_format', 'invalid_value'],
      [model + file + field('temperature', 'hot'), 'temperature', 'invalid_type'],
      [model + file + field('temperature', '1.5'), 'temperature', 'invalid_value'],
      [model + file + field('prompt', 'x'.repeat(262_145)), 'prompt', null],
    ] as const)
      for (const path of PATHS)
        t.match(
          await post(path, body + END, FORM),
          { status: 400, param, code },
          `${path} ${param}`,
        )
    for (const [body, param, code] of [
      [field('stream', 'yes'), 'stream', 'invalid_type'],
      [field('timestamp_granularities[]', 'letter'), 'timestamp_granularities[0]', 'invalid_value'],
    ] as const)
      t.match(await post(PATHS[0], model + file + body + END, FORM), { status: 400, param, code })
  }),
)
t.test('audio transcription: refuses invalid forms', t =>
  checkNoUpstreamCall(t, async () => {
    for (const path of PATHS) {
      const json = await asJson(path, { model: 'whisper-1', file: [{ bytes: 1 }] })
      t.match(json, { status: 415, message: /accepts multipart\/form-data/ })
      t.match(await post(path, Buffer.from(model + file + END)), { status: 415 }, 'no type at all')
      t.match(await post(path, model + file, FORM), {
        status: 400,
        message: /not a valid multipart form/,
      })
      t.match(await post(path, model + file + END, 'multipart/form-data'), { status: 400 })
    }
  }),
)
t.test('audio transcription: refuses a file above the body limit', t =>
  checkNoUpstreamCall(t, async () => {
    const large = Buffer.concat([Buffer.from(model), sound(4_096), Buffer.alloc(33 * 2 ** 20)])
    const refusal = await post(PATHS[0], large, FORM)
    t.match(refusal, { status: 413, code: 'request_too_large' })
  }),
)

const messages = [{ role: 'user', content: 'hi' }]
const contents = [{ parts: [{ text: 'hi' }] }]
t.test('audio routes: refuse models that they do not serve', t =>
  checkNoUpstreamCall(t, async () => {
    const transcribe = (name: string) => post(PATHS[0], field('model', name) + file + END, FORM)
    const elsewhere = /only supported in v1\/audio\/(?:speech|transcriptions)/
    for (const [what, refusal, message] of [
      [
        'a chat model',
        requestSpeech({ model: 'gp-4.1' }),
        /'gp-4.1' is not available on this endpoint/,
      ],
      ['a model of another provider', requestSpeech({ model: 'cl-sonnet-4-5' }), /not available/],
      ['an image model', requestSpeech({ model: 'gp-4o-image' }), /not available/],
      ['a transcription model', requestSpeech({ model: 'whisper-1' }), elsewhere],
      ['an unknown model', requestSpeech({ model: 'nope' }), /does not exist/],
      ['a chat model', transcribe('gp-4.1'), /not available/],
      ['a speech model', transcribe('tts-1'), elsewhere],
      ['an unknown model', transcribe('nope'), /does not exist/],
      [
        'a speech model on chat',
        asJson('/v1/chat/completions', { model: 'tts-1', messages }),
        elsewhere,
      ],
      [
        'a speech model on responses',
        asJson('/v1/responses', { model: 'tts-1', input: 'x' }),
        elsewhere,
      ],
      [
        'a speech model on embeddings',
        asJson('/v1/embeddings', { model: 'tts-1', input: 'x' }),
        elsewhere,
      ],
      [
        'a transcription model on chat',
        asJson('/v1/chat/completions', { model: 'whisper-1', messages }),
        elsewhere,
      ],
      [
        'a speech model on images',
        asJson('/v1/images/generations', { model: 'tts-1', prompt: 'x' }),
        elsewhere,
      ],
      [
        'a speech model on Google’s endpoint',
        asJson('/v1beta/models/tts-1:generateContent', { contents }),
        elsewhere,
      ],
    ] as const)
      t.match(await refusal, { status: 404, message }, what)
  }),
)
t.test('model list: shows the audio endpoints of each model', async t => {
  const headers = { authorization: `Bearer ${key}` }
  const response = await fetch(`${gateway.url}/v1/models`, { headers })
  const { data } = (await response.json()) as { data: { id: string }[] }
  for (const [id, endpoint] of [
    ['tts-1', 'audio-speech'],
    ['gp-4o-mini-tts', 'audio-speech'],
    ['whisper-1', 'audio-transcription'],
    ['gp-4o-transcribe', 'audio-transcription'],
  ] as const)
    t.match(
      data.find(each => each.id === id),
      { supported_endpoint_types: [endpoint] },
    )
})
