/** The shipped routes.yaml over real sockets to a separate upstream: four formats, their errors,
 *  and credentials. */
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { plain, stream } from '../../fixtures/upstream/scenarios.ts'
import type { Head } from '../../fixtures/upstream/script.ts'
import { readAll } from '../../helpers/gateway/event-stream.ts'
import { postTo } from '../../helpers/gateway/post.ts'
import { gateway, key, postWithKey as post, upstream } from './shipped-gateway.ts'

interface RouteCase {
  readonly script: string
  readonly path: string
  readonly streaming?: string
  readonly body: { readonly [key: string]: unknown }
  /** The credential that goes upstream. */
  readonly credential: readonly [header: string, value: string]
  readonly target: string
  readonly clientModel: string
  readonly upstreamModel: string
  readonly answer: object
  readonly events: string
  /** An error of this dialect, by its code or type. */
  error(body: never): unknown
  readonly codes: Readonly<Record<'missing' | 'unknown' | 'key' | 'type', unknown>>
}
const messages = [{ role: 'user', content: 'hi' }]
const openaiError = (body: { error: { code: unknown } }) => body.error.code
const openaiCodes = {
  missing: 'missing_required_parameter',
  unknown: 'model_not_found',
  key: 'invalid_api_key',
  type: 'unsupported_media_type',
}
const ROUTES: readonly RouteCase[] = [
  {
    script: 'gp',
    path: '/v1/chat/completions',
    body: { model: 'gp-4.1', messages },
    credential: ['authorization', 'Bearer operators-openai-key'],
    target: '/s/gp/v1/chat/completions',
    clientModel: 'gp-4.1',
    upstreamModel: '"model":"gpt-4.1"',
    answer: {
      id: 'c',
      choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 1, completion_tokens: 1 },
    },
    events: 'data: {"choices":[]}\n\ndata: [DONE]\n\n',
    error: openaiError,
    codes: openaiCodes,
  },
  {
    script: 'gp',
    path: '/v1/responses',
    body: { model: 'o3-pro', input: 'hi' },
    credential: ['authorization', 'Bearer operators-openai-key'],
    target: '/s/gp/v1/responses',
    clientModel: 'o3-pro',
    upstreamModel: '"model":"o3-pro"',
    answer: { id: 'resp', status: 'completed', output: [], usage: null },
    events: 'event: response.completed\ndata: {"type":"response.completed","response":{}}\n\n',
    error: openaiError,
    codes: openaiCodes,
  },
  {
    script: 'cl',
    path: '/v1/messages',
    body: { model: 'cl-sonnet-4-5', max_tokens: 5, messages },
    credential: ['x-api-key', 'operators-anthropic-key'],
    target: '/s/cl/v1/messages',
    clientModel: 'cl-sonnet-4-5',
    upstreamModel: '"model":"claude-sonnet-4-5"',
    answer: {
      id: 'msg',
      content: [{ type: 'text', text: 'Hi' }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 1, output_tokens: 1 },
    },
    events: 'event: message_stop\ndata: {"type":"message_stop"}\n\n',
    error: (body: { error: { type: unknown } }) => body.error.type,
    codes: {
      missing: 'invalid_request_error',
      unknown: 'not_found_error',
      key: 'authentication_error',
      type: 'invalid_request_error',
    },
  },
  {
    script: 'gx',
    path: '/v1beta/models/gx-2.5-flash:generateContent',
    streaming: '/v1beta/models/gx-2.5-flash:streamGenerateContent?alt=sse',
    body: { contents: [{ parts: [{ text: 'hi' }] }] },
    credential: ['x-goog-api-key', 'operators-google-key'],
    target: '/s/gx/v1beta/models/gemini-2.5-flash:generateContent',
    clientModel: 'gx-2.5-flash',
    upstreamModel: '"contents"',
    answer: {
      candidates: [{ content: { parts: [{ text: 'Hi' }] }, finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: 1 },
    },
    events: 'data: {"candidates":[{"finishReason":"STOP"}]}\r\n\r\n',
    error: (body: { error: { status: unknown } }) => body.error.status,
    codes: {
      missing: 'INVALID_ARGUMENT',
      unknown: 'NOT_FOUND',
      key: 'UNAUTHENTICATED',
      type: 'INVALID_ARGUMENT',
    },
  },
]

const headerOf = (head: Head | undefined, name: string) =>
  head?.headers
    .filter(([headerName]) => headerName.toLowerCase() === name)
    .map(([, value]) => value)

const checkUpstreamRequest = async (t: Test, one: RouteCase): Promise<void> => {
  const [request] = await upstream.events('request', one.script)
  const [body] = await upstream.events('body', one.script)
  t.equal(request?.head.target, one.target)
  const [name, value] = one.credential
  t.same(headerOf(request?.head, name), [value], 'the operator’s credential, once')
  t.notMatch(request?.head.raw, key, 'the customer’s credential does not appear')
  t.match(Buffer.from(body?.body.bytes ?? []).toString(), one.upstreamModel)
  t.equal(body?.body.framing, 'length')
}

