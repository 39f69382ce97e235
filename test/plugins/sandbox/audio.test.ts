/** The sandbox on audio routes: valid files of the expected length, transcriptions in every format,
 *  and the sandbox header. */
import t from 'tap'
import type { Json, Stage } from '../../../engine/plugin.ts'
import { formats } from '../../../plugins/formats/index.ts'
import { eventsIn } from '../../../plugins/formats/stream/sse.ts'
import sandbox from '../../../plugins/sandbox/index.ts'
import {
  errorFrom,
  fakeAttempt,
  fakeExchange,
  fakeHost,
  readReply,
} from '../../helpers/gateway/fake-exchange.ts'

const upstreams = { gp: { inside: 'sandbox', options: {} } }
const stage: Stage = sandbox.setup({}, fakeHost({ upstreams }))
const ask = async (path: string, body: Json) => {
  const exchange = fakeExchange({ path: `/v1/audio/${path}`, body })
  const attempt = fakeAttempt(exchange, { upstream: 'gp', name: 'whisper-1' }, { body: 'x' })
  await stage.forward?.(attempt, attempt.next)
  const { status, headers } = attempt.reply
  const { text, bytes } = await readReply(attempt.reply)
  return { status, headers, text, bytes: Buffer.from(bytes) }
}
const input = 'Thirty letters are two seconds'
const file = [{ type: 'audio/mpeg', bytes: 5 }]

t.test('sandbox speech: returns files of two seconds', async t => {
  const wav = await ask('speech', { input, response_format: 'wav' })
  t.match(wav.headers, { 'content-type': 'audio/wav', 'x-tollgate-sandbox': 'true' })
  t.equal(wav.bytes.toString('latin1', 0, 4), 'RIFF')
  t.equal(wav.bytes.readUInt32LE(4), wav.bytes.length - 8)
  t.equal(wav.bytes.readUInt32LE(40) / wav.bytes.readUInt32LE(28), 2)
  const pcm = await ask('speech', { input, response_format: 'pcm' })
  t.ok(pcm.bytes.equals(wav.bytes.subarray(44)))
  const mp3 = await ask('speech', { input })
  t.equal(mp3.headers['content-type'], 'audio/mpeg')
  t.equal(mp3.bytes.length % 96, 0)
  t.equal((mp3.bytes.length / 96) * (576 / 24_000) >= 2, true)
  // ISO/IEC 13818-3: eleven bits of ones, MPEG 2, layer III, in every frame.
  for (let at = 0; at < mp3.bytes.length; at += 96)
    t.equal(mp3.bytes.readUInt16BE(at) & 0xfffe, 0xfff2)
  const long = await ask('speech', { input: 'x'.repeat(4_096), response_format: 'pcm' })
  t.equal(long.bytes.length, 20 * 48_000)
})
t.test('sandbox speech: streams events', async t => {
  const { bytes } = await ask('speech', { input, response_format: 'pcm', stream_format: 'sse' })
  const events = eventsIn(bytes).map(({ data = '' }) => JSON.parse(data))
  const whole = await ask('speech', { input, response_format: 'pcm' })
  const pieces = events.map(({ audio = '' }) => Buffer.from(audio, 'base64'))
  t.ok(Buffer.concat(pieces).equals(whole.bytes))
  t.match(events.at(-1), { type: 'speech.audio.done', usage: { output_tokens: 40 } })
})
t.test('sandbox speech: refuses formats without an encoder', async t => {
  for (const response_format of ['opus', 'aac', 'flac']) {
    const fault = await errorFrom(() => ask('speech', { input, response_format }))
    t.match(fault, { status: 501, code: 'SANDBOX_UNSUPPORTED' })
  }
})
t.test('sandbox transcription: answers in every response format', async t => {
  for (const path of ['transcriptions', 'translations'])
    for (const [response_format, type, body] of [
      [null, 'application/json', /^\{"text":"This is.*5 bytes/],
      ['json', 'application/json', /"usage":/],
      ['text', 'text/plain; charset=utf-8', /^This is the sandbox.*\n$/],
      ['srt', 'text/plain; charset=utf-8', /^1\n00:00:00,000 --> 00:00:01,000\nThis/],
      ['vtt', 'text/vtt; charset=utf-8', /^WEBVTT\n\n00:00.000 --> 00:01.000\nThis/],
      ['verbose_json', 'application/json', /"duration":1.*"segments":/],
      ['diarized_json', 'application/json', /"speaker":"A"/],
    ] as const) {
      const { text, headers } = await ask(path, { file, response_format })
      t.equal(headers['content-type'], type)
      t.match(text, body)
    }
})
t.test('sandbox transcription: streams events and ends like the format', async t => {
  const { bytes } = await ask('transcriptions', { file, stream: true })
  const events = eventsIn(bytes)
  const { stream } = formats.get('openai-transcription') ?? {}
  t.same(
    events.map(event => stream?.isEnd(event)),
    events.map((_, at) => at === events.length - 1),
  )
  const deltas = events.map(({ data = '' }) => JSON.parse(data).delta ?? '')
  t.match(deltas.join(''), /no upstream was called/)
})
