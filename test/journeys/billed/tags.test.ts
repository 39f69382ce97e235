/** Tags of calls: from headers and bodies into charges of every kind of call, and out of usage. */
import t, { type Test } from 'tap'
import { withOutput } from '../../helpers/gateway/command-line.ts'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { openSocket } from '../../helpers/gateway/web-socket.ts'

const PRICE = 'price: { input: 0.01, output: 0.02 }, output: 50, context: 1000'
const SECTION = `
tags:
  header: x-cost-tags
  baggage: cost.
  metadata: true
  known: { project: [alpha, beta], feature: any, seat: any }
`
const routesOf = (section: string): string => `
pipeline: [errors, observe, auth, form, validate, model, tags, idempotency, responses, files, batches, meter, task, account, translate, embed, realtime, sandbox]
${section}
upstreams: { inside: { url: 'sandbox:' } }
models:
  chat: { to: inside/m, ${PRICE} }
  vectors: { to: inside/v, price: { input: 0.01 }, context: 1000 }
  clip: { to: inside/clip, price: { calls: 1 } }
routes:
  - { path: POST /v1/chat/completions, auth: key, model: body, translate: openai-chat, errors: openai }
  - { path: POST /v1/messages, auth: key, model: body, translate: anthropic-messages, errors: anthropic }
  - { path: POST /v1/responses, auth: key, model: body, responses: create, translate: openai-responses, errors: openai }
  - { path: 'GET /v1/responses/{id}', auth: key, responses: show, errors: openai }
  - { path: WS /v1/responses, auth: key, responses: socket, errors: openai }
  - { path: 'POST /v1beta/models/{model}:generateContent', auth: key, model: { path: model }, translate: google-gemini, errors: google }
  - { path: POST /v1/files, auth: key, files: upload, body: { limit: 2GiB }, errors: openai }
  - { path: POST /v1/batches, auth: key, batches: create, errors: openai }
  - { path: 'GET /v1/batches/{id}', auth: key, batches: show, errors: openai }
  - { path: POST /v1/embeddings, auth: key, embed: openai, model: body, errors: openai }
  - { path: POST /v1/images/generations, auth: key, model: body, task: { call: {} }, translate: openai-images, errors: openai }
  - { path: GET /api/usage, auth: key, account: usage }
  - { path: 'GET /api/usage/{request_id}', auth: key, account: receipt }
`
const start = async (t: Test, section: string) => {
  const gateway = await startGateway({ routes: routesOf(section) })
  t.teardown(() => gateway.stop())
  const key = await gateway.key()
  const call = async (path: string, body?: object, headers: Record<string, string> = {}) => {
    const isForm = body instanceof FormData
    const response = await fetch(gateway.url + path, {
      method: body ? 'POST' : 'GET',
      headers: {
        authorization: `Bearer ${key}`,
        ...(!isForm && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body && { body: isForm ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    const id = response.headers.get('x-request-id') ?? ''
    return {
      status: response.status,
      text,
      id,
      dropped: response.headers.get('x-tollgate-dropped'),
    }
  }
  const tagsOf = async (id: string) => JSON.parse((await call(`/api/usage/${id}`)).text).data.tags
  /** The tags of all calls, of those that fit. */
  const listed = async (query = '') =>
    JSON.parse((await call(`/api/usage?${query}`)).text).data.map(
      ({ tags }: { tags: unknown }) => tags,
    )
  /** The values of a metric by tag. */
  const series = async (name: string) => {
    const text = await (await fetch(`${gateway.admin}/metrics`)).text()
    const values = [...text.matchAll(/^tollgate_(tagged_\w+)\{(.*)\} ([\d.e-]+)$/gm)]
      .filter(([, each]) => each === name)
      .map(([, , labels = '', value]) => [labels.replaceAll('"', ''), Number(value)] as const)
    return new Map(values)
  }
  return { gateway, key, call, tagsOf, listed, series }
}
const MESSAGES = [{ role: 'user', content: 'Hi' }]
const CHAT = { model: 'chat', max_tokens: 10, messages: MESSAGES }

t.test('tags: every kind of call stores them with its charge', async t => {
  const { gateway, key, call, tagsOf, listed } = await start(t, SECTION)
  const header = { 'x-cost-tags': 'project=alpha, feature=search' }
  for (const stream of [false, true])
    for (const [path, body] of [
      ['/v1/chat/completions', { ...CHAT, stream }],
      ['/v1/messages', { ...CHAT, stream }],
      ['/v1/responses', { model: 'chat', input: 'Hi', stream }],
    ] as const) {
      const { status, id, dropped, text } = await call(path, body, header)
      t.equal(status, 200, text)
      t.equal(dropped, null)
      t.equal(await tagsOf(id), 'feature=search, project=alpha', `${path}, stream ${stream}`)
    }
  const gemini = await call(
    '/v1beta/models/chat:generateContent',
    { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }], labels: { project: 'beta' } },
    { baggage: 'cost.feature=a%2Db;ttl=1, other=1, cost.project=alpha' },
  )
  t.equal(await tagsOf(gemini.id), 'feature=a-b, project=beta', 'labels come before baggage')

  const background = await call(
    '/v1/responses',
    { model: 'chat', input: 'Hi', background: true },
    header,
  )
  const { id } = JSON.parse(background.text)
  await eventually(async () => /"completed"/.test((await call(`/v1/responses/${id}`)).text))
  t.same((await listed('limit=1'))[0], 'feature=search, project=alpha', 'background')

  const client = await openSocket(`${gateway.url}/v1/responses`, [], {
    headers: { authorization: `Bearer ${key}`, 'x-cost-tags': 'project=beta' },
  })
  client.socket.send(JSON.stringify({ type: 'response.create', model: 'chat', input: 'Hi' }))
  for (let count = 1; !client.received.join().includes('response.completed'); count++)
    await client.until(count)
  client.socket.close()
  t.same((await listed('limit=1'))[0], 'project=beta', 'WebSocket')

  const lines = [undefined, { feature: 'own', trace: 'x' }].map((metadata, index) =>
    JSON.stringify({
      custom_id: `line-${index}`,
      method: 'POST',
      url: '/v1/chat/completions',
      body: { ...CHAT, ...(metadata && { metadata }) },
    }),
  )
  const form = new FormData()
  form.append('purpose', 'batch')
  form.append('file', new Blob([lines.join('\n')]), 'a.jsonl')
  const input_file_id = JSON.parse((await call('/v1/files', form)).text).id
  const order = { input_file_id, endpoint: '/v1/chat/completions', completion_window: '24h' }
  const batch = JSON.parse((await call('/v1/batches', order, header)).text)
  await eventually(async () =>
    /"status":"completed"/.test((await call(`/v1/batches/${batch.id}`)).text),
  )
  t.same(
    (await listed('limit=2')).sort(),
    ['feature=own, project=alpha', 'feature=search, project=alpha'],
    'lines of a batch',
  )
})

t.test('tags: metrics count calls and charges by tag, and bound the values of clients', async t => {
  const { call, series } = await start(t, SECTION)
  const VALUES = 103
  for (let count = 0; count < VALUES; count++)
    await call('/v1/chat/completions', CHAT, {
      'x-cost-tags': `project=alpha, feature=f${count}`,
    })
  const calls = await eventually(async () => {
    const counted = await series('tagged_calls_total')
    return counted.get('tag=project,value=alpha') === VALUES && counted
  })
  t.equal(calls.get('tag=feature,value=f0'), 1)
  t.equal(calls.get('tag=feature,value=other'), VALUES - 100)
  t.equal(calls.size, 102)
  const charged = await series('tagged_charged_total')
  const each = charged.get('tag=feature,value=f0') ?? 0
  t.ok(each > 0)
  t.ok(Math.abs((charged.get('tag=project,value=alpha') ?? 0) - each * VALUES) < 1e-6)
})

t.test('tags: metrics have the charge of a task once it has ended', async t => {
  const { call, series } = await start(t, SECTION)
  const headers = { prefer: 'respond-async', 'x-cost-tags': 'project=beta' }
  const body = { model: 'clip', prompt: 'a cat' }
  const { status, text } = await call('/v1/images/generations', body, headers)
  t.equal(status, 202, text)
  await eventually(
    async () => (await series('tagged_charged_total')).get('tag=project,value=beta') === 1,
  )
  t.equal((await series('tagged_calls_total')).get('tag=project,value=beta'), 1)
})

t.test('tags: what is not known is left out and named, and the call goes on', async t => {
  const { call, tagsOf } = await start(t, SECTION)
  for (const [headers, metadata, tags, dropped] of [
    [{ 'x-cost-tags': 'project=gamma' }, undefined, null, 'x-cost-tags/project'],
    [{ 'x-cost-tags': 'team=a,project=alpha' }, undefined, 'project=alpha', 'x-cost-tags/team'],
    [{ 'x-cost-tags': 'feature=two words' }, undefined, null, 'x-cost-tags/feature'],
    [{ 'x-cost-tags': 'feature' }, undefined, null, 'x-cost-tags/feature'],
    [{ 'x-cost-tags': `feature=${'a'.repeat(65)}` }, undefined, null, 'x-cost-tags/feature'],
    [{ 'x-cost-tags': 'project=alpha,project=beta' }, undefined, 'project=alpha', null],
    [{ 'x-cost-tags': ',, =x' }, undefined, null, null],
    [
      { baggage: 'cost.project=%zz, cost.team=a' },
      undefined,
      null,
      'baggage/cost.project, baggage/cost.team',
    ],
    [{}, { project: 'delta', trace: 'x' }, null, 'metadata.project'],
    [{}, { project: 'alpha' }, 'project=alpha', null],
    [
      { 'x-cost-tags': '__proto__=a, constructor=b' },
      undefined,
      null,
      'x-cost-tags/__proto__, x-cost-tags/constructor',
    ],
  ] as const) {
    const answer = await call(
      '/v1/chat/completions',
      { ...CHAT, ...(metadata && { metadata }) },
      headers,
    )
    const title = JSON.stringify([headers, metadata])
    t.equal(answer.status, 200, answer.text)
    t.equal(answer.dropped, dropped, title)
    t.equal(await tagsOf(answer.id), tags, title)
  }
})

t.test('tags: usage lists the calls of one tag, as JSON and as CSV', async t => {
  const { call, listed } = await start(t, SECTION)
  for (const tags of ['project=alpha', 'project=beta, feature=x.y', ''])
    await call('/v1/chat/completions', CHAT, { 'x-cost-tags': tags })
  t.same(await listed('tag=project=alpha'), ['project=alpha'])
  t.same(await listed('tag=feature=x.y'), ['feature=x.y, project=beta'])
  t.same(await listed('tag=feature=none'), [])
  t.equal((await listed()).length, 3)
  const sums = JSON.parse((await call('/api/usage?by=tag')).text).data
  t.match(sums, [
    { tag: 'feature=x.y', calls: 1 },
    { tag: 'project=alpha', calls: 1 },
    { tag: 'project=beta', calls: 1 },
  ])
  t.equal(sums[1].cost, sums[2].cost)
  // They are written every two seconds.
  await eventually(async () => {
    const { data } = JSON.parse((await call('/api/usage?by=tag')).text)
    return data.every((sum: { readonly p50_ms: unknown }) => typeof sum.p50_ms === 'number')
  })
  const sheet = await call('/api/usage?by=tag&format=csv')
  t.match(sheet.text, /^tag,calls,.*\r\nfeature=x\.y,1,/)
  const csv = await call('/api/usage?tag=project=beta&format=csv')
  t.equal(csv.text.trim().split('\n').length, 2, 'a head and a row')
  t.match(csv.text, '"feature=x.y, project=beta"')
  await call('/v1/embeddings', { model: 'vectors', input: 'Hi' }, { 'x-cost-tags': 'project=beta' })
  const models = JSON.parse((await call('/api/usage?by=model&tag=project=beta')).text).data
  t.match(models, [
    { model: 'chat', calls: 1, cost: sums[2].cost, p50_ms: null },
    { model: 'vectors', calls: 1 },
  ])
  const [first] = JSON.parse(
    (await call('/api/usage?by=model&tag=project=beta&sort=cost&order=desc&limit=1')).text,
  ).data
  t.equal(first.model, 'chat')
  const none = await call('/api/usage?by=model&tag=project=gamma')
  t.same(JSON.parse(none.text).data, [])
  const modelSheet = await call('/api/usage?by=model&tag=feature=x.y&format=csv')
  t.match(modelSheet.text, /^model,calls,.*\r\nchat,1,/)
  for (const query of [
    'tag=',
    'tag=project',
    'tga=project=alpha',
    'tags=project=alpha',
    'tag=project=alpha&Limit=1&format=csv',
    'tag=a%22b=c',
    'tag=project=alpha&by=day',
    'tag=a=b&status=failed',
  ]) {
    const refused = await call(`/api/usage?${query}`)
    t.equal(refused.status, 400, query)
    t.match(refused.text, /`tag`|`limit`|known ones are .*\btag\b/)
  }
})

t.test('tags: a request cannot replace those of its account, member and key', async t => {
  const { gateway, call, tagsOf } = await start(t, SECTION)
  const OWN = 'member/project, key/project, key/seat'
  const run = (...argv: string[]) => withOutput(t, argv, { TOLLGATE_DATA: gateway.data })
  const listed = JSON.parse((await run('keys', 'list', '--json')).out)
  const { id, account } = listed.find(({ key }: { key: string }) => key.startsWith('sk-'))
  for (const argv of [
    ['accounts', 'limit', account, '--tags', 'project=alpha'],
    ['members', 'invite', account, 'bob', '--tags', 'seat=bob,feature=team'],
    ['keys', 'update', String(id), '--member', 'bob'],
    ['members', 'update', account, 'bob', '--tags', 'seat=bob,project=beta'],
    ['keys', 'update', String(id), '--tags', 'feature=own,project=beta,seat=eve'],
  ]) {
    const { code, err } = await run(...argv)
    t.equal(code, 0, err)
  }
  for (const [header, dropped] of [
    [{}, OWN],
    [{ 'x-cost-tags': 'project=alpha' }, OWN],
    [{ 'x-cost-tags': 'feature=other' }, `${OWN}, x-cost-tags/feature`],
    [{ 'x-cost-tags': 'seat=eve' }, `${OWN}, x-cost-tags/seat`],
  ] as const)
    await eventually(async () => {
      const answer = await call('/v1/chat/completions', CHAT, header)
      const tags = await tagsOf(answer.id)
      return answer.dropped === dropped && tags === 'feature=own, project=alpha, seat=bob'
    })
  for (const bad of ['project', 'project=', 'Project=a', 'project=a b']) {
    const { code, err } = await run('keys', 'update', String(id), '--tags', bad)
    t.equal(code, 2, bad)
    t.match(err, /--tags must be tags such as project=alpha/)
  }
  await run('keys', 'update', String(id), '--tags', 'none')
  await run('accounts', 'limit', account, '--tags', 'none')
  await run('members', 'update', account, 'bob', '--tags', 'none')
  await eventually(
    async () => (await tagsOf((await call('/v1/chat/completions', CHAT)).id)) === null,
  )
})

t.test('tags: without the section nothing is read', async t => {
  const { call, tagsOf } = await start(t, '')
  const answer = await call('/v1/chat/completions', CHAT, { 'x-tollgate-tags': 'project=alpha' })
  t.equal(answer.dropped, null)
  t.equal(await tagsOf(answer.id), null)
})
