/** Makes one object of each kind for an account, over the shipped routes. Each maker resolves to
 *  the parameters of paths that name its object. */
import { plain, text } from '../../../fixtures/upstream/scenarios.ts'
import { plainAnswers } from '../../../helpers/formats/plain-answers.ts'
import { eventually } from '../../../helpers/gateway/primary.ts'
import { answers } from '../audio.ts'
import { upstream } from '../shipped-gateway.ts'
import { type Account, ask, type Request, type Response } from './accounts.ts'

type Fields = { readonly [name: string]: unknown }
export type Parameters = Readonly<Record<string, string>>

const BODY = { do: 'body' } as const
const turn = (json: unknown) => [BODY, plain(json)]
const ANSWERS = plainAnswers('Hello.', 3, 1)
const user = [{ role: 'user', content: 'Hello' }]
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
  'base64',
)
let count = 0
/** 16 hexadecimal digits that no other call returned. */
const hex = (): string => (0xabc0_0000 + ++count * 7_919).toString(16).padStart(16, '4')
/** 18 decimal digits that no other call returned. */
const decimal = (): string => `9110884226${String(10_000_000 + ++count * 7_919)}`

/** Throws for a refusal. */
const json = async (account: Account, request: Request): Promise<Fields> => {
  const { status, text } = await ask(account, request)
  if (status >= 300) throw new Error(`${request.method} ${request.path}: ${status} ${text}`)
  return JSON.parse(text) as Fields
}
const post = (account: Account, path: string, body: unknown, headers = {}): Promise<Fields> =>
  json(account, { method: 'POST', path, body, headers })
const until = async (
  account: Account,
  path: string,
  isOver: (response: Response) => boolean,
): Promise<Response> => {
  let last: Response | undefined
  const look = async () => {
    last = await ask(account, { method: 'GET', path })
    return isOver(last) ? last : undefined
  }
  return eventually(look, { failure: () => `the last answer of ${path}: ${last?.text}` })
}

const fileOf = (
  account: Account,
  name: string,
  bytes: string | Uint8Array<ArrayBuffer>,
  purpose = 'assistants',
) => {
  const body = new FormData()
  body.append('purpose', purpose)
  body.append('file', new Blob([bytes]), name)
  return post(account, '/v1/files', body)
}
const dataOf = ({ data }: Fields) => data as Fields

