/** Traces and metrics of calls at receivers of OpenTelemetry: parents, attempts, usage and cost
 *  once, both versions of the conventions, shares, receivers that are away. */
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { blocksOf } from '../../docs/blocks.ts'
import { startTextUpstream } from '../../helpers/gateway/chat-upstream.ts'
import { gateway, postJson, prepareCustomer } from '../../helpers/money/billing-gateway.ts'

interface OtlpValue {
  readonly stringValue?: string
  readonly intValue?: string
  readonly doubleValue?: number
  readonly boolValue?: boolean
}
interface OtlpSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly traceState?: string
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly { readonly key: string; readonly value: OtlpValue }[]
  readonly status?: { readonly code: number; readonly message: string }
}
interface OtlpMetric {
  readonly name: string
  readonly sum?: { readonly dataPoints: readonly { readonly asDouble: number }[] }
  readonly histogram?: {
    readonly dataPoints: readonly { readonly count: string; readonly bucketCounts: string[] }[]
  }
}
const plain = ({ attributes }: OtlpSpan) =>
  Object.fromEntries(
    attributes.map(({ key, value }) => [key, value.intValue ?? Object.values(value)[0]]),
  )

/** Starts a receiver; `answer`: the status of each request. */
const startCollector = async (t: Test, answer: (count: number) => number = () => 200) => {
  const spans: OtlpSpan[] = []
  const metrics = new Map<string, OtlpMetric>()
  const headers: IncomingHttpHeaders[] = []
  const waiting = new Set<() => void>()
  let count = 0
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    const status = answer(++count)
    headers.push(request.headers)
    if (status === 200 && request.url === '/v1/traces')
      spans.push(...JSON.parse(text).resourceSpans[0].scopeSpans[0].spans)
    if (status === 200 && request.url === '/v1/metrics')
      for (const metric of JSON.parse(text).resourceMetrics[0].scopeMetrics[0].metrics)
        metrics.set(metric.name, metric)
    response.writeHead(status, { 'content-type': 'application/json' }).end('{}')
    for (const look of waiting) look()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const until = (isDone: () => boolean) =>
    new Promise<void>(resolve => {
      const look = () => {
        if (isDone() && waiting.delete(look)) resolve()
      }
      waiting.add(look)
      look()
    })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, spans, metrics, headers, until }
}

const USAGE = {
  prompt_tokens: 10,
  completion_tokens: 5,
  total_tokens: 15,
  prompt_tokens_details: { cached_tokens: 4 },
}
const events = [
  { choices: [{ index: 0, delta: { role: 'assistant', content: 'Hello.' } }] },
  { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
  { choices: [], usage: USAGE },
].map(each => ({ id: 'resp-1', model: 'words-2026', created: 1, ...each }))
const received: IncomingHttpHeaders[] = []
const upstream = createServer(async (request, response) => {
  let text = ''
  for await (const chunk of request) text += chunk
  received.push(request.headers)
  if (request.headers.authorization === 'Bearer sk-limited')
    return response.writeHead(429, { 'retry-after': '60' }).end('{}')
  if (text.includes('break')) return response.writeHead(500).end('{}')
  if (text.includes('wait')) await setTimeout(50)
  if (JSON.parse(text).stream === true) {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const each of events) response.write(`data: ${JSON.stringify(each)}\n\n`)
    return response.end('data: [DONE]\n\n')
  }
  const message = { role: 'assistant', content: 'Hello.' }
  response.writeHead(200, { 'content-type': 'application/json' })
  const choices = [{ index: 0, message, finish_reason: 'stop' }]
  return response.end(JSON.stringify({ ...events[0], choices, usage: USAGE }))
}).listen(0, '127.0.0.1')
await once(upstream, 'listening')
t.teardown(() => {
  upstream.closeAllConnections()
  upstream.close()
})

