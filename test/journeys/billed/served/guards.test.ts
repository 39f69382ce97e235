/** Guards in a gateway with money: every place where the verdict is shown; guards that ask a model,
 *  which the operator pays; stored files; realtime sessions. */
import t, { type Test } from 'tap'
import { type WebSocket, WebSocketServer } from 'ws'
import { blocksOf } from '../../../docs/blocks.ts'
import { eventually } from '../../../helpers/eventually.ts'
import { answerChat, createTextServer, listen } from '../../../helpers/gateway/chat-upstream.ts'
import { withOutput } from '../../../helpers/gateway/command-line.ts'
import { openSocket } from '../../../helpers/gateway/web-socket.ts'
import { gateway, postJson, prepareCustomer, rows } from '../../../helpers/money/billing-gateway.ts'

const ANSWER = ['The first ten words are fine, and then comes a fal', 'con', ' at last.']
/** The answer of the model that decides: its text, or a status. */
let verdict: string | number = '{"labels":[]}'
const questions: { readonly messages: readonly { readonly content: string }[] }[] = []
const bodies: string[] = []
const upstream = createTextServer((text, response) => {
  const body = JSON.parse(text)
  if (body.model !== 'decider') {
    bodies.push(text)
    return answerChat(text, response, { pieces: ANSWER })
  }
  questions.push(body)
  if (typeof verdict === 'number') return response.writeHead(verdict).end('{}')
  return answerChat(text, response, { pieces: [verdict] })
})
/** The last session at the upstream, and its messages. */
let session: WebSocket | undefined
const events: { readonly type: string }[] = []
new WebSocketServer({ server: upstream }).on('connection', socket => {
  session = socket
  socket.on('message', payload => events.push(JSON.parse(payload.toString())))
  socket.send(JSON.stringify({ type: 'session.created', session: { id: 's' } }))
})
const URL = `http://127.0.0.1:${await listen(t, upstream)}`

const DECIDER = "model: decider, labels: { weapons: 'asks for weapons', other: 'is off topic' }"
const GUARDS = {
  pii: '{ find: [email], do: mask }',
  restore: '{ find: [email], do: mask, restore: true }',
  words: '{ words: [falcon], do: block }',
  silent: '{ words: [first], do: shadow }',
  ask: `{ ${DECIDER}, do: block, timeout: 5s, on_error: block }`,
  lenient: `{ ${DECIDER}, do: block, timeout: 5s, on_error: pass }`,
  flag: `{ ${DECIDER}, on: [request, answer], do: flag, timeout: 5s, on_error: pass }`,
  whole: `{ model: decider, prompt: 'No birds.', on: answer, do: block, blocked: input, timeout: 5s, on_error: block }`,
}
const CHATS = { 'chat/completions': 'openai-chat', messages: 'anthropic-messages' }
const ROUTES = `
guards:
${Object.entries(GUARDS)
  .map(([name, guard]) => `  ${name}: ${guard}`)
  .join('\n')}
pipeline: [errors, observe, auth, zone, model, files, meter, account, translate, guard, realtime]
upstreams:
  up: { url: '${URL}', formats: [openai-chat], zone: [eu, us] }
  live: { url: '${URL}' }
  far: { url: '${URL}', formats: [openai-chat], zone: us }
models:
  talk: { to: live/talk, price: { input: 1 / 1k, output: 1 / 1k }, context: 1000, output: 100 }
  words: { to: up/words-of-up, price: { input: 1 / 1k, output: 1 / 1k }, output: 1000 }
  decider: { to: far/decider, price: { input: 1 / 1k, output: 1 / 1k }, output: 1000 }
routes:
${Object.entries({
  ...Object.fromEntries(Object.keys(GUARDS).map(name => [name, name])),
  both: '[pii, silent]',
})
  .flatMap(([path, guard]) =>
    Object.entries(CHATS).map(
      ([end, format]) =>
        `  - { path: POST /${path}/v1/${end}, auth: key, model: body, translate: ${format}, guard: ${guard}, rewrite: /v1/${end} }`,
    ),
  )
  .join('\n')}
  - { path: WS /v1/realtime, auth: key, model: { query: model }, realtime: true, guard: [restore, words, ask], errors: openai }
  - { path: POST /v1/files, auth: key, files: upload, body: { limit: 1025MiB } }
  - { path: GET /api/usage, auth: key, account: usage }
  - { path: 'GET /api/usage/{request_id}', auth: key, account: receipt }
`
const MESSAGES = [{ role: 'user', content: 'Hi, I am ann@example.com.' }]
const bodyOf = (stream: boolean) => ({ model: 'words', messages: MESSAGES, max_tokens: 50, stream })
const start = () => prepareCustomer(ROUTES, 10n ** 12n)
const settledCharge = (id: string | null) =>
  eventually(async () => {
    const [row] = await rows(`SELECT * FROM charges WHERE request = '${id}'`)
    return row && row.state !== 'open' && row
  })

