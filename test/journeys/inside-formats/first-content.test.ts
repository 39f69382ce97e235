/** A target is chosen at its first content: errors and silence before it lead to the next target,
 *  in every format, plain and streamed, passed through and translated. */
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import t from 'tap'
import { BEGINNINGS } from '../../helpers/formats/beginnings.ts'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { startHttpUpstream } from '../../helpers/gateway/test-server.ts'

type Behaviour = (response: ServerResponse) => void | Promise<void>
/** The behaviour of the targets `a` and `b`, and the order of requests to them, with their keys. */
let targets: Record<string, Behaviour> = {}
let requests: string[] = []
const url = await startHttpUpstream(t, async (request, response) => {
  for await (const _ of request);
  const target = request.url?.split('/')[1] ?? ''
  requests.push(target)
  keys.push(String(request.headers.authorization))
  await targets[target]?.(response)
})
const keys: string[] = []
t.beforeEach(() => {
  requests = []
  keys.length = 0
})

const FORMATS = Object.keys(BEGINNINGS)
const CLIENTS = ['openai-chat', 'openai-responses', 'anthropic-messages', 'google-gemini'] as const
type Client = (typeof CLIENTS)[number]
const upstream = (name: string, format: string, more = ''): string =>
  `  ${name}-${format}: { url: '${url}/${name}', key: k, health: { failures: 1000000 }, formats: [${format}]${more} }\n`
const HASTY = ', timeout: { first_content: 300ms }'
const BRIEF = ', timeout: { preamble: 100ms }'
const CHAT = BEGINNINGS['openai-chat'] as (typeof BEGINNINGS)[string]
const CHAT_ERRORS = CHAT.errors
const gateway = await startGateway({
  inside: true,
  routes: `
pipeline: [errors, model, translate]
upstreams:
${FORMATS.map(format => upstream('a', format) + upstream('b', format)).join('')}
${upstream('a', 'hasty', HASTY).replace('[hasty]', '[openai-chat]')}
${upstream('a', 'brief', BRIEF).replace('[brief]', '[openai-chat]')}
${CHAT_ERRORS.map((_, at) => upstream('a', `keys-${at}`).replace('key: k', `key: [one-${at}, two-${at}]`).replace(`[keys-${at}]`, '[openai-chat]')).join('')}
${upstream('a', 'hasty-keys', HASTY).replace('key: k', 'key: [k1, k2]').replace('[hasty-keys]', '[openai-chat]')}
models:
${FORMATS.map(each => `  both-${each}: { to: [a-${each}/m, b-${each}/m], free: true }\n  alone-${each}: { to: a-${each}/m, free: true }\n`).join('')}
  hasty: { to: [a-hasty/m, b-openai-chat/m], free: true }
  hasty-alone: { to: a-hasty/m, free: true }
  brief: { to: [a-brief/m, b-openai-chat/m], free: true }
${CHAT_ERRORS.map((_, at) => `  keys-${at}: { to: a-keys-${at}/m, free: true }\n`).join('')}
  hasty-keys: { to: a-hasty-keys/m, free: true }
routes:
  - { path: POST /v1/chat/completions, name: chat, model: body, translate: openai-chat, errors: openai }
  - { path: POST /pinged, ping: 20ms, model: body, translate: openai-chat, errors: openai, rewrite: /v1/chat/completions }
  - { path: POST /v1/responses, model: body, translate: openai-responses, errors: openai }
  - { path: POST /v1/messages, model: body, translate: anthropic-messages, errors: anthropic }
  - { path: 'POST /v1/models/{model}:generateContent', model: { path: model }, translate: google-gemini, errors: google }
  - { path: 'POST /v1/models/{model}:streamGenerateContent', model: { path: model }, translate: google-gemini, errors: google }
`,
})
t.teardown(() => gateway.stop())

const say = 'Where?'
const BODIES: Readonly<
  Record<Client, (model: string, stream: boolean) => readonly [string, object]>
