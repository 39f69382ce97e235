/** No request leaves the zone that its route, account, API key or tag demands: not by a fallback,
 *  in a batch, in the background, over a WebSocket, as a task or to a guard. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { sessionOf } from '../../docs/blocks.ts'
import { withOutput } from '../../helpers/gateway/command-line.ts'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { openSocket } from '../../helpers/gateway/web-socket.ts'

/** The upstreams that got requests, in order. `failing`: those that answer with 503. */
let requested: string[] = []
const failing = new Set<string>()
const USAGE = { prompt_tokens: 4, completion_tokens: 2, total_tokens: 6 }
const answerOf = (path: string, stream: boolean): unknown => {
  const frame = { id: 'c', object: 'chat.completion', created: 1, model: 'm' }
  const message = { role: 'assistant', content: 'Hello.' }
  if (path.endsWith('/embeddings'))
    return {
      object: 'list',
      data: [{ object: 'embedding', index: 0, embedding: [1] }],
      usage: USAGE,
    }
  if (path.endsWith('/check')) return { action: 'pass' }
  if (path.includes('/clips'))
    return { id: 'up-1', state: 'success', files: ['https://e.example/1'] }
  if (!stream)
    return { ...frame, choices: [{ index: 0, message, finish_reason: 'stop' }], usage: USAGE }
  return { ...frame, choices: [{ index: 0, delta: message, finish_reason: 'stop' }], usage: USAGE }
}
const server = createServer(async (request, response) => {
  let text = ''
  for await (const chunk of request) text += chunk
  const [, name = ''] = (request.url ?? '').split('/')
  requested.push(name)
  if (failing.has(name)) return response.writeHead(503).end('{}')
  const stream = text !== '' && JSON.parse(text).stream === true
  const answer = JSON.stringify(answerOf(request.url ?? '', stream))
  response.writeHead(200, { 'content-type': stream ? 'text/event-stream' : 'application/json' })
  return response.end(stream ? `data: ${answer}\n\ndata: [DONE]\n\n` : answer)
}).listen(0, '127.0.0.1')
await once(server, 'listening')
t.teardown(() => {
  server.closeAllConnections()
  server.close()
})

const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
const upstream = (name: string, more: string): string =>
  `  ${name}: { url: '${base}/${name}', key: k, health: { failures: 1000000 }${more} }`
const PRICE = 'price: { input: 0.01, output: 0.02 }, output: 50, context: 1000'
const CLIP = `dialect: vidu, submit: { id: /id }, poll: { path: 'GET /clips/{id}', every: 20ms..40ms, state: /state, states: { success: succeeded }, results: /files }`
const gateway = await startGateway({
  routes: `
pipeline: [errors, auth, zone, form, model, tags, idempotency, responses, files, batches, meter, task, account, translate, guard, cache, embed, realtime]
tags: { known: { project: [plain, { value: secret, zone: eu }, { value: silent, retention: none }] } }
guards:
  anywhere: { webhook: '${base}/anywhere/check', do: block, on_error: block }
  european: { webhook: '${base}/european/check', zone: [eu, de], retention: none, do: block, on_error: block }
  asked: { model: american, prompt: No insults., do: block, on_error: block, timeout: 5s }
upstreams:
${upstream('us', ', formats: [openai-chat]')}
${upstream('eu', ', formats: [openai-chat], zone: [eu, de], retention: none')}
${upstream('de', ', formats: [openai-chat], zone: de')}
${upstream('us-vectors', ', embeddings: openai')}
${upstream('eu-vectors', ', embeddings: openai, zone: eu')}
models:
  both: { to: [us/m, eu/m], ${PRICE} }
  cached: { to: [us/m, eu/m], cache: exact, ${PRICE} }
  german: { to: [us/m, de/m, eu/m], ${PRICE} }
  american: { to: us/m, ${PRICE} }
  vectors: { to: [us-vectors/v, eu-vectors/v], price: { input: 0.01 }, context: 1000 }
  clip: { to: [us/clip, eu/clip], price: { calls: 1 } }
routes:
  - { path: POST /v1/chat/completions, name: chat, model: body, translate: openai-chat, errors: openai }
  - { path: POST /v1/messages, model: body, translate: anthropic-messages, errors: anthropic }
  - { path: POST /v1/responses, model: body, responses: create, translate: openai-responses, errors: openai }
  - { path: 'GET /v1/responses/{id}', responses: show, errors: openai }
  - { path: WS /v1/responses, responses: socket, errors: openai }
  - { path: POST /v1/embeddings, model: body, embed: openai, errors: openai }
  - { path: POST /v1/files, files: upload, body: { limit: 2GiB }, errors: openai }
  - { path: POST /v1/batches, batches: create, errors: openai }
  - { path: 'GET /v1/batches/{id}', batches: show, errors: openai }
  - { path: POST /clips, model: body, task: { ${CLIP} }, errors: openai }
  - { path: 'GET /api/usage/{request_id}', account: receipt }
  - { path: POST /eu/chat, model: body, zone: { zone: eu }, translate: openai-chat, errors: openai, rewrite: /v1/chat/completions }
  - { path: POST /anywhere/chat, model: body, guard: anywhere, translate: openai-chat, errors: openai, rewrite: /v1/chat/completions }
  - { path: POST /european/chat, model: body, guard: european, translate: openai-chat, errors: openai, rewrite: /v1/chat/completions }
  - { path: POST /asked/chat, model: body, guard: asked, translate: openai-chat, errors: openai, rewrite: /v1/chat/completions }
  - { path: POST /kept-by-none/chat, model: body, zone: { retention: none }, translate: openai-chat, errors: openai, rewrite: /v1/chat/completions }
`,
})
t.teardown(() => gateway.stop())