const routes = (telemetry: string, keys = 'sk-good') => `
telemetry: ${telemetry}
guards: { words: { words: [falcon], do: block } }
pipeline: [errors, telemetry, auth, model, meter, translate, guard]
upstreams:
  up: { url: 'http://127.0.0.1:${(upstream.address() as AddressInfo).port}', provider: https://api.openai.com, formats: [openai-chat], key: [${keys}] }
models:
  words: { to: up/words-of-up, price: { input: 1 / 1k, output: 1 / 1k, cached: 1 / 1k }, output: 1000 }
routes:
  - { path: POST /chat, auth: key, model: body, translate: openai-chat, errors: openai, rewrite: '/' }
  - { path: POST /guarded, auth: key, model: body, translate: openai-chat, errors: openai, rewrite: '/', guard: words }
  - { path: 'POST /of/{name}/chat', auth: key, model: body, translate: openai-chat, errors: openai, rewrite: '/' }
`
const BODY = { model: 'words', max_tokens: 10, messages: [{ role: 'user', content: 'Hi' }] }
const TRACE = '0af7651916cd43dd8448eb211c80319c'
const PARENT = 'b7ad6b7169203331'

t.test('telemetry: a call with two attempts is one trace with its usage once', async t => {
  const collector = await startCollector(t)
  const section = `{ to: [{ url: ${collector.url}/, headers: { x-key: secret-1 } }], baggage: [team] }`
  const customer = await prepareCustomer(routes(section, 'sk-limited, sk-good'), 10n ** 11n)
  received.length = 0
  const headers = {
    traceparent: `00-${TRACE}-${PARENT}-01`,
    tracestate: 'vendor=1',
    baggage: 'team=red;x=1, secret=no',
  }
  const { response, id } = await postJson(
    customer.key,
    '/chat',
    { ...BODY, stream: true, seed: 7, reasoning_effort: 'low' },
    headers,
  )
  t.equal(response.status, 200)
  await collector.until(() => collector.spans.length >= 3)
  const [server, ...attempts] = collector.spans.toSorted((a, b) => a.kind - b.kind)
  if (!server) return
  t.match(server, { traceId: TRACE, parentSpanId: PARENT, traceState: 'vendor=1', kind: 2 })
  t.match(plain(server), {
    'http.route': '/chat',
    'http.response.status_code': '200',
    'tollgate.request': id,
    'baggage.team': 'red',
  })
  t.notMatch(JSON.stringify(server), /gen_ai|secret=no|baggage.secret/)
  t.equal(attempts.length, 2)
  const failed = attempts.find(({ status }) => status)
  const served = attempts.find(({ status }) => !status)
  t.match(failed, { kind: 3, parentSpanId: server.spanId, status: { code: 2 } })
  t.equal(failed && plain(failed)['gen_ai.usage.input_tokens'], undefined)
  t.match(served && plain(served), {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'openai',
    'gen_ai.request.model': 'words-of-up',
    'gen_ai.request.max_tokens': '10',
    'gen_ai.request.stream': true,
    'gen_ai.response.id': 'resp-1',
    'gen_ai.response.model': 'words-2026',
    'gen_ai.response.finish_reasons': { values: [{ stringValue: 'stop' }] },
    'gen_ai.request.seed': '7',
    'gen_ai.request.reasoning.level': 'low',
    'gen_ai.usage.input_tokens': '10',
    'gen_ai.usage.output_tokens': '5',
    'gen_ai.usage.cache_read.input_tokens': '4',
    'gen_ai.usage.cost.amount': 0.015,
    'gen_ai.usage.cost.currency': 'CNY',
    'gen_ai.usage.cost.source': 'local',
  })
  t.type(served && plain(served)['gen_ai.response.time_to_first_chunk'], 'number')
  const spanOfUpstream = (index: number) => received[index]?.traceparent?.toString().split('-')[2]
  t.same([spanOfUpstream(0), spanOfUpstream(1)], [failed?.spanId, served?.spanId])
  t.match(received[1], { tracestate: 'vendor=1', baggage: 'team=red' })
  t.match(collector.headers[0], { 'x-key': 'secret-1', 'content-type': 'application/json' })
  for (const each of collector.spans)
    t.ok(BigInt(each.endTimeUnixNano) >= BigInt(each.startTimeUnixNano))
})

