/** An upstream that keeps files and cached contents as Gemini does: apart for each API key. A cache
 *  has as many tokens as its contents have bytes. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

interface Call {
  readonly method: string
  readonly path: string
  readonly key: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}
type Fields = Record<string, unknown>

export const startGeminiStore = async () => {
  const calls: Call[] = []
  /** `KEY NAME` -> object. */
  const objects = new Map<string, Fields>()
  /** Id of an upload -> what has arrived. */
  const uploads = new Map<string, { key: string; file: Fields; text: string }>()
  let count = 0
  let address = ''

  const refuse = (response: ServerResponse, code: number, message: string): void =>
    send(response, code, { error: { code, message, status: 'NOT_FOUND' } })
  const store = (key: string, name: string, fields: Fields): Fields => {
    const object = { name, createTime: new Date().toISOString(), ...fields }
    objects.set(`${key} ${name}`, object)
    return object
  }
  const addFile = (key: string, file: Fields, text: string, state: string): Fields => {
    const name = `files/f${++count}`
    const uri = `https://generativelanguage.googleapis.com/v1beta/${name}`
    return store(key, name, { ...file, uri, state, sizeBytes: String(text.length) })
  }
  const upload = (call: Call, id: string | null, response: ServerResponse): void => {
    const { headers, key, body } = call
    const command = String(headers['x-goog-upload-command'] ?? '')
    if (id === null && headers['x-goog-upload-protocol'] !== 'resumable') {
      const state = body.includes('slow') ? 'PROCESSING' : 'ACTIVE'
      const [, displayName] = /"displayName":"([^"]*)"/.exec(body) ?? []
      return send(response, 200, { file: addFile(key, { displayName }, body, state) })
    }
    if (command === 'start') {
      const session = `u${++count}`
      const { file } = JSON.parse(body)
      const mimeType = headers['x-goog-upload-header-content-type']
      uploads.set(session, { key, file: { ...file, mimeType }, text: '' })
      const url = `${address}/upload/v1beta/files?upload_id=${session}&upload_protocol=resumable`
      return send(response, 200, {}, { 'x-goog-upload-url': url, 'x-goog-upload-status': 'active' })
    }
    const started = uploads.get(id ?? '')
    if (started?.key !== key) return refuse(response, 404, 'no such upload')
    started.text += body
    if (!command.includes('finalize'))
      return send(response, 200, undefined, { 'x-goog-upload-status': 'active' })
    const file = addFile(key, started.file, started.text, 'ACTIVE')
    send(response, 200, { file }, { 'x-goog-upload-status': 'final' })
  }
  const cache = ({ key, body }: Call, response: ServerResponse): void => {
    const { model, ttl = '3600s', displayName, contents } = JSON.parse(body)
    const name = `cachedContents/c${++count}`
    const now = Date.now()
    const createTime = new Date(now).toISOString()
    const expireTime = new Date(now + Number.parseFloat(ttl) * 1_000).toISOString()
    const usageMetadata = { totalTokenCount: JSON.stringify(contents).length }
    send(
      response,
      200,
      store(key, name, { model, displayName, createTime, expireTime, usageMetadata }),
    )
  }
  const answerObject = (call: Call, name: string, response: ServerResponse): void => {
    const object = objects.get(`${call.key} ${name.replace(':download', '')}`)
    if (!object) return refuse(response, 404, `no ${name}`)
    if (call.method === 'DELETE') objects.delete(`${call.key} ${name}`)
    if (call.method === 'DELETE') return send(response, 200, {})
    if (call.method === 'PATCH') {
      const created = Date.parse(String(object.createTime))
      const ms = Number.parseFloat(JSON.parse(call.body).ttl) * 1_000
      object.expireTime = new Date(created + ms).toISOString()
    }
    send(response, 200, object)
  }
  const generate = (call: Call, response: ServerResponse): void => {
    const names = /(?:files|cachedContents)\/\w+/g
    const missing = call.body.match(names)?.find(name => !objects.has(`${call.key} ${name}`))
    if (missing) return refuse(response, 403, `no permission for ${missing}`)
    send(response, 200, {
      candidates: [
        { content: { role: 'model', parts: [{ text: 'Seen.' }] }, finishReason: 'STOP' },
      ],
      usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 2, totalTokenCount: 12 },
    })
  }
  /** Ten tokens in, four from the cache; two of text and three of thoughts out; two searches. */
  const usage = {
    total_input_tokens: 10,
    total_cached_tokens: 4,
    total_output_tokens: 2,
    total_thought_tokens: 3,
    total_tokens: 15,
    grounding_tool_count: [{ type: 'google_search', count: 2 }],
  }
  const interact = (call: Call, response: ServerResponse): void => {
    const { model, stream, input } = JSON.parse(call.body)
    if (input === 'fail')
      return send(response, 400, {
        error: { code: 400, message: 'bad', status: 'INVALID_ARGUMENT' },
      })
    const id = `i${++count}`
    const steps = [{ type: 'model_output', content: [{ type: 'text', text: 'Good day.' }] }]
    const whole = { id, model, status: 'completed', steps, usage }
    if (!stream) return send(response, 200, whole)
    const events = [
      { event_type: 'interaction.created', interaction: { id, model, status: 'in_progress' } },
      { event_type: 'step.start', index: 0, step: { type: 'model_output' } },
      { event_type: 'step.delta', index: 0, delta: { type: 'text', text: 'Good day.' } },
      { event_type: 'step.stop', index: 0 },
      ...(input === 'break'
        ? [{ event_type: 'error', error: { code: 503, message: 'gone' } }]
        : [{ event_type: 'interaction.completed', interaction: { ...whole, steps: undefined } }]),
    ]
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const each of events)
      response.write(`event: ${each.event_type}\ndata: ${JSON.stringify(each)}\n\n`)
    response.end()
  }
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString()
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://x')
    const key = String(request.headers['x-goog-api-key'])
    const { headers, method = '', url = '' } = request
    const call = { method, path: url, key, headers, body }
    calls.push(call)
    if (pathname.startsWith('/upload/'))
      return upload(call, searchParams.get('upload_id'), response)
    if (pathname.endsWith('/cachedContents')) return cache(call, response)
    if (pathname.endsWith('/interactions')) return interact(call, response)
    if (pathname.includes(':generate')) return generate(call, response)
    answerObject(call, pathname.replace(/^\/v1(?:beta)?\//, ''), response)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', () => resolve()))
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url: address, calls, objects, close: () => server.close() }
}

const send = (
  response: ServerResponse,
  status: number,
  json: unknown,
  headers: Readonly<Record<string, string>> = {},
): void => {
  const text = json === undefined ? '' : JSON.stringify(json)
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text)
}