const makeResponse = async (account: Account): Promise<Parameters> => {
  const id = `resp_${hex()}`
  const output = ANSWERS['openai-responses'].output.map(item => ({ ...item, id: `msg_${hex()}` }))
  await upstream.script('gp', turn({ ...ANSWERS['openai-responses'], id, output }))
  const body = { model: 'gp-4.1', input: 'Hello' }
  const created = await post(account, '/v1/responses', body)
  const path = `/v1/responses/${created.id}/input_items`
  const { data } = await json(account, { method: 'GET', path })
  const input = String((data as readonly Fields[])[0]?.id)
  return { id: String(created.id), item: String(output[0]?.id), input }
}
const makeConversation = async (account: Account): Promise<Parameters> => {
  const { id } = await post(account, '/v1/conversations', {})
  const items = [{ type: 'message', role: 'user', content: 'Hello' }]
  const { data } = await post(account, `/v1/conversations/${id}/items`, { items })
  return { id: String(id), item: String((data as readonly Fields[])[0]?.id) }
}
const makeMessage = async (account: Account): Promise<Parameters> => {
  await upstream.script('cl', turn({ ...ANSWERS['anthropic-messages'], id: `msg_${hex()}` }))
  const body = { model: 'cl-sonnet-4-5', max_tokens: 9, messages: user, thread: { type: 'create' } }
  return { id: String((await post(account, '/v1/messages', body)).id) }
}
const makeMessageBatch = async (account: Account): Promise<Parameters> => {
  await upstream.script('cl', turn(ANSWERS['anthropic-messages']))
  const params = { model: 'cl-sonnet-4-5', max_tokens: 9, messages: user }
  const body = { requests: [{ custom_id: 'one', params }] }
  const { id } = await post(account, '/v1/messages/batches', body)
  await until(account, `/v1/messages/batches/${id}`, ({ text }) => /"ended"/.test(text))
  return { id: String(id) }
}
const makeInteraction = async (account: Account): Promise<Parameters> => {
  const steps = [{ type: 'model_output', content: [{ type: 'text', text: 'Hello.' }] }]
  const usage = { total_input_tokens: 3, total_output_tokens: 1, total_tokens: 4 }
  const whole = { id: `i${hex()}`, model: 'm', status: 'completed', steps, usage }
  await upstream.script('gx', turn(whole))
  const body = { model: 'gx-2.5-flash', input: 'Hello' }
  return { id: String((await post(account, '/v1beta/interactions', body)).id) }
}
const makeProviderFile = async (account: Account): Promise<Parameters> => {
  const id = `f${hex()}`
  const uri = `https://generativelanguage.googleapis.com/v1beta/files/${id}`
  await upstream.script('gx', turn({ file: { name: `files/${id}`, uri, state: 'ACTIVE' } }))
  const headers = { 'x-goog-upload-protocol': 'multipart', 'content-type': 'text/plain' }
  await post(account, '/upload/v1beta/files', 'a text', headers)
  return { file_id: id }
}
const makeProviderUpload = async (account: Account): Promise<Parameters> => {
  const url = `${upstream.url}/s/gx/upload/v1beta/files?upload_id=${hex()}`
  const headers = `x-goog-upload-url: ${url}\r\nx-goog-upload-status: active\r\n`
  await upstream.script('gx', [BODY, plain({}, '200 OK', headers)])
  const start = { 'x-goog-upload-protocol': 'resumable', 'x-goog-upload-command': 'start' }
  const response = await ask(account, {
    method: 'POST',
    path: '/upload/v1beta/files',
    body: { file: { displayName: 'a' } },
    headers: start,
  })
  const resumed = new URL(response.headers['x-goog-upload-url'] ?? '')
  return { upload_id: resumed.searchParams.get('upload_id') ?? '' }
}
const makeCache = async (account: Account): Promise<Parameters> => {
  const id = `c${hex()}`
  const expireTime = new Date(Date.now() + 3_600_000).toISOString()
  const usageMetadata = { totalTokenCount: 9 }
  const created = { name: `cachedContents/${id}`, model: 'models/m', expireTime, usageMetadata }
  await upstream.script('gx', turn(created))
  const contents = [{ role: 'user', parts: [{ text: 'Hello' }] }]
  const body = { model: 'models/gx-2.5-flash', contents, ttl: '3600s' }
  await post(account, '/v1beta/cachedContents', body)
  return { cache: id }
}
const makeImage = async (account: Account): Promise<Parameters> => {
  await upstream.script('gp', turn({ created: 1, data: [{ b64_json: PNG.toString('base64') }] }))
  const body = { model: 'gp-4o-image', prompt: 'a cat' }
  const created = await post(account, '/v1/images/generations', body, { prefer: 'respond-async' })
  const path = `/v1/images/generations/${created.id}`
  await until(account, path, ({ status }) => status === 200)
  return { id: String(created.id) }
}
const makeFile = async (account: Account): Promise<Parameters> => {
  const { id } = await fileOf(account, 'a.png', PNG)
  return { file_id: String(id), name: `${id}.png` }
}
const makeUpload = async (account: Account): Promise<Parameters> => {
  const fields = { filename: 'a.txt', mime_type: 'text/plain', purpose: 'assistants', bytes: 6 }
  const { id } = await post(account, '/v1/uploads', fields)
  const body = new FormData()
  body.append('data', new Blob(['a text']))
  const part = await post(account, `/v1/uploads/${id}/parts`, body)
  return { upload_id: String(id), part: String(part.id) }
}
const makeBatchFile = async (account: Account): Promise<Parameters> => {
  const body = { model: 'gp-4.1', messages: user }
  const line = { custom_id: 'one', method: 'POST', url: '/v1/chat/completions', body }
  const file = await fileOf(account, 'a.jsonl', JSON.stringify(line), 'batch')
  return { file_id: String(file.id) }
}
const makeBatch = async (account: Account): Promise<Parameters> => {
  await upstream.script('gp', turn(ANSWERS['openai-chat']))
  const { file_id } = await makeBatchFile(account)
  const endpoint = '/v1/chat/completions'
  const body = { input_file_id: file_id, endpoint, completion_window: '24h' }
  const { id } = await post(account, '/v1/batches', body)
  await until(account, `/v1/batches/${id}`, ({ text }) => /"status": ?"completed"/.test(text))
  return { id: String(id) }
}
/** A clip of the upstream, which is finished once it is asked about. `creation`: its id there. */
const scriptClip = async (): Promise<string> => {
  const creation = decimal()
  await upstream.script('clip', answers('video/mp4', 'a clip'))
  const url = `${upstream.url}/s/clip/file`
  const creations = [{ id: creation, url, cover_url: url }]
  await upstream.script('vd', turn({ task_id: decimal(), state: 'success', creations }))
  return creation
}
const makeTask = async (account: Account): Promise<Parameters> => {
  const creation = await scriptClip()
  const body = { model: 'vdq3', prompt: 'a cat' }
  const { task_id: id } = await post(account, '/ent/v2/text2video', body)
  const path = `/ent/v2/tasks/${id}/creations`
  await until(account, path, ({ text }) => /"state": ?"success"/.test(text))
  return { id: String(id), creation, index: '0', member: 'url' }
}
const makeVideo = async (account: Account): Promise<Parameters> => {
  await scriptClip()
  const { id } = await post(account, '/v1/videos', { model: 'vdq3', prompt: 'a cat' })
  await until(account, `/v1/videos/${id}`, ({ text }) => /"status": ?"completed"/.test(text))
  return { id: String(id) }
}
const makeGrid = async (account: Account): Promise<Parameters> => {
  const imageUrl = 'https://files.example/cat.png'
  // One answer to the submit and to polls: tasks of tests before it may still be polled.
  const done = { status: 'SUCCESS', imageUrl, progress: '100%' }
  await upstream.script('mj', turn({ code: 1, result: decimal(), ...done }))
  const { result } = await post(account, '/mj/submit/imagine', { prompt: 'a cat' })
  const path = `/mj/task/${result}/fetch`
  await until(account, path, ({ text }) => /"status": ?"SUCCESS"/.test(text))
  return { id: String(result) }
}
const makeCall = async (account: Account): Promise<Parameters> => {
  await upstream.script('gp', turn(ANSWERS['openai-chat']))
  const path = '/v1/chat/completions'
  const body = { model: 'gp-4.1', messages: user }
  const { headers } = await ask(account, { method: 'POST', path, body })
  const id = headers['x-request-id'] ?? ''
  await until(account, `/api/usage/${id}`, ({ status }) => status === 200)
  const { data } = await json(account, { method: 'GET', path: '/api/keys' })
  const keys = data as readonly Fields[]
  return { id, key: String(keys.find(({ name }) => name === 'test')?.id) }
}
/** By a route of the account that creates one: an object with a number. */
const makeNumbered = (path: string, body: Fields) => async (account: Account) => ({
  id: String(dataOf(await post(account, path, body)).id),
})
const makeSession = async (account: Account): Promise<Parameters> => {
  await post(account, '/api/session', { token: account.token })
  const { data } = await json(account, { method: 'GET', path: '/api/sessions' })
  return { id: String((data as readonly Fields[]).at(-1)?.id) }
}