for (const one of ROUTES)
  t.test(`shipped route: ${one.path}`, async t => {
    await upstream.forget()
    await upstream.script(one.script, [{ do: 'body' }, plain(one.answer)])
    const response = await post(one.path, one.body)
    t.equal(response.status, 200)
    t.same(await response.json(), one.answer)
    t.notOk(response.headers.has('x-tollgate-sandbox'))
    await checkUpstreamRequest(t, one)

    await upstream.script(one.script, [{ do: 'body' }, ...stream(one.events, { piece: 3 })])
    const streamResponse = await post(one.streaming ?? one.path, {
      ...one.body,
      stream: true,
    })
    t.equal((await readAll(streamResponse)).bytes.toString(), one.events, 'a stream, byte for byte')

    await t.test('errors use the dialect of the route', async t => {
      const checkError = async (response: Response, status: number, code: unknown) => {
        t.equal(response.status, status, String(code))
        t.equal(one.error((await response.json()) as never), code)
      }
      const other = one.path.replace(one.clientModel, 'nope')
      await checkError(await post(one.path, {}), 400, one.codes.missing)
      await checkError(await post(other, { ...one.body, model: 'nope' }), 404, one.codes.unknown)
      const wrong = { authorization: 'Bearer sk-wrong' }
      await checkError(await post(one.path, one.body, wrong), 401, one.codes.key)
      const text = { 'content-type': 'text/plain' }
      await checkError(await post(one.path, one.body, text), 415, one.codes.type)
      const syntax = await post(one.path, '{"model":')
      t.equal(syntax.status, 400)
      t.ok(one.error((await syntax.json()) as never) !== undefined)
      const url = gateway.url + one.path
      const wrongMethod = await fetch(url, { method: 'DELETE' })
      t.equal(wrongMethod.status, 405)
      t.match(wrongMethod.headers.get('allow'), /POST/)
      t.ok(one.error((await wrongMethod.json()) as never) !== undefined)
    })
  })

t.test('shipped routes: accept credentials where each format’s clients put them', async t => {
  const none = { authorization: '' }
  for (const [path, headers] of [
    ['/v1/models', { 'x-api-key': key, 'anthropic-version': '2023-06-01' }],
    ['/v1/models', { authorization: `Bearer ${key}` }],
    ['/v1beta/models', { 'x-goog-api-key': key }],
    [`/v1beta/models?key=${key}`, {}],
  ] as const) {
    const response = await fetch(gateway.url + path, { headers: { ...none, ...headers } })
    t.equal(response.status, 200, path)
    await response.arrayBuffer()
  }
  const inQuery = await fetch(`${gateway.url}/v1/models?key=${key}`)
  t.equal(inQuery.status, 401, 'a key in the query is accepted on /v1beta only')
  await inQuery.arrayBuffer()
})

t.test('shipped routes: a key in the query does not reach the upstream', async t => {
  await upstream.forget()
  await upstream.script('gx', [{ do: 'body' }, plain({ candidates: [{ finishReason: 'STOP' }] })])
  const path = '/v1beta/models/gx-2.5-flash:generateContent'
  const response = await postTo(
    `${gateway.url}${path}?key=${key}&alt=json`,
    '{"contents":[{"parts":[{"text":"hi"}]}]}',
  )
  t.equal(response.status, 200)
  await response.arrayBuffer()
  const [request] = await upstream.events('request', 'gx')
  t.equal(request?.head.target, '/s/gx/v1beta/models/gemini-2.5-flash:generateContent?alt=json')
  t.notMatch(request?.head.raw, key)
})

t.test(
  'shipped realtime: the target’s model name in the query, keys where browsers put them',
  async t => {
    await upstream.forget()
    await upstream.script('gp', [{ do: 'websocket', manner: 'echo' }])
    const dial = (search: string, protocols: readonly string[]) =>
      new WebSocket(`${gateway.url}/v1/realtime?${search}`.replace('http', 'ws'), [...protocols])
    const credential = `openai-insecure-api-key.${key}`
    const socket = dial('model=gp-realtime', ['realtime', credential])
    await once(socket, 'open')
    socket.send('hello')
    const [message] = (await once(socket, 'message')) as [Buffer]
    t.equal(message.toString(), 'hello')
    t.equal(socket.protocol, 'realtime')
    socket.close()
    const [request] = await upstream.events('request', 'gp')
    t.equal(request?.head.target, '/s/gp/v1/realtime?model=gpt-realtime')
    t.same(headerOf(request?.head, 'authorization'), ['Bearer operators-openai-key'])
    t.notMatch(request?.head.raw, key)
    const refusedSocket = dial('model=nope', ['realtime', credential])
    const [, response] = (await once(refusedSocket, 'unexpected-response')) as [
      unknown,
      IncomingMessage,
    ]
    t.equal(response.statusCode, 404)
    response.destroy()
  },
)

t.test('shipped routes: unknown paths answer in the dialect of the nearest route', async t => {
  const ask = async (path: string) => {
    const response = await post(path, {})
    t.equal(response.status, 404, path)
    return response.json()
  }
  t.match(await ask('/v1/x'), { error: { message: /^Invalid URL \(POST \/v1\/x\)/, param: null } })
  t.match(await ask('/v1/messages/x/y'), { type: 'error', error: { type: 'not_found_error' } })
  t.match(await ask('/v1beta/x'), { error: { code: 404, status: 'NOT_FOUND' } })
})

t.test('shipped routes: models on the wrong endpoint are refused by name', async t => {
  for (const [path, body] of [
    ['/v1/chat/completions', { model: 'o3-pro', messages }],
    ['/v1/chat/completions', { model: 'code-mini-latest', messages }],
    ['/v1/messages', { model: 'o3-pro', max_tokens: 1, messages }],
    ['/v1beta/models/o3-pro:generateContent', { contents: [{ parts: [{ text: 'hi' }] }] }],
  ] as const) {
    const response = await post(path, body)
    t.equal(response.status, 404)
    const here = path.slice(1).replace('o3-pro', '{model}')
    const message = `This model is only supported in v1/responses and not in ${here}.`
    const answer = (await response.json()) as { readonly error: { readonly message: string } }
    t.ok(answer.error.message.startsWith(message), answer.error.message)
  }
})
