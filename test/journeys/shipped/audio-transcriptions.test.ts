/** Transcription through the official SDK and the shipped routes: forms and text pass unchanged,
 *  and are charged by the upstream's counts, or by an estimate from the answer. */
import t from 'tap'
import { stream, text } from '../../fixtures/upstream/scenarios.ts'
import { readAll } from '../../helpers/sse.ts'
import {
  answers,
  checkCharge,
  errorOf,
  event,
  openai,
  recording,
  sentRequest,
  sound,
  totalCharged,
} from './audio.ts'
import { gateway, key, upstream } from './shipped-gateway.ts'

/** Nanos for a second of whisper-1, and for a text token, an audio token and an output token of
 *  gp-4o-transcribe. */
const SECOND = 720_000
const [TEXT_TOKEN, AUDIO_TOKEN, OUTPUT_TOKEN] = [18_000, 43_200, 72_000] as const
const formOf = async () => {
  const { bytes, type } = await sentRequest()
  return new Response(bytes, { headers: { 'content-type': type } }).formData()
}

t.test(
  'transcription: a form passes with the target’s model name and is charged by tokens',
  async t => {
    const usage = {
      type: 'tokens',
      input_tokens: 110,
      output_tokens: 9,
      total_tokens: 119,
      input_token_details: { text_tokens: 10, audio_tokens: 100 },
    }
    const body = { text: 'Guten Tag.', usage }
    await upstream.script('gp', answers('application/json', JSON.stringify(body)))
    const { data, response } = await openai.audio.transcriptions
      .create({
        file: await recording(),
        model: 'gp-4o-transcribe',
        language: 'de',
        prompt: 'größer\r\n--x',
        temperature: 0.2,
        include: ['logprobs'],
      })
      .withResponse()
    t.same(data, body)
    const { target, bytes } = await sentRequest()
    t.equal(target, '/s/gp/v1/audio/transcriptions')
    t.notOk(bytes.includes('gp-4o'), 'the customer’s model name does not appear')
    const form = await formOf()
    t.match(Object.fromEntries(form), {
      model: 'gpt-4o-transcribe',
      language: 'de',
      prompt: 'größer\r\n--x',
      temperature: '0.2',
      'include[]': 'logprobs',
    })
    const file = form.get('file') as File
    t.match({ name: file.name, type: file.type }, { name: 'größe.mp3', type: 'audio/mpeg' })
    t.same(Buffer.from(await file.bytes()), sound(5_000))
    const cost = 10 * TEXT_TOKEN + 100 * AUDIO_TOKEN + 9 * OUTPUT_TOKEN
    await checkCharge(t, response, cost, { input: 10, audio_input: 100, output: 9 })
    t.equal(response.headers.get('x-tollgate-charge'), String(cost / 1e9))
  },
)

