/** Videos too large for a request: streamed from their URL to the upstream's file store, referred
 *  to once they are ready, and deleted after the answer. */
import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import OpenAI, { APIError } from 'openai'
import t from 'tap'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { startHttpUpstream } from '../../helpers/gateway/test-server.ts'

const MIB = 2 ** 20
const SIZE = 15 * MIB
const PIECE = Buffer.alloc(MIB, 'film')
const VIDEO_HASH = createHash('sha256')
for (let at = 0; at < SIZE; at += MIB) VIDEO_HASH.update(PIECE)
const DIGEST = VIDEO_HASH.digest('hex')

/** Videos whose download was cancelled. */
let cancelled = 0
const videos = await startHttpUpstream(t, (request, answer) => {
  const name = request.url ?? ''
  answer.on('close', () => {
    if (!answer.writableFinished) cancelled++
  })
  const head = { 'content-type': 'video/quicktime' }
  if (name === '/endless.mov') answer.writeHead(200, head)
  else answer.writeHead(200, { ...head, 'content-length': name === '/huge.mov' ? 64 * MIB : SIZE })
  let remaining = name === '/short.mov' ? 3 : SIZE / MIB
  const writeMore = (): void => {
    if (remaining-- <= 0) return void (name === '/short.mov' ? answer.destroy() : answer.end())
    if (name === '/slow.mov' && remaining < 10) return
    if (answer.write(PIECE)) setImmediate(writeMore)
    else answer.once('drain', writeMore)
  }
  writeMore()
})

interface UpstreamRequest {
  readonly line: string
  readonly headers: IncomingMessage['headers']
  readonly digest: string
  readonly text: string
}
const requests: UpstreamRequest[] = []
/** Unsuccessful answers of the upstream's store, by request. */
let storeErrors: Readonly<Record<string, { readonly status?: number; readonly body: object }>> = {}
const FILE = { name: 'files/f1', uri: 'https://files.example/f1', mimeType: 'video/mov' }
const DONE = {
  candidates: [{ content: { role: 'model', parts: [{ text: 'a video' }] }, finishReason: 'STOP' }],
  usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 2, totalTokenCount: 7 },
}
const upstream = await startHttpUpstream(t, async (request, answer) => {
  const hash = createHash('sha256')
  const parts: Buffer[] = []
  let size = 0
  try {
    for await (const part of request as AsyncIterable<Buffer>) {
      hash.update(part)
      if (size < MIB) parts.push(part)
      size += part.length
    }
  } catch {
    return // the test aborts the download
  }
  const line = `${request.method} ${request.url}`
  const times = requests.filter(each => each.line === line).length
  const text = Buffer.concat(parts).toString()
  requests.push({ line, headers: request.headers, digest: hash.digest('hex'), text })
  const reply = (body: object, headers = {}, status = 200) =>
    answer
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(JSON.stringify(body))
  const storeError = storeErrors[line]
  if (storeError) return reply(storeError.body, {}, storeError.status)
  if (line === 'POST /upload/v1beta/files')
    return reply(
      {},
      { 'x-goog-upload-url': 'https://elsewhere.example/upload/v1beta/files?upload_id=7' },
    )
  if (line.startsWith('POST /upload/')) return reply({ file: { ...FILE, state: 'PROCESSING' } })
  if (line === 'GET /v1beta/files/f1')
    return reply({ ...FILE, state: times > 0 ? 'ACTIVE' : 'PROCESSING' })
  if (request.method === 'DELETE') return reply({})
  return reply(DONE)
})
const gateway = await startGateway({
  inside: true,
  settings: `egress_allow: ${new URL(videos).host}`,
  routes: `
pipeline: [errors, model, translate]
upstreams:
  gx: { url: '${upstream}', key: secret, auth: { header: x-goog-api-key }, formats: [google-gemini], fetch: [video], upload: 32MiB }
  small: { url: '${upstream}', formats: [google-gemini], fetch: [video] }
models: { gx: { to: gx/gemini, free: true }, small: { to: small/gemini, free: true } }
routes:
  - { path: POST /v1/chat/completions, model: body, translate: openai-chat, errors: openai }
`,
})
t.teardown(() => gateway.stop())
t.beforeEach(() => {
  requests.length = 0
  storeErrors = {}
})
const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'k', maxRetries: 0 })
const send = (video: string, model = 'gx', signal?: AbortSignal) =>
  openai.chat.completions.create(
    {
      model,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What happens?' },
            { type: 'image_url', image_url: { url: `${videos}/${video}.mov` } },
          ],
        },
      ],
    },
    { signal: signal ?? null },
  )