const run = async (t: Test, ...argv: string[]): Promise<string> => {
  const { code, out, err } = await withOutput(t, argv, { TOLLGATE_DATA: gateway.data })
  if (code !== 0) throw new Error(`${argv.join(' ')}: ${out}${err}`)
  return out
}
/** The secret of a key of a new account with money. `limits`: options of `keys create`. */
const createKey = async (t: Test, name: string, ...limits: string[]): Promise<string> => {
  await run(t, 'accounts', 'create', name)
  await run(t, 'accounts', 'credit', name, '1000')
  const [secret = ''] = /sk-\w+/.exec(await run(t, 'keys', 'create', name, ...limits)) ?? []
  return secret
}
type Tags = { readonly 'x-tollgate-tags'?: string }
const call = async (key: string, path: string, body?: object | FormData, tags: Tags = {}) => {
  const isForm = body instanceof FormData
  const response = await fetch(gateway.url + path, {
    method: body ? 'POST' : 'GET',
    headers: {
      authorization: `Bearer ${key}`,
      ...tags,
      ...(!isForm && { 'content-type': 'application/json' }),
    },
    ...(body && { body: isForm ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, text, id: response.headers.get('x-request-id') ?? '' }
}
const MESSAGES = [{ role: 'user', content: 'Hi' }]
const chat = (model: string, stream = false) => ({
  model,
  stream,
  max_tokens: 10,
  temperature: 0,
  messages: MESSAGES,
})
const ask = async (key: string, model: string, path = '/v1/chat/completions', tags?: Tags) => {
  requested = []
  return call(key, path, chat(model), tags)
}

t.test('a route: its zone and its retention hold for every target, also a fallback', async t => {
  const key = await createKey(t, 'routes')
  t.equal((await ask(key, 'both')).status, 200)
  t.same(requested, ['us'], 'without a rule')
  t.equal((await ask(key, 'both', '/eu/chat')).status, 200)
  t.same(requested, ['eu'])
  failing.add('eu')
  t.not((await ask(key, 'both', '/eu/chat')).status, 200)
  t.same(new Set(requested), new Set(['eu']), 'no other target gets it')
  failing.clear()
  const refused = await ask(key, 'american', '/eu/chat')
  t.equal(refused.status, 403)
  t.match(
    refused.text,
    /No target of this request is in the zone \\"eu\\", which this route demands/,
  )
  t.same(requested, [])
  t.equal((await ask(key, 'german', '/kept-by-none/chat')).status, 200)
  t.same(requested, ['eu'])
})

const testKinds = async (t: Test, key: string, owner: string, tags: Tags = {}) => {
  for (const stream of [false, true])
    for (const path of ['/v1/chat/completions', '/v1/messages', '/v1/responses']) {
      requested = []
      const body =
        path === '/v1/responses' ? { model: 'both', stream, input: 'Hi' } : chat('both', stream)
      t.equal((await call(key, path, body, tags)).status, 200, path)
      t.same(requested, ['eu'], `${path}, stream ${stream}`)
    }
  requested = []
  const vectors = await call(key, '/v1/embeddings', { model: 'vectors', input: 'a' }, tags)
  t.equal(vectors.status, 200)
  t.same(requested, ['eu-vectors'])

  requested = []
  const order = { model: 'both', background: true, input: 'Hi' }
  const background = await call(key, '/v1/responses', order, tags)
  const { id } = JSON.parse(background.text)
  await eventually(async () => /"completed"/.test((await call(key, `/v1/responses/${id}`)).text))
  t.same(requested, ['eu'], 'background')

  requested = []
  const headers = { authorization: `Bearer ${key}`, ...tags }
  const client = await openSocket(`${gateway.url}/v1/responses`, [], { headers })
  client.socket.send(JSON.stringify({ type: 'response.create', model: 'both', input: 'Hi' }))
  for (let count = 1; !client.received.join().includes('response.completed'); count++)
    await client.until(count)
  client.socket.close()
  t.same(requested, ['eu'], 'WebSocket')

  requested = []
  const task = await call(key, '/clips', { model: 'clip' }, tags)
  t.equal(task.status, 200, task.text)
  await eventually(() => requested.length >= 2)
  t.same(new Set(requested), new Set(['eu']), 'task: its submit and its polls')

  requested = []
  const line = { custom_id: 'a', method: 'POST', url: '/v1/chat/completions', body: chat('both') }
  const form = new FormData()
  form.append('purpose', 'batch')
  form.append('file', new Blob([JSON.stringify(line)]), 'a.jsonl')
  const input_file_id = JSON.parse((await call(key, '/v1/files', form)).text).id
  const lines = { input_file_id, endpoint: '/v1/chat/completions', completion_window: '24h' }
  const batch = JSON.parse((await call(key, '/v1/batches', lines, tags)).text)
  await eventually(async () =>
    /"status":"completed"/.test((await call(key, `/v1/batches/${batch.id}`)).text),
  )
  t.same(requested, ['eu'], 'batch')

  for (const [path, body] of [
    ['/v1/chat/completions', chat('american')],
    ['/v1/messages', chat('american')],
    ['/v1/responses', { model: 'american', input: 'Hi' }],
  ] as const) {
    requested = []
    const refused = await call(key, path, body, tags)
    t.equal(refused.status, 403, path)
    t.match(refused.text, new RegExp(`which ${owner} demands`))
    t.same(requested, [])
  }
}
t.test('a key: every kind of call stays in its zone', async t =>
  testKinds(t, await createKey(t, 'keys', '--zone', 'eu'), 'the API key'),
)

t.test('a tag: every kind of call with this value stays in its zone', async t => {
  const key = await createKey(t, 'tags')
  await testKinds(t, key, 'the tag project=secret', { 'x-tollgate-tags': 'project=secret' })
  for (const [tags, expected] of [
    ['project=plain', 'us'],
    ['', 'us'],
    ['project=silent', 'eu'],
  ] as const) {
    t.equal((await ask(key, 'german', undefined, { 'x-tollgate-tags': tags })).status, 200)
    t.same(requested, [expected], tags)
  }
  await run(t, 'accounts', 'limit', 'tags', '--tags', 'project=secret')
  await eventually(async () => {
    await ask(key, 'both')
    return requested.join() === 'eu'
  })
  await ask(key, 'both', undefined, { 'x-tollgate-tags': 'project=plain' })
  t.same(requested, ['eu'], 'a request cannot replace the tag of its account')
})

t.test('a guard: texts of a call go to no webhook and no model outside of its zone', async t => {
  const key = await createKey(t, 'guards')
  const secret = { 'x-tollgate-tags': 'project=secret' }
  const silent = { 'x-tollgate-tags': 'project=silent' }
  t.equal((await ask(key, 'both', '/anywhere/chat')).status, 200)
  t.same(requested, ['anywhere', 'us'], 'without a demand')
  for (const [path, tags] of [
    ['/anywhere/chat', secret],
    ['/anywhere/chat', silent],
    ['/asked/chat', secret],
    ['/asked/chat', silent],
  ] as const) {
    const { status, text } = await ask(key, 'both', path, tags)
    t.ok(status >= 400, path)
    t.match(text, /guard/)
    t.same(requested, [], `${path}: neither the guard nor an upstream got it`)
  }
  for (const tags of [secret, silent]) {
    t.equal((await ask(key, 'both', '/european/chat', tags)).status, 200)
    t.same(requested, ['european', 'eu'])
  }
})

t.test('the cache: an answer of another zone is not given', async t => {
  const key = await createKey(t, 'caches')
  const before = await ask(key, 'cached')
  t.same(requested, ['us'])
  t.match((await ask(key, 'cached')).text, JSON.parse(before.text).choices[0].message.content)
  t.same(requested, [], 'from the cache')
  await run(t, 'accounts', 'limit', 'caches', '--zone', 'eu')
  await eventually(async () => {
    await ask(key, 'cached')
    return requested.join() === 'eu'
  })
  await ask(key, 'cached')
  t.same(requested, [], 'from the cache, of this zone')
})

t.test('an account: its zone binds all its keys, whatever they demand', async t => {
  const key = await createKey(t, 'accounts', '--zone', 'de')
  t.equal((await ask(key, 'german')).status, 200)
  t.same(requested, ['de'])
  await run(t, 'accounts', 'limit', 'accounts', '--zone', 'eu')
  await eventually(async () => {
    await ask(key, 'german')
    return requested.join() === 'eu'
  })
  await run(t, 'accounts', 'limit', 'accounts', '--retention', 'none', '--zone', 'mars')
  const refused = await eventually(async () => {
    const answer = await ask(key, 'german')
    return answer.status === 403 && answer
  })
  t.match(
    refused.text,
    /in the zone \\"mars\\" and at an upstream that keeps nothing, which the account demands/,
  )
})

t.test('a receipt proves the zone; an update removes what a key demands', async t => {
  const key = await createKey(t, 'receipts', '--zone', 'eu', '--requests', '100/min')
  const { id } = await ask(key, 'both')
  const receipt = await call(key, `/api/usage/${id}`)
  t.match(JSON.parse(receipt.text).data, { zone: 'eu, de' })
  const listed = JSON.parse(await run(t, 'keys', 'list', '--json')) as {
    id: number
    account: string
  }[]
  const number = String(listed.find(each => each.account === 'receipts')?.id)
  await run(t, 'keys', 'update', number, '--zone', 'any')
  const details = JSON.parse(await run(t, 'keys', 'show', number, '--json'))
  t.same(details.limits, { requests: '100/min' })
  await eventually(async () => {
    await ask(key, 'both')
    return requested.join() === 'us'
  })
})

t.test('docs/zones.md: its commands set what accounts and keys demand', async t => {
  await run(t, 'accounts', 'create', 'ann')
  let number = ''
  for (const line of sessionOf('docs/zones.md').trim().split('\n')) {
    const words = line.split(' ').slice(1)
    const text = await run(t, ...words.map(word => (word === '7' ? number : word)), '--json')
    if (words[1] === 'create') number = String(JSON.parse(text).id)
  }
  const account = JSON.parse(await run(t, 'accounts', 'show', 'ann', '--json'))
  t.same(account.limits, { zone: 'eu' })
  await run(t, 'accounts', 'limit', 'ann', '--requests', '60/min')
  const limited = JSON.parse(await run(t, 'accounts', 'show', 'ann', '--json'))
  t.same(limited.limits, { zone: 'eu', requests: '60/min' }, 'a rate keeps the zone')
  const key = JSON.parse(await run(t, 'keys', 'show', number, '--json'))
  t.same(key.limits, { retention: 'none' })
})

t.test('bad names of zones and retentions are refused where they are written', async t => {
  const bad = (...argv: string[]) => withOutput(t, argv, { TOLLGATE_DATA: gateway.data })
  for (const [option, value, text] of [
    ['--zone', 'E U', /--zone must be the name of a zone such as eu/],
    ['--retention', '30d', /--retention must be none/],
  ] as const) {
    const { code, err } = await bad('keys', 'create', 'keys', option, value)
    t.equal(code, 2)
    t.match(err, text)
  }
})
