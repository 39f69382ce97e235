/** The OpenAPI document of the shipped routes: it is valid and complete, and both its schemas and
 *  the types that a generator makes of it fit what the gateway really answers. */
import { execFile } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { Validator } from '@seriousme/openapi-schema-validator'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { ciPackages } from '../../helpers/ci-packages.ts'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import {
  createChecker,
  type OpenApiDocument,
  operationsIn,
  readDocument,
} from '../../helpers/gateway/openapi.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const run = promisify(execFile)
const gateway = await startGateway()
t.teardown(() => gateway.stop())
const key = await gateway.key()
const systemToken = /\b(st-[A-Za-z0-9]{20,})/.exec(gateway.output())?.[1] ?? ''
const document = await readDocument(gateway.url, systemToken)
const check = createChecker(document)

interface Route {
  readonly path: string
  readonly name?: string
}
const { routes } = parse(readFileSync(join(root, 'routes.yaml'), 'utf8'), { merge: true }) as {
  readonly routes: readonly Route[]
}

t.test('OpenAPI: the document is valid OpenAPI 3.1, and an invalid one is refused', async t => {
  const validator = new Validator()
  const { valid, errors } = await validator.validate({ ...structuredClone(document) })
  t.same(errors ?? [], [])
  t.ok(valid)
  t.equal(validator.version, '3.1')
  const broken = { ...structuredClone(document), paths: { 'no-slash': { get: { responses: 7 } } } }
  t.notOk((await new Validator().validate(broken)).valid)
})