t.test('guards: the verdict is in usage, receipt, CSV and the command', async t => {
  const { key } = await start()
  const get = async (path: string) => {
    const headers = { authorization: `Bearer ${key}` }
    return (await fetch(gateway.url + path, { headers })).text()
  }
  const { id, response } = await postJson(key, '/both/v1/messages', bodyOf(false))
  const verdicts = 'pii=masked(1)'
  t.equal(response.headers.get('x-tollgate-guard'), verdicts, 'a shadow is in the log only')
  const line = await eventually(() =>
    gateway
      .output()
      .split('\n')
      .find(each => each.includes(`"${id}"`) && each.includes('"guard"')),
  )
  t.match(JSON.parse(line), { guard: `${verdicts}, silent=shadow(1)` })
  t.notMatch(line, /ann@|first ten/, 'no text of the call')
  t.match(JSON.parse(await get('/api/usage')).data, [{ request_id: id, guard: verdicts }])
  t.match(JSON.parse(await get(`/api/usage/${id}`)).data, { guard: verdicts })
  const csv = await get('/api/usage?format=csv')
  t.match(csv, /,rule,guard,/)
  t.match(csv, `,${verdicts},`)
  const output = await run(t, 'request', id ?? '')
  t.match(output, `guard ${verdicts}`)
})
const run = async (t: Test, ...argv: readonly string[]) => {
  const { code, out, err } = await withOutput(t, [...argv], { TOLLGATE_DATA: gateway.data })
  t.equal(code, 0, err)
  return out
}

t.test('guards: a model decides about requests; the operator pays it', async t => {
  const { key, account } = await start()
  const ask = (path = '/ask/v1/chat/completions') => postJson(key, path, bodyOf(false))
  questions.length = bodies.length = 0
  verdict = '{"labels":[]}'
  t.equal((await ask()).response.status, 200)
  t.match(questions[0], { response_format: { type: 'json_schema' } })
  const [system, user] = questions[0]?.messages ?? []
  t.match(system?.content, '- weapons: asks for weapons')
  t.same(JSON.parse(user?.content ?? ''), { texts: [MESSAGES[0]?.content] })

  verdict = 'Sure!\n```json\n{"labels":["weapons"]}\n```'
  bodies.length = 0
  const refusal = await ask()
  t.equal(refusal.response.status, 400)
  t.match(refusal.text, 'The guard \\"ask\\" does not allow this request')
  t.same(bodies, [], 'nothing was sent')
  for (const wrong of [500, 'no', '{"labels":["unknown"]}', '{"labels":1}', '{"labels":[}'])
    for (const path of ['ask', 'flag']) {
      verdict = wrong
      const { response } = await ask(`/${path}/v1/chat/completions`)
      t.equal(response.status, path === 'ask' ? 503 : 200, `${path}: ${wrong}`)
    }
  for (const [status, expected] of [
    [503, 200],
    [400, 400],
    [413, 400],
  ] as const) {
    verdict = status
    const { response } = await ask('/lenient/v1/chat/completions')
    t.equal(response.status, expected, `${status}: texts that a model refuses pass no guard`)
  }
  verdict = '{"labels":["weapons","other"]}'
  for (const stream of [false, true]) {
    const { id } = await postJson(key, '/flag/v1/messages', bodyOf(stream))
    const { served } = await settledCharge(id)
    // Once for the request, once for the answer.
    t.match(JSON.parse(String(served)), { guard: 'flag/weapons=flagged(2), flag/other=flagged(2)' })
  }
  const models = await rows(`SELECT DISTINCT model FROM charges WHERE account = ${account}`)
  t.same(models, [{ model: 'words' }], 'the customer pays no model of a guard')
  const metrics = await (await gateway.askAdmin('/metrics')).text()
  t.match(metrics, /guard_model_calls_total\{[^}]*guard="ask"[^}]*\} \d/)
  t.match(metrics, /guard_model_tokens_total\{[^}]*guard="ask"[^}]*\} \d/)
})

