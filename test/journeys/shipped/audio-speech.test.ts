/** Speech through the official SDK and the shipped routes: audio passes byte for byte, is charged
 *  exactly, and never looks complete when it is not. */
import t from 'tap'
import { stream, text } from '../../fixtures/upstream/scenarios.ts'
import { readAll } from '../../helpers/gateway/event-stream.ts'
import {
  answers,
  checkCharge,
  errorOf,
  event,
  openai,
  sentRequest,
  sound,
  totalCharged,
} from './audio.ts'
import { gateway, key, postWithKey, upstream } from './shipped-gateway.ts'

/** Nanos per letter: 15 USD per million letters, at 7.2. */
const LETTER = 108_000
const INPUT = 'Größe, 你好 😀!'
const LETTERS = 12
const ask = { model: 'tts-1', voice: 'alloy', input: INPUT } as const

t.test('speech: passes byte for byte and is charged by characters', async t => {
  const mp3 = sound(50_000)
  await upstream.script('gp', answers('audio/mpeg', mp3))
  const response = await openai.audio.speech.create({ ...ask, response_format: 'mp3', speed: 1.5 })
  t.equal(response.headers.get('content-type'), 'audio/mpeg')
  t.same(Buffer.from(await response.arrayBuffer()), mp3)
  const { bytes, target, head } = await sentRequest()
  t.equal(target, '/s/gp/v1/audio/speech')
  t.same(JSON.parse(bytes.toString()), { ...ask, response_format: 'mp3', speed: 1.5 })
  t.match(head, /authorization: Bearer operators-openai-key/i)
  t.notMatch(head, key)
  await checkCharge(t, response, LETTERS * LETTER, { characters: LETTERS })
})

t.test('speech: another model has its own price and target name', async t => {
  await upstream.script('gp', answers('audio/wav', sound(100)))
  const hd = await openai.audio.speech.create({ ...ask, model: 'tts-1-hd' })
  t.equal((await hd.arrayBuffer()).byteLength, 100)
  await checkCharge(t, hd, 2 * LETTERS * LETTER, { characters: LETTERS })
  await upstream.forget()
  const voice = { id: 'voice_1' }
  const mini = await openai.audio.speech.create({ ...ask, model: 'gp-4o-mini-tts', voice })
  await mini.arrayBuffer()
  const { bytes } = await sentRequest()
  t.equal(bytes.toString(), JSON.stringify({ ...ask, model: 'gpt-4o-mini-tts', voice }))
  await checkCharge(t, mini, LETTERS * LETTER, { characters: LETTERS })
})

const DELTA = event({ type: 'speech.audio.delta', audio: sound(3_000).toString('base64') } as never)
const doneEvent = (usage?: object) => event({ type: 'speech.audio.done', usage } as never)
t.test('speech events: are charged by the tokens of the last event', async t => {
  const events =
    DELTA + DELTA + doneEvent({ input_tokens: 7, output_tokens: 120, total_tokens: 127 })
  await upstream.script('gp', [{ do: 'body' }, ...stream(events, { piece: 777 })])
  const request = { ...ask, model: 'gp-4o-mini-tts', stream_format: 'sse' } as const
  const response = await openai.audio.speech.create(request)
  t.equal(await response.text(), events)
  await checkCharge(t, response, 7 * 4_320 + 120 * 86_400, { input: 7, audio_output: 120 })

  await upstream.script('gp', [{ do: 'body' }, ...stream(DELTA + doneEvent(), { piece: 777 })])
  const withoutUsage = await openai.audio.speech.create(request)
  t.equal(await withoutUsage.text(), DELTA + doneEvent())
  await checkCharge(t, withoutUsage, LETTERS * LETTER, { characters: LETTERS })

  await upstream.script('gp', [{ do: 'body' }, ...stream(events, { piece: 777 })])
  const byLetters = await openai.audio.speech.create({ ...request, model: 'tts-1' })
  await byLetters.text()
  const usage = { input: 7, audio_output: 120, characters: LETTERS }
  await checkCharge(t, byLetters, LETTERS * LETTER, usage)
})