t.test('telemetry: input includes what a cache was read for and what it got', async t => {
  const collector = await startCollector(t)
  const usage = {
    input_tokens: 3,
    cache_read_input_tokens: 4,
    cache_creation_input_tokens: 7,
    cache_creation: { ephemeral_5m_input_tokens: 5, ephemeral_1h_input_tokens: 2 },
    output_tokens: 6,
  }
  const url = await startTextUpstream(t, (_, response) => {
    const content = [{ type: 'text', text: 'Hello.' }]
    const facts = { id: 'm', type: 'message', role: 'assistant', model: 'words-2026' }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ ...facts, content, stop_reason: 'end_turn', usage }))
  })
  const customer = await prepareCustomer(
    `
telemetry: { to: ${collector.url} }
pipeline: [errors, telemetry, auth, model, meter, translate]
upstreams: { up: { url: '${url}', formats: [anthropic-messages] } }
models:
  words: { to: up/words, price: { input: 1 / 1k, cached: 0.1 / 1k, cache_write: 2 / 1k, cache_write_1h: 3 / 1k, output: 1 / 1k }, output: 1000 }
routes:
  - { path: POST /chat, auth: key, model: body, translate: openai-chat, errors: openai }
`,
    10n ** 11n,
  )
  t.equal((await postJson(customer.key, '/chat', BODY)).response.status, 200)
  await collector.until(() => collector.spans.length >= 2)
  const served = collector.spans.find(({ kind }) => kind === 3)
  t.match(served && plain(served), {
    'gen_ai.usage.input_tokens': '14',
    'gen_ai.usage.cache_read.input_tokens': '4',
    'gen_ai.usage.cache_write.input_tokens': '7',
    'gen_ai.usage.output_tokens': '6',
    // 3 × 1 + 4 × 0.1 + 5 × 2 + 2 × 3 + 6 × 1, for each 1,000.
    'gen_ai.usage.cost.amount': 0.0254,
  })
})

t.test('telemetry: a key in a path is in no span', async t => {
  const collector = await startCollector(t)
  const customer = await prepareCustomer(routes(`{ to: ${collector.url} }`), 10n ** 11n)
  await postJson(customer.key, `/of/${customer.key}/chat`, BODY)
  await postJson(customer.key, '/of/team-7/chat', BODY)
  const paths = () => collector.spans.filter(({ kind }) => kind === 2).map(each => plain(each))
  await collector.until(() => paths().length >= 2)
  t.same(
    paths()
      .map(each => each['url.path'])
      .sort(),
    ['/of/[hidden]/chat', '/of/team-7/chat'],
  )
  t.notMatch(JSON.stringify(collector.spans), customer.key)
})

t.test('telemetry: older names, and metrics that agree with the calls', async t => {
  const collector = await startCollector(t)
  const section = `{ to: ${collector.url}, conventions: gen_ai/1.36.0, metrics: 1ms, share: 0% }`
  const customer = await prepareCustomer(routes(section), 10n ** 11n)
  await postJson(customer.key, '/chat', BODY)
  await postJson(customer.key, '/chat', { ...BODY, stream: true })
  const sumOf = (name: string): number =>
    collector.metrics.get(name)?.sum?.dataPoints.reduce((sum, { asDouble }) => sum + asDouble, 0) ??
    0
  // Two workers report each for themselves: the same series of both is not added up here.
  await collector.until(() => sumOf('gen_ai.client.input_tokens') >= 10)
  t.equal(sumOf('gen_ai.client.input_tokens') % 10, 0)
  t.equal(sumOf('gen_ai.client.output_tokens') % 5, 0)
  t.ok(sumOf('tollgate.charged') > 0)
  const points = collector.metrics.get('gen_ai.client.operation.duration')?.histogram?.dataPoints
  t.equal(points?.[0]?.bucketCounts.length, 15)
  t.same(collector.spans, [], 'a share of 0 % records no call without an error')
})

t.test('telemetry: errors are recorded whatever the share is, refusals are not', async t => {
  const collector = await startCollector(t)
  const customer = await prepareCustomer(routes(`{ to: ${collector.url}, share: 0% }`), 10n ** 11n)
  t.equal((await postJson(customer.key, '/chat', BODY)).response.status, 200)
  t.equal((await postJson(customer.key, '/chat', { model: 'unknown' })).response.status, 404)
  const failed = { ...BODY, messages: [{ role: 'user', content: 'break' }] }
  const { response, id } = await postJson(customer.key, '/chat', failed)
  t.ok(response.status >= 500)
  await collector.until(() => collector.spans.length >= 2)
  const requests = collector.spans.map(each => plain(each)['tollgate.request'])
  t.same(
    requests.filter(each => each !== undefined),
    [id],
  )
})