/** By the kind of the object. */
const MAKERS = {
  response: makeResponse,
  conversation: makeConversation,
  message: makeMessage,
  messageBatch: makeMessageBatch,
  interaction: makeInteraction,
  providerFile: makeProviderFile,
  providerUpload: makeProviderUpload,
  cache: makeCache,
  image: makeImage,
  file: makeFile,
  upload: makeUpload,
  batchFile: makeBatchFile,
  batch: makeBatch,
  task: makeTask,
  video: makeVideo,
  grid: makeGrid,
  call: makeCall,
  key: makeNumbered('/api/keys', { name: 'another' }),
  token: makeNumbered('/api/system-tokens', { name: 'another' }),
  member: makeNumbered('/api/members', { name: 'bob', role: 'member' }),
  session: makeSession,
} satisfies Readonly<Record<string, (account: Account) => Promise<Parameters>>>
export type Kind = keyof typeof MAKERS
export type Objects = Readonly<Record<Kind, Parameters>>

/** One object of each kind. */
export const makeObjects = async (account: Account): Promise<Objects> => {
  const objects: Partial<Record<Kind, Parameters>> = {}
  for (const [kind, make] of Object.entries(MAKERS)) objects[kind as Kind] = await make(account)
  return objects as Objects
}
/** Answers for what the tests ask the upstreams afterwards. */
export const scriptAnswers = async (): Promise<void> => {
  await scriptClip()
  await upstream.script('gp', turn({ ...ANSWERS['openai-responses'], id: `resp_${hex()}` }))
  await upstream.script('cl', turn({ ...ANSWERS['anthropic-messages'], id: `msg_${hex()}` }))
  await upstream.script('gx', [BODY, text('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}')])
  await upstream.script('mj', turn({ code: 1, result: decimal() }))
}

/** An id of the same shape that no object has: all digits of its end are others. */
export const unknownOf = (id: string): string =>
  /^\d{1,9}$/.test(id)
    ? String(Number(id) + 1_000_000)
    : id.replace(/[a-z0-9]{1,8}(?=(?:_\d)?$)/i, end => end.replaceAll(/[0-9a-f]/g, other))
const other = (digit: string): string => {
  const alphabet = /\d/.test(digit) ? '0123456789' : 'abcdef'
  return alphabet[(alphabet.indexOf(digit) + 3) % alphabet.length] ?? digit
}