const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: audio/mpeg\r\n'
t.test('speech: a broken upstream never ends cleanly, and the text read is charged', async t => {
  const half = sound(20_000)
  const chunk = { do: 'send', bytes: half, inChunks: true } as const
  for (const [what, ...steps] of [
    ['with a length', text(`${HEAD}content-length: 40000\r\n\r\n`), { do: 'send', bytes: half }],
    ['in chunks', text(`${HEAD}transfer-encoding: chunked\r\n\r\n`), chunk],
  ] as const) {
    await upstream.script('gp', [
      { do: 'body' },
      ...steps,
      { do: 'wait', ms: 100 },
      { do: 'reset' },
    ])
    const response = await openai.audio.speech.create(ask)
    const { bytes, broke: failure } = await readAll(response)
    t.ok(failure, `${what}: the connection breaks`)
    t.same(bytes, half.subarray(0, bytes.length))
    await checkCharge(t, response, LETTERS * LETTER, { characters: LETTERS }, 1)
  }
})
t.test('speech events: a broken upstream ends in an error event without half events', async t => {
  const head =
    'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n'
  const some = { do: 'send', bytes: DELTA + DELTA.slice(0, 50), inChunks: true } as const
  await upstream.script('gp', [
    { do: 'body' },
    text(head),
    some,
    { do: 'wait', ms: 100 },
    { do: 'reset' },
  ])
  const model = 'gp-4o-mini-tts'
  const response = await openai.audio.speech.create({ ...ask, model, stream_format: 'sse' })
  const { bytes } = await readAll(response)
  const output = bytes.toString()
  t.ok(output.startsWith(DELTA))
  t.match(JSON.parse(output.slice(DELTA.length).replace('data: ', '')), {
    error: { type: 'server_error' },
  })
  await checkCharge(t, response, LETTERS * LETTER, { characters: LETTERS }, 1)
})
t.test('speech: a failure before the first byte is an error and free', async t => {
  const before = await totalCharged()
  for (const head of [`${HEAD}content-length: 40000\r\n\r\n`, HEAD]) {
    await upstream.script('gp', [
      { do: 'body' },
      text(head),
      { do: 'wait', ms: 100 },
      { do: 'reset' },
    ])
    const response = await errorOf(openai.audio.speech.create(ask))
    t.match(response, { status: 502, code: 'upstream_error' })
  }
  t.equal(await totalCharged(), before)
})

t.test(
  'speech: a client abort is charged for the text read and ends the upstream call',
  async t => {
    const chunk = { do: 'send', bytes: sound(20_000), inChunks: true } as const
    const head = text(`${HEAD}transfer-encoding: chunked\r\n\r\n`)
    await upstream.script('gp', [{ do: 'body' }, head, chunk, { do: 'stall' }])
    const abort = new AbortController()
    const response = await openai.audio.speech.create(ask, { signal: abort.signal })
    const reader = response.body?.getReader()
    t.ok((await reader?.read())?.value?.length)
    abort.abort()
    const { connection } = await upstream.until('request')
    await upstream.until('close', each => each.connection === connection)
    await checkCharge(t, response, LETTERS * LETTER, { characters: LETTERS }, 1)
  },
)

t.test('speech: a client that does not read pauses its upstream', async t => {
  const piece = sound(65_536)
  const times = 1_024
  const head = text(`${HEAD}transfer-encoding: chunked\r\n\r\n`)
  const pieces = { do: 'send', bytes: piece, inChunks: true, times } as const
  await upstream.script('gp', [{ do: 'body' }, head, pieces, text('0\r\n\r\n')])
  const response = await openai.audio.speech.create(ask)
  let before = -1
  const writtenBytes = async () =>
    (await upstream.look()).reduce((sum, each) => sum + each.bytesWritten, 0)
  for (let now = await writtenBytes(); now !== before; now = await writtenBytes()) {
    before = now
    await new Promise(resolve => setTimeout(resolve, 200))
  }
  t.ok(before < (times * piece.length) / 2, `${before} bytes, then the upstream pauses`)
  let [length, wrong] = [0, 0]
  for await (const part of response.body as unknown as AsyncIterable<Uint8Array>) {
    if (part[0] !== piece[length % piece.length]) wrong++
    length += part.length
  }
  t.same({ length, wrong }, { length: times * piece.length, wrong: 0 })
  await checkCharge(t, response, LETTERS * LETTER, { characters: LETTERS })
})

t.test('speech: an upstream error passes and is free', async t => {
  const error = {
    message: 'no such voice',
    type: 'invalid_request_error',
    param: 'voice',
    code: null,
  }
  await upstream.script(
    'gp',
    answers('application/json', JSON.stringify({ error }), '400 Bad Request'),
  )
  const before = await totalCharged()
  const response = await postWithKey(`/v1/audio/speech`, ask)
  t.equal(response.status, 400)
  t.same(await response.json(), { error })
  t.equal(await totalCharged(), before)
})

t.test('speech: a killed worker charges the text read once', async t => {
  const chunk = { do: 'send', bytes: sound(20_000), inChunks: true } as const
  const head = text(`${HEAD}transfer-encoding: chunked\r\n\r\n`)
  await upstream.script('gp', [{ do: 'body' }, head, chunk, { do: 'stall' }])
  const response = await openai.audio.speech.create(ask)
  const reader = response.body?.getReader()
  t.ok((await reader?.read())?.value?.length)
  const view = await gateway.askAdmin('/-/config')
  const { workers } = (await view.json()) as {
    readonly workers: readonly { readonly pid: number }[]
  }
  for (const { pid } of workers) process.kill(pid, 'SIGKILL')
  const rest = async () => {
    while (!(await reader?.read())?.done);
  }
  t.notMatch(await errorOf(rest()), { accepted: true }, 'the connection breaks')
  await checkCharge(t, response, LETTERS * LETTER, { characters: LETTERS, output: 0 }, 1)
})