t.test('guards: a model that decides about answers gets all of them first', async t => {
  const { key } = await start()
  for (const stream of [false, true])
    for (const end of Object.keys(CHATS)) {
      const name = `${end}${stream ? ', streamed' : ''}`
      questions.length = 0
      verdict = '{"labels":[]}'
      const passed = await postJson(key, `/whole/v1/${end}`, bodyOf(stream))
      t.equal(passed.response.status, 200, name)
      t.match(passed.text, /at last/, name)
      const question = questions[0]?.messages[1]?.content ?? ''
      t.same(JSON.parse(question), { texts: [ANSWER.join('')] }, name)
      verdict = '{"labels":["violation"]}'
      const { id, text } = await postJson(key, `/whole/v1/${end}`, bodyOf(stream))
      t.match(text, 'does not allow this answer', name)
      t.notMatch(text, /first|falcon/, name)
      const charge = await settledCharge(id)
      t.match(JSON.parse(String(charge.served)), { guard: 'whole=blocked(1)' }, name)
      t.same(Object.keys(JSON.parse(String(charge.usage))), ['input'], name)
      verdict = 500
      const failed = await postJson(key, `/whole/v1/${end}`, bodyOf(stream))
      t.match(failed.text, 'could not decide about this answer', name)
      t.notMatch(failed.text, /first/, name)
      const [row] = await rows(`SELECT amount FROM charges WHERE request = '${failed.id}'`)
      t.equal(row?.amount ?? 0, 0, `${name}: a guard that fails costs nothing`)
    }
})

t.test('guards: texts of stored files are searched', async t => {
  const { key } = await start()
  const form = new FormData()
  form.set('purpose', 'user_data')
  const text = 'Write to eve@example.org.'
  form.set('file', new Blob([text], { type: 'text/plain' }), 'note.txt')
  const headers = { authorization: `Bearer ${key}` }
  const upload = await fetch(`${gateway.url}/v1/files`, { method: 'POST', headers, body: form })
  const { id } = (await upload.json()) as { readonly id: string }
  t.ok(id, 'uploaded')
  bodies.length = 0
  const content = [
    { type: 'text', text: 'Read it.' },
    { type: 'file', file: { file_id: id } },
  ]
  const body = { model: 'words', max_tokens: 50, messages: [{ role: 'user', content }] }
  const masked = await postJson(key, '/pii/v1/chat/completions', body)
  t.equal(masked.response.headers.get('x-tollgate-guard'), 'pii=masked(1)', masked.text)
  const [upstreamBody = ''] = bodies
  const base64 = /;base64,([A-Za-z0-9+/=]+)/.exec(upstreamBody)?.[1] ?? ''
  t.equal(Buffer.from(base64, 'base64').toString(), 'Write to [EMAIL_1].', upstreamBody)
})

