/** Plugin `sandbox`: answers for upstreams with `url: 'sandbox:'`, so that a new user can try
 *  the gateway without an API key. Marks every answer with a header, and never answers for a real
 *  upstream. */
import { setTimeout as pause } from 'node:timers/promises'
import { object, type RawOf, text } from '../../engine/config/shape.ts'
import type {
  Attempt,
  Bytes,
  Fault,
  Headers,
  Host,
  Json,
  Plugin,
  Stage,
} from '../../engine/plugin.ts'
import { SANDBOX_HEADER } from '../conversion/sandbox-header.ts'
import { boundaryOf, partsIn } from '../formats/media/multipart.ts'
import { bareId } from '../slots.ts'
import { audioAnswer } from './audio.ts'
import type { CannedResult } from './canned-result.ts'
import type { ConversationAnswer } from './conversation.ts'
import { fault } from './faults.ts'
import { answerFile, partOf, type SandboxFile, sandboxFile } from './files.ts'
import { imageTaskAnswer } from './image-tasks.ts'
import { openRealtime } from './realtime.ts'
import { RESULTS } from './results.ts'
import { type AnswerContext, type Fields, fieldsIn } from './sandbox-format.ts'
import { type TaskCall, taskAnswer } from './video-tasks.ts'

/** ms between two chunks of a stream: about reading speed. */
const CHUNK_INTERVAL_MS = 30

/** Path of the route that serves the files of the sandbox. */
const FILES_PATH = '/sandbox'

const OPTIONS = object(
  'Answers for upstreams whose url is `sandbox:`. Active on every route by default.',
  {
    file: text(
      'The route serves the files that results of the sandbox refer to: the parameter of its path that names one. Its path is /sandbox/{file}.',
      { minLength: 1, examples: ['file'] },
    ),
  },
  { examples: [{}] },
)

export default {
  serves: 'simulated responses; no provider is called',
  schema: OPTIONS.schema,
  default: {},
  setup({ file }, host): Stage {
    if (file !== undefined)
      return {
        answers: true,
        describe: () => ({ summary: 'Sends a file of the sandbox', responses: { '*/*': {} } }),
        handle: async exchange => answerFile(exchange, file),
      }
    const names = sandboxUpstreams(host.upstreams)
    if (names.length === 0) return {}
    const inside = new Set(names)
    return {
      forward: (attempt, next) =>
        inside.has(attempt.target.upstream) ? answer(attempt, host) : next(),
    }
  },
} satisfies Plugin<RawOf<typeof OPTIONS>>

const sandboxUpstreams = (upstreams: Host['upstreams']): readonly string[] =>
  Object.keys(upstreams).filter(name => upstreams[name]?.inside === 'sandbox')

const answer = async (attempt: Attempt, host: Pick<Host, 'url'>): Promise<void> => {
  const { request, exchange } = attempt
  const [path = ''] = request.path.split('?', 1)
  const fileUrl = (name: string): string => host.url(`${FILES_PATH}/${name}`)
  const call: TaskCall = { method: request.method, path, now: Date.now(), fileUrl }
  const task = taskAnswer(call) ?? imageTaskAnswer(call)
  if (task) return void attempt.answer(task.status, task.json, SANDBOX_HEADER)
  if (exchange.kind === 'websocket' && path.endsWith('/realtime')) return answerSession(attempt)
  const file = request.method === 'GET' ? fileAt(path) : undefined
  if (file) return sendFile(attempt, file)
  if (request.method !== 'POST') throw unsupported(attempt, path)
  // Loaded at the first answer: the formats are large, and most gateways have real upstreams.
  const { answerConversation, conversationAt } = await import('./conversation.ts')
  const conversation = conversationAt(path)
  const result = RESULTS.find(({ path: pattern }) => pattern.test(path))
  if (!conversation && !result) return answerAudio(attempt, path)
  const body = await bodyOf(attempt)
  const context: AnswerContext = {
    id: bareId(exchange),
    createdAt: Math.floor(Date.now() / 1_000),
    fileUrl,
  }
  if (!conversation) return result && answerResult(attempt, result, body, path, context)
  const { idHeader } = conversation
  const headers = idHeader ? { [idHeader]: exchange.id } : {}
  sendAnswer(attempt, answerConversation(attempt, body, conversation, context), headers)
}
/** Results of the sandbox that a download asks this upstream for. */
const fileAt = (path: string): SandboxFile | undefined => {
  const [folder, name = ''] = path.split('/').slice(-2)
  return `/${folder}` === FILES_PATH ? sandboxFile(name) : undefined
}
const sendFile = (attempt: Attempt, { type, bytes }: SandboxFile): void => {
  const { status, headers, part } = partOf(bytes, attempt.request.headers)
  attempt.answer(status, part, { ...SANDBOX_HEADER, ...headers, 'content-type': type })
}
const sendAnswer = (attempt: Attempt, answer: ConversationAnswer, more: Headers = {}): void => {
  const headers = { ...SANDBOX_HEADER, ...more }
  if ('body' in answer) return void attempt.answer(200, answer.body, headers)
  const { chunks, type } = answer
  const streamHeaders = { ...headers, 'content-type': type, 'cache-control': 'no-cache' }
  attempt.answer(200, sendSlowly(chunks, attempt.exchange.signal), streamHeaders)
}

const answerSession = async (attempt: Attempt): Promise<void> => {
  const { exchange, request, target } = attempt
  const protocols = String(request.headers['sec-websocket-protocol'] ?? '')
  const model = target.name ?? ''
  const socket = await openRealtime({ model, id: bareId(exchange), protocols })
  attempt.answer(101, socket, SANDBOX_HEADER)
}

const answerAudio = async (attempt: Attempt, path: string): Promise<void> => {
  const { exchange, target } = attempt
  const request = exchange.request.parsed ?? (await exchange.request.json())
  const audio = audioAnswer(path, fieldsIn(request), target.name ?? '')
  if (!audio) throw unsupported(attempt, path)
  const { type, body, chunks } = audio
  const headers = { ...SANDBOX_HEADER, 'content-type': type }
  attempt.answer(200, chunks ? sendSlowly(chunks, exchange.signal) : body, headers)
}
const answerResult = (
  attempt: Attempt,
  result: CannedResult,
  body: Fields,
  path: string,
  context: AnswerContext,
): void => {
  if (result.stream && isTrue(body.stream)) {
    const chunks = result.stream(body, path, context)
    return sendAnswer(attempt, { chunks, type: 'text/event-stream' })
  }
  const response = result.plain(body, path, context)
  if (response !== undefined) return void attempt.answer(200, response, SANDBOX_HEADER)
  throw fault('SANDBOX_LIMITS', [], MARKED)
}
/** Forms contain booleans as text. */
const isTrue = (value: Json | undefined): boolean => value === true || value === 'true'

/** Errors are written in the client's dialect. */
const unsupported = ({ request }: Attempt, path: string): Fault =>
  fault('SANDBOX_UNSUPPORTED', [request.method, path], MARKED)
const MARKED = { headers: SANDBOX_HEADER }

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