const sendRejected = async (video: string, model = 'gx') => {
  try {
    await send(video, model)
  } catch (error) {
    if (error instanceof APIError) return error
    throw error
  }
  throw new Error('the request was accepted')
}
const UPLOAD = 'POST /upload/v1beta/files?upload_id=7'
const PARAM = 'messages[0].content[1]'

t.test('video upload: uploads, waits for, uses and deletes the file', async t => {
  const { choices } = await send('long')
  t.equal(choices[0]?.message.content, 'a video')
  const deletion = 'DELETE /v1beta/files/f1'
  await eventually(() => requests.some(({ line }) => line === deletion) || undefined)
  const [start, request, ...rest] = requests
  t.match(start, {
    line: 'POST /upload/v1beta/files',
    headers: {
      'x-goog-api-key': 'secret',
      'x-goog-upload-protocol': 'resumable',
      'x-goog-upload-command': 'start',
      'x-goog-upload-header-content-length': `${SIZE}`,
      'x-goog-upload-header-content-type': 'video/mov',
    },
  })
  t.match(request, {
    line: UPLOAD,
    digest: DIGEST,
    headers: {
      'x-goog-upload-command': 'upload, finalize',
      'x-goog-upload-offset': '0',
      'content-length': `${SIZE}`,
    },
  })
  t.same(
    rest.map(({ line }) => line),
    [
      'GET /v1beta/files/f1',
      'GET /v1beta/files/f1',
      'POST /v1beta/models/gemini:generateContent',
      deletion,
    ],
  )
  const fileData = { fileUri: FILE.uri, mimeType: 'video/mov' }
  t.match(JSON.parse(rest[2]?.text ?? ''), { contents: [{ parts: [{}, { fileData }] }] })
})

t.test('video upload: rejects a video that is too large or breaks off, by its path', async t => {
  for (const [video, model] of [
    ['huge', 'gx'],
    ['long', 'small'],
    ['endless', 'gx'],
    ['short', 'gx'],
  ] as const) {
    const { status, param, message } = await sendRejected(video, model)
    t.same({ status, param }, { status: 400, param: PARAM }, `${video} ${message}`)
  }
  t.notOk(requests.some(({ line }) => line.includes('generateContent')))
})

t.test('video upload: stops the download and the upload if the client leaves', async t => {
  const before = cancelled
  const leaving = new AbortController()
  const request = send('slow', 'gx', leaving.signal).catch(error => error)
  await eventually(() => requests.length > 0 || undefined)
  leaving.abort()
  await request
  await eventually(() => cancelled > before || undefined)
  t.same(
    requests.map(({ line }) => line),
    ['POST /upload/v1beta/files'],
  )
})

t.test('video upload: reports an upstream that rejects the file', async t => {
  const error = { error: { code: 400, message: 'no such film', status: 'INVALID_ARGUMENT' } }
  const failedFile = { ...FILE, state: 'FAILED', error: { message: 'no frames' } }
  for (const [says, status, message] of [
    [{ 'POST /upload/v1beta/files': { status: 400, body: error } }, 400, /no such film/],
    [{ 'POST /upload/v1beta/files': { status: 403, body: error } }, 502, /did not take/],
    [{ 'POST /upload/v1beta/files': { body: {} } }, 502, /did not take/],
    [{ [UPLOAD]: { status: 500, body: {} } }, 502, /did not take/],
    [{ [UPLOAD]: { body: { file: { name: '../x', uri: 'x' } } } }, 502, /did not take/],
    [{ 'GET /v1beta/files/f1': { body: failedFile } }, 400, /no frames/],
  ] as const) {
    storeErrors = says
    const rejection = await sendRejected('long')
    t.equal(rejection.status, status, rejection.message)
    t.match(rejection.message, message)
    if (status === 400) t.equal(rejection.param, PARAM)
  }
  t.notOk(requests.some(({ line }) => line.includes('generateContent')))
})