const USAGE_OF_SESSION = { input_tokens: 40, output_tokens: 20, total_tokens: 60 }
t.test('guards: events of realtime sessions are searched in both directions', async t => {
  const { key, account } = await start()
  verdict = '{"labels":[]}'
  const dial = async () => {
    events.length = 0
    const headers = { authorization: `Bearer ${key}` }
    const client = await openSocket(`${gateway.url}/v1/realtime?model=talk`, [], { headers })
    await client.until(1)
    return client
  }
  const say = (text: string) =>
    JSON.stringify({
      type: 'conversation.item.create',
      item: { type: 'message', role: 'user', content: [{ type: 'input_text', text }] },
    })
  const client = await dial()
  client.socket.send(say('I am ann@example.com'))
  await eventually(() => events.length === 1)
  t.match(JSON.stringify(events[0]), /I am \[EMAIL_1\]/)

  client.socket.send(say('The Falcon flies'))
  t.match(JSON.parse((await client.until(2))[1] ?? ''), {
    type: 'error',
    error: { code: 'content_filter' },
  })
  verdict = '{"labels":["weapons"]}'
  client.socket.send(say('the model refuses this'))
  t.match((await client.until(3))[2], 'The guard \\"ask\\" does not allow')
  client.socket.send('no JSON')
  t.match((await client.until(4))[3], 'JSON objects only')
  t.equal(events.length, 1, 'nothing refused was sent')

  const item = { item_id: 'i', content_index: 0 }
  for (const delta of ['Dear [EMAI', 'L_1], ask bob@exam', 'ple.org'])
    session?.send(JSON.stringify({ type: 'response.output_text.delta', ...item, delta }))
  const text = 'Dear [EMAIL_1], ask bob@example.org'
  session?.send(JSON.stringify({ type: 'response.output_text.done', ...item, text }))
  const output = [{ type: 'message', role: 'assistant', content: [{ type: 'text', text }] }]
  const response = { id: 'r', output, usage: USAGE_OF_SESSION }
  session?.send(JSON.stringify({ type: 'response.done', response }))
  const isDone = () => client.received.some(each => each.includes('"response.done"'))
  await eventually(isDone)
  const received = client.received.slice(4).map(each => JSON.parse(each))
  const deltas = received.flatMap(each => each.delta ?? []).join('')
  t.equal(deltas, 'Dear ann@example.com, ask [EMAIL_2]')
  t.equal(received.find(({ type }) => type.endsWith('text.done')).text, deltas)
  t.equal(received.at(-1).response.output[0].content[0].text, deltas)

  const secret = { type: 'response.output_audio_transcript.delta', ...item, delta: 'a falcon ' }
  session?.send(JSON.stringify(secret))
  t.match(await client.closed, { code: 1008 })
  t.match(client.received.at(-1), /content_filter/)
  t.notOk(client.received.some(each => each.includes('falcon')))
  const row = await eventually(async () => {
    const [charge] = await rows(
      `SELECT * FROM charges WHERE account = ${account} AND model = 'talk' AND state = 'settled'`,
    )
    return charge ?? false
  })
  t.match(JSON.parse(String(row.usage)), { input: 80, output: 21 }, 'the upstream has worked')
  t.match(JSON.parse(String(row.served)), {
    guard: 'restore=masked(2), words=blocked(2), ask/weapons=blocked(1)',
  })
})

t.test('docs/guards.md: its guard with a model blocks', async t => {
  const example = blocksOf('docs/guards.md').find(({ text }) => text.includes('topics:'))?.text
  const { key } = await prepareCustomer(
    `${example}
pipeline: [errors, auth, model, meter, translate, guard]
upstreams: { up: { url: '${URL}', formats: [openai-chat] } }
models:
  words: { to: up/words-of-up, free: true }
  gp-4.1-mini: { to: up/decider, free: true }
routes:
  - { path: POST /v1/chat/completions, auth: key, model: body, translate: openai-chat, guard: topics }
`,
  )
  questions.length = 0
  verdict = '{"labels":["advice"]}'
  const { response, text } = await postJson(key, '/v1/chat/completions', bodyOf(false))
  t.equal(response.status, 400, text)
  t.match(questions[0]?.messages[0]?.content, /a bank\.\n[\s\S]*- advice: asks which/)
})
