/** Answers in the place of upstreams that nobody has set up yet (`url: 'sandbox:'`), so that a newcomer sees everything
 *  work without a key. A demonstration: marked on every answer, and never asked where a real upstream is named. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Attempt, Bytes, Headers, Host, Json, Plugin } from '../../engine/plugin.ts'
import { boundaryOf, partsIn } from '../formats/multipart.ts'
import { anthropicMessages } from './anthropic-messages.ts'
import { sounded } from './audio.ts'
import { googleEmbeddings, openaiEmbeddings } from './embeddings.ts'
import { googleGemini } from './google-gemini.ts'
import { images } from './images.ts'
import { openaiChat } from './openai-chat.ts'
import { openaiResponses } from './openai-responses.ts'
import { play } from './play.ts'
import type { Still } from './still.ts'
import { type Fields, fieldsIn, type Serial, type Voice } from './voice.ts'

const VOICES: readonly Voice[] = [openaiChat, openaiResponses, anthropicMessages, googleGemini]
const STILLS: readonly Still[] = [openaiEmbeddings, googleEmbeddings, images]
const MARK: Headers = { 'x-tollgate-sandbox': 'true' }
/** ms between two pieces: about as fast as people read. */
const BEAT = 30

export default {
  schema: {
    description: 'Answers for upstreams whose url is `sandbox:`. Stands on every route by itself.',
    type: 'object',
    additionalProperties: false,
    examples: [{}],
  },
  default: {},
  setup(_, { upstreams }) {
    const ours = insideOf(upstreams)
    if (ours.length === 0) return {}
    const inside = new Set(ours)
    return {
      forward: (attempt, next) => (inside.has(attempt.target.upstream) ? answer(attempt) : next()),
    }
  },
} satisfies Plugin<object>

const insideOf = (upstreams: Host['upstreams']): readonly string[] =>
  Object.keys(upstreams).filter(name => upstreams[name]?.inside === 'sandbox')

const answer = async (attempt: Attempt): Promise<void> => {
  const { request, exchange } = attempt
  const [path = '', query = ''] = request.path.split('?', 2)
  if (request.method !== 'POST') return decline(attempt, path)
  const answers = ({ path: known }: { readonly path: RegExp }): boolean => known.test(path)
  const [voice, still] = [VOICES.find(answers), STILLS.find(answers)]
  if (!voice && !still) return sound(attempt, path)
  const body = await bodyOf(attempt)
  const serial: Serial = {
    id: exchange.id.replace(/^req_/, ''),
    at: Math.floor(Date.now() / 1_000),
  }
  if (!voice) return still && show(attempt, still, body, path, serial)
  const ask = voice.ask(body, path)
  const answered = play(ask)
  if (!ask.stream) {
    attempt.answer(200, voice.plain(answered, serial), MARK)
    return
  }
  const beats = voice.stream(answered, serial, body, query)
  const type = voice.type?.(query) ?? 'text/event-stream'
  const headers = { ...MARK, 'content-type': type, 'cache-control': 'no-cache' }
  attempt.answer(200, paced(beats, exchange.signal), headers)
}

const sound = async (attempt: Attempt, path: string): Promise<void> => {
  const { exchange, target } = attempt
  const asked = exchange.request.parsed ?? (await exchange.request.json())
  const answered = sounded(path, fieldsIn(asked), target.name ?? '')
  if (!answered) return decline(attempt, path)
  const { type, body, beats } = answered
  const headers = { ...MARK, 'content-type': type }
  attempt.answer(200, beats ? paced(beats, exchange.signal) : body, headers)
}
const show = (attempt: Attempt, still: Still, body: Fields, path: string, serial: Serial): void => {
  if (still.stream && isTrue(body.stream)) {
    const beats = still.stream(body, path, serial)
    const headers = { ...MARK, 'content-type': 'text/event-stream', 'cache-control': 'no-cache' }
    return void attempt.answer(200, paced(beats, attempt.exchange.signal), headers)
  }
  const answered = still.plain(body, path, serial)
  if (answered !== undefined) return void attempt.answer(200, answered, MARK)
  const message = 'That is more than the sandbox makes; only a real upstream does.'
  const error: Fields = { message, type: 'invalid_request_error', param: null, code: null }
  attempt.answer(400, { error }, MARK)
}
/** A form says it in words. */
const isTrue = (value: Json | undefined): boolean => value === true || value === 'true'

const decline = (attempt: Attempt, path: string): void => {
  const message = `The sandbox does not answer ${attempt.request.method} ${path}; only a real upstream does.`
  const error: Fields = {
    message,
    type: 'invalid_request_error',
    param: null,
    code: 'api_not_implemented',
  }
  attempt.answer(501, { error }, MARK)
}

/** Of a form its fields; of its files nothing is looked at. */
const bodyOf = async ({ request, exchange }: Attempt): Promise<Fields> => {
  const { body, headers } = request
  const bytes = Buffer.from(body instanceof Uint8Array ? body : await exchange.request.bytes())
  const boundary = boundaryOf(String(headers['content-type'] ?? ''))
  if (boundary === undefined) return fieldsIn(JSON.parse(bytes.toString()))
  const parts = partsIn(bytes, boundary)?.filter(({ file }) => !file) ?? []
  return Object.fromEntries(
    parts.map(({ name, start, end }) => [name, bytes.subarray(start, end).toString()]),
  )
}

async function* paced(beats: readonly Bytes[], signal: AbortSignal): AsyncGenerator<Bytes> {
  for (const beat of beats) {
    yield beat
    await pause(BEAT, undefined, { signal })
  }
}
