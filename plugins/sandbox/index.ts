/** Plugin `sandbox`: answers for upstreams with `url: 'sandbox:'`, so that a new user can try
 *  the gateway without an API key. Marks every answer with a header, and never answers for a real
 *  upstream. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Attempt, Bytes, Headers, Host, Json, Plugin, Stage } from '../../engine/plugin.ts'
import { boundaryOf, partsIn } from '../formats/multipart.ts'
import { anthropicMessages } from './anthropic-messages.ts'
import { audioAnswer } from './audio.ts'
import { cannedAnswer } from './canned-answer.ts'
import type { CannedResult } from './canned-result.ts'
import { googleEmbeddings, openaiEmbeddings } from './embeddings.ts'
import { answerFile } from './files.ts'
import { googleGemini } from './google-gemini.ts'
import { images } from './images.ts'
import { openaiChat } from './openai-chat.ts'
import { openaiResponses } from './openai-responses.ts'
import { type AnswerId, type Fields, fieldsIn, type SandboxFormat } from './sandbox-format.ts'
import { taskAnswer } from './video-tasks.ts'

const FORMATS: readonly SandboxFormat[] = [
  openaiChat,
  openaiResponses,
  anthropicMessages,
  googleGemini,
]
const RESULTS: readonly CannedResult[] = [openaiEmbeddings, googleEmbeddings, images]
const SANDBOX_HEADER: Headers = { 'x-tollgate-sandbox': 'true' }
/** ms between two chunks of a stream: about reading speed. */
const CHUNK_INTERVAL_MS = 30

/** Path of the route that serves the files of the sandbox. */
const FILES_PATH = '/sandbox'

interface Options {
  readonly file?: string
}

export default {
  schema: {
    description: 'Answers for upstreams whose url is `sandbox:`. Active on every route by default.',
    type: 'object',
    additionalProperties: false,
    properties: {
      file: {
        description:
          'The route serves the files that results of the sandbox refer to: the parameter of its path that names one. Its path is /sandbox/{file}.',
        type: 'string',
        minLength: 1,
        examples: ['file'],
      },
    },
    examples: [{}],
  },
  default: {},
  setup({ file }, host): Stage {
    if (file !== undefined)
      return { answers: true, handle: async exchange => answerFile(exchange, file) }
    const names = sandboxUpstreams(host.upstreams)
    if (names.length === 0) return {}
    const inside = new Set(names)
    return {
      forward: (attempt, next) =>
        inside.has(attempt.target.upstream) ? answer(attempt, host) : next(),
    }
  },
} satisfies Plugin<Options>

const sandboxUpstreams = (upstreams: Host['upstreams']): readonly string[] =>
  Object.keys(upstreams).filter(name => upstreams[name]?.inside === 'sandbox')

const answer = async (attempt: Attempt, host: Pick<Host, 'url'>): Promise<void> => {
  const { request, exchange } = attempt
  const [path = '', query = ''] = request.path.split('?', 2)
  const task = taskAnswer({
    method: request.method,
    path,
    now: Date.now(),
    fileUrl: name => host.url(`${FILES_PATH}/${name}`),
  })
  if (task) return void attempt.answer(task.status, task.json, SANDBOX_HEADER)
  if (request.method !== 'POST') return decline(attempt, path)
  const matchesPath = ({ path: pattern }: { readonly path: RegExp }): boolean => pattern.test(path)
  const [format, result] = [FORMATS.find(matchesPath), RESULTS.find(matchesPath)]
  if (!format && !result) return answerAudio(attempt, path)
  const body = await bodyOf(attempt)
  const serial: AnswerId = {
    id: exchange.id.replace(/^req_/, ''),
    createdAt: Math.floor(Date.now() / 1_000),
  }
  if (!format) return result && answerResult(attempt, result, body, path, serial)
  const sandboxRequest = format.readRequest(body, path)
  const reply = cannedAnswer(sandboxRequest)
  if (!sandboxRequest.stream) {
    attempt.answer(200, format.encodeAnswer(reply, serial), SANDBOX_HEADER)
    return
  }
  const chunks = format.encodeStream(reply, serial, body, query)
  const type = format.streamType?.(query) ?? 'text/event-stream'
  const headers = { ...SANDBOX_HEADER, 'content-type': type, 'cache-control': 'no-cache' }
  attempt.answer(200, sendSlowly(chunks, exchange.signal), headers)
}

const answerAudio = async (attempt: Attempt, path: string): Promise<void> => {
  const { exchange, target } = attempt
  const request = exchange.request.parsed ?? (await exchange.request.json())
  const audio = audioAnswer(path, fieldsIn(request), target.name ?? '')
  if (!audio) return decline(attempt, path)
  const { type, body, chunks } = audio
  const headers = { ...SANDBOX_HEADER, 'content-type': type }
  attempt.answer(200, chunks ? sendSlowly(chunks, exchange.signal) : body, headers)
}
const answerResult = (
  attempt: Attempt,
  result: CannedResult,
  body: Fields,
  path: string,
  serial: AnswerId,
): void => {
  if (result.stream && isTrue(body.stream)) {
    const chunks = result.stream(body, path, serial)
    const headers = {
      ...SANDBOX_HEADER,
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache',
    }
    return void attempt.answer(200, sendSlowly(chunks, attempt.exchange.signal), headers)
  }
  const response = result.plain(body, path, serial)
  if (response !== undefined) return void attempt.answer(200, response, SANDBOX_HEADER)
  const message = 'This request exceeds the limits of the sandbox; configure a real upstream.'
  const error: Fields = { message, type: 'invalid_request_error', param: null, code: null }
  attempt.answer(400, { error }, SANDBOX_HEADER)
}
/** Forms contain booleans as text. */
const isTrue = (value: Json | undefined): boolean => value === true || value === 'true'

const decline = (attempt: Attempt, path: string): void => {
  const message = `The sandbox does not support ${attempt.request.method} ${path}; configure a real upstream.`
  const error: Fields = {
    message,
    type: 'invalid_request_error',
    param: null,
    code: 'api_not_implemented',
  }
  attempt.answer(501, { error }, SANDBOX_HEADER)
}

/** The body; of a form its fields without files. */
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

async function* sendSlowly(chunks: readonly Bytes[], signal: AbortSignal): AsyncGenerator<Bytes> {
  for (const chunk of chunks) {
    yield chunk
    await pause(CHUNK_INTERVAL_MS, undefined, { signal })
  }
}
