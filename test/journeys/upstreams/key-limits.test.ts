/** Keys with `rpm` and `tpm`, over two workers and providers that are processes of their own. */
import t, { type Test } from 'tap'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { postTo } from '../../helpers/gateway/post.ts'
import { startProviderProcess } from '../../helpers/gateway/provider-process.ts'

/** Answers with the key, and counts; `limit` requests a key, then 429. The headers have a form, and
 *  say that `allowed` requests are allowed and when all are back. GET shows the counts. */
const PROVIDER = `
const { createServer } = require('node:http')
const [form, limit, reset, allowed = limit] = process.argv.slice(1)
const at = []
const counts = {}
const refused = {}
const body = { id: 'c', object: 'chat.completion', created: 1, model: 'm',
  usage: { prompt_tokens: 40, completion_tokens: 60, total_tokens: 100 } }
createServer((request, response) => {
  if (request.method === 'GET') return response.end(JSON.stringify({ counts, refused, at }))
  request.resume().on('end', () => {
    const key = request.headers['x-api-key'] ?? request.headers.authorization.slice(7)
    at.push(performance.now())
    const used = counts[key] = (counts[key] ?? 0) + 1
    if (used > Number(limit)) refused[key] = (refused[key] ?? 0) + 1
    const left = String(Math.max(0, Number(allowed) - used))
    const headers = { 'content-type': 'application/json' }
    if (form === 'openai') Object.assign(headers,
      { 'x-ratelimit-remaining-requests': left, 'x-ratelimit-reset-requests': reset })
    if (form === 'anthropic') Object.assign(headers, { 'anthropic-ratelimit-requests-remaining': left,
      'anthropic-ratelimit-requests-reset': new Date(Date.now() + Number(reset)).toISOString() })
    response.writeHead(used > Number(limit) ? 429 : 200, headers)
    const message = { role: 'assistant', content: key }
    response.end(JSON.stringify({ ...body, choices: [{ index: 0, message, finish_reason: 'stop' }] }))
  })
}).listen(0, '127.0.0.1', function () { console.log(this.address().port) })
`
interface Report {
  readonly counts: Readonly<Record<string, number>>
  readonly refused: Readonly<Record<string, number>>
  readonly at: readonly [number, number]
}
const provide = async (t: Test, form = 'none', limit = 1_000, reset = '1h', allowed = limit) => {
  const { url } = await startProviderProcess(t, PROVIDER, [form, limit, reset, allowed])
  const report = async () => (await (await fetch(url)).json()) as Report
  return { url, report }
}
const serve = async (t: Test, upstreams: string, { to = '[up/m]', workers = 2 } = {}) => {
  const gateway = await startGateway({
    env: { WORKERS: String(workers) },
    routes: `
pipeline: [errors, model, translate]
upstreams:
${upstreams}
models: { any: { to: ${to}, free: true } }
routes:
  - { path: POST /v1/chat/completions, model: body, translate: openai-chat, errors: openai }
`,
  })
  t.teardown(() => gateway.stop())
  const ask = async (text = 'x') => {
    const response = await postTo(
      `${gateway.url}/v1/chat/completions`,
      { model: 'any', messages: [{ role: 'user', content: text }] },
      { connection: 'close' },
    )
    const body = await response.text()
    const name = /"content":"([\w-]+)"/.exec(body)?.[1]
    return { status: response.status, name, body, wait: response.headers.get('retry-after') }
  }
  const askMany = (count: number) => Promise.all(Array.from({ length: count }, () => ask()))
  return { ask, askMany }
}

t.test('key limits: two workers send no more than the rpm of a key', async t => {
  const { url, report } = await provide(t)
  const { askMany, ask } = await serve(
    t,
    `  up: { url: '${url}', formats: [openai-chat], key_wait: 1ms, key: [{ key: a, rpm: 3, weight: 100 }, { key: b, rpm: 7 }] }`,
  )
  const answers = await askMany(10)
  t.same(new Set(answers.map(({ status }) => status)), new Set([200]))
  t.same((await report()).counts, { a: 3, b: 7 })
  const refused = await ask()
  t.match(refused, { status: 503, body: /All keys of the upstream up have reached their limits/ })
  t.ok(Number(refused.wait) > 30, 'until the next minute')
  t.same((await report()).counts, { a: 3, b: 7 }, 'nothing was sent')
})

t.test('key limits: another target is asked before anything waits', async t => {
  const [own, spare] = [await provide(t), await provide(t)]
  const { ask } = await serve(
    t,
    `  up: { url: '${own.url}', formats: [openai-chat], key: [{ key: a, rpm: 2 }] }
  spare: { url: '${spare.url}', formats: [openai-chat], key: s }`,
    { to: '[up/m, spare/m]' },
  )
  const names: unknown[] = []
  for (let call = 0; call < 4; call++) names.push((await ask()).name)
  t.same(names, ['a', 'a', 's', 's'])
})

for (const [form, preset, reset] of [
  ['openai', '', '1h'],
  [
    'anthropic',
    "limit_headers: { remaining: 'anthropic-ratelimit-{unit}-remaining', reset: 'anthropic-ratelimit-{unit}-reset' },",
    '3600000',
  ],
] as const)
  t.test(`key limits: a key is left by the headers of ${form} before its 429`, async t => {
    const { url, report } = await provide(t, form, 2, reset)
    const { ask } = await serve(
      t,
      `  up: { url: '${url}', formats: [openai-chat], ${preset} key_wait: 1ms, key: [{ key: a, rpm: 4, weight: 100 }, { key: b, rpm: 4 }] }`,
      { workers: 1 },
    )
    const names: unknown[] = []
    for (let call = 0; call < 4; call++) names.push((await ask()).name)
    t.same(names, ['a', 'a', 'b', 'b'])
    t.match(await report(), { counts: { a: 2, b: 2 }, refused: {} })
  })

t.test('key limits: a request waits for a key that is soon free', async t => {
  const { url, report } = await provide(t, 'openai', 1_000, '2s', 1)
  const { ask } = await serve(
    t,
    `  up: { url: '${url}', formats: [openai-chat], key_wait: 1m, key: [{ key: a, rpm: 4 }] }`,
    { workers: 1 },
  )
  t.match(await ask(), { status: 200, name: 'a' })
  t.match(await ask(), { status: 200, name: 'a' })
  const { counts, at } = await report()
  t.same(counts, { a: 2 })
  t.ok(at[1] - at[0] > 400, 'one of four is back after a quarter of the time')
})

t.test('key limits: tokens count by the usage of answers', async t => {
  const { url, report } = await provide(t)
  const { ask } = await serve(
    t,
    `  up: { url: '${url}', formats: [openai-chat], key_wait: 1ms, key: [{ key: a, tpm: 290 }] }`,
    { workers: 1 },
  )
  for (let call = 0; call < 2; call++) t.match(await ask(), { status: 200 })
  // 200 of 290 are used, although both requests together have fewer than 60 by their size.
  t.match(await ask('x'.repeat(400)), { status: 503, body: /reached their limits/ })
  t.match(await ask(), { status: 200 }, 'a small request still fits')
  t.same((await report()).counts, { a: 3 })
})
