/** Files and cached contents of Gemini, and interactions that pass to it, over three keys of an
 *  upstream, by the official SDK: each stays with its account, and is charged. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type ApiError, GoogleGenAI } from '@google/genai'
import t from 'tap'
import { openDatabase } from '../../../engine/store/database.ts'
import { eventually } from '../../helpers/eventually.ts'
import { tollgate } from '../../helpers/gateway/command-line.ts'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { startGeminiStore } from '../../helpers/gateway/gemini-store.ts'
import { postTo } from '../../helpers/gateway/post.ts'
import { giveCredit } from '../../helpers/money/credit.ts'
import { sql } from '../../helpers/store/store.ts'

const upstream = await startGeminiStore()
const SHIPPED = readFileSync(new URL('../../../routes.yaml', import.meta.url), 'utf8')
/** The shipped routes of files, caches and their requests. */
const routesIn = (text: string): string =>
  text
    .split(/\n(?= {2}- )/)
    .filter(route =>
      /\/(?:v1|v1beta)\/(?:files|cachedContents|interactions|models\/\{model\}:(?:stream)?[gG]enerateContent)/.test(
        route,
      ),
    )
    .map(route => route.replaceAll(', session', '').replace(/\n *#.*/g, ''))
    .join('\n')
const schema = (name: string) => [
  `schemas/${name}.json`,
  readFileSync(new URL(`../../../schemas/${name}.json`, import.meta.url), 'utf8'),
]
const ROUTES = `pipeline: [errors, auth, validate, model, idempotency, responses, resources, files, meter, translate, openapi]
upstreams:
  gx:
    url: ${upstream.url}
    key: [first, second, third]
    auth: { header: x-goog-api-key }
    formats: [google-gemini, google-interactions]
  other: { url: '${upstream.url}', formats: [openai-chat] }
models:
  gem: { to: gx/gemini, price: { input: 1 / 1M, output: 1 / 1M, cache_storage: 2 / 1M, web_search: 5 / 1k }, max_calls: { web_search: 3 } }
  poor: { to: gx/gemini, price: { input: 1 / 1M, output: 1 / 1M, cache_storage: 1000 } }
  chat: { to: other/chat, free: true }
routes:
  - { path: GET /openapi.json, auth: none, openapi: document }
${routesIn(SHIPPED)}
`
const gateway = await startGateway({
  routes: ROUTES.replaceAll(/\n *ping:.*/g, ''),
  files: Object.fromEntries(
    ['generate-content', 'cached-content', 'cached-content-update', 'interactions'].map(schema),
  ),
})
t.teardown(async () => {
  await gateway.stop()
  upstream.close()
})
const env = {
  TOLLGATE_DATA: gateway.data,
  TOLLGATE_CONFIG: gateway.data.replace(/data$/, 'routes.yaml'),
}
const run = async (...argv: readonly string[]): Promise<string> => {
  const { code, out, err } = await tollgate(argv, env)
  if (code !== 0) throw new Error(err)
  return out
}
const database = await openDatabase({ url: 'sqlite:', data: gateway.data, writeTimeout: 60_000 })
t.teardown(() => database.close())
const ids: Record<string, number> = {}
const apiKeys: Record<string, string> = {}
const clientFor = async (name: string): Promise<GoogleGenAI> => {
  await run('accounts', 'create', name)
  const [apiKey = ''] = /sk-\w+/.exec(await run('keys', 'create', name)) ?? []
  const [row] = await database.read(
    sql('account by name', 'SELECT id FROM accounts WHERE name = ?'),
    [name],
  )
  ids[name] = Number(row?.id)
  apiKeys[name] = apiKey
  await giveCredit(database, Number(row?.id), 10n * 10n ** 9n)
  return new GoogleGenAI({
    apiKey,
    httpOptions: { baseUrl: gateway.url, retryOptions: { attempts: 1 } },
  })
}
const ann = await clientFor('ann')
const bob = await clientFor('bob')
const failure = (call: Promise<unknown>): Promise<ApiError> =>
  call.then(
    () => Promise.reject(new Error('it did not fail')),
    error => error as ApiError,
  )
const text = (content: string) => new Blob([content], { type: 'text/plain' })
const keysSince = (start: number) => new Set(upstream.calls.slice(start).map(({ key }) => key))
/** Nanos of each charge of the account on routes of caches. */
const charged = async (name: string): Promise<readonly number[]> => {
  const rows = await database.read(
    sql(
      'charges of caches',
      `SELECT amount FROM charges WHERE account = ? AND state = 'settled' AND route LIKE '%cache%'
       ORDER BY opened`,
    ),
    [ids[name] ?? 0],
  )
  return rows.map(({ amount }) => Number(amount))
}

t.test('provider files: are uploaded, shown, listed, used and deleted at one key', async t => {
  const start = upstream.calls.length
  const file = await ann.files.upload({
    file: text('Good day.'),
    config: { mimeType: 'text/plain', displayName: 'greeting' },
  })
  t.match(file, {
    name: /^files\//,
    displayName: 'greeting',
    mimeType: 'text/plain',
    state: 'ACTIVE',
  })
  const other = await ann.files.upload({ file: text('more'), config: { mimeType: 'text/plain' } })
  const name = file.name ?? ''
  t.match(await ann.files.get({ name }), { name, sizeBytes: '9' })
  const names: unknown[] = []
  for await (const each of await ann.files.list({ config: { pageSize: 1 } })) names.push(each.name)
  t.same(names, [other.name, name], 'newest first, over two pages')
  const parts = [file, other].map(({ uri = '' }) => ({ fileData: { fileUri: uri } }))
  const answer = await ann.models.generateContent({ model: 'gem', contents: [{ parts }] })
  t.equal(answer.text, 'Seen.')
  t.equal(keysSince(start).size, 1, 'one key keeps all files of the account')
  for (const { key } of upstream.calls.slice(start))
    t.ok(['first', 'second', 'third'].includes(key), "the upstream gets the gateway's key")
  await ann.files.delete({ name })
  t.equal((await failure(ann.files.get({ name }))).status, 404)
})

t.test('provider files: another account has none of them', async t => {
  const file = await ann.files.upload({ file: text('mine'), config: { mimeType: 'text/plain' } })
  const { name = '', uri = '' } = file
  const before = upstream.calls.length
  const fileData = { fileUri: uri }
  const calls = [
    () => bob.files.get({ name }),
    () => bob.files.delete({ name }),
    () => bob.models.generateContent({ model: 'gem', contents: [{ parts: [{ fileData }] }] }),
    () => bob.caches.create({ model: 'gem', config: { contents: [{ parts: [{ fileData }] }] } }),
  ]
  for (const call of calls) {
    const { status, message } = await failure(call())
    t.equal(status, 404)
    t.match(JSON.parse(message), { error: { code: 404, status: 'NOT_FOUND', message: name } })
  }
  const list: unknown[] = []
  for await (const each of await bob.files.list()) list.push(each)
  t.same(list, [])
  t.equal(upstream.calls.length, before, 'nothing was sent')
})

t.test('provider files: a multipart upload, and a state that changes', async t => {
  const headers = { 'x-goog-api-key': apiKeys.ann ?? '' }
  const path = `${gateway.url}/upload/v1beta/files`
  const response = await fetch(path, {
    method: 'POST',
    headers: {
      ...headers,
      'x-goog-upload-protocol': 'multipart',
      'content-type': 'multipart/related; boundary=b',
    },
    body: '--b\r\n\r\n{}\r\n--b\r\n\r\nslow\r\n--b--',
  })
  const { file } = (await response.json()) as { file: { name: string; state: string } }
  t.equal(file.state, 'PROCESSING')
  for (const [key, object] of upstream.objects) if (key.endsWith(file.name)) object.state = 'ACTIVE'
  const [newest] = (await ann.files.list({ config: { pageSize: 1 } })).page
  t.match(newest, { name: file.name, state: 'ACTIVE' })
  const unknown = await fetch(`${path}?upload_id=none`, { method: 'POST', headers, body: 'x' })
  t.equal(unknown.status, 404)
  for (const query of ['pageSize=x', 'pageToken=!']) {
    const bad = await fetch(`${gateway.url}/v1beta/files?${query}`, { headers })
    t.equal(bad.status, 400)
    t.match(await bad.json(), { error: { code: 400, status: 'INVALID_ARGUMENT' } })
  }
})

t.test('cached contents: are used at their key, and their storage is charged', async t => {
  const start = upstream.calls.length
  const cache = await ann.caches.create({
    model: 'gem',
    config: { contents: 'long '.repeat(2_000), ttl: '7200s', displayName: 'book' },
  })
  t.match(cache, { name: /^cachedContents\//, model: 'models/gem', displayName: 'book' })
  t.equal(JSON.parse(upstream.calls[start]?.body ?? '').model, 'models/gemini')
  const name = cache.name ?? ''
  const hourly = (cache.usageMetadata?.totalTokenCount ?? 0) * 2_000
  t.ok(hourly > 20_000_000)
  t.same(await charged('ann'), [2 * hourly], 'two hours')
  t.match(await ann.caches.get({ name }), { name, model: 'models/gem' })
  const answer = await ann.models.generateContent({
    model: 'gem',
    contents: 'What is it about?',
    config: { cachedContent: name },
  })
  t.equal(answer.text, 'Seen.')
  t.equal(keysSince(start).size, 1)
  const updated = await ann.caches.update({ name, config: { ttl: '10800s' } })
  t.match(updated, { name, model: 'models/gem' })
  t.same(await charged('ann'), [2 * hourly, hourly], 'the third hour')
  await ann.caches.update({ name, config: { ttl: '60s' } })
  t.equal((await charged('ann'))[2] ?? 0, 0, 'a shorter lifetime')
  const names: unknown[] = []
  for await (const each of await ann.caches.list()) names.push(each.name)
  t.same(names, [name])
  const config = { cachedContent: name }
  for (const call of [
    () => bob.caches.get({ name }),
    () => bob.caches.update({ name, config: { ttl: '60s' } }),
    () => bob.caches.delete({ name }),
    () => bob.models.generateContent({ model: 'gem', contents: 'x', config }),
  ])
    t.equal((await failure(call())).status, 404)
  t.equal((await charged('bob')).length, 0)
  await ann.caches.delete({ name })
  t.equal((await failure(ann.caches.get({ name }))).status, 404)
})

t.test(
  'provider objects: row, charge and Idempotency-Key are stored together or not at all',
  async t => {
    const store = new DatabaseSync(join(gateway.data, 'tollgate.db'))
    t.teardown(() => store.close())
    const creates = {
      '/upload/v1beta/files': {
        type: 'multipart/related; boundary=b',
        body: '--b\r\n\r\n{"file":{"displayName":"once"}}\r\n--b\r\n\r\nHello\r\n--b--',
      },
      '/v1beta/cachedContents': {
        type: 'application/json',
        body: JSON.stringify({
          model: 'models/gem',
          displayName: 'once',
          contents: [{ parts: [{ text: 'long' }] }],
        }),
      },
    }
    const create = async (path: keyof typeof creates): Promise<number> => {
      const { type, body } = creates[path]
      const headers = {
        'x-goog-api-key': apiKeys.bob ?? '',
        'x-goog-upload-protocol': 'multipart',
        'content-type': type,
        'idempotency-key': 'once',
      }
      const response = await fetch(gateway.url + path, { method: 'POST', headers, body })
      await response.arrayBuffer()
      return response.status
    }
    const stored = () =>
      database.read(
        sql(
          'objects made once',
          `SELECT kind FROM provider_resources WHERE details LIKE '%"once"%' ORDER BY kind`,
        ),
        [],
      )
    const paths = Object.keys(creates) as (keyof typeof creates)[]
    store.exec(`CREATE TRIGGER refuse_replies BEFORE UPDATE OF status ON idempotency_keys
    BEGIN SELECT RAISE(ABORT, 'refused by the test'); END`)
    for (const path of paths) t.ok((await create(path)) >= 500, path)
    t.same(await stored(), [])
    store.exec('DROP TRIGGER refuse_replies')
    for (const path of paths) {
      await eventually(async () => (await create(path)) === 200)
      t.equal(await create(path), 200)
    }
    t.same(await stored(), [{ kind: 'cachedContents' }, { kind: 'files' }])
    t.equal((await charged('bob')).length, 1)
  },
)

t.test('cached contents: what cannot be stored is refused before it is sent', async t => {
  const before = upstream.calls.length
  const contents = 'A text'
  const refusals = [
    [failure(ann.caches.create({ model: 'gem', config: { contents, ttl: 'soon' } })), 400, /ttl/],
    [failure(ann.caches.create({ model: 'chat', config: { contents } })), 400, /chat/],
    [failure(ann.caches.create({ model: 'none', config: { contents } })), 404, /none/],
    [
      failure(ann.caches.create({ model: 'poor', config: { contents } })),
      403,
      /balance|credit|insufficient/i,
    ],
  ] as const
  for (const [call, status, message] of refusals) {
    const error = await call
    t.equal(error.status, status)
    t.match(JSON.parse(error.message).error.message, message)
  }
  t.equal(upstream.calls.length, before)
})

/** Usage and cost of the last charge of interactions. */
const lastInteraction = async (name: string) => {
  const rows = await database.read(
    sql(
      'charges of interactions',
      `SELECT usage, amount FROM charges WHERE account = ? AND state = 'settled'
       AND route LIKE 'interactions%' ORDER BY opened DESC LIMIT 1`,
    ),
    [ids[name] ?? 0],
  )
  return { usage: JSON.parse(String(rows[0]?.usage)), nanos: Number(rows[0]?.amount) }
}
const METERS = { input: 6, cached: 4, output: 2, thinking: 3, web_search: 1 }
const COST = 15_000 + 5_000_000

t.test('interactions: pass plain and streamed, and are charged by their usage', async t => {
  const plain = await ann.interactions.create({
    model: 'gem',
    input: 'Hello',
    tools: [{ type: 'google_search' }],
  })
  t.match(plain, { model: 'gem', status: 'completed', usage: { total_tokens: 15 } })
  t.equal(JSON.parse(upstream.calls.at(-1)?.body ?? '').store, false, 'the gateway stores it')
  t.match(await lastInteraction('ann'), { usage: METERS, nanos: COST })
  const stream = await ann.interactions.create({
    model: 'gem',
    input: 'Hello',
    stream: true,
    tools: [{ type: 'google_search' }],
  })
  const events: { event_type?: string }[] = []
  for await (const event of stream) events.push(event)
  t.same(
    events.map(event => event.event_type),
    ['interaction.created', 'step.start', 'step.delta', 'step.stop', 'interaction.completed'],
  )
  t.match(events.at(-1), { interaction: { model: 'gem' } })
  t.match(await lastInteraction('ann'), { usage: METERS, nanos: COST })
})

t.test("interactions: errors are in Google's dialect", async t => {
  const post = async (body: object) => {
    const response = await postTo(`${gateway.url}/v1beta/interactions`, body, {
      'x-goog-api-key': apiKeys.ann ?? '',
    })
    return { status: response.status, text: await response.text() }
  }
  const before = upstream.calls.length
  const input = 'Hello'
  for (const [body, status, message] of [
    [{ input }, 400, /model/],
    [{ model: 'gem', input: 7 }, 400, /input/],
    [{ model: 'gem', input, agent: 'deep-research' }, 400, /agent/],
    [{ model: 'none', input }, 404, /none/],
    [{ model: 'gem', input, previous_interaction_id: 'x' }, 404, /x/],
  ] as const) {
    const answer = await post(body)
    t.equal(answer.status, status)
    t.match(JSON.parse(answer.text), { error: { code: status, message, status: String } })
  }
  t.equal(upstream.calls.length, before)
  t.match(JSON.parse((await post({ model: 'gem', input: 'fail' })).text), {
    error: { message: 'bad' },
  })
  const { text: stream } = await post({ model: 'gem', input: 'break', stream: true })
  t.match(stream, /step\.delta[\s\S]*"event_type":"error"/)
  t.notMatch(stream, /interaction\.completed/)
})

t.test('OpenAPI: shows the routes of files and caches', async t => {
  const { paths } = (await (await fetch(`${gateway.url}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, unknown>>
  }
  t.same(Object.keys(paths['/v1beta/cachedContents/{cache}'] ?? {}).sort(), [
    'delete',
    'get',
    'patch',
  ])
  t.ok(paths['/upload/v1beta/files']?.post)
})
