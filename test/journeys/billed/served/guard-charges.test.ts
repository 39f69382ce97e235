/** The charge of an answer that a guard blocks, in every format, plain, streamed and over
 *  WebSockets: an answer that is withheld whole costs as the guard says, a part that the client has
 *  costs as any answer that breaks off. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { WebSocketServer } from 'ws'
import { eventually } from '../../../helpers/eventually.ts'
import { openSocket } from '../../../helpers/gateway/web-socket.ts'
import { gateway, postJson, prepareCustomer, rows } from '../../../helpers/money/billing-gateway.ts'

const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
/** Answers by the model that gives them: one begins with the word that guards block, one ends with
 *  it. */
const ANSWERS: Readonly<Record<string, readonly string[]>> = {
  early: ['Fal', 'con, a bird'],
  late: ['An essay of many words', ', and then a fal', 'con.'],
}
/** Resolves when the client has the first text of a stream. */
let firstText: PromiseWithResolvers<void> | undefined
const upstream = createServer(async (request, response) => {
  let text = ''
  for await (const chunk of request) text += chunk
  const body = JSON.parse(text)
  const facts = { id: 'resp-1', model: body.model, created: 1 }
  const pieces = ANSWERS[body.model] ?? []
  if (body.stream !== true) {
    const message = { role: 'assistant', content: pieces.join('') }
    const choices = [{ index: 0, message, finish_reason: 'stop' }]
    response.writeHead(200, { 'content-type': 'application/json' })
    return response.end(JSON.stringify({ ...facts, choices, usage: USAGE }))
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const send = (event: object) => response.write(`data: ${JSON.stringify(event)}\n\n`)
  for (const content of pieces) {
    send({ ...facts, choices: [{ index: 0, delta: { content } }] })
    await firstText?.promise
  }
  send({ ...facts, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })
  send({ ...facts, choices: [], usage: USAGE })
  return response.end('data: [DONE]\n\n')
}).listen(0, '127.0.0.1')
new WebSocketServer({ server: upstream }).on('connection', socket => {
  socket.send(JSON.stringify({ type: 'session.created', session: { id: 's' } }))
  socket.on('message', () => {
    const usage = { input_tokens: 40, output_tokens: 20, total_tokens: 60 }
    socket.send(JSON.stringify({ type: 'response.done', response: { id: 'r', usage } }))
    const delta = { item_id: 'i', content_index: 0, delta: 'a falcon ' }
    socket.send(JSON.stringify({ type: 'response.output_text.delta', ...delta }))
  })
})
await once(upstream, 'listening')
t.teardown(() => {
  upstream.closeAllConnections()
  upstream.close()
})
const URL = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`

const PARTS = ['charge', 'input', 'free'] as const
const FORMATS = {
  'openai-chat': '/v1/chat/completions',
  'openai-responses': '/v1/responses',
  'anthropic-messages': '/v1/messages',
  'google-gemini': '/v1beta/models',
}
type FormatName = keyof typeof FORMATS
const pathOf = (part: string, format: FormatName, model: string, stream: boolean): string => {
  const path = `/${part}${FORMATS[format]}`
  if (format !== 'google-gemini') return path
  return `${path}/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`
}
const bodyOf = (format: FormatName, model: string, stream: boolean): object => {
  const messages = [{ role: 'user', content: 'Hello' }]
  if (format === 'google-gemini')
    return { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] }
  if (format === 'openai-responses') return { model, input: messages, store: false, stream }
  return { model, messages, max_tokens: 50, stream }
}
const PRICE = 'price: { input: 1 / 1k, output: 1 / 1k }, context: 1000, output: 100'
const ROUTES = `
guards:
${PARTS.map(part => `  ${part}: { words: [falcon], on: answer, do: block, blocked: ${part} }\n`).join('')}
pipeline: [errors, auth, model, responses, meter, translate, guard, realtime]
upstreams:
  up: { url: '${URL}', formats: [openai-chat] }
  live: { url: '${URL}' }
models:
  early: { to: up/early, ${PRICE} }
  late: { to: up/late, ${PRICE} }
  talk: { to: live/talk, ${PRICE} }
routes:
${PARTS.map(
  part => `
  - { path: POST /${part}/v1/chat/completions, auth: key, model: body, translate: openai-chat, guard: ${part} }
  - { path: POST /${part}/v1/messages, auth: key, model: body, translate: anthropic-messages, guard: ${part} }
  - { path: POST /${part}/v1/responses, auth: key, model: body, responses: create, translate: openai-responses, guard: ${part} }
  - { path: WS /${part}/v1/responses, responses: socket, errors: openai }
${['generateContent', 'streamGenerateContent'].map(end => `  - { path: 'POST /${part}/v1beta/models/{model}:${end}', auth: key, model: { path: model }, translate: google-gemini, guard: ${part} }\n`).join('')}  - { path: WS /${part}/v1/realtime, auth: key, model: { query: model }, realtime: true, guard: ${part}, errors: openai }
`,
).join('')}
`
const start = () => prepareCustomer(ROUTES, 10n ** 12n)
const chargeOf = (id: string | null) =>
  eventually(async () => {
    const [row] = await rows(`SELECT * FROM charges WHERE request = '${id}'`)
    return row && row.state !== 'open' && row
  })
const usageOf = (row: Readonly<Record<string, unknown>>) => JSON.parse(String(row.usage ?? '{}'))

t.test('blocked answers: one that is withheld whole is charged as the guard says', async t => {
  const { key } = await start()
  firstText = undefined
  for (const format of Object.keys(FORMATS) as FormatName[])
    for (const part of PARTS)
      for (const [model, stream] of [
        ['early', false],
        ['late', false],
        ['early', true],
      ] as const) {
        const name = `${part}, ${format}, ${model}${stream ? ', streamed' : ''}`
        const path = pathOf(part, format, model, stream)
        const { id, response, text } = await postJson(key, path, bodyOf(format, model, stream))
        if (!stream) t.equal(response.status, 400, name)
        t.match(text, 'does not allow this answer', name)
        t.notMatch(text, /falcon|essay/i, name)
        if (part === 'free') {
          await eventually(async () => {
            const open = await rows(
              `SELECT * FROM charges WHERE request = '${id}' AND (state = 'open' OR amount > 0)`,
            )
            return open.length === 0
          })
          continue
        }
        const charge = await chargeOf(id)
        const { input, output = 0 } = usageOf(charge)
        t.ok(input > 0, name)
        t.equal(output > 0, part === 'charge', name)
        t.match(JSON.parse(String(charge.served)), { guard: `${part}=blocked(1)` }, name)
        if (!stream) t.equal(Number(charge.amount) / 1e6, part === 'charge' ? 15 : 10, name)
      }
})

t.test('blocked answers: one of which the client has a part is never free', async t => {
  const { key } = await start()
  for (const format of Object.keys(FORMATS) as FormatName[])
    for (const part of PARTS) {
      const name = `${part}, ${format}`
      firstText = Promise.withResolvers()
      const response = await fetch(gateway.url + pathOf(part, format, 'late', true), {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(bodyOf(format, 'late', true)),
      })
      let text = ''
      const decoder = new TextDecoder()
      for await (const chunk of response.body ?? []) {
        text += decoder.decode(chunk, { stream: true })
        if (text.includes('many words')) firstText.resolve()
      }
      t.match(text, 'does not allow this answer', name)
      t.notMatch(text, /falcon/, name)
      const charge = await chargeOf(response.headers.get('x-request-id'))
      t.equal(charge.state, 'settled', name)
      t.ok(usageOf(charge).input > 0, name)
      t.ok(usageOf(charge).output > 0, name)
    }
})

t.test('blocked answers: responses over a WebSocket are charged alike', async t => {
  const { account, key } = await start()
  const headers = { authorization: `Bearer ${key}` }
  for (const part of PARTS) {
    const client = await openSocket(`${gateway.url}/${part}/v1/responses`, [], { headers })
    firstText = Promise.withResolvers()
    const { promise, resolve } = Promise.withResolvers<void>()
    client.socket.on('message', message => {
      if (String(message).includes('many words')) firstText?.resolve()
      if (String(message).includes('does not allow this answer')) resolve()
    })
    client.socket.send(
      JSON.stringify({ type: 'response.create', ...bodyOf('openai-responses', 'late', true) }),
    )
    await promise
    t.notMatch(client.received.join(''), /falcon/, part)
    client.socket.close()
    const row = await eventually(async () => {
      const charges = await rows(
        `SELECT * FROM charges WHERE account = ${account} AND state = 'settled' AND served LIKE '%${part}=blocked%'`,
      )
      return charges[0] ?? false
    })
    t.ok(usageOf(row).output > 0, part)
  }
})

t.test('blocked answers: a realtime session is charged by its usage', async t => {
  const { account, key } = await start()
  const headers = { authorization: `Bearer ${key}` }
  for (const part of PARTS) {
    const url = `${gateway.url}/${part}/v1/realtime?model=talk`
    const client = await openSocket(url, [], { headers })
    await client.until(1)
    client.socket.send(JSON.stringify({ type: 'response.create' }))
    t.match(await client.closed, { code: 1008 }, part)
    const row = await eventually(async () => {
      const charges = await rows(
        `SELECT * FROM charges WHERE account = ${account} AND state <> 'open' AND served LIKE '%${part}=blocked%'`,
      )
      return charges[0] ?? false
    })
    t.equal(row.state, 'settled', part)
    t.ok(usageOf(row).input >= 40 && usageOf(row).output >= 20, part)
  }
})