t.test('OpenAPI: every shipped route is described with responses and errors', async t => {
  const operations = operationsIn(document)
  const described = new Set(operations.map(({ path, method }) => `${method} ${path}`))
  const sockets = new Set(document['x-websockets'].map(({ path }) => `ws ${path}`))
  for (const { path } of routes) {
    const [methods = '', pattern = ''] = path.split(' ')
    // The endpoints of operators are described one by one.
    if (pattern.startsWith('/api/admin/')) continue
    for (const method of methods.toLowerCase().split('|'))
      t.ok(described.has(`${method} ${pattern}`) || sockets.has(`${method} ${pattern}`), path)
  }
  const ids = operations.map(({ operation }) => operation.operationId)
  t.equal(new Set(ids).size, ids.length, 'no two have the same id')
  for (const { path, operation } of operations) {
    const { operationId, summary, responses } = operation
    t.not(summary, operationId, `${path} has a summary`)
    const [status = ''] = Object.keys(responses).filter(each => each.startsWith('2'))
    const types = Object.keys(responses[status]?.content ?? {})
    t.not(types.length, 0, `${path} has a response with a schema`)
    const { schema } = responses.default?.content?.['application/json'] ?? {}
    // Without the plugin `errors` a route answers in the dialect of OpenAI.
    t.match(schema, { $ref: /^#\/components\/schemas\/\w+-error$/ }, `${path} has errors`)
  }
  for (const { operationId, summary } of document['x-websockets'] as never as {
    readonly operationId: string
    readonly summary: string
  }[])
    t.not(summary, operationId)
})

/** Names of members that are amounts of money or of quotas. */
const AMOUNT =
  /(^|_)(amounts?|balance|costs?|prices?|held|holds?|credits?|debit|refunded|uncollected|spent|used|charged|overdraft|quota(?!_type)|granted|available|usd|total_usage|rate|ratio)($|_)/
/** Answers with numbers for amounts, and what binds them to numbers. Lines: of the interface of the
 *  service (service-interface.md). */
const BOUND: readonly (readonly [operation: RegExp, members: RegExp, why: string])[] = [
  [/ \/api\/user\/(info|self)$/, /^data\.(balance|quota)$/, 'lines 37 and 38'],
  [/ \/api\/user\/(info|self)$/, /^data\.used_quota$/, 'quota units, as line 38'],
  [/ \/api\/token\/balance$/, /^data\.(remaining|used|total)_quota$/, 'lines 46 to 48'],
  [/ \/ent\/v2\//, /(^|\.)credits$/, 'whole credits of tasks'],
  [/ \/ent\/v2\/credits$/, /\.credit_(amount|remain)$/, 'whole credits, as of tasks'],
  [/ \/api\/keys/, /^data\.((remaining|used)_)?quota$/, 'quota units of keys, as line 38'],
  [/ \/api\/admin\/(keys|accounts\/show)/, /\.quota$/, 'quota units of keys, for operators'],
  [/ \/api\/admin\/accounts\/(credit|debit)$/, /^data\.(credit|debit)$/, 'the number of a row'],
  [
    / \/api\/(token\/(\{id\})?|log\/(self|token))$/,
    /(^|\.)((remain|used)_)?quota$/,
    'quota units of new-api',
  ],
  [/ \/api\/usage\/token$/, /^data\.total_(granted|used|available)$/, 'quota units of new-api'],
  [/ \/api\/(models|pricing)$/, /_ratio$|\.model_price$/, 'ratios and dollars of new-api'],
  [/ \/api\/(models|pricing)$/, /\.video_prices\..*credits/, 'credits of clips, as line 35'],
  [/ \/api\/status$/, /^data\.(\w+_rate|price|quota_per_unit)$/, 'rates of new-api'],
  [/\/dashboard\/billing\//, /_limit_usd$|^total_usage$/, "dollars of OpenAI's dashboard"],
]
t.test('OpenAPI: amounts are decimal texts, unless something binds them to numbers', async t => {
  const used = new Set<string>()
  const check = (operation: string, members: readonly string[]) => {
    const place = members.join('.')
    const bound = BOUND.find(([of, names]) => of.test(operation) && names.test(place))
    if (bound) used.add(bound[2])
    t.ok(bound, `${operation} ${place}`)
  }
  for (const { path, method, operation } of operationsIn(document))
    for (const { content } of Object.values(operation.responses))
      for (const { schema } of Object.values(content ?? {}))
        for (const members of numbersIn(schema, document))
          if (AMOUNT.test(members.at(-1) ?? '')) check(`${method} ${path}`, members)
  for (const [, , why] of BOUND) t.ok(used.has(why), why)
})
/** The places of numbers in a schema, as names of members. */
const numbersIn = (
  schema: unknown,
  document: OpenApiDocument,
  names: readonly string[] = [],
  above: readonly unknown[] = [],
): (readonly string[])[] => {
  if (typeof schema !== 'object' || schema === null || above.includes(schema)) return []
  const { $ref, type, properties, items, additionalProperties, anyOf, oneOf, allOf } =
    schema as Record<string, unknown>
  const inside = (each: unknown, name?: string) =>
    numbersIn(each, document, name === undefined ? names : [...names, name], [...above, schema])
  const [, part = ''] = /^#\/components\/schemas\/(.+)$/.exec(String($ref)) ?? []
  const own = [type].flat().some(each => each === 'number' || each === 'integer') ? [names] : []
  return [
    ...own,
    ...inside(document.components.schemas[part]),
    ...Object.entries(properties ?? {}).flatMap(([name, each]) => inside(each, name)),
    ...[items, additionalProperties, anyOf, oneOf, allOf].flat().flatMap(each => inside(each)),
  ]
}

t.test('OpenAPI: credentials, prices, files and the admin API are described', async t => {
  const at = (path: string, method: string) => document.paths[path]?.[method]
  t.match(document.components.securitySchemes, {
    'API-key': { type: 'http', scheme: 'bearer' },
    'API-key-in-header-x-api-key': { type: 'apiKey', in: 'header', name: 'x-api-key' },
    'API-key-in-query-key': { type: 'apiKey', in: 'query', name: 'key' },
    'system-token': { type: 'http', scheme: 'bearer' },
  })
  t.same(at('/api/models', 'get')?.security, [], 'public')
  t.match(at('/api/user/info', 'get')?.security, [{ 'system-token': [] }])
  t.match(at('/v1beta/models/{model}:generateContent', 'post')?.security, [
    { 'API-key-in-query-key': [] },
  ])
  t.same(at('/v1/chat/completions', 'post')?.['x-price'], { by: 'model' })
  t.same(at('/v1/messages/count_tokens', 'post')?.['x-price'], { free: true })
  t.same(at('/v1/models', 'get')?.['x-price'], { free: true })
  t.match(at('/ent/v2/reference2image', 'post')?.['x-price'], { price: { calls: Object } })
  t.match(document['x-prices']['gp-4.1'], {
    input: { by: 'service_tier', price: { default: '2.00 USD / 1M' } },
    output: { by: 'service_tier', price: { default: '8.00 USD / 1M' } },
  })
  t.same(document['x-prices']['omni-moderation-latest'], { free: true })
  t.equal(document['x-currency'], 'CNY')
  t.same(document.servers, [{ url: gateway.url }])
  t.match(at('/v1/chat/completions', 'post')?.responses, {
    401: Object,
    403: Object,
    409: Object,
    429: Object,
  })
  const forms = document.components.schemas
  const file = { type: 'string', contentMediaType: 'application/octet-stream' }
  t.match(forms['transcriptions.form'], { properties: { file } })
  t.match(forms['image-edits.form'], { properties: { image: { items: file } } })
  t.notOk(at('/v1/audio/transcriptions', 'post')?.requestBody?.content['application/json'])
  t.match(at('/api/admin/accounts/credit', 'post')?.requestBody, { content: Object })
  const endpoints = ['chat/completions', 'completions', 'embeddings', 'images/generations']
    .concat('moderations', 'responses')
    .map(name => `/v1/${name}`)
  const endpoint = { type: 'string', minLength: 1, enum: endpoints }
  t.match(forms['create-batch.request'], { properties: { endpoint, completion_window: Object } })
  t.notMatch(JSON.stringify(document), /errorMessage|maxTotal|notAbove|#\/\$defs/)
})

t.test('OpenAPI: only an operator sees the calls of operators', async t => {
  const ofStranger = await readDocument(gateway.url)
  const ofKey = await readDocument(gateway.url, key)
  t.same(ofKey.paths, document.paths, 'an API key of an operator, as its account has the role')
  const hidden = Object.keys(document.paths).filter(path => !ofStranger.paths[path])
  t.ok(hidden.length > 10)
  for (const path of hidden) t.match(path, /^\/api\/admin\//)
  t.notMatch(JSON.stringify(ofStranger), /api\/admin/)
  const wrong = await fetch(`${gateway.url}/openapi.json`, {
    headers: { authorization: 'Bearer st-wrong' },
  })
  t.equal(wrong.status, 401)
  const own = await fetch(`${gateway.url}/openapi.json`, {
    headers: { authorization: `Bearer ${systemToken}` },
  })
  t.match(own.headers.get('cache-control'), /^private/)
})

/** Requests with a JSON body in the commands of the documentation. */
const documentedRequests = ['README.md', ...globSync('docs/*.md', { cwd: root })].flatMap(file => {
  const lines = readFileSync(join(root, file), 'utf8')
    .replace(/ *\\\n\s*/g, ' ')
    .split('\n')
  return lines.flatMap(line => {
    const [, path = ''] = /curl.*?(\/(?:v1|ent|mj|api)[^\s"'?]*)/.exec(line) ?? []
    const [, body = ''] = / -d '(\{.*\})'/.exec(line) ?? []
    const [, method = 'POST'] = /-X ([A-Z]+)/.exec(line) ?? []
    const text = body.replace(/'\$\w+'/g, 'x')
    return path === '' || text === '' ? [] : [{ file, method, path, text }]
  })
})
t.test('OpenAPI: requests in the documentation fit the schemas', async t => {
  t.ok(documentedRequests.length >= 6, `found ${documentedRequests.length}`)
  for (const { file, method, path, text } of documentedRequests) {
    const pattern = path.replace(/\$\w+|\b\d+$/g, '{id}')
    const { operationId = '' } = document.paths[pattern]?.[method.toLowerCase()] ?? {}
    t.same(check.request(operationId, JSON.parse(text)), [], `${file}: ${method} ${path}`)
  }
})

// ---------------------------------------------------------------- real answers

interface Call {
  /** The operation; an answer of another status is one of its `status`. */
  readonly id: string
  readonly status?: string
  readonly method?: string
  readonly path: string
  readonly body?: object | FormData
  readonly token?: string
}
interface Answer {
  readonly id: string
  readonly status: string
  readonly body: unknown
}
const answers: Answer[] = []
const call = async (t: Test, { id, status = '200', body, ...call }: Call) => {
  const { path, token = key, method = body ? 'POST' : 'GET' } = call
  const isForm = body instanceof FormData
  if (body && !isForm && status === '200') t.same(check.request(id, body), [], `${id}: its request`)
  const response = await fetch(gateway.url + path, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body && !isForm && { 'content-type': 'application/json' }),
    },
    ...(body && { body: isForm ? body : JSON.stringify(body) }),
  })
  const answer = (await response.json()) as { readonly id?: string; readonly data?: never }
  if (status !== 'default') t.equal(String(response.status), status, `${id}: its status`)
  t.same(check.response(id, status, answer), [], `${id}: its answer`)
  answers.push({ id, status, body: answer })
  return answer
}

const messages = [{ role: 'user', content: 'Hello' }]
t.test('OpenAPI: what models answer fits the schemas', async t => {
  const chat = { id: 'chat', path: '/v1/chat/completions' }
  await call(t, { ...chat, body: { model: 'gp-4.1', messages } })
  await call(t, { ...chat, body: { model: 'cl-sonnet-4-5', messages } })
  await call(t, { ...chat, status: 'default', body: { model: 'nosuch', messages } })
  await call(t, { ...chat, status: '401', token: 'sk-wrong', body: { model: 'x', messages } })
  const response = await call(t, {
    id: 'responses',
    path: '/v1/responses',
    body: { model: 'gp-4.1', input: 'Hello' },
  })
  await call(t, { id: 'response', path: `/v1/responses/${response.id}` })
  await call(t, { id: 'input-items', path: `/v1/responses/${response.id}/input_items` })
  const message = { model: 'cl-sonnet-4-5', max_tokens: 50, messages }
  await call(t, { id: 'messages', path: '/v1/messages', body: message })
  await call(t, { id: 'messages', path: '/v1/messages', status: 'default', body: { messages } })
  await call(t, { id: 'count-message', path: '/v1/messages/count_tokens', body: message })
  const contents = [{ role: 'user', parts: [{ text: 'Hello' }] }]
  const gemini = '/v1beta/models/gx-2.5-pro'
  await call(t, { id: 'generate-content', path: `${gemini}:generateContent`, body: { contents } })
  await call(t, { id: 'count-tokens', path: `${gemini}:countTokens`, body: { contents } })
  const unknown = '/v1beta/models/nosuch:generateContent'
  await call(t, { id: 'generate-content', path: unknown, status: 'default', body: { contents } })
  const input = { model: 'gp-embedding-3-small', input: ['Hello'] }
  await call(t, { id: 'embeddings', path: '/v1/embeddings', body: input })
  const embed = '/v1beta/models/gx-embedding-001:embedContent'
  await call(t, { id: 'embed-content', path: embed, body: { content: contents[0] ?? {} } })
  const image = { model: 'dall-e-2', prompt: 'A cat' }
  await call(t, { id: 'images', path: '/v1/images/generations', body: image })
  await call(t, { id: 'moderations', path: '/v1/moderations', body: { input: 'Hello' } })
  const rerank = { model: 'rerank-v3.5', query: 'a', documents: ['a', 'b'] }
  await call(t, { id: 'rerank', path: '/v1/rerank', body: rerank })
  await call(t, { id: 'models', path: '/v1/models' })
  await call(t, { id: 'native-models', path: '/v1beta/models' })
})

t.test('OpenAPI: what files, batches, conversations and tasks answer fits the schemas', async t => {
  const line = { custom_id: 'a', method: 'POST', url: '/v1/chat/completions' }
  const form = new FormData()
  form.set('purpose', 'batch')
  const text = JSON.stringify({ ...line, body: { model: 'gp-4.1', messages } })
  form.set('file', new Blob([text]), 'batch.jsonl')
  const file = await call(t, { id: 'upload-file', path: '/v1/files', body: form })
  await call(t, { id: 'files', path: '/v1/files' })
  await call(t, { id: 'file', path: `/v1/files/${file.id}` })
  await call(t, { id: 'file', path: '/v1/files/file-none', status: 'default' })
  const batch = await call(t, {
    id: 'create-batch',
    path: '/v1/batches',
    body: { input_file_id: file.id, endpoint: line.url, completion_window: '24h' },
  })
  await call(t, { id: 'batch', path: `/v1/batches/${batch.id}` })
  await call(t, { id: 'batches', path: '/v1/batches' })
  const conversation = await call(t, {
    id: 'create-conversation',
    path: '/v1/conversations',
    body: { items: [{ type: 'message', role: 'user', content: 'Hello' }] },
  })
  const items = `/v1/conversations/${conversation.id}/items`
  await call(t, { id: 'conversation-items', path: items })
  const clip = { model: 'vdq3-pro', prompt: 'A cat', duration: 5 }
  const task = (await call(t, {
    id: 'text2video',
    path: '/ent/v2/text2video',
    body: clip,
  })) as { readonly task_id?: string }
  await call(t, { id: 'task', path: `/ent/v2/tasks/${task.task_id}/creations` })
  await call(t, { id: 'task', path: '/ent/v2/tasks/1/creations', status: 'default' })
  await call(t, { id: 'tasks', path: '/ent/v2/tasks' })
  const video = await call(t, {
    id: 'videos',
    path: '/v1/videos',
    body: { model: 'vdq3-pro', prompt: 'A cat' },
  })
  await call(t, { id: 'video', path: `/v1/videos/${video.id}` })
  await call(t, { id: 'list-videos', path: '/v1/videos' })
  await call(t, { id: 'imagine', path: '/mj/submit/imagine', body: { prompt: 'A cat' } })
  await call(t, { id: 'mj-tasks', path: '/mj/task/list' })
  await call(t, { id: 'mj-speed', path: '/mj/speed' })
  await call(t, { id: 'mj-task', path: '/mj/task/1/fetch', status: 'default' })
})

t.test('OpenAPI: what account and admin endpoints answer fits the schemas', async t => {
  const token = systemToken
  const get = (id: string, path: string) => call(t, { id, path, token })
  await get('user-info', '/api/user/info')
  await get('usage', '/api/usage')
  await get('usage', '/api/usage?by=key')
  await get('usage-overview', '/api/usage/overview')
  const { data: rows } = (await get('usage', '/api/usage')) as never as {
    readonly data: readonly { readonly request_id: string }[]
  }
  await get('receipt', `/api/usage/${rows.at(-1)?.request_id}`)
  await get('prices', '/api/models')
  await get('account-tasks', '/api/tasks')
  await get('list-keys', '/api/keys')
  const body = { name: 'one more' }
  await call(t, { id: 'create-key', path: '/api/keys', status: '201', body, token })
  await get('list-budgets', '/api/budgets')
  await get('list-tokens', '/api/system-tokens')
  await get('list-sessions', '/api/sessions')
  await get('get-api-notifications', '/api/notifications')
  await call(t, { id: 'user-info', path: '/api/user/info', status: '401', token: 'st-wrong' })
  await get('token-balance', `/api/token/balance?key=${key}`)
  await call(t, { id: 'token-usage', path: '/api/usage/token' })
  await call(t, { id: 'site-status', path: '/api/status' })
  await get('user-models', '/api/user/models')
  await call(t, { id: 'subscription', path: '/v1/dashboard/billing/subscription' })
  await call(t, { id: 'dashboard-usage', path: '/v1/dashboard/billing/usage' })
})

/** A batch of the first account: the sandbox answers its one line. Returns its id. */
const createBatch = async (): Promise<string> => {
  const headers = { authorization: `Bearer ${systemToken}`, 'content-type': 'application/json' }
  const { data } = (await (
    await fetch(`${gateway.url}/api/keys`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ name: 'batch' }),
    })
  ).json()) as { readonly data: { readonly key: string } }
  const authorization = `Bearer ${data.key}`
  const body = { model: 'gp-4.1', messages: [{ role: 'user', content: 'Hello' }] }
  const line = { custom_id: '1', method: 'POST', url: '/v1/chat/completions', body }
  const form = new FormData()
  form.set('purpose', 'batch')
  form.set('file', new Blob([JSON.stringify(line)]), 'lines.jsonl')
  const post = async (path: string, init: RequestInit): Promise<string> => {
    const response = await fetch(`${gateway.url}/v1/${path}`, { method: 'POST', ...init })
    return ((await response.json()) as { readonly id: string }).id
  }
  const input_file_id = await post('files', { headers: { authorization }, body: form })
  return post('batches', {
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({
      input_file_id,
      endpoint: '/v1/chat/completions',
      completion_window: '24h',
    }),
  })
}
t.test(
  'OpenAPI: what admin endpoints answer fits the schemas, which name every member',
  async t => {
    const strict = createChecker(document, { isClosed: true })
    const checkedIds: string[] = []
    const ask = async (name: string, query = '', body?: object) => {
      const [method = '', path = ''] = name.split(' ')
      const id = `admin-${name.toLowerCase().replace(/[ /]/g, '-')}`
      const response = await fetch(`${gateway.url}/api/admin/${path}${query}`, {
        method,
        headers: { authorization: `Bearer ${systemToken}`, 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      })
      const answer = (await response.json()) as { readonly data: never }
      t.equal(response.status, 200, `${name}: ${JSON.stringify(answer).slice(0, 200)}`)
      t.same(strict.response(id, '200', answer), [], name)
      checkedIds.push(id)
      return answer.data as never as readonly { readonly [name: string]: string }[]
    }
    for (const name of [
      'accounts',
      'endpoints',
      'requests',
      'upstreams',
      'routes',
      'configuration',
    ])
      await ask(`GET ${name}`)
    await ask('POST accounts', '', { name: 'closed' })
    for (const name of ['suspend', 'resume', 'link'])
      await ask(`POST accounts/${name}`, '', { account: 'closed' })
    await ask('POST accounts/credit', '', { account: 'closed', amount: '5' })
    await ask('POST accounts/debit', '', { account: 'closed', amount: '2' })
    await ask('POST accounts/overdraft', '', { account: 'closed', amount: '1' })
    await ask('POST accounts/limit', '', { account: 'closed', limits: { requests: '60/min' } })
    await ask('POST accounts', '', { name: 'leaver' })
    await ask('POST accounts/rename', '', { account: 'leaver', name: 'gone' })
    await ask('GET accounts/show', '?account=gone')
    await ask('POST accounts/delete', '', { account: 'gone' })
    const member = { account: 'closed', member: 'mia' }
    await ask('POST members/invite', '', { account: 'closed', name: 'mia', role: 'viewer' })
    await ask('GET members', '?account=closed')
    await ask('POST members/link', '', member)
    await ask('POST members/update', '', { ...member, role: 'member' })
    const budget = { ...member, name: 'weekly' }
    await ask('POST budgets/set', '', { ...budget, amount: '5', per: 'week', alert_at: ['80%'] })
    await ask('GET budgets', '?account=closed')
    await ask('POST budgets/remove', '', budget)
    await ask('GET plans')
    await ask('POST members/remove', '', member)
    await ask('POST codes', '', { amount: '1' })
    const [code] = await ask('GET codes')
    await ask('POST codes/revoke', '', { code: code?.id })
    await ask('POST credits', '', { account: 'closed', amount: '1', reference: 'invoice-1' })
    await ask('GET statements/show', `?period=${new Date().toISOString().slice(0, 7)}`)
    const charges = await ask('GET charges')
    const charge = charges.find(({ task, cost }) => task === null && Number(cost) > 0)
    await ask('GET requests/story', `?id=${charge?.request}`)
    await ask('GET requests/story', `?id=${charges.find(({ task }) => task !== null)?.task}`)
    await ask('POST accounts/refund', '', { request: charge?.request })
    await ask('GET failed-calls')
    await ask('GET ledger/audit')
    await ask('POST keys', '', { account: 'admin', name: 'made', models: ['gp-4.1'] })
    await ask('POST keys', '', { account: 'admin', kind: 'system-token' })
    const [first] = await ask('GET keys', '?account=admin')
    const limits = { requests: '60/min' }
    await ask('POST keys/update', '', { key: first?.id, limits, quota: null })
    await ask('GET keys/show', `?key=${first?.id}`)
    await ask('POST keys/rotate', '', { key: first?.id, overlap: 60 })
    const keys = await ask('GET keys', '?account=admin')
    await ask('POST keys/revoke', '', { key: keys.at(-1)?.id })
    const [task] = await ask('GET tasks')
    await ask('GET tasks/show', `?task=${task?.id}`)
    for (const verb of ['pause', 'resume']) await ask(`POST tasks/${verb}`, '', { upstream: 'vd' })
    await ask('GET webhooks')
    await ask('POST webhooks/mail', '', { account: 'admin', address: 'ops@example.com' })
    await ask('GET webhooks/mails')
    const batch = await createBatch()
    t.ok((await ask('GET batches')).some(({ id }) => id === batch))
    await ask('GET batches/show', `?batch=${batch}`)
    await ask('POST batches/cancel', '', { batch })
    await ask('POST upstreams/test', '', { upstream: 'gp' })
    await ask('POST configuration/reload', '', {})
    await ask('GET configuration/diff')
    await ask('GET configuration/change', '?version=1')
    for (const name of ['actions', 'actions/export', 'actions/verify']) await ask(`GET ${name}`)
    const ids = operationsIn(document)
      .map(({ operation }) => operation.operationId)
      .filter(id => id.startsWith('admin-'))
    // Their tests need an editor, an older version, a failed delivery, a task without an answer, or
    // the sections `alerts:`, `journal:`, `cache:`, `mirror:` and `plans:`.
    const others =
      /editor|rollback|replay|tasks-(resolve|retry|cancel)|live|alerts|config-|journal|cache|mirror|traffic|credits|accounts-usage|plans-/
    t.same(
      ids.filter(id => !checkedIds.includes(id) && !others.test(id)),
      [],
    )
  },
)

t.test('OpenAPI: a wrong answer and a wrong request are found', async t => {
  const [{ body } = { body: {} }] = answers
  t.same(check.response('chat', '200', body), [])
  t.not(check.response('chat', '200', { ...Object(body), choices: 7 }).length, 0)
  t.not(check.request('chat', { model: 'x' }).length, 0)
})

// ---------------------------------------------------------------- other documents

t.test('openapi: documents have an ETag, which changes with the configuration', async t => {
  for (const path of ['/openapi.json', '/llms.txt']) {
    const first = await fetch(gateway.url + path)
    const etag = first.headers.get('etag') ?? ''
    t.match(etag, /^"[\w-]{22}"$/)
    t.match(first.headers.get('cache-control'), /max-age/)
    await first.text()
    const again = await fetch(gateway.url + path, { headers: { 'if-none-match': `W/${etag}` } })
    t.equal(again.status, 304)
    const other = await fetch(gateway.url + path, { headers: { 'if-none-match': '"other"' } })
    t.equal(other.status, 200)
    await other.text()
  }
})

t.test('llms.txt: names endpoints, models with prices, and how to get a key', async t => {
  const text = await (await fetch(`${gateway.url}/llms.txt`)).text()
  t.match(text, /^# Tollgate\n\n> /)
  t.match(text, `](${gateway.url}/openapi.json)`)
  t.match(text, `](${gateway.url}/api/models.csv)`)
  t.match(text, /`gp-4\.1` \(openai.*input by service_tier \(.*default 2\.00 USD \/ 1M\)/)
  t.match(text, '- `POST /v1/chat/completions`: ')
  t.match(text, /API keys\n\n- Send an API key as/)
  t.notMatch(text, /\[object|undefined|\/api\/admin/)
})

/** The cells of a CSV text by RFC 4180. */
const cellsOf = (text: string): string[][] =>
  text
    .split('\r\n')
    .slice(0, -1)
    .map(line =>
      [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,"]*))/g)].map(
        ([, quoted, plain = '']) => quoted?.replaceAll('""', '"') ?? plain,
      ),
    )
t.test('price sheet: has every price of the price page with all digits', async t => {
  const response = await fetch(`${gateway.url}/api/models.csv`)
  t.match(response.headers.get('content-type'), /^text\/csv/)
  const [head = [], ...rows] = cellsOf(await response.text())
  t.same(head.slice(0, 4), ['model', 'title', 'owner', 'meter'])
  t.ok(rows.every(({ length }) => length === head.length))
  const { data } = (await (await fetch(`${gateway.url}/api/models`)).json()) as {
    readonly data: readonly {
      readonly model_name: string
      readonly prices: readonly { readonly meter?: string; readonly price?: unknown }[]
    }[]
  }
  let compared = 0
  for (const { model_name: model, prices } of data)
    for (const { meter, price } of prices) {
      if (typeof price !== 'string') continue
      const [amount = '', per = '1'] = price.split(' / ')
      const hasRow = rows.some(
        row => row[0] === model && row[3] === meter && row[5] === amount && row[6] === per,
      )
      t.ok(hasRow, `${model} ${meter} ${price}`)
      compared++
    }
  t.ok(compared > 100)
  t.ok(
    rows.some(([, title]) => title === 'RC v3, vector graphics'),
    'a comma in a cell',
  )
})

// ---------------------------------------------------------------- generated types

interface Generator {
  default(source: string, options: object): Promise<object>
  astToString(tree: object): string
}

const typeOf = ({ id, status }: Answer): string =>
  `operations['${id}']['responses'][${status === 'default' ? "'default'" : status}]['content']['application/json']`

t.test('OpenAPI: generated types accept every real answer', { timeout: 240_000 }, async t => {
  const packages = await ciPackages('openapi')
  if (!packages) {
    t.pass('skipped: the packages of .ci/openapi cannot be installed here')
    return
  }
  const generator = (await import(
    pathToFileURL(`${packages}/openapi-typescript/dist/index.mjs`).href
  )) as Generator
  const options = { immutable: true, emptyObjectsUnknown: true }
  const tree = await generator.default(JSON.stringify(document), options)
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'api.ts'), generator.astToString(tree))
  const lines = answers.map(
    (answer, index) => `const answer${index} = ${JSON.stringify(answer.body)} as const
export const checked${index}: ${typeOf(answer)} = answer${index}`,
  )
  const wrong = `// @ts-expect-error: an answer of another shape
export const wrong: ${typeOf({ id: 'chat', status: '200', body: {} })} = { object: 'list' }`
  const text = ["import type { operations } from './api.ts'", ...lines, wrong].join('\n')
  writeFileSync(join(folder, 'answers.ts'), `${text}\n`)
  const tsc = join(root, 'node_modules/.bin/tsc')
  const strict = [
    '--ignoreConfig',
    '--strict',
    '--noEmit',
    '--allowImportingTsExtensions',
    '--types',
    '',
  ]
  const result = await run(tsc, [...strict, '--module', 'nodenext', join(folder, 'answers.ts')], {
    cwd: folder,
  }).catch(({ stdout }: { readonly stdout: string }) => ({ stdout }))
  t.equal(result.stdout, '', 'the type checker reports nothing')
})