t.test('telemetry: blocked and slow calls are recorded whatever the share is', async t => {
  for (const [always, path, word] of [
    ['blocked', '/guarded', 'falcon'],
    ['slow > 10ms', '/chat', 'wait'],
  ] as const) {
    const collector = await startCollector(t)
    const section = `{ to: ${collector.url}, share: 0%, always: [${always}] }`
    const customer = await prepareCustomer(routes(section), 10n ** 11n)
    const failed = { ...BODY, messages: [{ role: 'user', content: 'break' }] }
    if (always === 'blocked') await postJson(customer.key, '/chat', failed)
    const body = { ...BODY, messages: [{ role: 'user', content: word }] }
    const { id } = await postJson(customer.key, path, body)
    const servers = () => collector.spans.filter(({ kind }) => kind === 2).map(plain)
    await collector.until(() => servers().some(each => each['tollgate.request'] === id))
    if (always !== 'blocked') continue
    t.match(servers(), [{ 'tollgate.request': id, 'tollgate.guard': 'words=blocked(1)' }])
    t.equal(servers().length, 1, 'errors are not in the list')
  }
})

t.test("telemetry: the flag of a client's trace decides, whatever the share is", async t => {
  const collector = await startCollector(t)
  const customer = await prepareCustomer(routes(`{ to: ${collector.url} }`), 10n ** 11n)
  const ask = (flags: string, trace: string) =>
    postJson(customer.key, '/chat', BODY, { traceparent: `00-${trace}-${PARENT}-${flags}` })
  await ask('00', TRACE)
  const { id } = await ask('01', TRACE.replace('0af', '1af'))
  await collector.until(() => collector.spans.length >= 2)
  const requests = collector.spans.map(each => plain(each)['tollgate.request'])
  t.same(
    requests.filter(each => each !== undefined),
    [id],
  )
})

t.test('telemetry: two receivers get everything, each in its encoding', async t => {
  const bodies: { readonly type: string | undefined; readonly bytes: Buffer }[] = []
  let look = () => {}
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    bodies.push({ type: request.headers['content-type'], bytes: Buffer.concat(chunks) })
    response.end()
    look()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const collector = await startCollector(t)
  const section = `{ to: [${collector.url}, { url: 'http://127.0.0.1:${port}', encoding: protobuf, temporality: delta }], metrics: 1ms }`
  const customer = await prepareCustomer(routes(section), 10n ** 11n)
  const { id } = await postJson(customer.key, '/chat', BODY)
  await collector.until(() => collector.spans.length >= 2)
  const needed = [id, 'gen_ai.usage.cost.amount', 'gen_ai.client.inference.usage.input_tokens']
  await new Promise<void>(resolve => {
    look = () => {
      const all = Buffer.concat(bodies.map(({ bytes }) => bytes))
      if (needed.every(each => all.includes(each))) resolve()
    }
    look()
  })
  t.same(new Set(bodies.map(({ type }) => type)), new Set(['application/x-protobuf']))
})