t.test('transcription: a form with the target’s model name passes byte for byte', async t => {
  await upstream.script('gp', answers('application/json', '{"text":"x","usage":{"seconds":3}}'))
  const boundary = '--a'
  const part = (head: string, body: string) =>
    `--${boundary}\r\ncontent-disposition: form-data; ${head}\r\n\r\n${body}\r\n`
  const field = (name: string, value: string) => part(`name="${name}"`, value)
  const before = `${field('model', 'whisper-1')}${field('response_format', 'json')}`
  const granular = field('timestamp_granularities[]', 'word').repeat(2)
  const start = part('name="file"; filename="a.wav"', '').slice(0, -2)
  const end = `\r\n--${boundary}--\r\n`
  const bytes = Buffer.concat([
    Buffer.from(before + granular + start),
    sound(4_000),
    Buffer.from(end),
  ])
  for (const path of ['transcriptions', 'translations']) {
    await upstream.forget()
    const response = await fetch(`${gateway.url}/v1/audio/${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': `multipart/form-data; boundary=${boundary}`,
      },
      body: path === 'translations' ? bytes.toString('latin1').replaceAll(granular, '') : bytes,
    })
    t.match(await response.json(), { text: 'x' })
    const { target, bytes: received } = await sentRequest()
    t.equal(target, `/s/gp/v1/audio/${path}`)
    if (path === 'transcriptions') t.ok(received.equals(bytes), 'byte for byte')
    await checkCharge(t, response, 3 * SECOND, { seconds: 3 })
  }
})

const SRT = '1\n00:00:00,000 --> 00:00:04,100\nHallo.\n\n2\n00:00:04,100 --> 00:00:07,250\nDu.\n\n'
const VTT = 'WEBVTT\n\n00:00.000 --> 00:07.250\nHallo\n\n'
const VERBOSE = {
  task: 'transcribe',
  language: 'german',
  duration: 8.25,
  text: 'Hallo. "duration": 1',
  segments: [{ id: 0, start: 0, end: 7.25, text: 'Hallo', duration: 3 }],
}
t.test('transcription: seconds are the upstream’s, or estimated from the answer', async t => {
  const plain = 'Hallo du, wie geht es dir denn heute?\n'
  const cases = [
    ['json', 'application/json', '{"text":"x","usage":{"type":"duration","seconds":9}}', 9, 0],
    ['verbose_json', 'application/json', JSON.stringify(VERBOSE), 8.25, 0],
    ['srt', 'text/plain; charset=utf-8', SRT, 8, 1],
    ['vtt', 'text/vtt', VTT, 8, 1],
    ['text', 'text/plain; charset=utf-8', plain, Math.ceil(plain.length / 15), 1],
    // Longer than the audio in 5,000 bytes can be.
    ['text', 'text/plain', 'blah '.repeat(1_000), 10, 1],
    ['json', 'application/json', '{"text":"twenty-five letters here."}', 3, 1],
  ] as const
  for (const [form, type, body, seconds, isEstimated] of cases) {
    await upstream.script('gp', answers(type, body))
    const request = { file: await recording(), model: 'whisper-1', response_format: form }
    const response = await openai.audio.transcriptions.create(request).asResponse()
    t.equal(await response.text(), body, form)
    t.equal(response.headers.get('content-type'), type)
    await checkCharge(t, response, seconds * SECOND, { seconds }, isEstimated)
  }
})
t.test('transcription: a reported second is ten tokens for models charged by tokens', async t => {
  await upstream.script(
    'gp',
    answers('application/json', '{"text":"Hi you","usage":{"seconds":2}}'),
  )
  const request = { file: await recording(), model: 'gp-4o-transcribe' }
  const { response } = await openai.audio.transcriptions.create(request).withResponse()
  const usage = { input: 0, audio_input: 20, output: 10 }
  await checkCharge(t, response, 20 * AUDIO_TOKEN + 10 * OUTPUT_TOKEN, usage, 1)
})

const delta = (text: string) => event({ type: 'transcript.text.delta', delta: text } as never)
const DELTAS = delta('Guten ') + delta('Tag, wie geht es?')
t.test('transcription: a stream passes event by event', async t => {
  const usage = { type: 'tokens', input_tokens: 30, output_tokens: 4, total_tokens: 34 }
  const doneEvent = event({ type: 'transcript.text.done', text: 'Guten Tag', usage } as never)
  await upstream.script('gp', [{ do: 'body' }, ...stream(DELTAS + doneEvent, { piece: 11 })])
  const { data, response } = await openai.audio.transcriptions
    .create({ file: await recording(), model: 'gp-4o-transcribe', stream: true })
    .withResponse()
  const types: string[] = []
  for await (const { type } of data) types.push(type)
  t.same(types, ['transcript.text.delta', 'transcript.text.delta', 'transcript.text.done'])
  t.equal((await formOf()).get('stream'), 'true')
  await checkCharge(t, response, 30 * AUDIO_TOKEN + 4 * OUTPUT_TOKEN, {
    audio_input: 30,
    output: 4,
  })
})

t.test('transcription: a broken stream ends in an error and is charged for its text', async t => {
  const head = text(
    'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n',
  )
  const partialEvents = { do: 'send', bytes: DELTAS, chunked: true } as const
  await upstream.script('gp', [
    { do: 'body' },
    head,
    partialEvents,
    { do: 'wait', ms: 100 },
    { do: 'reset' },
  ])
  const { data, response } = await openai.audio.transcriptions
    .create({ file: await recording(), model: 'gp-4o-transcribe', stream: true })
    .withResponse()
  const read = async () => {
    let last = ''
    for await (const { type } of data) last = type
    return last
  }
  t.match(await errorOf(read()), { error: { type: 'server_error' } })
  // 23 letters take two seconds to speak.
  await checkCharge(
    t,
    response,
    20 * AUDIO_TOKEN + 6 * OUTPUT_TOKEN,
    { input: 0, audio_input: 20, output: 6 },
    1,
  )
})
t.test('transcription: a broken plain answer is a free error or a broken connection', async t => {
  const before = await totalCharged()
  const head = (type: string) =>
    text(`HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ncontent-length: 900\r\n\r\n`)
  const scriptReset = (type: string, bytes: string) =>
    upstream.script('gp', [
      ...([{ do: 'body' }, head(type), { do: 'send', bytes }] as const),
      ...([{ do: 'wait', ms: 100 }, { do: 'reset' }] as const),
    ])
  const file = await recording()
  await scriptReset('application/json', '{"text":"Gu')
  t.match(await errorOf(openai.audio.transcriptions.create({ file, model: 'whisper-1' })), {
    status: 502,
  })
  t.equal(await totalCharged(), before)
  await scriptReset('text/plain', SRT)
  const request = { file, model: 'whisper-1', response_format: 'srt' } as const
  const response = await openai.audio.transcriptions.create(request).asResponse()
  const { bytes, broke: failure } = await readAll(response)
  t.ok(failure)
  t.equal(bytes.toString(), SRT)
  await checkCharge(t, response, 8 * SECOND, { seconds: 8 }, 1)
})
t.test(
  'transcription: a client abort during a stream is charged for the delivered text',
  async t => {
    const head = text(
      'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n',
    )
    const partialEvents = { do: 'send', bytes: DELTAS, chunked: true } as const
    await upstream.script('gp', [{ do: 'body' }, head, partialEvents, { do: 'stall' }])
    const { data, response } = await openai.audio.transcriptions
      .create({ file: await recording(), model: 'gp-4o-transcribe', stream: true })
      .withResponse()
    for await (const _ of data) break
    const { connection } = await upstream.until('request')
    await upstream.until('close', each => each.connection === connection)
    await checkCharge(
      t,
      response,
      20 * AUDIO_TOKEN + 6 * OUTPUT_TOKEN,
      { input: 0, audio_input: 20, output: 6 },
      1,
    )
  },
)
