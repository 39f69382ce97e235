/** Keys of upstreams are hidden in everything that a client gets, in every format and dialect:
 *  errors, error events, answers and headers, passed or translated. */
import t from 'tap'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { postTo } from '../../helpers/gateway/post.ts'
import { startHttpUpstream } from '../../helpers/gateway/test-server.ts'

const KEY = 'sk-live-4fQ7zL0aWm9RkT2vXc8Yd5NbH3gJpEuSi1oVtq6'
const FORMATS = ['openai-chat', 'openai-responses', 'anthropic-messages', 'google-gemini'] as const
type FormatName = (typeof FORMATS)[number]

/** The upstream's answer, and how many bytes of it go out at a time. */
const answer = { status: 200, type: 'application/json', text: '', piece: 100_000 }
const url = await startHttpUpstream(t, async (request, response) => {
  for await (const _ of request);
  response.writeHead(answer.status, { 'content-type': answer.type, 'x-debug': `key ${KEY}` })
  for (let at = 0; at < answer.text.length; at += answer.piece) {
    response.write(answer.text.slice(at, at + answer.piece))
    await new Promise(resolve => setImmediate(resolve))
  }
  response.end()
})
const models = FORMATS.map(format => `  ${format}: { to: ${format}/m, free: true }\n`).join('')
const upstreams = FORMATS.map(
  format => `  ${format}: { url: '${url}', key: '${KEY}', formats: [${format}] }\n`,
).join('')
const gateway = await startGateway({
  inside: true,
  routes: `
pipeline: [errors, model, translate]
upstreams:
${upstreams}
models:
${models}
routes:
  - { path: POST /openai-chat, model: body, translate: openai-chat, errors: openai }
  - { path: POST /openai-responses, model: body, translate: openai-responses, errors: openai }
  - { path: POST /anthropic-messages, model: body, translate: anthropic-messages, errors: anthropic }
  - { path: 'POST /google-gemini/{model}:generateContent', model: { path: model }, translate: google-gemini, errors: google }
  - { path: 'POST /google-gemini/{model}:streamGenerateContent', model: { path: model }, translate: google-gemini, errors: google }
`,
})
t.teardown(() => gateway.stop())

const messages = [{ role: 'user', content: 'Hello' }]
const BODIES: Readonly<Record<FormatName, object>> = {
  'openai-chat': { messages },
  'openai-responses': { input: 'Hello' },
  'anthropic-messages': { messages, max_tokens: 9 },
  'google-gemini': { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] },
}
/** Status, headers and body as one text. */
const ask = async (client: FormatName, model: FormatName, stream: boolean): Promise<string> => {
  const method = stream ? 'streamGenerateContent?alt=sse' : 'generateContent'
  const path = client === 'google-gemini' ? `${client}/${model}:${method}` : client
  const more = client === 'google-gemini' ? {} : { model, stream }
  const reply = await postTo(`${gateway.url}/${path}`, { ...BODIES[client], ...more })
  const headers = JSON.stringify([...reply.headers])
  return `${reply.status} ${headers} ${await reply.text()}`
}

const event = (data: object, name = ''): string =>
  `${name && `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`
/** Of each format: a first event, and an event that reports an error. */
const STREAMS: Readonly<Record<FormatName, (message: string) => string>> = {
  'openai-chat': message =>
    event({ id: 'c', choices: [{ index: 0, delta: { content: 'Hi' } }] }) +
    event({ error: { message, type: 'invalid_request_error' } }),
  'openai-responses': message =>
    event(
      { type: 'response.output_text.delta', sequence_number: 0, item_id: 'm', delta: 'Hi' },
      'response.output_text.delta',
    ) + event({ type: 'error', sequence_number: 1, code: 'invalid', message }, 'error'),
  'anthropic-messages': message =>
    event({ type: 'message_start', message: { id: 'm', content: [] } }, 'message_start') +
    event(
      {
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'text_delta', text: 'Hi' },
      },
      'content_block_delta',
    ) +
    event({ type: 'error', error: { type: 'invalid_request_error', message } }, 'error'),
  'google-gemini': message =>
    event({ candidates: [{ index: 0, content: { role: 'model', parts: [{ text: 'Hi' }] } }] }) +
    event({ error: { code: 400, status: 'INVALID_ARGUMENT', message } }),
}
const MESSAGES = {
  whole: KEY,
  'a part': `${KEY.slice(0, 24)}…`,
  'in base64': Buffer.from(`user:${KEY}`).toString('base64'),
  'URL-encoded': [...KEY].map(char => `%${char.charCodeAt(0).toString(16)}`).join(''),
}
/** Whether a text has 12 characters of another in a row. */
const hasPart = (text: string, secret: string): boolean =>
  Array.from({ length: secret.length - 11 }, (_, at) => secret.slice(at, at + 12)).some(part =>
    text.includes(part),
  )

for (const client of FORMATS)
  for (const model of FORMATS)
    t.test(`credentials: hidden from ${client} clients of ${model}`, async t => {
      for (const [name, secret] of Object.entries(MESSAGES)) {
        const message = `Bad request with ${secret} here.`
        const error = { message, type: 'invalid_request_error', code: 400, status: 'INVALID' }
        Object.assign(answer, { status: 400, type: 'application/json', piece: 11 })
        answer.text = JSON.stringify({ type: 'error', error })
        const refusal = await ask(client, model, false)
        t.match(refusal, /^400 .*Bad request with \S{0,8}\*{12,}.*here\./, name)
        t.notOk(hasPart(refusal, secret) || hasPart(refusal, KEY), name)
        Object.assign(answer, { status: 200, type: 'text/event-stream', piece: 100_000 })
        answer.text = STREAMS[model](message)
        const streamed = await ask(client, model, true)
        t.match(streamed, /Bad request with \S{0,8}\*{12,}/, name)
        t.notOk(hasPart(streamed, secret) || hasPart(streamed, KEY), name)
      }
      // An answer with 200 that is none of the format.
      Object.assign(answer, { status: 200, type: 'application/json', piece: 100_000 })
      for (const secret of Object.values(MESSAGES))
        for (const report of [
          { base_resp: { status_code: 1004, status_msg: `login fail: ${secret}` } },
          { err_code: 'AuthFailed', state: secret, choices: [], content: [], candidates: [] },
          { code: 401, message: secret },
        ]) {
          answer.text = JSON.stringify(report)
          const passed = await ask(client, model, false)
          t.notOk(hasPart(passed, secret) || hasPart(passed, KEY), passed)
        }
      Object.assign(answer, { type: 'text/event-stream' })
      answer.piece = 9
      answer.text = STREAMS[model](KEY)
      t.notOk(hasPart(await ask(client, model, true), KEY), 'in pieces')
    })