t.test('telemetry: the example of docs/metrics.md sends each receiver what it reads', async t => {
  const reports: { readonly url: string; readonly headers: IncomingHttpHeaders; text: string }[] =
    []
  let look = () => {}
  const example = blocksOf('docs/metrics.md').find(({ text }) => text.startsWith('telemetry:'))
  const receiver = await startTextUpstream(t, (text, response, { url = '', headers }) => {
    reports.push({ url, headers, text })
    response.end('{}')
    look()
  })
  const section = (example?.text ?? '')
    .replace('http://127.0.0.1:4318', `${receiver}/collector`)
    .replace('https://cloud.langfuse.com', `${receiver}/langfuse`)
    .replace('https://otlp.datadoghq.com', `${receiver}/datadog`)
    .replace('${LANGFUSE_AUTH}', 'cGs6c2s=')
    .replace('${DATADOG_KEY}', 'dd-1')
    .replace('share: 5%', 'share: 5%\n  metrics: 1ms')
  const customer = await prepareCustomer(routes('').replace('telemetry: \n', section), 10n ** 11n)
  const headers = { traceparent: `00-${TRACE}-${PARENT}-01`, baggage: 'team=red,other=no' }
  const { id } = await postJson(customer.key, '/chat', BODY, headers)
  const failed = { ...BODY, messages: [{ role: 'user', content: 'break' }] }
  const error = await postJson(customer.key, '/chat', failed)
  const tracesOf = (name: string) =>
    reports
      .filter(({ url }) => url.startsWith(`/${name}/`) && url.endsWith('/v1/traces'))
      .map(({ text }) => text)
      .join('')
  const NAMES = ['collector', 'langfuse', 'datadog']
  await new Promise<void>(resolve => {
    look = () => {
      const hasTraces = NAMES.every(name =>
        [id, error.id].every(each => tracesOf(name).includes(each)),
      )
      const withMetrics = NAMES.filter(name =>
        reports.some(({ url }) => url.startsWith(`/${name}/`) && url.endsWith('/v1/metrics')),
      )
      if (hasTraces && withMetrics.length === NAMES.length) resolve()
    }
    look()
  })
  const PLACES: Readonly<Record<string, readonly [path: string, headers: object]>> = {
    collector: ['/collector', { 'content-type': 'application/json' }],
    langfuse: [
      '/langfuse/api/public/otel',
      {
        authorization: 'Basic cGs6c2s=',
        'x-langfuse-ingestion-version': '4',
        'content-type': 'application/json',
      },
    ],
    datadog: ['/datadog', { 'dd-api-key': 'dd-1', 'content-type': 'application/x-protobuf' }],
  }
  for (const [name, [path, expected]] of Object.entries(PLACES)) {
    t.match(tracesOf(name), 'baggage.team', name)
    t.notMatch(tracesOf(name), 'baggage.other', name)
    for (const { url, headers } of reports.filter(each => each.url.startsWith(`/${name}/`))) {
      t.ok([`${path}/v1/traces`, `${path}/v1/metrics`].includes(url), url)
      t.match(headers, expected, url)
    }
  }
})

t.test('telemetry: a receiver that is away gets everything later, and costs no call', async t => {
  const collector = await startCollector(t, count => (count === 1 ? 503 : 200))
  const customer = await prepareCustomer(routes(`{ to: ${collector.url} }`), 10n ** 11n)
  const { id } = await postJson(customer.key, '/chat', BODY)
  await collector.until(() => collector.spans.length >= 2)
  t.ok(collector.headers.length > 1, 'it was refused once')
  t.ok(collector.spans.some(each => plain(each)['tollgate.request'] === id))
})

t.test('telemetry: more than the queue takes is dropped and counted', async t => {
  const collector = await startCollector(t, () => 503)
  const customer = await prepareCustomer(routes(`{ to: ${collector.url}, queue: 1 }`), 10n ** 11n)
  for (let count = 0; count < 4; count++) await postJson(customer.key, '/chat', BODY)
  const dropped = async () =>
    /tollgate_telemetry_dropped_total\{[^}]*\} (\d+)/.exec(
      await (await fetch(`${gateway.admin}/metrics`)).text(),
    )?.[1]
  while ((await dropped()) === undefined) await setTimeout(50)
  t.ok(Number(await dropped()) >= 1)
})

t.test('telemetry: wrong options are problems of the configuration', async t => {
  const wrong = [
    '{}',
    '{ to: collector:4318 }',
    '{ to: [] }',
    '{ to: http://a, share: 5 }',
    '{ to: http://a, share: 101% }',
    '{ to: http://a, always: [slow] }',
    '{ to: http://a, conventions: gen_ai/9 }',
    '{ to: http://a, baggage: ["a b"] }',
    '{ to: http://a, queue: 0 }',
    '{ to: [{ url: http://a, encoding: grpc }] }',
    '{ to: [{ url: http://a, temporality: both }] }',
  ]
  for (const section of wrong)
    await t.rejects(gateway.reload(routes(section)), /telemetry/, section)
})
