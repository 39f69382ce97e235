/** A stream whose upstream is silent in the middle gets pings in the client's own form, passed
 *  through and translated. */
import type { ServerResponse } from 'node:http'
import t from 'tap'
import { BEGINNINGS } from '../../helpers/formats/beginnings.ts'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { postTo } from '../../helpers/gateway/post.ts'
import { startHttpUpstream } from '../../helpers/gateway/test-server.ts'

let upstreamCall = Promise.withResolvers<ServerResponse>()
const url = await startHttpUpstream(t, async (request, response) => {
  for await (const _ of request);
  const { type } = BEGINNINGS[request.url?.split('/')[1] ?? ''] ?? { type: '' }
  response.setHeader('content-type', type)
  upstreamCall.resolve(response)
})
const FORMATS = Object.keys(BEGINNINGS)
const gateway = await startGateway({
  inside: true,
  routes: `
pipeline: [errors, model, translate]
upstreams:
${FORMATS.map(format => `  ${format}: { url: '${url}/${format}', key: k, formats: [${format}] }\n`).join('')}
models:
${FORMATS.map(format => `  ${format}: { to: ${format}/m, free: true }\n`).join('')}
routes:
  - { path: POST /v1/chat/completions, ping: 20ms, model: body, translate: openai-chat, errors: openai }
  - { path: POST /v1/responses, ping: 20ms, model: body, translate: openai-responses, errors: openai }
  - { path: POST /v1/messages, ping: 20ms, model: body, translate: anthropic-messages, errors: anthropic }
  - { path: 'POST /v1/models/{model}:streamGenerateContent', ping: 20ms, model: { path: model }, translate: google-gemini, errors: google }
  - { path: POST /v1beta/interactions, ping: 20ms, model: body, translate: google-interactions, errors: google }
`,
})
t.teardown(() => gateway.stop())

const say = 'Where?'
const messages = [{ role: 'user', content: say }]
const COMMENT = ': ping\n\n'
/** By client format: path, body and ping. */
const CLIENTS: Readonly<Record<string, (model: string) => readonly [string, object, string]>> = {
  'openai-chat': model => ['/v1/chat/completions', { model, stream: true, messages }, COMMENT],
  'openai-responses': model => ['/v1/responses', { model, stream: true, input: say }, COMMENT],
  'anthropic-messages': model => [
    '/v1/messages',
    { model, stream: true, max_tokens: 99, messages },
    'event: ping\ndata: {"type": "ping"}\n\n',
  ],
  'google-gemini': model => [
    `/v1/models/${model}:streamGenerateContent?alt=sse`,
    { contents: [{ role: 'user', parts: [{ text: say }] }] },
    COMMENT,
  ],
  'google-interactions': model => [
    '/v1beta/interactions',
    { model, stream: true, input: say },
    COMMENT,
  ],
}
const post = (path: string, body: object) => postTo(gateway.url + path, body)

/** Calls a model; `until` reads the response until it fits, `rest` to its end. */
const call = async (path: string, body: object) => {
  upstreamCall = Promise.withResolvers()
  const responded = post(path, body)
  const upstream = await upstreamCall.promise
  let text = ''
  const until = async (fits: (text: string) => boolean): Promise<string> => {
    const reader = await chunks
    while (!fits(text)) {
      const { value, done } = await reader.next()
      if (done) throw new Error(`ended with ${JSON.stringify(text)}`)
      text += Buffer.from(value).toString()
    }
    return text
  }
  const chunks = responded.then(({ body }) => (body ?? new ReadableStream()).values())
  const rest = async (): Promise<string> => {
    for (let next = await (await chunks).next(); !next.done; next = await (await chunks).next())
      text += Buffer.from(next.value).toString()
    return text
  }
  return { upstream, until, rest }
}

const isWhole = (event: string): boolean => {
  const [, data = '{}'] = /^data: (?!\[DONE\])(.*)$/m.exec(event) ?? []
  return typeof JSON.parse(data) === 'object'
}

for (const [client, requestOf] of Object.entries(CLIENTS))
  t.test(`pings: ${client} gets its own while an upstream of any format is silent`, async t => {
    for (const format of FORMATS) {
      const [path, body, ping] = requestOf(format)
      const [first = Buffer.of(), ...others] = BEGINNINGS[format]?.answer ?? []
      const { upstream, until, rest } = await call(path, body)
      const before = (await until(text => text.endsWith(ping))).length
      upstream.write(first)
      await until(text => {
        const since = text.slice(before)
        return since.endsWith(ping) && (format !== client || since.replaceAll(ping, '') !== '')
      })
      upstream.end(Buffer.concat(others))
      const text = await rest()
      t.match(text, /Rome/, format)
      t.ok(
        text
          .replaceAll(ping, '')
          .split(/\r?\n\r?\n/)
          .every(isWhole),
        'only whole events',
      )
    }
  })

const chunk = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
const argumentsOf = (text: string): string =>
  chunk({ tool_calls: [{ index: 0, function: { arguments: text } }] })
for (const [client, requestOf] of Object.entries(CLIENTS))
  t.test(`pings: ${client} gets its own between the arguments of a call`, async t => {
    const [path, body, ping] = requestOf('openai-chat')
    const { upstream, until, rest } = await call(path, body)
    const call1 = { id: 'c1', type: 'function', function: { name: 'find', arguments: '{"city":' } }
    upstream.write(chunk({ role: 'assistant', tool_calls: [{ index: 0, ...call1 }] }))
    let length = (await until(text => text.endsWith(ping))).length
    upstream.write(argumentsOf('"Ro'))
    length = (await until(text => text.length > length && text.endsWith(ping))).length
    upstream.end(`${argumentsOf('me"}')}${chunk({}, 'tool_calls')}data: [DONE]\n\n`)
    const events = (await rest()).replaceAll(ping, '')
    t.match(events.replaceAll(/[^a-zA-Z]/g, ''), /find.*Ro/)
    t.ok(events.split(/\r?\n\r?\n/).every(isWhole), 'only whole events')
  })

t.test(
  'pings: an interaction whose upstream fails behind a ping ends with an error event',
  async t => {
    const [path, body] = CLIENTS['google-interactions']?.('openai-chat') ?? ['', {}]
    const { upstream, until, rest } = await call(path, body)
    await until(text => text.endsWith(COMMENT))
    upstream.writeHead(503, { 'content-type': 'application/json' })
    upstream.end('{"error":{"message":"later"}}')
    const event = (await rest()).replaceAll(COMMENT, '')
    t.match(event, /^event: error\ndata: \{"event_type":"error","error":\{"code":"502"/)
  },
)

t.test('pings: none before a stream that is a JSON list', async t => {
  const list = '/v1/models/google-gemini:streamGenerateContent'
  const contents = [{ role: 'user', parts: [{ text: say }] }]
  const { upstream, rest } = await call(list, { contents })
  const chat = await call('/v1/chat/completions', { model: 'openai-chat', stream: true, messages })
  await chat.until(text => text.endsWith(COMMENT))
  chat.upstream.end(Buffer.concat(BEGINNINGS['openai-chat']?.answer ?? []))
  await chat.rest()
  upstream.setHeader('content-type', 'application/json')
  upstream.end(JSON.stringify([BEGINNINGS['google-gemini']?.plain]))
  t.match(JSON.parse(await rest()), [BEGINNINGS['google-gemini']?.plain])
})