> = {
  'openai-chat': (model, stream) => [
    '/v1/chat/completions',
    { model, stream, messages: [{ role: 'user', content: say }] },
  ],
  'openai-responses': (model, stream) => ['/v1/responses', { model, stream, input: say }],
  'anthropic-messages': (model, stream) => [
    '/v1/messages',
    { model, stream, max_tokens: 99, messages: [{ role: 'user', content: say }] },
  ],
  'google-gemini': (model, stream) => [
    `/v1/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    { contents: [{ role: 'user', parts: [{ text: say }] }] },
  ],
}
const post = (path: string, body: object, signal?: AbortSignal) =>
  fetch(gateway.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    ...(signal && { signal }),
  })
const ask = async (client: Client, model: string, stream: boolean) => {
  const response = await post(...BODIES[client](model, stream))
  return { status: response.status, text: await response.text() }
}
/** Anthropic says 529 where others say 503. */
const statusFor = (client: Client, format: string, status: number): number => {
  if (client === format || (status !== 503 && status !== 529)) return status
  return client === 'anthropic-messages' ? 529 : 503
}
const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))
const streaming =
  (type: string, events: readonly Uint8Array[]): Behaviour =>
  async response => {
    response.writeHead(200, { 'content-type': type })
    for (const event of events) {
      response.write(event)
      await turn()
    }
    response.end()
  }
const plain =
  (body: unknown): Behaviour =>
  response =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))

for (const [format, { type, preamble, errors, answer, emptyAnswer }] of Object.entries(BEGINNINGS))
  for (const client of CLIENTS)
    t.test(`first content: a stream of ${format} for ${client}`, async t => {
      const b = streaming(type, answer)
      for (const [event, status] of errors)
        for (const start of [[], preamble]) {
          requests = []
          targets = { a: streaming(type, [...start, event]), b }
          const { status: actual, text } = await ask(client, `both-${format}`, true)
          const about = `status ${status} after ${start.length} events`
          t.equal(actual, 200, about)
          t.match(text, /Rome/, about)
          t.notMatch(text, /later|overloaded/, 'nothing of the failed attempt')
          t.same(requests, ['a', 'b'], about)
          if (start.length > 0) continue
          const alone = await ask(client, `alone-${format}`, true)
          t.equal(alone.status, statusFor(client, format, status), 'of the last target')
        }
      for (const ending of ['', 'reset']) {
        requests = []
        targets = { a: cut(type, preamble, ending), b }
        t.match(await ask(client, `both-${format}`, true), { status: 200, text: /Rome/ }, ending)
        t.same(requests, ['a', 'b'], `ended ${ending}`)
      }
      requests = []
      targets = { a: streaming(type, emptyAnswer), b }
      t.equal((await ask(client, `both-${format}`, true)).status, 200)
      t.same(requests, ['a'], 'an answer without a text is an answer')
    })
const cut =
  (type: string, events: readonly Uint8Array[], how: string): Behaviour =>
  async response => {
    response.writeHead(200, { 'content-type': type })
    for (const event of events) response.write(event)
    if (how === '') return void response.end()
    await turn()
    response.socket?.resetAndDestroy()
  }

for (const [format, { failures, plain: body, empty }] of Object.entries(BEGINNINGS))
  for (const client of CLIENTS)
    t.test(`first content: a plain answer of ${format} for ${client}`, async t => {
      for (const [failure, status] of failures) {
        requests = []
        targets = { a: plain(failure), b: plain(body) }
        const about = JSON.stringify(failure)
        t.match(await ask(client, `both-${format}`, false), { status: 200, text: /Rome/ }, about)
        t.same(requests, ['a', 'b'], about)
        const alone = await ask(client, `alone-${format}`, false)
        t.equal(alone.status, statusFor(client, '', status), `${about} of the last target`)
        t.ok(JSON.parse(alone.text).error, 'an error of the dialect')
      }
      requests = []
      targets = { a: plain(empty), b: plain(body) }
      t.equal((await ask(client, `both-${format}`, false)).status, 200)
      t.same(requests, ['a'], 'an answer without a text is an answer')
    })

t.test('first content: Gemini streams in a JSON array', async t => {
  const array =
    (...elements: readonly object[]): Behaviour =>
    async response => {
      response.writeHead(200, { 'content-type': 'application/json' })
      for (const [at, element] of elements.entries()) {
        response.write(`${at === 0 ? '[' : ',\r\n'}${JSON.stringify(element)}`)
        await turn()
      }
      response.end(']')
    }
  const { plain: body, failures } = BEGINNINGS['google-gemini'] ?? { plain: {}, failures: [] }
  const path = (model: string) => `/v1/models/${model}-google-gemini:streamGenerateContent`
  for (const start of [[], [{ usageMetadata: { promptTokenCount: 7 } }]]) {
    const error = failures[0]?.[0] as object
    requests = []
    targets = { a: array(...start, error), b: array(body) }
    const response = await post(path('both'), { contents: [{ parts: [{ text: say }] }] })
    t.equal(response.status, 200)
    t.match(JSON.parse(await response.text()), [body])
    t.same(requests, ['a', 'b'])
  }
  targets = { a: array(failures[0]?.[0] as object) }
  t.equal((await post(path('alone'), { contents: [{ parts: [{ text: say }] }] })).status, 503)
})

/** Sends these events and then nothing until the client leaves. */
const silent =
  (events: readonly Uint8Array[] = []): Behaviour =>
  async response => {
    response.writeHead(200, { 'content-type': CHAT.type })
    response.flushHeaders()
    for (const event of events) response.write(event)
    await once(response, 'close')
  }
const headless: Behaviour = async response => void (await once(response, 'close'))

t.test('first content: silence beyond first_content leads to the next target', async t => {
  for (const a of [headless, silent(), silent(CHAT.preamble)]) {
    requests = []
    targets = { a, b: streaming(CHAT.type, CHAT.answer) }
    t.match(await ask('openai-chat', 'hasty', true), { status: 200, text: /Rome/ })
    t.same(requests, ['a', 'b'])
  }
  targets = { a: silent(CHAT.preamble), b: plain(CHAT.plain) }
  t.match(await ask('openai-chat', 'hasty', false), { status: 200, text: /Rome/ }, 'plain')
})

t.test('first content: silence of the last target is waited for', async t => {
  targets = {
    a: async response => {
      response.writeHead(200, { 'content-type': CHAT.type })
      for (const event of CHAT.preamble) response.write(event)
      setTimeout(() => response.end(Buffer.concat(CHAT.answer)), 600)
    },
  }
  t.match(await ask('openai-chat', 'hasty-alone', true), { status: 200, text: /Rome/ })
  t.same(requests, ['a'])
})

t.test('first content: another key is asked where no other target is left', async t => {
  for (const [index, [event]] of CHAT_ERRORS.entries()) {
    keys.length = 0
    const a = streaming(CHAT.type, [...CHAT.preamble, event])
    targets = {
      a: response => (keys.length === 1 ? a : streaming(CHAT.type, CHAT.answer))(response),
    }
    t.match(await ask('openai-chat', `keys-${index}`, true), { status: 200, text: /Rome/ })
    t.equal(new Set(keys).size, 2, 'two keys')
  }
  keys.length = 0
  targets = {
    a: response => (keys.length === 1 ? headless : streaming(CHAT.type, CHAT.answer))(response),
  }
  t.match(await ask('openai-chat', 'hasty-keys', true), { status: 200, text: /Rome/ })
  t.equal(new Set(keys).size, 2, 'after silence')
})

t.test('first content: events pass after `preamble`, and the target is chosen', async t => {
  const release = Promise.withResolvers<void>()
  targets = {
    a: async response => {
      response.writeHead(200, { 'content-type': CHAT.type })
      for (const event of CHAT.preamble) response.write(event)
      await release.promise
      response.end(CHAT.errors[0]?.[0])
    },
    b: streaming(CHAT.type, CHAT.answer),
  }
  const response = await post(...BODIES['openai-chat']('brief', true))
  const reader = response.body?.getReader()
  const first = await reader?.read()
  t.match(Buffer.from(first?.value ?? []).toString(), /PROCESSING/, 'sent while the upstream waits')
  release.resolve()
  let rest = ''
  for (let next = await reader?.read(); next && !next.done; next = await reader?.read())
    rest += Buffer.from(next.value).toString()
  t.match(rest, /later/)
  t.same(requests, ['a'], 'no other target is asked after the first byte')
})

t.test('first content: with one target events pass at once', async t => {
  const release = Promise.withResolvers<void>()
  targets = {
    a: async response => {
      response.writeHead(200, { 'content-type': CHAT.type })
      response.write(CHAT.preamble[2])
      await release.promise
      response.end(Buffer.concat(CHAT.answer))
    },
  }
  const response = await post(...BODIES['openai-chat']('alone-openai-chat', true))
  const reader = response.body?.getReader()
  t.ok(((await reader?.read())?.value?.length ?? 0) > 0, 'before the upstream goes on')
  release.resolve()
  await reader?.cancel()
})

t.test('first content: pings go on while events are kept back', async t => {
  const release = Promise.withResolvers<void>()
  const failing: Behaviour = async response => {
    response.writeHead(200, { 'content-type': CHAT.type })
    for (const event of CHAT.preamble) response.write(event)
    await release.promise
    response.end(CHAT.errors[0]?.[0])
  }
  targets = { a: failing, b: streaming(CHAT.type, CHAT.answer) }
  const [, body] = BODIES['openai-chat']('both-openai-chat', true)
  const response = await post('/pinged', body)
  t.equal(response.status, 200)
  const reader = response.body?.getReader()
  t.equal(Buffer.from((await reader?.read())?.value ?? []).toString(), ': ping\n\n')
  release.resolve()
  let text = ''
  for (let next = await reader?.read(); next && !next.done; next = await reader?.read())
    text += Buffer.from(next.value).toString()
  t.match(text, /Rome/)
  t.notMatch(text, /PROCESSING|later/)
  t.same(requests, ['a', 'b'])
})

t.test('first content: an error after the pings of the last target is an event', async t => {
  const release = Promise.withResolvers<void>()
  targets = {
    a: async response => {
      response.writeHead(200, { 'content-type': CHAT.type })
      response.flushHeaders()
      await release.promise
      response.end(CHAT.errors[0]?.[0])
    },
  }
  const response = await post('/pinged', BODIES['openai-chat']('alone-openai-chat', true)[1])
  const reader = response.body?.getReader()
  await reader?.read()
  release.resolve()
  let text = ''
  for (let next = await reader?.read(); next && !next.done; next = await reader?.read())
    text += Buffer.from(next.value).toString()
  t.match(text, /data: \{"error":/)
})

t.test('first content: a client that leaves ends the attempt, and no other is made', async t => {
  const abort = new AbortController()
  const closed = Promise.withResolvers<void>()
  targets = {
    a: async response => {
      response.writeHead(200, { 'content-type': CHAT.type })
      for (const event of CHAT.preamble) response.write(event)
      response.once('close', closed.resolve)
      abort.abort()
    },
    b: streaming(CHAT.type, CHAT.answer),
  }
  const leaving = post(...BODIES['openai-chat']('both-openai-chat', true), abort.signal)
  await t.rejects(leaving)
  await closed.promise
  t.same(requests, ['a'])
})
